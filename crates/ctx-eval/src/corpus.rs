//! The corpus as a file that can be indexed, and the way back from a passage to its document: by byte offset, so that no
//! id has to survive chunking.

use crate::collection::Document;
use crate::error::EvalError;
use ctx_types::Passage;
use std::io::Write;
use std::path::Path;

/// Name of the file in the source's folder.
const FILE: &str = "corpus.jsonl";

/// Where each document's record begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    starts: Vec<u64>,
}

impl Records {
    /// Writes the documents, one record a line.
    pub(crate) fn write(documents: &[Document], folder: &Path) -> Result<Records, EvalError> {
        let path = folder.join(FILE);
        let io = || EvalError::io("writing", &path);
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).map_err(io())?);
        let (mut starts, mut at) = (Vec::with_capacity(documents.len()), 0);
        for document in documents {
            let row = serde_json::json!({"id": document.id, "title": document.title, "text": document.text}).to_string();
            starts.push(at);
            file.write_all(row.as_bytes()).and_then(|()| file.write_all(b"\n")).map_err(io())?;
            at += row.len() as u64 + 1;
        }
        file.flush().map_err(io())?;
        Ok(Records { starts })
    }

    /// Index of the document that a passage was cut from.
    pub(crate) fn document(&self, passage: &Passage) -> Option<usize> {
        self.starts.partition_point(|start| *start <= passage.locator.bytes.start).checked_sub(1)
    }
}
