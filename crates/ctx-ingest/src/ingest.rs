//! One file to its passages: opens, decodes segment by segment, cuts by kind, hands each piece over.

use crate::chunk::ChunkOptions;
use crate::document::{Document, DocumentHead, Piece};
use crate::error::IngestError;
use crate::tokens::TokenCounter;
use crate::walk::Entry;
use ctx_types::SourceName;
use std::path::Path;

/// What the caller decides about a source's passages.
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// The source that the passages' locators name.
    pub source: SourceName,
    /// Bounds of a passage.
    pub chunk: ChunkOptions,
}

impl IngestOptions {
    /// Default bounds for a source.
    pub fn new(source: SourceName) -> Self {
        Self { source, chunk: ChunkOptions::default() }
    }
}

/// What a receiver of pieces may fail with.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Receives the pieces of a file in file order.
pub type Sink<'a> = &'a mut dyn FnMut(Piece) -> Result<(), SinkError>;

/// Cuts one file and keeps all of it in memory. `root` is [`crate::Walk::root`].
pub fn ingest_file(
    root: &Path, entry: &Entry, options: &IngestOptions, counter: &dyn TokenCounter,
) -> Result<Document, IngestError> {
    let mut passages = Vec::new();
    let head = ingest_file_streaming(root, entry, options, counter, &mut |piece| {
        passages.push(piece);
        Ok(())
    })?;
    Ok(Document { head, passages })
}

/// Cuts one file and hands each passage to `sink` as soon as it is cut; memory is bounded whatever the file's size.
///
/// The title and language of the head are known at the end, those of each piece at once. After an error the pieces
/// delivered so far are to be discarded.
pub fn ingest_file_streaming(
    root: &Path, entry: &Entry, options: &IngestOptions, counter: &dyn TokenCounter, sink: Sink<'_>,
) -> Result<DocumentHead, IngestError> {
    crate::document::stream(root, entry, options, counter, sink)
}
