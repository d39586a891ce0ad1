//! The baseline of indexing: tantivy alone on the same chunks, one writer thread, the same tokenizer, commit included.

use anyhow::Context;
use ctx_ingest::{IngestOptions, WalkOptions, ingest_file_streaming, walk};
use ctx_types::SourceName;
use std::path::Path;
use std::time::{Duration, Instant};
use tantivy::schema::{FAST, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, doc};

/// Memory of the writer, as the product's own has it.
const WRITER_BYTES: usize = 64_000_000;

/// The chunks of a folder, as title and text. Not timed: the baseline gets them for nothing.
pub fn chunks(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let found = walk(folder, &WalkOptions::default())?;
    let options = IngestOptions::new(SourceName::new("bare")?);
    let counter = ctx_embedded::O200k::new();
    let mut chunks = Vec::new();
    for entry in &found.entries {
        let mut sink = |piece: ctx_ingest::Piece| {
            chunks.push((piece.passage.title, piece.passage.text));
            Ok(())
        };
        ingest_file_streaming(&found.root, entry, &options, &counter, &mut sink).with_context(|| format!("cutting {}", entry.path))?;
    }
    Ok(chunks)
}

/// Indexes the chunks and says how long it took.
pub fn index(chunks: &[(String, String)], folder: &Path) -> anyhow::Result<Duration> {
    std::fs::create_dir_all(folder)?;
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default().set_tokenizer("bare").set_index_option(IndexRecordOption::WithFreqs);
    let body = builder.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
    let ordinal = builder.add_u64_field("ordinal", FAST);
    let start = Instant::now();
    let index = Index::create_in_dir(folder, builder.build())?;
    index.tokenizers().register("bare", ctx_tantivy::body_tokenizer());
    let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
    for (at, (title, text)) in chunks.iter().enumerate() {
        writer.add_document(doc!(body => format!("{title}\n{text}"), ordinal => at as u64))?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(start.elapsed())
}
