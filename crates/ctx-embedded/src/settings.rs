//! What shapes a segment. Another value of any of it means: index anew.

use ctx_embed::StaticModel;
use ctx_ingest::ChunkOptions;
use ctx_types::id::sha256_hex;

/// Version of the files in a segment and of how files are cut.
const FORMAT: u32 = 1;

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
