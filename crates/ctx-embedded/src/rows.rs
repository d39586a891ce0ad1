//! Passages by place, from the segments' passage files.

use crate::error::EmbeddedError;
use crate::view::SourceView;
use ctx_duckdb::PassageRow;
use ctx_types::Passage;

/// Segment of a view and ordinal in it.
pub(crate) type Spot = (usize, u32);

/// The passage at this place.
pub(crate) fn passage(view: &SourceView, (segment, ordinal): Spot) -> Result<Passage, EmbeddedError> {
    Ok(view.segments[segment].open.passages()?.read(ordinal, &view.name)?)
}

/// What the database counts of a passage; it numbers the row.
pub(crate) fn row(passage: &Passage) -> PassageRow {
    PassageRow {
        byte_start: passage.locator.bytes.start,
        byte_end: passage.locator.bytes.end,
        line_start: passage.locator.line_start,
        line_end: passage.locator.line_end,
        section: passage.locator.section.clone(),
        tokens: passage.tokens,
        ..PassageRow::default()
    }
}
