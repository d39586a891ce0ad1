//! Cuts what is too large for one passage: at line ends, else sentence ends, else blanks, else between graphemes.
//!
//! Linear: each byte is looked at a bounded number of times and counted once.

use super::ChunkOptions;
use crate::tokens::TokenCounter;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Lines are counted in groups of at least this many bytes: a call of the counter is dear, a line is short.
const GROUP_BYTES: usize = 256;
/// A sentence longer than this is cut inside.
const SENTENCE_BYTES_MAX: usize = 1024;
/// Largest piece that is cut without regard to sentences.
const ATOM_BYTES_MAX: usize = 256;
/// Bytes per token above which text is not counted before it is cut: it is too large for any tokenizer but for blanks.
const BYTES_PER_TOKEN_MAX: usize = 16;

/// The smallest thing that is packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Where it stands.
    pub(crate) range: Range<usize>,
    /// Index of its section.
    pub(crate) section: u32,
    /// Its tokens, trailing blanks included.
    pub(crate) tokens: u32,
    /// Whether it begins inside a line: then sums of tokens are estimates.
    pub(crate) is_inline: bool,
}

/// Cuts one block into units of at most `max_tokens`.
pub(crate) struct Splitter<'a> {
    /// The whole text.
    pub(crate) text: &'a str,
    /// Counts tokens.
    pub(crate) counter: &'a dyn TokenCounter,
    /// Bounds.
    pub(crate) bounds: ChunkOptions,
}

impl Splitter<'_> {
    /// Appends the units of `range` to `units`.
    pub(crate) fn split(&self, range: Range<usize>, section: u32, units: &mut Vec<Unit>) {
        if let Some(tokens) = self.fits(&range) {
            units.push(Unit { range, section, tokens, is_inline: false });
            return;
        }
        let mut group = range.start..range.start;
        for line in super::layout::lines(&self.text[range.clone()]) {
            group.end = range.start + line.end;
            if group.len() >= GROUP_BYTES.min(self.bounds.max_tokens as usize) {
                self.group(group.clone(), section, units);
                group.start = group.end;
            }
        }
        if !group.is_empty() {
            self.group(group, section, units);
        }
    }

    /// Tokens of a range that is not larger than a passage.
    fn fits(&self, range: &Range<usize>) -> Option<u32> {
        let max = self.bounds.max_tokens;
        if range.len() > max as usize * BYTES_PER_TOKEN_MAX {
            return None;
        }
        let tokens = self.counter.count(&self.text[range.clone()]);
        (tokens <= max).then_some(tokens)
    }

    /// A few lines, the last of which made the group large enough.
    fn group(&self, range: Range<usize>, section: u32, units: &mut Vec<Unit>) {
        if let Some(tokens) = self.fits(&range) {
            units.push(Unit { range, section, tokens, is_inline: false });
            return;
        }
        for line in super::layout::lines(&self.text[range.clone()]) {
            let line = range.start + line.start..range.start + line.end;
            match self.fits(&line) {
                Some(tokens) => units.push(Unit { range: line, section, tokens, is_inline: false }),
                None => self.line(line, section, units),
            }
        }
    }

    fn line(&self, line: Range<usize>, section: u32, units: &mut Vec<Unit>) {
        let mut start = line.start;
        while start < line.end {
            let end = self.sentence_end(start, line.end);
            let sentence = start..end;
            match self.fits(&sentence) {
                Some(tokens) if sentence.len() <= SENTENCE_BYTES_MAX => {
                    units.push(Unit { range: sentence, section, tokens, is_inline: start > line.start });
                }
                _ => self.atoms(sentence, section, start > line.start, units),
            }
            start = end;
        }
    }

    /// One past the first sentence end after `start`, looking no further than a sentence may be long.
    fn sentence_end(&self, start: usize, end: usize) -> usize {
        let bytes = self.text.as_bytes();
        let limit = end.min(start + SENTENCE_BYTES_MAX);
        for at in start..limit {
            let is_latin_end = matches!(bytes[at], b'.' | b'!' | b'?') && bytes.get(at + 1) == Some(&b' ');
            // "。", "！", "？" are E3 80 82, EF BC 81, EF BC 9F.
            let is_wide_end =
                at >= start + 2 && matches!(&bytes[at - 2..=at], [0xE3, 0x80, 0x82] | [0xEF, 0xBC, 0x81] | [0xEF, 0xBC, 0x9F]);
            if is_latin_end || is_wide_end {
                return at + 1;
            }
        }
        if limit == end { end } else { self.atom_end(start, limit, end) }
    }

    fn atoms(&self, range: Range<usize>, section: u32, is_inline: bool, units: &mut Vec<Unit>) {
        let size = ATOM_BYTES_MAX.min(self.bounds.max_tokens as usize);
        let mut start = range.start;
        while start < range.end {
            let end = if range.end - start <= size { range.end } else { self.atom_end(start, start + size, range.end) };
            let tokens = self.counter.count(&self.text[start..end]);
            let is_inline = is_inline || start > range.start;
            units.push(Unit { range: start..end, section, tokens, is_inline });
            start = end;
        }
    }

    /// The best place to cut in the second half of `start..limit`: before a blank, after punctuation, between graphemes.
    fn atom_end(&self, start: usize, limit: usize, end: usize) -> usize {
        let limit = self.text.floor_char_boundary(limit.min(end));
        let half = start + (limit - start) / 2;
        let window = &self.text.as_bytes()[half..limit];
        if let Some(at) = memchr::memrchr(b' ', window).filter(|at| half + at > start) {
            return half + at;
        }
        let is_stop = |b: &u8| matches!(b, b',' | b';' | b'}' | b']' | b')' | b'>' | b'\n');
        if let Some(at) = window.iter().rposition(is_stop) {
            return half + at + 1;
        }
        // One grapheme beyond the limit is needed to know that the limit is a boundary.
        let beyond = self.text.floor_char_boundary((limit + ATOM_BYTES_MAX).min(end));
        let boundary = self.text[start..beyond].grapheme_indices(true).map(|(at, _)| start + at);
        let last = boundary.take_while(|at| *at <= limit).last().filter(|at| *at > start);
        let first_char = start + self.text[start..].chars().next().map_or(1, char::len_utf8);
        last.unwrap_or(limit).max(first_char)
    }
}
