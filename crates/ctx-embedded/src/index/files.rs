//! One file into the segment under construction. A file that cannot be read is reported and survived.

use super::changes::{now_ns, stat};
use crate::error::EmbeddedError;
use crate::segment::SegmentsBuilder;
use crate::segment::build::Place;
use crate::tokens::O200k;
use ctx_duckdb::DocumentRow;
use ctx_ingest::{DocumentHead, Entry, IngestError, IngestOptions, Piece, content_hash, ingest_file, ingest_file_streaming, kind};
use std::path::Path;

/// Larger files are passed on passage by passage instead of being kept whole.
const WHOLE_BYTES_MAX: u64 = 4 << 20;

/// What became of a file.
pub(crate) enum Outcome {
    /// In the index.
    Indexed(Indexed),
    /// Not in the index; the reason is for the report.
    Skipped { reason: String },
}

/// An indexed file.
pub(crate) struct Indexed {
    pub(crate) head: DocumentHead,
    pub(crate) read_at_ns: i64,
    /// Where its documents begin; `None` for a file without passages.
    pub(crate) first: Option<Place>,
    pub(crate) documents: u32,
}

/// Documents of a file that failed half-way: to be deleted as soon as their segment exists.
pub(crate) struct Abandoned {
    pub(crate) first: Place,
    pub(crate) documents: u32,
}

/// Reads files of one source.
pub(crate) struct FileReader<'a> {
    pub(crate) root: &'a Path,
    pub(crate) options: IngestOptions,
    pub(crate) counter: O200k,
}

impl FileReader<'_> {
    /// Adds one file.
    pub(crate) fn add(
        &self,
        builder: &mut SegmentsBuilder<'_>,
        entry: &Entry,
        abandoned: &mut Vec<Abandoned>,
    ) -> Result<Outcome, EmbeddedError> {
        builder.begin_file()?;
        let read_at_ns = now_ns();
        let result =
            if entry.stamp.size <= WHOLE_BYTES_MAX { self.whole(builder, entry) } else { self.streamed(builder, entry, abandoned) };
        match result {
            Ok((head, documents)) => Ok(Outcome::Indexed(Indexed { head, read_at_ns, first: documents.first, documents: documents.count })),
            Err(EmbeddedError::Ingest(IngestError::Sink { path, cause })) => Err(sink_error(path, cause)),
            Err(EmbeddedError::Ingest(IngestError::Skipped { reason, .. })) => Ok(Outcome::Skipped { reason: reason.to_string() }),
            Err(EmbeddedError::Ingest(error @ (IngestError::Read { .. } | IngestError::OutsideRoot { .. }))) => {
                Ok(Outcome::Skipped { reason: format!("unreadable: {error}") })
            }
            Err(error) => Err(error),
        }
    }

    fn whole(&self, builder: &mut SegmentsBuilder<'_>, entry: &Entry) -> Result<(DocumentHead, Documents), EmbeddedError> {
        let document = ingest_file(self.root, entry, &self.options, &self.counter)?;
        let about = About { hash: &document.head.content_hash, kind: document.head.kind.to_string(), bytes: document.head.stamp.size };
        let mut documents = Documents::default();
        for piece in document.passages {
            documents.add(builder, piece, &about)?;
        }
        Ok((document.head, documents))
    }

    fn streamed(
        &self,
        builder: &mut SegmentsBuilder<'_>,
        entry: &Entry,
        abandoned: &mut Vec<Abandoned>,
    ) -> Result<(DocumentHead, Documents), EmbeddedError> {
        let hash = content_hash(self.root, &entry.path)?;
        let kind = kind::kind_of_name(&entry.path).unwrap_or(ctx_ingest::DocumentKind::Text).to_string();
        let about = About { hash: &hash, kind, bytes: entry.stamp.size };
        let mut documents = Documents::default();
        let head = ingest_file_streaming(self.root, entry, &self.options, &self.counter, &mut |piece| {
            documents.add(builder, piece, &about).map_err(|error| Box::new(error) as _)
        });
        match head {
            Ok(head) => Ok((head, documents)),
            Err(error) => {
                if let Some(first) = documents.first {
                    abandoned.push(Abandoned { first, documents: documents.count });
                }
                Err(error.into())
            }
        }
    }
}

/// The engine's own error, out of the box it travelled in.
fn sink_error(path: String, cause: Box<dyn std::error::Error + Send + Sync>) -> EmbeddedError {
    match cause.downcast::<EmbeddedError>() {
        Ok(error) => *error,
        Err(cause) => EmbeddedError::Ingest(IngestError::Sink { path, cause }),
    }
}

/// What is the same for all documents of a file.
struct About<'a> {
    hash: &'a str,
    kind: String,
    bytes: u64,
}

/// Documents of a file on their way into a segment.
#[derive(Default)]
struct Documents {
    first: Option<Place>,
    count: u32,
    unit: Option<u64>,
}

impl Documents {
    fn add(&mut self, builder: &mut SegmentsBuilder<'_>, piece: Piece, about: &About<'_>) -> Result<(), EmbeddedError> {
        if self.unit != Some(piece.unit) {
            self.unit = Some(piece.unit);
            let place = builder.document(DocumentRow {
                path: piece.passage.locator.path.clone(),
                unit: u32::try_from(piece.unit).unwrap_or(u32::MAX),
                title: piece.passage.title.clone(),
                language: piece.language.to_owned(),
                kind: about.kind.clone(),
                content_hash: about.hash.to_owned(),
                bytes: about.bytes,
                ..DocumentRow::default()
            })?;
            self.first.get_or_insert(place);
            self.count += 1;
        }
        builder.passage(piece.passage, piece.language)
    }
}

/// The file list's entry of an indexed file; its segment is filled in when it is sealed.
pub(crate) fn entry(indexed: &Indexed) -> ctx_store::FileEntry {
    ctx_store::FileEntry {
        stat: stat(&indexed.head.stamp),
        indexed_at_ns: indexed.read_at_ns,
        first_document: indexed.first.map_or(0, |place| place.document),
        documents: indexed.documents,
        ..ctx_store::FileEntry::new(indexed.head.content_hash.clone())
    }
}
