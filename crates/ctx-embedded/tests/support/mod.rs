//! A folder of files, a store beside it, and an engine over both.
#![allow(clippy::unwrap_used)] // a test that cannot be set up has failed
#![allow(dead_code, unreachable_pub)] // each test program uses its part

use ctx_contracts::IndexReport;
use ctx_embedded::{Engine, EngineOptions, IndexOptions, SourceConfig};
use ctx_runtime::config::Refresh;
use ctx_types::{AccessPath, Hit, SourceName};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub struct World {
    pub files: TempDir,
    pub store: TempDir,
    pub engine: Engine,
    pub docs: SourceName,
}

impl World {
    pub fn new(files: &[(&str, &[u8])]) -> World {
        World::configured(files, |source| source)
    }

    pub fn configured(files: &[(&str, &[u8])], configure: impl FnOnce(SourceConfig) -> SourceConfig) -> World {
        let folder = tempfile::tempdir().unwrap();
        let store = tempfile::tempdir().unwrap();
        let docs = SourceName::new("docs").unwrap();
        let mut source = SourceConfig::at(folder.path());
        source.refresh = Some(Refresh::Always);
        let engine = engine(store.path(), &docs, configure(source));
        let world = World { files: folder, store, engine, docs };
        files.iter().for_each(|(path, content)| world.write(path, content));
        world
    }

    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.files.path().join(path)
    }

    pub fn index(&self) -> IndexReport {
        self.engine.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap().remove(0)
    }

    pub fn refresh(&self) -> Vec<IndexReport> {
        self.engine.refresh(std::slice::from_ref(&self.docs), &|_| {}, &|| false).unwrap()
    }

    pub fn search(&self, path: AccessPath, query: &str) -> Vec<Hit> {
        self.engine.search(&self.docs, path, query, 10).unwrap().hits
    }

    /// Paths found, best first.
    pub fn paths(&self, path: AccessPath, query: &str) -> Vec<String> {
        self.search(path, query).into_iter().map(|hit| hit.passage.locator.path).collect()
    }

    /// Every passage.
    pub fn whole(&self) -> Vec<Hit> {
        self.engine.search(&self.docs, AccessPath::Whole, "", 100_000).unwrap().hits
    }

    /// Another process's engine over the same store, as far as one process can be two.
    pub fn again(&self) -> Engine {
        let source = self.engine.sources()[&self.docs].clone();
        engine(self.store.path(), &self.docs, source)
    }
}

pub fn engine(store: &Path, docs: &SourceName, source: SourceConfig) -> Engine {
    Engine::open(store, BTreeMap::from([(docs.clone(), source)]), EngineOptions::default())
}
