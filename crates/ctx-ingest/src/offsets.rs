//! Where a piece of text stands in what it was made from: decoded text in bytes on disk, rendered text in decoded text.
//!
//! A map is a list of runs with a constant ratio. Plain UTF-8 with LF has one run; a CRLF file has one per line; a legacy
//! encoding has one per non-ASCII character. Looking up is a binary search, so a range costs about as much as reading it.

/// A stretch of text whose bytes stand at a constant ratio to bytes of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// First byte in the text.
    from: u64,
    /// Where that byte stands in the origin.
    to: u64,
    /// Origin bytes per text byte; 0 for text that stands nowhere (labels, separators).
    step: u64,
}

/// Maps byte offsets of a text to byte offsets of its origin. Monotone in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetMap {
    runs: Vec<Run>,
    /// One past the last origin byte.
    end: u64,
}

impl OffsetMap {
    /// Text that stands unchanged at `base..base + length` of its origin.
    pub fn identity(base: u64, length: usize) -> Self {
        Self { runs: vec![Run { from: 0, to: base, step: 1 }], end: base + length as u64 }
    }

    /// A map to be filled with [`OffsetMap::push`].
    pub fn empty() -> Self {
        Self { runs: Vec::new(), end: 0 }
    }

    /// States that text from offset `from` on stands at `to` of the origin, `step` origin bytes per text byte.
    ///
    /// Calls come in rising order of `from` and `to`; a call that only continues the last run adds nothing.
    pub fn push(&mut self, from: usize, to: u64, step: u64) {
        let from = from as u64;
        if let Some(last) = self.runs.last_mut() {
            debug_assert!(last.from <= from && last.to <= to, "runs rise");
            if last.step == step && last.to + (from - last.from) * step == to {
                return;
            }
            if last.from == from {
                *last = Run { from, to, step };
                return;
            }
        }
        self.runs.push(Run { from, to, step });
    }

    /// States that the last text byte, `from`, was written in two parts (CR and LF), the second of which stands at `to`.
    ///
    /// It moves to the second part if the run before reaches exactly to the first; else it covers both.
    pub fn extend_to(&mut self, from: usize, to: u64, step: u64) {
        match self.runs.last_mut() {
            Some(last) if last.from == from as u64 => last.step = step * 2,
            _ => self.push(from, to, step),
        }
    }

    /// States where the origin ends.
    pub fn finish(&mut self, end: u64) {
        self.end = end;
    }

    /// Whether the text is its origin, byte for byte.
    pub fn is_identity(&self) -> bool {
        matches!(self.runs.as_slice(), [run] if run.step == 1)
    }

    /// Where the text byte at `offset` begins in the origin.
    pub fn start(&self, offset: usize) -> u64 {
        let offset = offset as u64;
        let Some(idx) = self.runs.partition_point(|run| run.from <= offset).checked_sub(1) else {
            return self.runs.first().map_or(self.end, |run| run.to);
        };
        self.within(idx, offset)
    }

    /// One past where the text byte before `offset` ends in the origin: what a half-open range ends with.
    pub fn end(&self, offset: usize) -> u64 {
        let offset = offset as u64;
        match self.runs.partition_point(|run| run.from < offset).checked_sub(1) {
            Some(idx) => self.within(idx, offset),
            None => self.runs.first().map_or(self.end, |run| run.to),
        }
    }

    fn within(&self, idx: usize, offset: u64) -> u64 {
        let run = self.runs[idx];
        let limit = self.runs.get(idx + 1).map_or(self.end, |next| next.to);
        (run.to + (offset - run.from) * run.step).min(limit)
    }
}

/// Counts lines while offsets rise; a step back starts over, so that it is right in any order.
#[derive(Clone, Debug)]
pub struct LineCounter {
    line_first: u32,
    at: usize,
    line: u32,
}

impl LineCounter {
    /// `line_first` is the 1-based line of the text's first byte.
    pub fn new(line_first: u32) -> Self {
        Self { line_first, at: 0, line: line_first }
    }

    /// 1-based line of the byte at `offset` of `text`.
    pub fn line_at(&mut self, text: &str, offset: usize) -> u32 {
        if offset < self.at {
            *self = Self::new(self.line_first);
        }
        let offset = offset.min(text.len());
        let passed = memchr::memchr_iter(b'\n', &text.as_bytes()[self.at..offset]).count();
        self.line = self.line.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        self.at = offset;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriage_returns_and_expanded_characters_are_skipped() {
        // "a\r\né" in windows-1252 is "a\né" decoded: 4 bytes on disk, 4 decoded, shifted differently.
        let mut map = OffsetMap::empty();
        map.push(0, 0, 1);
        map.push(1, 2, 1);
        map.push(2, 3, 1);
        map.finish(4);
        assert_eq!((map.start(0), map.end(1)), (0, 1));
        assert_eq!((map.start(1), map.end(2)), (2, 3));
        assert_eq!((map.start(2), map.end(4)), (3, 4));
    }

    #[test]
    fn labels_stand_nowhere() {
        let mut map = OffsetMap::empty();
        map.push(0, 10, 0);
        map.push(6, 10, 1);
        map.finish(15);
        assert_eq!((map.start(0), map.start(3), map.end(6), map.end(11)), (10, 10, 10, 15));
        assert!(!map.is_identity() && OffsetMap::identity(3, 9).is_identity());
    }

    #[test]
    fn lines_count_from_the_given_one() {
        let mut lines = LineCounter::new(7);
        let text = "a\nb\nc";
        assert_eq!((lines.line_at(text, 0), lines.line_at(text, 2), lines.line_at(text, 5)), (7, 8, 9));
        assert_eq!(lines.line_at(text, 1), 7);
    }
}
