//! Token counts under o200k: exact, with pieces counted once and remembered.
//!
//! Byte-pair encoding first splits a text into pieces and merges within a piece only, so a text may be counted part by part
//! wherever one piece ends whatever stands around it. Two such places are used:
//! - before a blank that follows anything but white space: a blank stands inside a piece only in a run of white space;
//! - before a letter or digit that follows a line feed: no piece goes on from a line end to either, and a run of white
//!   space that ends in a line feed is one piece whatever follows it.
//!
//! A part in ASCII is cut into its `pieces` here; any other goes to the encoder as it is.

use crate::pieces::piece;
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

/// Slots of the table of remembered pieces: a power of two; a piece that needs a taken slot replaces what is there.
const SLOTS: usize = 1 << 18;
/// Longest remembered piece in bytes, the blank before it included: with its length it fits sixteen.
const PIECE_BYTES_MAX: usize = 15;

/// A direct-mapped table from short pieces to their counts. No piece is empty, so an empty slot is no piece's.
struct Counts {
    pieces: Vec<u128>,
    tokens: Vec<u8>,
}

impl Counts {
    fn new() -> Counts {
        Counts { pieces: vec![0; SLOTS], tokens: vec![0; SLOTS] }
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
        if !part.is_ascii() {
            return self.piece(bpe, part);
        }
        let (mut total, mut rest) = (0, part);
        while !rest.is_empty() {
            let (first, after) = rest.split_at(piece(rest.as_bytes()));
            total += self.piece(bpe, first);
            rest = after;
        }
        total
    }

    fn piece(&mut self, bpe: &CoreBPE, piece: &str) -> u64 {
        let bytes = piece.as_bytes();
        if bytes.is_empty() || bytes.len() > PIECE_BYTES_MAX {
            return ordinary(bpe, piece);
        }
        let mut padded = [0_u8; 16];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded[15] = bytes.len() as u8;
        let key = u128::from_le_bytes(padded);
        let mixed = ((key as u64) ^ ((key >> 64) as u64).rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = (mixed >> (64 - SLOTS.trailing_zeros())) as usize;
        if self.pieces[slot] != key {
            // At most fifteen bytes, so at most fifteen tokens.
            self.tokens[slot] = ordinary(bpe, piece) as u8;
            self.pieces[slot] = key;
        }
        u64::from(self.tokens[slot])
    }
}

fn ordinary(bpe: &CoreBPE, text: &str) -> u64 {
    windows(text).map(|window| bpe.count_ordinary(window) as u64).sum()
}

/// Bytes of a run without a blank from which it is counted in windows: merging is quadratic in the length of a piece, and a
/// megabyte of one letter would take minutes. A cut adds at most a token or two to thousands.
const WINDOW_BYTES: usize = 8 * 1024;

/// The text whole, or, where it holds a run of more than a window without a blank, cut into windows: at a blank where there
/// is one in a window's second half, else between two characters.
pub(crate) fn windows(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let whole = text.len() <= WINDOW_BYTES || text.split([' ', '\n']).all(|run| run.len() <= WINDOW_BYTES);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if whole || rest.len() <= WINDOW_BYTES { rest.len() } else { cut(rest) };
        let (window, behind) = rest.split_at(end);
        rest = behind;
        Some(window)
    })
}

fn cut(text: &str) -> usize {
    let mut end = WINDOW_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let bytes = text.as_bytes();
    (WINDOW_BYTES / 2..end).rev().find(|at| is_boundary(bytes[at - 1], bytes[*at])).unwrap_or(end)
}

/// Whether a piece ends between these bytes whatever stands around them. A byte beyond ASCII may end a kind of white space.
fn is_boundary(before: u8, here: u8) -> bool {
    match here {
        b' ' => before.is_ascii() && !before.is_ascii_whitespace() && before != 0x0b,
        _ => before == b'\n' && here.is_ascii_alphanumeric(),
    }
}
