//! A checksum as fast as memory, for mapped files of many megabytes.
//!
//! It finds torn writes, bad blocks and truncation; it is no defence against an adversary (who could write the store
//! anyway). Four independent lanes keep the multiplier busy; each word is folded with the 64-bit prime of FNV-1a and a
//! rotation, so that equal damage at two places does not cancel.

const PRIME: u64 = 0x0000_0100_0000_01b3;
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// Checksum of `bytes`; its length counts.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = [SEED, SEED ^ 1, SEED ^ 2, SEED ^ 3];
    let blocks = bytes.chunks_exact(32);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = fold(*lane, u64::from_le_bytes(word.try_into().expect("chunks of eight")));
        }
    }
    let tail = rest.iter().fold(bytes.len() as u64, |sum, byte| fold(sum, u64::from(*byte)));
    lanes.iter().fold(tail, |sum, lane| fold(sum, *lane))
}

fn fold(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(PRIME).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::checksum;
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
        fn zeros_at_the_end_show(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut longer = bytes.clone();
            longer.push(0);
            prop_assert_ne!(checksum(&bytes), checksum(&longer));
        }
    }
}
