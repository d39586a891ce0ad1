//! A checksum as fast as memory, for mapped files of many megabytes.
//!
//! It finds torn writes, bad blocks and truncation; it is no defence against an adversary (who could write the store
//! anyway). Four independent lanes keep the multiplier busy; each word is folded with the 64-bit prime of FNV-1a and a
//! rotation, so that equal damage at two places does not cancel.

const PRIME: u64 = 0x0000_0100_0000_01b3;
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// Bytes folded together.
const BLOCK: usize = 32;

/// Checksum of `bytes`; its length counts.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = Checksum::default();
    sum.update(bytes);
    sum.finish()
}

/// The checksum of bytes that come in parts; how they are parted does not count.
#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    lanes: [u64; 4],
    len: u64,
    /// The last bytes, fewer than a block.
    rest: Vec<u8>,
}

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum { lanes: [SEED, SEED ^ 1, SEED ^ 2, SEED ^ 3], len: 0, rest: Vec::new() }
    }
}

impl Checksum {
    /// Adds the next bytes.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if !self.rest.is_empty() {
            let (head, after) = bytes.split_at(bytes.len().min(BLOCK - self.rest.len()));
            self.rest.extend_from_slice(head);
            bytes = after;
            if self.rest.len() < BLOCK {
                return;
            }
            fold_block(&mut self.lanes, &self.rest);
            self.rest.clear();
        }
        let blocks = bytes.chunks_exact(BLOCK);
        self.rest.extend_from_slice(blocks.remainder());
        for block in blocks {
            fold_block(&mut self.lanes, block);
        }
    }

    /// The checksum of everything added.
    pub(crate) fn finish(self) -> u64 {
        let tail = self.rest.iter().fold(self.len, |sum, byte| fold(sum, u64::from(*byte)));
        self.lanes.iter().fold(tail, |sum, lane| fold(sum, *lane))
    }
}

fn fold_block(lanes: &mut [u64; 4], block: &[u8]) {
    for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
        *lane = fold(*lane, u64::from_le_bytes(word.try_into().expect("chunks of eight")));
    }
}

fn fold(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(PRIME).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::{Checksum, checksum};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_flipped_bit_shows(mut bytes in proptest::collection::vec(any::<u8>(), 1..200), at in any::<usize>(), bit in 0_u32..8) {
            let before = checksum(&bytes);
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
            prop_assert_ne!(before, checksum(&bytes));
        }

        #[test]
        fn parts_do_not_count(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..70), 0..6)) {
            let mut sum = Checksum::default();
            parts.iter().for_each(|part| sum.update(part));
            prop_assert_eq!(sum.finish(), checksum(&parts.concat()));
        }

        #[test]
        fn zeros_at_the_end_show(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut longer = bytes.clone();
            longer.push(0);
            prop_assert_ne!(checksum(&bytes), checksum(&longer));
        }
    }
}
