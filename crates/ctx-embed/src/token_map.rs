//! Finds the longest token that begins a string. A word is at most a hundred characters and a token some twenty
//! bytes, so one pass hashes every prefix and the table is asked from the longest down.
//!
//! Open addressing in one array of fixed size; equality is decided by the bytes, never by the hash alone.

/// FNV-1a, 64 bits: chosen because the hash of a prefix is a step on the way to the hash of the whole.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;
/// Prefix hashes kept on the stack; tokens longer than this are not found by a fast map (BERT's longest has 18 bytes).
pub(crate) const TOKEN_BYTES_MAX: usize = 32;

#[derive(Debug)]
pub(crate) struct TokenMap {
    slots: Vec<Slot>,
    mask: usize,
    bytes: Vec<u8>,
    longest: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Upper half of the hash, checked before the bytes are.
    tag: u32,
    id: u32,
    start: u32,
    /// 0 marks a free slot: the empty token is never stored.
    len: u32,
}

impl TokenMap {
    pub(crate) fn new<'t>(tokens: impl Iterator<Item = (&'t str, u32)>) -> Self {
        let tokens: Vec<_> = tokens.filter(|(token, _)| (1..=TOKEN_BYTES_MAX).contains(&token.len())).collect();
        let capacity = (tokens.len() * 2).next_power_of_two().max(2);
        let free = Slot { tag: 0, id: 0, start: 0, len: 0 };
        let mut map = Self { slots: vec![free; capacity], mask: capacity - 1, bytes: Vec::new(), longest: 0 };
        for (token, id) in tokens {
            map.insert(token.as_bytes(), id);
        }
        map
    }

    /// Id and length of the longest token that `text` begins with.
    pub(crate) fn longest_prefix(&self, text: &[u8]) -> Option<(u32, usize)> {
        let len = text.len().min(self.longest);
        let mut hashes = [0_u64; TOKEN_BYTES_MAX];
        let mut hash = FNV_OFFSET;
        for (slot, byte) in hashes.iter_mut().zip(&text[..len]) {
            hash = step(hash, *byte);
            *slot = hash;
        }
        (1..=len).rev().find_map(|len| Some((self.get(hashes[len - 1], &text[..len])?, len)))
    }

    fn get(&self, hash: u64, token: &[u8]) -> Option<u32> {
        let mut at = self.index(hash);
        loop {
            let slot = self.slots[at];
            if slot.len == 0 {
                return None;
            }
            if slot.tag == tag(hash) && self.token(slot) == token {
                return Some(slot.id);
            }
            at = (at + 1) & self.mask;
        }
    }

    fn insert(&mut self, token: &[u8], id: u32) {
        let hash = token.iter().fold(FNV_OFFSET, |hash, byte| step(hash, *byte));
        let mut at = self.index(hash);
        while self.slots[at].len != 0 {
            at = (at + 1) & self.mask;
        }
        self.slots[at] = Slot { tag: tag(hash), id, start: self.bytes.len() as u32, len: token.len() as u32 };
        self.bytes.extend_from_slice(token);
        self.longest = self.longest.max(token.len());
    }

    fn token(&self, slot: Slot) -> &[u8] {
        &self.bytes[slot.start as usize..(slot.start + slot.len) as usize]
    }

    /// FNV's low bits are weak for short strings: the high ones are folded in.
    fn index(&self, hash: u64) -> usize {
        (hash ^ (hash >> 29)) as usize & self.mask
    }
}

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_map_and_an_empty_text_find_nothing() {
        assert_eq!(TokenMap::new([("", 1)].into_iter()).longest_prefix(b"a"), None);
        assert_eq!(TokenMap::new([("a", 1)].into_iter()).longest_prefix(b""), None);
    }

    proptest! {
        #[test]
        fn equals_trying_every_token(
            tokens in prop::collection::btree_set("[ab]{1,5}", 0..30), text in "[abc]{0,12}",
        ) {
            let numbered: Vec<(&str, u32)> = tokens.iter().map(String::as_str).zip(0..).collect();
            let map = TokenMap::new(numbered.iter().copied());
            let slow = numbered.iter().filter(|(t, _)| text.starts_with(t)).max_by_key(|(t, _)| t.len());
            prop_assert_eq!(map.longest_prefix(text.as_bytes()), slow.map(|(t, id)| (*id, t.len())));
        }
    }
}
