//! Hits for tests of ranking and packing.

use ctx_types::passage::{ByteRange, Locator};
use ctx_types::{AccessPath, Hit, Passage, SourceName};

/// A hit of source `docs`: a hundred tokens of `text` from `start` on.
pub(crate) fn hit(path: &str, start: u64, text: &str, score: f64) -> Hit {
    let source = SourceName::new("docs").expect("a literal name");
    let bytes = ByteRange { start, end: start + text.len() as u64 };
    let locator = Locator { source, path: path.into(), bytes, line_start: 1, line_end: 2, section: String::new(), also_at: Vec::new() };
    let id = if start == 0 { path.to_owned() } else { format!("{path}#{start}") };
    let passage = Passage { id, locator, title: path.into(), text: text.into(), fingerprint: String::new(), tokens: 100 };
    Hit { passage, score, rank: 1, path: AccessPath::Bm25, exact: false }
}
