//! Words that were spelled before, with their token ids: words repeat (Zipf), and spelling a word that is not a token of its
//! own asks the vocabulary a dozen times.
//!
//! A direct-mapped table of fixed size; a word that needs a taken slot replaces what is there. What comes out is what
//! spelling would give, so it shows in nothing but time.

/// Slots: a power of two. Four megabytes in all.
const SLOTS: usize = 1 << 17;
/// Longest remembered word in bytes.
const WORD_BYTES_MAX: usize = 16;
/// Most ids of a remembered word.
const IDS_MAX: usize = 7;

/// A remembered word: its bytes, how many, and its ids.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    word: u128,
    bytes: u8,
    len: u8,
    ids: [u16; IDS_MAX],
}

/// The memory of one thread for one vocabulary. The default one remembers nothing.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    slots: Vec<Slot>,
}

impl Memo {
    /// A memory that remembers.
    pub(crate) fn new() -> Memo {
        Memo { slots: vec![Slot::default(); SLOTS] }
    }

    /// Appends the ids of a word: remembered ones, or those that `spell` appends.
    pub(crate) fn ids(&mut self, word: &[u8], ids: &mut Vec<u32>, spell: impl FnOnce(&mut Vec<u32>)) {
        if self.slots.is_empty() || word.len() > WORD_BYTES_MAX || word.is_empty() {
            return spell(ids);
        }
        let mut padded = [0_u8; WORD_BYTES_MAX];
        padded[..word.len()].copy_from_slice(word);
        let key = u128::from_le_bytes(padded);
        let slot = &mut self.slots[place(key)];
        if slot.word == key && usize::from(slot.bytes) == word.len() {
            return ids.extend(slot.ids[..usize::from(slot.len)].iter().map(|id| u32::from(*id)));
        }
        let begin = ids.len();
        spell(ids);
        let spelled = &ids[begin..];
        if spelled.len() > IDS_MAX || spelled.iter().any(|id| *id > u32::from(u16::MAX)) {
            return;
        }
        // At most sixteen bytes and seven ids.
        *slot = Slot { word: key, bytes: word.len() as u8, len: spelled.len() as u8, ids: [0; IDS_MAX] };
        for (kept, id) in slot.ids.iter_mut().zip(spelled) {
            *kept = *id as u16;
        }
    }
}

fn place(key: u128) -> usize {
    let mixed = ((key as u64) ^ ((key >> 64) as u64).rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - SLOTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A spelling that depends on every byte: seven ids for short words, more for others, none for some.
    fn spell(word: &[u8]) -> Vec<u32> {
        let sum = word.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
        (0..sum % 9).map(|n| sum.wrapping_add(n) % if sum.is_multiple_of(5) { 100_000 } else { 30_000 }).collect()
    }

    proptest! {
        #[test]
        fn remembered_is_what_was_spelled(words in prop::collection::vec("[a-c\\x00]{0,18}", 0..200)) {
            let (mut memo, mut nothing) = (Memo::new(), Memo::default());
            for word in words.iter().chain(&words) {
                for memory in [&mut memo, &mut nothing] {
                    let mut ids = vec![7];
                    memory.ids(word.as_bytes(), &mut ids, |ids| ids.extend(spell(word.as_bytes())));
                    prop_assert_eq!(&ids[1..], &spell(word.as_bytes())[..]);
                }
            }
        }
    }
}
