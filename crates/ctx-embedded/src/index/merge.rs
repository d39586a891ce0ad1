//! Several segments into new ones, without what was deleted. Passages with their token counts are copied; terms and vectors
//! are made again.

use crate::error::EmbeddedError;
use crate::segment::SegmentsBuilder;
use crate::segment::build::Place;
use crate::view::ViewedSegment;
use ctx_duckdb::DocumentRow;
use ctx_store::SegmentId;
use ctx_types::SourceName;
use std::collections::BTreeMap;

/// Documents read at a time.
const DOCUMENTS_BATCH: u32 = 1024;

/// Where the documents of the old segments went.
#[derive(Default)]
pub(crate) struct Moved {
    places: BTreeMap<(SegmentId, u32), Place>,
}

impl Moved {
    /// The new place of a document.
    pub(crate) fn place(&self, segment: &SegmentId, document: u32) -> Option<Place> {
        self.places.get(&(segment.clone(), document)).copied()
    }
}

/// Copies what is visible in `segment` into the builder.
pub(crate) fn copy(
    source: &SourceName,
    segment: &ViewedSegment,
    builder: &mut SegmentsBuilder<'_>,
    moved: &mut Moved,
) -> Result<(), EmbeddedError> {
    let (rows, passages) = (segment.open.rows()?, segment.open.passages()?);
    let mut path = String::new();
    for from in (0..rows.documents_len()).step_by(DOCUMENTS_BATCH as usize) {
        for document in rows.documents_in(from..from.saturating_add(DOCUMENTS_BATCH))? {
            if segment.reference.tombstones.binary_search(&document.ordinal).is_ok() {
                continue;
            }
            if document.path != path {
                builder.begin_file()?;
                path.clone_from(&document.path);
            }
            let (ordinal, language) = (document.ordinal, document.language.clone());
            let range = document.first_passage..document.first_passage + document.passages;
            let place = builder.document(DocumentRow { ordinal: 0, ..document })?;
            moved.places.insert((segment.open.id.clone(), ordinal), place);
            for at in range {
                builder.passage(passages.read(at, source)?, &language)?;
            }
        }
    }
    Ok(())
}
