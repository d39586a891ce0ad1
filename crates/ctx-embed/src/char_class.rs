//! What BERT's normalizer asks about a character, answered once per page of 256 characters: the category tables are
//! binary searches, a dozen for each character, and text that is not Latin asks for every one.
//!
//! Pages are filled at first use; a page is the same whoever fills it.

use std::sync::OnceLock;

use unicode_categories::UnicodeCategories;

/// Removed by cleaning: control, format and private-use characters, NUL, U+FFFD.
pub(crate) const DROPPED: u8 = 1;
/// Removed with the accents.
pub(crate) const MARK: u8 = 2;
/// A word of its own.
pub(crate) const PUNCTUATION: u8 = 4;
/// Set apart by blanks before it is decomposed.
pub(crate) const IDEOGRAPH: u8 = 8;
/// Ends a word.
pub(crate) const BLANK: u8 = 16;

const PAGE: usize = 256;
/// Pages of the basic plane; beyond it characters are rare and classified each time.
const PAGES: usize = 256;

static CLASSES: [OnceLock<Box<[u8; PAGE]>>; PAGES] = [const { OnceLock::new() }; PAGES];

/// The flags of a character.
pub(crate) fn class(c: char) -> u8 {
    let code = c as usize;
    match CLASSES.get(code / PAGE) {
        Some(page) => page.get_or_init(|| fill(code / PAGE))[code % PAGE],
        None => classify(c),
    }
}

fn fill(page: usize) -> Box<[u8; PAGE]> {
    Box::new(std::array::from_fn(|at| char::from_u32((page * PAGE + at) as u32).map_or(0, classify)))
}

fn classify(c: char) -> u8 {
    let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
    flag(is_dropped(c), DROPPED)
        | flag(c.is_mark_nonspacing(), MARK)
        | flag(c.is_ascii_punctuation() || c.is_punctuation(), PUNCTUATION)
        | flag(is_ideograph(c), IDEOGRAPH)
        | flag(c.is_whitespace(), BLANK)
}

fn is_dropped(c: char) -> bool {
    match c {
        '\0' | '\u{fffd}' => true,
        '\t' | '\n' | '\r' => false,
        _ => c.is_other(),
    }
}

/// The blocks that BERT splits character by character, as `tokenizers` lists them.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}
