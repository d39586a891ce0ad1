//! What shapes a segment. Another value of any of it means: index anew.
//!
//! How large a passage may be is a setting of the source: it is asked for once, kept among the source's notes and used by
//! every later run, so that a refresh cuts as the first indexing did.

use crate::error::EmbeddedError;
use ctx_embed::StaticModel;
use ctx_ingest::ChunkOptions;
use ctx_store::SourceState;
use ctx_types::id::sha256_hex;

/// Version of the files in a segment and of how files are cut.
const FORMAT: u32 = 2;
/// Key of the bound among a source's notes; absent where it is the default.
pub(crate) const CHUNK_NOTE: &str = "max_chunk_tokens";

/// The bounds of a source's passages: as asked for now, else as kept, else the default.
pub(crate) fn chunk(asked: Option<u32>, state: Option<&SourceState>) -> Result<ChunkOptions, EmbeddedError> {
    let kept = || state?.notes.get(CHUNK_NOTE)?.parse().ok();
    let usual = ChunkOptions::default();
    let max_tokens = asked.or_else(kept).unwrap_or(usual.max_tokens);
    Ok(ChunkOptions { target_tokens: usual.target_tokens.min(max_tokens), max_tokens }.check()?)
}

/// The note that keeps these bounds.
pub(crate) fn chunk_note(chunk: ChunkOptions) -> Option<(String, String)> {
    (chunk != ChunkOptions::default()).then(|| (CHUNK_NOTE.to_owned(), chunk.max_tokens.to_string()))
}

/// Digest of chunker, tokenizers and embedding model. Weights are not in it: they follow the source.
pub(crate) fn digest(model: &StaticModel, chunk: ChunkOptions) -> String {
    let identity = model.identity();
    let text = format!(
        "format {FORMAT}, chunk {} {}, tokens o200k, text {}, embedding {} {}",
        chunk.target_tokens,
        chunk.max_tokens,
        ctx_tantivy::ANALYSIS_VERSION,
        identity.dimension,
        identity.hash,
    );
    sha256_hex(text.as_bytes())
}
