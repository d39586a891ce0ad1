//! Blocks to passages: short neighbours of one section together, nothing above the bound.

use super::ChunkOptions;
use super::layout::{Join, Layout};
use super::split::{Splitter, Unit};
use crate::tokens::TokenCounter;
use std::ops::Range;

/// Part of the target below which a piece is too small to stand alone.
const SMALL_PART: u32 = 4;
/// The same for a definition in code: a two-line function is still worth its own citation.
const SMALL_PART_SYMBOL: u32 = 8;
/// Longest last line that is counted again to correct a sum; longer ones are counted with their passage.
const LAST_LINE_BYTES_MAX: usize = 2048;

/// A passage before it is given its place on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Where it stands in the text, without surrounding blank lines.
    pub(crate) range: Range<usize>,
    /// Section label.
    pub(crate) section: String,
    /// Its tokens.
    pub(crate) tokens: u32,
}

/// Cuts `text` along `layout` and hands each cut to `emit`, in order, with whether it is the last.
pub(crate) fn pack<E>(
    text: &str,
    layout: &Layout,
    bounds: ChunkOptions,
    counter: &dyn TokenCounter,
    mut emit: impl FnMut(Cut, bool) -> Result<(), E>,
) -> Result<(), E> {
    let splitter = Splitter { text, counter, bounds };
    let mut units = Vec::with_capacity(layout.blocks.len());
    for block in &layout.blocks {
        if !text[block.range.clone()].trim().is_empty() {
            splitter.split(block.range.clone(), block.section, &mut units);
        }
    }
    units.retain(|unit| !text[unit.range.clone()].trim().is_empty());
    let packer = Packer { text, layout, bounds, counter, units: &units };
    let mut at = 0;
    while at < units.len() {
        let (cut, next) = packer.cut(at);
        emit(cut, next == units.len())?;
        at = next;
    }
    Ok(())
}

struct Packer<'a> {
    text: &'a str,
    layout: &'a Layout,
    bounds: ChunkOptions,
    counter: &'a dyn TokenCounter,
    units: &'a [Unit],
}

impl Packer<'_> {
    /// The passage that begins with unit `at`, and the unit after it.
    fn cut(&self, at: usize) -> (Cut, usize) {
        let mut end = self.choose_end(at);
        loop {
            let range = self.trimmed(at, end);
            let tokens = self.tokens(at, end, &range);
            if tokens <= self.bounds.max_tokens || end == at + 1 {
                let section = self.layout.sections.label(self.units[at..end].iter().map(|unit| unit.section));
                return (Cut { range, section, tokens }, end);
            }
            end -= 1;
        }
    }

    fn choose_end(&self, at: usize) -> usize {
        if at == 0 && self.layout.join == Join::Prose && self.total_within_max() {
            return self.units.len();
        }
        let (mut end, mut sum) = (at + 1, self.units[at].tokens);
        while end < self.units.len() && self.joins(at, end, sum) {
            sum += self.units[end].tokens;
            end += 1;
        }
        self.with_small_rest(end, sum)
    }

    fn total_within_max(&self) -> bool {
        let mut sum = 0_u32;
        self.units.iter().all(|unit| {
            sum = sum.saturating_add(unit.tokens);
            sum <= self.bounds.max_tokens
        })
    }

    fn joins(&self, at: usize, end: usize, sum: u32) -> bool {
        let (last, next) = (&self.units[end - 1], &self.units[end]);
        if sum.saturating_add(next.tokens) > self.bounds.target_tokens {
            return false;
        }
        if last.section == next.section {
            return true;
        }
        match self.layout.join {
            Join::Prose => sum < self.small() || (next.tokens < self.small() && self.section_ends_at(end + 1)),
            Join::Symbols => {
                let related = self.layout.sections.are_related(self.units[at].section, next.section);
                related && sum < self.small() && next.tokens < self.small()
            }
        }
    }

    fn small(&self) -> u32 {
        let part = if self.layout.join == Join::Prose { SMALL_PART } else { SMALL_PART_SYMBOL };
        self.bounds.target_tokens / part
    }

    fn section_ends_at(&self, idx: usize) -> bool {
        self.units.get(idx).is_none_or(|unit| unit.section != self.units[idx - 1].section)
    }

    /// Takes the rest of a section too, if it would be a tiny passage of its own.
    fn with_small_rest(&self, end: usize, mut sum: u32) -> usize {
        let section = self.units[end - 1].section;
        let mut rest = 0;
        for (idx, unit) in self.units.iter().enumerate().skip(end) {
            if unit.section != section {
                return idx;
            }
            rest += unit.tokens;
            sum = sum.saturating_add(unit.tokens);
            if rest >= self.small() || sum > self.bounds.max_tokens {
                return end;
            }
        }
        self.units.len()
    }

    /// The text of the units without blank lines around it. A cut inside a line keeps its blanks: nothing is lost there.
    fn trimmed(&self, at: usize, end: usize) -> Range<usize> {
        let (start, stop) = (self.units[at].range.start, self.units[end - 1].range.end);
        let text = &self.text[start..stop];
        let body = text.trim_end();
        let is_line_end = stop == self.text.len() || text[body.len()..].contains('\n');
        let stop = if is_line_end { start + body.len() } else { stop };
        let lead = text.len() - text.trim_start().len();
        let lead = text[..lead].rfind('\n').map_or(0, |line_end| line_end + 1);
        start + lead..stop
    }

    /// Sums where sums are exact, counts where they are not.
    fn tokens(&self, at: usize, end: usize, range: &Range<usize>) -> u32 {
        let units = &self.units[at..end];
        let untrimmed = range.start == units[0].range.start && range.end == units[units.len() - 1].range.end;
        if untrimmed && units.len() == 1 {
            return units[0].tokens;
        }
        let last_line = self.text[range.clone()].rfind('\n').map_or(range.start, |line_end| range.start + line_end + 1);
        let is_exact = units.iter().skip(1).all(|unit| !unit.is_inline)
            && range.start == units[0].range.start
            && range.end - last_line <= LAST_LINE_BYTES_MAX;
        if !is_exact {
            return self.counter.count(&self.text[range.clone()]);
        }
        let sum = units.iter().fold(0_u32, |sum, unit| sum.saturating_add(unit.tokens));
        if untrimmed {
            return sum;
        }
        let with_blanks = self.counter.count(&self.text[last_line..units[units.len() - 1].range.end]);
        let without = self.counter.count(&self.text[last_line..range.end]);
        (sum + without).saturating_sub(with_blanks)
    }
}
