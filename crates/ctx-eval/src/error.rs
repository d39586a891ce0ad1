//! What can go wrong in an evaluation: mostly a folder that is not a collection.

use std::path::PathBuf;

/// A failure of an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// A file that every collection has is not there.
    #[error("reading collection {}: {wanted} is missing", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// What was looked for, in words.
        wanted: &'static str,
    },
    /// The operating system refused.
    #[error("{doing} {}: {cause}", path.display())]
    Io {
        /// "reading", "writing".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        cause: std::io::Error,
    },
    /// A compressed file cannot be decompressed.
    #[error("decompressing {}: {cause}", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The library's words.
        cause: String,
    },
    /// A line is not what its file promises.
    #[error("reading {}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A split that the collection does not have.
    #[error("evaluating split {wanted:?} of {}: there is no such split; there are: {known}", folder.display())]
    UnknownSplit {
        /// The folder.
        folder: PathBuf,
        /// What was asked for.
        wanted: String,
        /// What exists.
        known: String,
    },
    /// No query has a relevant document.
    #[error("evaluating {}: no query of split {split} has a judged document in the corpus", folder.display())]
    NothingJudged {
        /// The folder.
        folder: PathBuf,
        /// The split.
        split: String,
    },
    /// The engine failed.
    #[error("{doing}: {cause}")]
    Engine {
        /// What was being done.
        doing: &'static str,
        /// Its words.
        cause: String,
    },
}

impl EvalError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            EvalError::Missing { .. } => {
                Some("a collection is a folder with corpus.jsonl, queries.jsonl (each may end in .zst) and qrels.tsv or qrels/NAME.tsv")
            }
            EvalError::UnknownSplit { .. } => Some("name a file of qrels/, or one of: all, train, test (by the hash of the query's id)"),
            EvalError::NothingJudged { .. } => Some("check that ids in the judgments are those of corpus and queries"),
            _ => None,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> EvalError {
        let path = path.to_owned();
        move |cause| EvalError::Io { doing, path, cause }
    }

    pub(crate) fn engine<E: std::fmt::Display>(doing: &'static str) -> impl FnOnce(E) -> EvalError {
        move |cause| EvalError::Engine { doing, cause: cause.to_string() }
    }
}
