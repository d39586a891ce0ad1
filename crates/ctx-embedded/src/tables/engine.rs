//! The engine's part for rows: which sources offer them, and what of theirs stands beside text. A source of kind `tables`
//! holds rows only; a single file of separated values is read as text and as rows, and the planner chooses.

use super::view::{TableView, separated};
use crate::describe;
use crate::engine::Engine;
use crate::error::EmbeddedError;
use ctx_contracts::{Freshness, IndexEvent};
use ctx_duckdb::tables::{Bounds, Computed};
use ctx_runtime::config::SourceConfig;
use ctx_types::computed::ComputedResult;
use ctx_types::passage::Locator;
use ctx_types::{AccessPath, SourceEntry, SourceKind, SourceName, SourceProbe};
use std::sync::Arc;

impl Engine {
    /// Whether a source can be queried by SQL.
    pub fn offers_tables(&self, name: &SourceName) -> Result<bool, EmbeddedError> {
        Ok(self.holds_tables(name)? || separated(self.source(name)?))
    }

    /// Whether a source holds rows and no text.
    pub(crate) fn holds_tables(&self, name: &SourceName) -> Result<bool, EmbeddedError> {
        Ok(self.source(name)?.kind == SourceKind::Tables)
    }

    /// The tables of a source as they are published.
    pub(crate) fn tables(&self, name: &SourceName) -> Result<Arc<TableView>, EmbeddedError> {
        if self.offers_tables(name)? {
            return self.tables.view(self.root(), name, self.source(name)?);
        }
        let reason = "it is not a source of tables; write kind: tables, or name:table=path".to_owned();
        Err(EmbeddedError::PathUnavailable { name: name.to_string(), path: AccessPath::Table.to_string(), reason })
    }

    pub(crate) fn describe_tables(&self, name: &SourceName, config: &SourceConfig) -> SourceEntry {
        match self.tables.view(self.root(), name, config) {
            Ok(view) => view.entry(describe::unpublished(config, None), config),
            Err(EmbeddedError::NotIndexed { .. }) => describe::unpublished(config, None),
            Err(error) => describe::unpublished(config, Some(&error)),
        }
    }

    /// Loads the rows of a file that is indexed as text too. Rows that cannot be loaded are a warning: the text stands.
    pub(crate) fn index_rows(&self, name: &SourceName, progress: &dyn Fn(IndexEvent)) -> Result<Vec<String>, EmbeddedError> {
        let config = self.source(name)?;
        if !separated(config) {
            return Ok(Vec::new());
        }
        Ok(match self.tables.index(self.root(), name, config, progress) {
            Ok(report) => report.warnings,
            Err(error) => {
                self.tables.give_up(self.root(), name, config, &error)?;
                vec![format!("its rows cannot be queried: {error}")]
            }
        })
    }

    /// Whether the rows beside a text changed since they were loaded.
    pub(crate) fn rows_are_stale(&self, name: &SourceName) -> Result<bool, EmbeddedError> {
        let config = self.source(name)?;
        Ok(separated(config) && self.tables.is_stale(self.root(), name, config)?)
    }

    /// The catalog entry of a text with the rows beside it.
    pub(crate) fn with_rows(&self, entry: SourceEntry, name: &SourceName) -> SourceEntry {
        match self.rows_beside(name) {
            Some(view) => view.beside(entry),
            None => entry,
        }
    }

    /// What a text knows about a goal, with what the goal means over the rows beside it.
    pub(crate) fn with_reading(&self, mut said: SourceProbe, name: &SourceName, goal: &str) -> SourceProbe {
        if let Some(view) = self.rows_beside(name) {
            let rows = view.probe(goal);
            said.table = rows.table;
            said.lookups += rows.lookups;
        }
        said
    }

    fn rows_beside(&self, name: &SourceName) -> Option<Arc<TableView>> {
        let config = self.source(name).ok().filter(|config| config.kind != SourceKind::Tables && separated(config))?;
        match self.tables.view(self.root(), name, config) {
            Ok(view) => Some(view),
            Err(EmbeddedError::NotIndexed { .. }) => None,
            Err(error) => {
                tracing::warn!(source = %name, path = %config.path.display(), %error, "its rows cannot be queried");
                None
            }
        }
    }

    /// Whether the file behind a computed result is still the one that was loaded; `None` if the place is a text's.
    pub(crate) fn recheck_rows(&self, locator: &Locator, fingerprint: &str) -> Result<Option<Freshness>, EmbeddedError> {
        let config = self.source(&locator.source)?;
        if self.holds_tables(&locator.source)? {
            return self.tables(&locator.source)?.recheck(&config.path, locator, fingerprint).map(Some);
        }
        match self.rows_beside(&locator.source).filter(|view| view.loaded(fingerprint)) {
            Some(view) => view.recheck(&config.path, locator, fingerprint).map(Some),
            None => Ok(None),
        }
    }

    /// Runs a person's own SQL over the tables of a source: one SELECT, checked before it runs, bounded.
    pub fn sql(&self, source: &SourceName, text: &str) -> Result<Computed, EmbeddedError> {
        self.tables(source)?.run_own(text, &Bounds::default())
    }

    /// The values of a computed result, by its statement run again.
    pub(crate) fn recompute(&self, source: &SourceName, result: &ComputedResult) -> Result<Vec<String>, EmbeddedError> {
        self.tables(source)?.recompute(result)
    }
}
