//! Token counts under o200k: exact, with words counted once and remembered.
//!
//! Byte-pair encoding first splits a text into pieces and merges within a piece only, so a text may be counted part by part
//! wherever one piece ends whatever stands around it. Two such places are used:
//! - before a blank that follows anything but white space: a blank stands inside a piece only in a run of white space;
//! - before a letter or digit that follows a line feed: no piece goes on from a line end to either, and a run of white
//!   space that ends in a line feed is one piece whatever follows it.

use std::cell::RefCell;
use tiktoken_rs::{CoreBPE, o200k_base_singleton};

/// Counts o200k tokens. Text that looks like a special token is ordinary text.
#[derive(Clone, Copy)]
pub struct O200k(&'static CoreBPE);

impl std::fmt::Debug for O200k {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("O200k")
    }
}

impl Default for O200k {
    fn default() -> Self {
        O200k::new()
    }
}

impl O200k {
    /// The counter; its tables are built at the first call of the process.
    pub fn new() -> O200k {
        O200k(o200k_base_singleton())
    }

    /// Tokens of `text`.
    pub fn tokens(&self, text: &str) -> u32 {
        COUNTS.with_borrow_mut(|counts| counts.count(self.0, text))
    }
}

impl ctx_contracts::TokenCounter for O200k {
    fn family(&self) -> &str {
        "o200k"
    }

    fn count(&self, text: &str) -> u32 {
        self.tokens(text)
    }
}

impl ctx_ingest::TokenCounter for O200k {
    fn count(&self, text: &str) -> u32 {
        self.tokens(text)
    }
}

thread_local! {
    static COUNTS: RefCell<Counts> = RefCell::new(Counts::new());
}

/// Slots of the table of remembered words: a power of two; a word that needs a taken slot replaces what is there.
const SLOTS: usize = 1 << 15;
/// Longest remembered word in bytes, the blank before it included.
const WORD_BYTES_MAX: usize = 16;

/// A remembered word: its bytes, how many, and how many tokens it has.
#[derive(Clone, Copy, Default)]
struct Slot {
    word: u128,
    bytes: u8,
    tokens: u8,
}

/// A direct-mapped table from short words to their counts.
struct Counts {
    slots: Vec<Slot>,
}

impl Counts {
    fn new() -> Counts {
        Counts { slots: vec![Slot::default(); SLOTS] }
    }

    fn count(&mut self, bpe: &CoreBPE, text: &str) -> u32 {
        let bytes = text.as_bytes();
        let (mut total, mut start) = (0_u64, 0);
        for at in 1..bytes.len() {
            if is_boundary(bytes[at - 1], bytes[at]) {
                total += self.part(bpe, &text[start..at]);
                start = at;
            }
        }
        total += self.part(bpe, &text[start..]);
        u32::try_from(total).unwrap_or(u32::MAX)
    }

    fn part(&mut self, bpe: &CoreBPE, part: &str) -> u64 {
        let bytes = part.as_bytes();
        if bytes.is_empty() || bytes.len() > WORD_BYTES_MAX {
            return ordinary(bpe, part);
        }
        let mut padded = [0_u8; WORD_BYTES_MAX];
        padded[..bytes.len()].copy_from_slice(bytes);
        let word = u128::from_le_bytes(padded);
        let mixed = ((word as u64) ^ ((word >> 64) as u64).rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &mut self.slots[(mixed >> 49) as usize];
        if slot.word != word || usize::from(slot.bytes) != bytes.len() {
            // At most 16 bytes, so at most 16 tokens.
            *slot = Slot { word, bytes: bytes.len() as u8, tokens: ordinary(bpe, part) as u8 };
        }
        u64::from(slot.tokens)
    }
}

fn ordinary(bpe: &CoreBPE, text: &str) -> u64 {
    if text.is_empty() { 0 } else { bpe.count_ordinary(text) as u64 }
}

/// Whether a piece ends between these bytes whatever stands around them. A byte beyond ASCII may end a kind of white space.
fn is_boundary(before: u8, here: u8) -> bool {
    match here {
        b' ' => before.is_ascii() && !before.is_ascii_whitespace() && before != 0x0b,
        _ => before == b'\n' && here.is_ascii_alphanumeric(),
    }
}
