//! TREC run files: `query Q0 document rank score tag`, one file per system, so that any other tool can judge them.

use crate::collection::Query;
use crate::error::EvalError;
use std::fmt::Write;
use std::path::Path;

/// Writes `COLLECTION.SYSTEM.run`. The score is the reciprocal rank: only the order means something across systems.
pub(crate) fn write(folder: &Path, collection: &str, system: &str, queries: &[Query], rankings: &[Vec<String>]) -> Result<(), EvalError> {
    std::fs::create_dir_all(folder).map_err(EvalError::io("creating", folder))?;
    let mut text = String::new();
    for (query, ranking) in queries.iter().zip(rankings) {
        for (at, document) in ranking.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} Q0 {} {} {:.6} ctxrt-{system}", query.id, document, at + 1, 1.0 / (at as f64 + 1.0));
        }
    }
    let path = folder.join(format!("{collection}.{system}.run"));
    std::fs::write(&path, text).map_err(EvalError::io("writing", &path))
}
