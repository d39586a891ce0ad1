//! A static embedding model: a tokenizer and a vector per token. A text is the IDF-weighted mean of its tokens'
//! vectors, scaled to length 1; order and context of words play no part.

use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::memo::Memo;
use crate::quantize::dot_f32;
use crate::table::TokenTable;
use crate::tokenizer::Tokenizer;
use crate::{EmbedError, IdfTable, ModelIdentity, hex_prefix};

static EMBEDDED_CONFIG: &[u8] = include_bytes!("../model/config.json");
pub(crate) static EMBEDDED_TOKENIZER: &[u8] = include_bytes!("../model/tokenizer.json");
static EMBEDDED_WEIGHTS: &[u8] = include_bytes!("../model/model.safetensors");
/// What [`content_hash`] gives for the embedded files; a constant, because hashing 8 MB at each start costs
/// milliseconds. A test compares.
const EMBEDDED_HASH: &str = "1d3e3fff1315acb7b41dfaac84e508d1";

/// Largest model file that is read.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// Embeds texts. Immutable; share it between threads by reference.
#[derive(Debug)]
pub struct StaticModel {
    identity: ModelIdentity,
    tokenizer: Tokenizer,
    table: TokenTable,
}

impl StaticModel {
    /// The model inside this crate, read at the first call.
    pub fn embedded() -> &'static Self {
        static MODEL: OnceLock<StaticModel> = OnceLock::new();
        MODEL.get_or_init(|| {
            let table = TokenTable::from_static(EMBEDDED_WEIGHTS).expect("the embedded weights are tested");
            let tokenizer = Tokenizer::from_json(EMBEDDED_TOKENIZER).expect("the embedded tokenizer is tested");
            let name = configured_name(EMBEDDED_CONFIG).unwrap_or_else(|| "embedded".to_owned());
            let identity = ModelIdentity { name, dimension: table.dimension(), hash: EMBEDDED_HASH.to_owned() };
            Self { identity, tokenizer, table }
        })
    }

    /// Loads a folder in model2vec's layout: `config.json` (optional; only `name` is used), `tokenizer.json` and
    /// `model.safetensors`.
    ///
    /// # Errors
    /// [`EmbedError::Io`] if a file cannot be read, [`EmbedError::Model`] if one is not what the layout promises.
    pub fn load(folder: &Path) -> Result<Self, EmbedError> {
        let tokenizer_json = read(&folder.join("tokenizer.json"))?;
        let weights = read(&folder.join("model.safetensors"))?;
        let name = std::fs::read(folder.join("config.json")).ok().and_then(|config| configured_name(&config));
        let base_name = || folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(base_name);
        let broken = |problem| EmbedError::Model { model: name.clone(), problem };
        let table = TokenTable::from_bytes(&weights).map_err(broken)?;
        let tokenizer = Tokenizer::from_json(&tokenizer_json).map_err(broken)?;
        if tokenizer.vocabulary_len() > table.len() {
            let (tokens, vectors) = (tokenizer.vocabulary_len(), table.len());
            return Err(broken(format!("the tokenizer has {tokens} tokens, the model vectors for {vectors}")));
        }
        let hash = content_hash(&tokenizer_json, &weights);
        let identity = ModelIdentity { dimension: table.dimension(), hash, name };
        Ok(Self { identity, tokenizer, table })
    }

    /// Name, dimension and content hash.
    pub fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    /// Numbers per vector.
    pub fn dimension(&self) -> usize {
        self.table.dimension()
    }

    /// Tokens that have a vector; the size for [`IdfBuilder::new`](crate::IdfBuilder::new).
    pub fn vocabulary_len(&self) -> usize {
        self.table.len()
    }

    /// Token ids of a text, unknown words left out.
    pub fn tokenize(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.tokenizer.tokenize_into(text, &mut Memo::default(), &mut ids);
        ids
    }

    /// [`tokenize`](Self::tokenize) for many texts in a row, with a memory for words. One per thread.
    pub fn token_reader(&self) -> TokenReader<'_> {
        TokenReader { tokenizer: &self.tokenizer, memo: Memo::new() }
    }

    /// Writes the unit vector of a text to `out`. Returns `false`, with zeros in `out`, for a text without a known
    /// word: such a text has no direction and must not be compared.
    ///
    /// # Panics
    /// If `out` does not have [`dimension`](Self::dimension) numbers.
    pub fn embed(&self, text: &str, idf: &IdfTable, out: &mut [f32]) -> bool {
        self.embed_tokens(&self.tokenize(text), idf, out)
    }

    /// [`embed`](Self::embed) for a text that has been tokenized already.
    ///
    /// # Panics
    /// If `out` does not have [`dimension`](Self::dimension) numbers.
    pub fn embed_tokens(&self, tokens: &[u32], idf: &IdfTable, out: &mut [f32]) -> bool {
        assert_eq!(out.len(), self.dimension(), "the buffer must have the model's dimension");
        out.fill(0.0);
        // Equal tokens are added once, times their number: quicker, and the order of words cannot change a bit.
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        for run in tokens.chunk_by(|a, b| a == b) {
            self.table.add(run[0], idf.weight(run[0]) * run.len() as f32, out);
        }
        self.table.finish(out);
        let has_direction = normalize(out);
        if !has_direction {
            out.fill(0.0);
        }
        has_direction
    }
}

/// Tokenizes text after text; words that come again are not spelled again.
#[derive(Debug)]
pub struct TokenReader<'m> {
    tokenizer: &'m Tokenizer,
    memo: Memo,
}

impl TokenReader<'_> {
    /// Appends the token ids of a text, unknown words left out.
    pub fn read(&mut self, text: &str, ids: &mut Vec<u32>) {
        self.tokenizer.tokenize_into(text, &mut self.memo, ids);
    }
}

/// Scales to length 1. `false` if that is impossible: zero, not finite, or too small to divide by.
fn normalize(vector: &mut [f32]) -> bool {
    let largest = vector.iter().fold(0.0_f32, |max, v| max.max(v.abs()));
    if vector.iter().any(|v| !v.is_finite()) || largest < f32::MIN_POSITIVE {
        return false;
    }
    // Divided by the largest first, so that the squares of very long texts or odd models stay in range.
    vector.iter_mut().for_each(|v| *v /= largest);
    let length = dot_f32(vector, vector).sqrt();
    vector.iter_mut().for_each(|v| *v /= length);
    true
}

/// SHA-256 over both files, each after its length, so that bytes cannot move from one to the other.
fn content_hash(tokenizer_json: &[u8], weights: &[u8]) -> String {
    let mut hasher = Sha256::new();
    for file in [tokenizer_json, weights] {
        hasher.update((file.len() as u64).to_le_bytes());
        hasher.update(file);
    }
    hex_prefix(&hasher.finalize())
}

fn configured_name(config: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Config {
        name: Option<String>,
    }
    serde_json::from_slice::<Config>(config).ok()?.name
}

fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    let failed = |source| EmbedError::Io { path: path.to_owned(), source };
    let bytes = std::fs::metadata(path).map_err(failed)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(failed(std::io::Error::other(format!("{bytes} bytes, more than {FILE_BYTES_MAX}"))));
    }
    std::fs::read(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_hash_is_that_of_the_embedded_files() {
        assert_eq!(content_hash(EMBEDDED_TOKENIZER, EMBEDDED_WEIGHTS), EMBEDDED_HASH);
    }

    #[test]
    fn lengths_that_cannot_be_divided_by_are_refused() {
        for mut vector in [vec![0.0; 4], vec![f32::NAN; 4], vec![f32::INFINITY, 0.0], vec![f32::MIN_POSITIVE / 4.0; 2]] {
            assert!(!normalize(&mut vector), "{vector:?}");
        }
        let mut large = vec![1e38_f32; 256];
        assert!(normalize(&mut large));
        assert!((dot_f32(&large, &large) - 1.0).abs() < 1e-5);
    }
}
