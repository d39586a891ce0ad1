//! The one error type of this crate. Messages say what was being done and to what; `hint` says what to do about it.

use std::path::PathBuf;

/// What can go wrong when a model, an IDF table or stored vectors are read.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// A file of a model folder cannot be read.
    #[error("reading embedding model file {}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A file of a model folder is readable, but not what the layout promises.
    #[error("loading embedding model `{model}`: {problem}")]
    Model {
        /// Name of the model or its folder.
        model: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A stored IDF table is damaged or of another version.
    #[error("reading an IDF table: {problem}")]
    Idf {
        /// What is wrong with it.
        problem: String,
    },
    /// Two IDF tables count tokens of different vocabularies.
    #[error("merging IDF tables: one counts {left} tokens, the other {right}")]
    Vocabulary {
        /// Tokens of the table merged into.
        left: usize,
        /// Tokens of the table merged from.
        right: usize,
    },
    /// Stored vectors were made by another model or with other weights; they are never mixed.
    #[error("comparing embeddings: {field} of the stored vectors is {stored}, of the query {wanted}; they cannot be mixed")]
    Mismatch {
        /// The first part of the identity that differs.
        field: &'static str,
        /// Its value beside the stored vectors.
        stored: String,
        /// Its value for the model in use.
        wanted: String,
    },
}

impl EmbedError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check that the folder holds config.json, tokenizer.json and model.safetensors",
            Self::Model { .. } => "use a folder in model2vec's layout, or leave the model out to use the embedded one",
            Self::Idf { .. } => "run `ctxrt analyze` to count the source again",
            Self::Vocabulary { .. } => "build both tables with the same embedding model",
            Self::Mismatch { .. } => {
                "nothing was changed; run `ctxrt analyze` to re-embed the source, or configure the model that made its vectors"
            }
        }
    }
}
