//! A set of words that answers "certainly not in the list" with one look: most words of a goal are in no list, and every
//! word is asked for in several.

/// Bits of a filter. A thousand words set one bit in sixteen.
const BITS: usize = 1 << 14;
/// Bytes of a word that its key is made from.
const KEY_BYTES: usize = 8;

/// The words of a list, by key.
pub(crate) struct Filter([u64; BITS / 64]);

/// A word's place in every filter.
pub(crate) fn key(word: &str) -> u16 {
    let seed = 0x811c_9dc5u32 ^ word.len() as u32;
    let hash = word.bytes().take(KEY_BYTES).fold(seed, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    ((hash ^ (hash >> 15)) as usize % BITS) as u16
}

impl Filter {
    /// A filter of these words.
    pub(crate) fn of<'a>(words: impl Iterator<Item = &'a str>) -> Filter {
        let mut bits = [0; BITS / 64];
        for at in words.map(|word| usize::from(key(word))) {
            bits[at / 64] |= 1 << (at % 64);
        }
        Filter(bits)
    }

    /// Whether a word with this key may be in the list.
    pub(crate) fn may_hold(&self, key: u16) -> bool {
        self.0[usize::from(key) / 64] & (1 << (key % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_words_are_never_missed_and_few_others_pass() {
        let listed: Vec<String> = (0..1_000).map(|n| format!("word{n}")).collect();
        let filter = Filter::of(listed.iter().map(String::as_str));
        assert!(listed.iter().all(|word| filter.may_hold(key(word))));
        let strangers = (0..1_000).filter(|n| filter.may_hold(key(&format!("other{n}x")))).count();
        assert!(strangers < 200, "{strangers} of 1000 strangers pass");
    }
}
