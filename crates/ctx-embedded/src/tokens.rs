//! Token counts under o200k: exact, with ordinary words counted once and remembered.
//!
//! Byte-pair encoding first splits a text into pieces and merges within a piece only, so the count of a text is the sum
//! over its pieces and a piece's count never changes.

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
/// Longest remembered word in bytes.
const WORD_BYTES_MAX: usize = 16;

/// A direct-mapped table from short ASCII words (with the blank before them) to their count.
struct Counts {
    words: Vec<([u8; WORD_BYTES_MAX], u8, u8)>,
}

impl Counts {
    fn new() -> Counts {
        Counts { words: vec![([0; WORD_BYTES_MAX], 0, 0); SLOTS] }
    }

    fn count(&mut self, bpe: &CoreBPE, text: &str) -> u32 {
        let bytes = text.as_bytes();
        let mut total = 0_u64;
        let mut rest = 0; // everything before it is counted
        let mut at = 0;
        while at < bytes.len() {
            match plain_word(bytes, at) {
                Some(end) => {
                    total += ordinary(bpe, &text[rest..at]);
                    total += self.word(bpe, &text[at..end]);
                    rest = end;
                    at = end;
                }
                None => at += 1,
            }
        }
        total += ordinary(bpe, &text[rest..]);
        u32::try_from(total).unwrap_or(u32::MAX)
    }

    fn word(&mut self, bpe: &CoreBPE, word: &str) -> u64 {
        let bytes = word.as_bytes();
        let mut key = [0_u8; WORD_BYTES_MAX];
        key[..bytes.len()].copy_from_slice(bytes);
        let number = u128::from_le_bytes(key);
        let mixed = ((number as u64) ^ ((number >> 64) as u64).rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &mut self.words[(mixed >> 49) as usize];
        if slot.1 as usize == bytes.len() && slot.0 == key {
            return u64::from(slot.2);
        }
        let tokens = ordinary(bpe, word);
        // A word of 16 bytes has at most 16 tokens.
        *slot = (key, bytes.len() as u8, tokens as u8);
        tokens
    }
}

fn ordinary(bpe: &CoreBPE, text: &str) -> u64 {
    if text.is_empty() { 0 } else { bpe.count_ordinary(text) as u64 }
}

/// The end of ` ?[A-Z]?[a-z]+` at `at`, where that is a piece of o200k by itself whatever stands around it.
///
/// Before it: a blank of its own after something that a blank cannot belong to, and after it a character that ends the
/// piece. o200k's pieces of letters are `[^\r\n\p{L}\p{N}]?[\p{Lu}…]*[\p{Ll}…]+` with a contraction: an apostrophe, any
/// further letter and any byte beyond ASCII (it may be a letter or a mark) are therefore left to the tokenizer.
fn plain_word(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at] != b' ' || at == 0 || !bytes[at - 1].is_ascii_alphanumeric() && !matches!(bytes[at - 1], b',' | b'.' | b';' | b':' | b')')
    {
        return None;
    }
    let start = at + 1;
    let mut end = start;
    if bytes.get(end).is_some_and(u8::is_ascii_uppercase) {
        end += 1;
    }
    let lower = end;
    while bytes.get(end).is_some_and(u8::is_ascii_lowercase) {
        end += 1;
    }
    let ends = bytes.get(end).is_none_or(|next| next.is_ascii() && !next.is_ascii_alphanumeric() && *next != b'\'');
    (end > lower && ends && end - at <= WORD_BYTES_MAX).then_some(end)
}
