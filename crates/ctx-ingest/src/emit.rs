//! Gives each cut its place on disk and hands it over.

use crate::chunk::pack::Cut;
use crate::document::Piece;
use crate::error::IngestError;
use crate::fingerprint::passage_id;
use crate::ingest::Sink;
use crate::offsets::{LineCounter, OffsetMap};
use ctx_types::id::sha256_hex;
use ctx_types::passage::Locator;
use ctx_types::{ByteRange, Passage, SourceName};
use std::ops::Range;

/// A decoded block of a file and the bytes it came from.
pub(crate) struct Place<'a> {
    /// Decoded text.
    pub(crate) text: &'a str,
    /// Offsets of `text` on disk.
    pub(crate) map: &'a OffsetMap,
    /// The block's bytes.
    pub(crate) bytes: &'a [u8],
    /// Where they begin on disk.
    pub(crate) base: u64,
    /// Counts the lines of `text`.
    pub(crate) lines: LineCounter,
}

/// What pieces of one document unit share.
pub(crate) struct Unit<'a> {
    /// Title of the passages.
    pub(crate) title: &'a str,
    /// Ordinal within the file.
    pub(crate) ordinal: u64,
    /// Language of the unit.
    pub(crate) language: &'static str,
}

/// Builds passages and hands them to the receiver.
pub(crate) struct Emitter<'a, 'b> {
    source: &'a SourceName,
    path: &'a str,
    sink: Sink<'b>,
    /// Passages handed over.
    pub(crate) count: u64,
    last: ByteRange,
    repeats: u32,
}

impl<'a, 'b> Emitter<'a, 'b> {
    pub(crate) fn new(source: &'a SourceName, path: &'a str, sink: Sink<'b>) -> Self {
        Self { source, path, sink, count: 0, last: ByteRange { start: u64::MAX, end: 0 }, repeats: 0 }
    }

    /// Hands over `text`, which stands at `at` of the decoded text.
    pub(crate) fn emit(
        &mut self,
        place: &mut Place<'_>,
        at: Range<usize>,
        text: &str,
        cut: Cut,
        unit: &Unit<'_>,
    ) -> Result<(), IngestError> {
        let start = place.map.start(at.start);
        let bytes = ByteRange { start, end: place.map.end(at.end).max(start) };
        let within = |offset: u64| usize::try_from(offset - place.base).map_or(place.bytes.len(), |n| n.min(place.bytes.len()));
        let fingerprint = sha256_hex(&place.bytes[within(bytes.start)..within(bytes.end)]);
        let locator = Locator {
            source: self.source.clone(),
            path: self.path.to_owned(),
            bytes,
            line_start: place.lines.line_at(place.text, at.start),
            line_end: place.lines.line_at(place.text, at.end.saturating_sub(1).max(at.start)),
            section: cut.section,
            also_at: Vec::new(),
        };
        let passage =
            Passage { id: self.id(bytes), locator, title: unit.title.to_owned(), text: text.to_owned(), fingerprint, tokens: cut.tokens };
        self.count += 1;
        let piece = Piece { passage, unit: unit.ordinal, language: unit.language };
        (self.sink)(piece).map_err(|cause| IngestError::Sink { path: self.path.to_owned(), cause })
    }

    /// Two pieces of one rendered value may stand at the same bytes (a label longer than a passage): they differ by a
    /// counter, so that ids stay unique.
    fn id(&mut self, bytes: ByteRange) -> String {
        self.repeats = if bytes == self.last { self.repeats + 1 } else { 0 };
        self.last = bytes;
        if self.repeats == 0 {
            return passage_id(self.path, bytes.start, bytes.end);
        }
        passage_id(&format!("{}+{}", self.path, self.repeats), bytes.start, bytes.end)
    }
}
