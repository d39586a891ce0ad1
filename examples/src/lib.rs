//! Lessons in order. This library holds what they share: a runtime over a part of this repository.

use ctx_embedded::{EngineOptions, SourceConfig};
use ctx_runtime::{Config, Runtime};
use ctx_types::SourceName;
use std::path::PathBuf;

/// The repository's folder.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A runtime over one folder of this repository, with a store in the system's temporary folder, and the source's name.
pub async fn over(folder: &str, lesson: &str) -> anyhow::Result<(Runtime, SourceName)> {
    let docs = SourceName::new("docs")?;
    let mut config = Config::default();
    config.store = Some(std::env::temp_dir().join(format!("ctxrt-{lesson}")));
    config.sources.insert(docs.clone(), SourceConfig::at(repository().join(folder)));
    let (runtime, _engine) = ctx_embedded::open(config, EngineOptions::default()).await?;
    Ok((runtime, docs))
}
