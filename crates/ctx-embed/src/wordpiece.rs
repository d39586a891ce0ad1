//! BERT's uncased WordPiece at indexing speed: clean, lower-case, strip accents, split, longest match first.
//!
//! Gives the ids of the `tokenizers` crate for the same `tokenizer.json` (a property test holds it to that), without
//! offsets or allocation per word. Text is read in segments between ASCII blanks; a pure ASCII segment takes the short
//! way, any other the whole normalizer. Unicode tables are those that `tokenizers` uses, old ones, for equal ids.
//!
//! Not here: special tokens. `[CLS]` in a text is a bracket, a word and a bracket.

use unicode_normalization_alignments::UnicodeNormalization;

use crate::char_class::{BLANK, DROPPED, IDEOGRAPH, MARK, PUNCTUATION, class};
use crate::memo::Memo;
use crate::token_map::TokenMap;

/// A segment is normalised in pieces of at most this many bytes, so that one without blanks needs bounded memory.
/// The result differs from normalising it whole only if a run of combining marks spans the cut.
const SEGMENT_BYTES_MAX: usize = 1 << 16;

/// Vocabulary of a WordPiece model with BERT's uncased normalizer.
#[derive(Debug)]
pub(crate) struct WordPiece {
    /// Tokens that begin a word.
    first: TokenMap,
    /// Tokens that continue one, without their prefix.
    next: TokenMap,
    /// Longer words are unknown.
    word_chars_max: usize,
    vocabulary_len: usize,
}

/// Where ids go, and the words that were spelled before.
struct Ids<'a> {
    ids: &'a mut Vec<u32>,
    memo: &'a mut Memo,
}

/// The word under construction.
#[derive(Default)]
struct Word {
    text: String,
    chars: usize,
}

impl WordPiece {
    /// From a vocabulary and the prefix of continuing tokens (`##`).
    pub(crate) fn new(vocabulary: &[(String, u32)], prefix: &str, word_chars_max: usize) -> Self {
        let first = vocabulary.iter().map(|(token, id)| (token.as_str(), *id));
        let next = vocabulary.iter().filter_map(|(token, id)| Some((token.strip_prefix(prefix)?, *id)));
        let vocabulary_len = vocabulary.iter().map(|(_, id)| *id as usize + 1).max().unwrap_or(0);
        Self { first: TokenMap::new(first), next: TokenMap::new(next), word_chars_max, vocabulary_len }
    }

    /// Every id is below this.
    pub(crate) fn vocabulary_len(&self) -> usize {
        self.vocabulary_len
    }

    /// Appends the ids of `text`; words that cannot be spelled with the vocabulary are left out.
    pub(crate) fn tokenize_into(&self, text: &str, memo: &mut Memo, ids: &mut Vec<u32>) {
        let mut word = Word::default();
        let ids = &mut Ids { ids, memo };
        for segment in text.split(is_ascii_blank).filter(|segment| !segment.is_empty()) {
            if segment.len() <= SEGMENT_BYTES_MAX && segment.bytes().all(|byte| byte.is_ascii_graphic()) {
                self.ascii_segment(segment, &mut word.text, ids);
            } else {
                self.unicode_segment(segment, &mut word, ids);
            }
        }
    }

    fn ascii_segment(&self, segment: &str, lowered: &mut String, ids: &mut Ids<'_>) {
        lowered.clear();
        lowered.push_str(segment);
        lowered.make_ascii_lowercase();
        let mut start = 0;
        for (at, byte) in lowered.bytes().enumerate() {
            if byte.is_ascii_punctuation() {
                self.word(&lowered.as_bytes()[start..at], at - start, ids);
                self.word(&lowered.as_bytes()[at..=at], 1, ids);
                start = at + 1;
            }
        }
        self.word(&lowered.as_bytes()[start..], lowered.len() - start, ids);
        lowered.clear();
    }

    fn unicode_segment(&self, segment: &str, word: &mut Word, ids: &mut Ids<'_>) {
        let mut rest = segment;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(SEGMENT_BYTES_MAX));
            rest = after;
            for c in normalized(piece) {
                self.push(c, word, ids);
            }
        }
        self.flush(word, ids);
    }

    fn push(&self, c: char, word: &mut Word, ids: &mut Ids<'_>) {
        let class = class(c);
        if class & BLANK != 0 {
            self.flush(word, ids);
        } else if class & PUNCTUATION != 0 {
            self.flush(word, ids);
            word.push(c, self.word_chars_max);
            self.flush(word, ids);
        } else {
            word.push(c, self.word_chars_max);
        }
    }

    fn flush(&self, word: &mut Word, ids: &mut Ids<'_>) {
        self.word(word.text.as_bytes(), word.chars, ids);
        word.text.clear();
        word.chars = 0;
    }

    fn word(&self, word: &[u8], chars: usize, to: &mut Ids<'_>) {
        if !word.is_empty() && chars <= self.word_chars_max {
            to.memo.ids(word, to.ids, |ids| self.spell(word, ids));
        }
    }

    /// Longest match first; a word with a part that matches nothing is unknown as a whole.
    fn spell(&self, word: &[u8], ids: &mut Vec<u32>) {
        let begin = ids.len();
        let mut start = 0;
        let mut map = &self.first;
        while start < word.len() {
            let Some((id, len)) = map.longest_prefix(&word[start..]) else {
                ids.truncate(begin);
                return;
            };
            ids.push(id);
            start += len;
            map = &self.next;
        }
    }
}

impl Word {
    /// Keeps counting after the limit, but stores nothing more: the word is unknown already.
    fn push(&mut self, c: char, chars_max: usize) {
        self.chars += 1;
        if self.chars <= chars_max {
            self.text.push(c);
        }
    }
}

/// The four blanks that BERT's cleaning keeps; other control characters vanish without ending a word.
fn is_ascii_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// BERT's normalizer: drop control characters, set ideographs apart, decompose, drop accents, lower-case.
fn normalized(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .map(|c| (c, class(c)))
        .filter(|(_, class)| class & DROPPED == 0)
        .flat_map(|(c, class)| {
            let apart = (class & IDEOGRAPH != 0).then_some(' ');
            apart.into_iter().chain(std::iter::once(c)).chain(apart)
        })
        .nfd()
        .map(|(c, _)| c)
        .filter(|c| class(*c) & MARK == 0)
        .flat_map(char::to_lowercase)
}
