//! Static embeddings: a vector per token, distilled from a sentence encoder, and weights counted in each source.
//!
//! A text's vector is the IDF-weighted mean of its tokens' vectors: microseconds per passage, no model server, no
//! download. The embedded model is 8 MB of int8; any folder in model2vec's layout loads as well. How the embedded one
//! was made, and what it is worth, is in `model/README.md`.
//!
//! ```
//! use ctx_embed::{IdfBuilder, StaticModel, cosine_e4};
//!
//! let model = StaticModel::embedded();
//! let chunks = ["The engine stalled on the motorway.", "A recipe for apple cake."];
//!
//! // First pass over the source: count, then freeze.
//! let mut counts = IdfBuilder::new(model.vocabulary_len());
//! for chunk in chunks {
//!     counts.add_document(&model.tokenize(chunk));
//! }
//! let idf = counts.finish();
//!
//! // Second pass: embed. The identity is stored beside the vectors and checked before they are searched.
//! let embed = |text: &str| {
//!     let mut vector = vec![0.0; model.dimension()];
//!     model.embed(text, &idf, &mut vector).then_some(vector)
//! };
//! let identity = model.identity().with_idf(&idf);
//! let query = embed("car trouble").expect("known words");
//! let [stalled, cake] = chunks.map(|chunk| cosine_e4(&query, &embed(chunk).expect("known words")));
//! assert!(stalled > cake);
//! assert!(identity.check(&model.identity().with_idf(&idf)).is_ok());
//! assert!(embed("⁂ 🎉").is_none(), "no known word, no direction");
//! ```
//!
//! Absent here: threads, clocks, network. Files are read by [`StaticModel::load`] only. Storing vectors is the
//! store's work; whether dense retrieval pays for a source is the planner's.

mod char_class;
mod error;
mod identity;
mod idf;
mod memo;
mod model;
mod quantize;
mod table;
mod token_map;
mod tokenizer;
mod wordpiece;

pub use error::EmbedError;
pub use identity::{EmbeddingIdentity, ModelIdentity};
pub use idf::{IdfBuilder, IdfTable};
pub use model::{StaticModel, TokenReader};
pub use quantize::{Neighbour, cosine_e4, dot_bytes, dot_f32, dot_i8, nearest, quantize, similarity_e4};

/// Bytes of a digest that ids show.
const HASH_BYTES: usize = 16;

/// First 32 hex digits of a digest.
fn hex_prefix(digest: &[u8]) -> String {
    digest.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}
