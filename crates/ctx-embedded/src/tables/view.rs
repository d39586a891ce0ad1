//! A published tables source: its catalog entry and what it knows about a goal. Results computed from it are in `compute`.

use super::build::{self, Published};
use super::files;
use crate::error::EmbeddedError;
use crate::statistics::raised;
use ctx_contracts::{Freshness, IndexEvent, IndexReport};
use ctx_duckdb::tables::{Format, TableDb, format_of};
use ctx_runtime::config::{AutoLabel, SourceConfig};
use ctx_tables::describe::{describe, predicate};
use ctx_tables::query::{Filter, Test};
use ctx_tables::rank::{Parsed, Refusal, parse};
use ctx_tables::sql::statement;
use ctx_types::catalog::{AccessCapability, ColumnEntry, SourceState, TableEntry};
use ctx_types::passage::Locator;
use ctx_types::probe::TableProbe;
use ctx_types::{AccessPath, Certainty, Estimated, Micros, Ppm, SourceEntry, SourceKind, SourceName, SourceProbe, Tokens};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Time of a query: parsing the goal, two statements. Prior, measured on tables of hundreds of rows.
const LATENCY_US: (u64, u64) = (3_000, 20_000);
/// Bytes of a file that is loaded as rows beside its text; larger ones are when their kind says so.
const BESIDE_BYTES_MAX: u64 = 64 << 20;
/// The reading of a goal that is SQL.
pub(super) const OWN: &str = "the goal's own SQL";

/// All tables sources of a store, opened when first used and shared.
#[derive(Default)]
pub(crate) struct TableSources {
    open: Mutex<BTreeMap<SourceName, Arc<TableView>>>,
}

/// One source as published.
pub(crate) struct TableView {
    pub(super) name: SourceName,
    pub(super) published: Published,
    pub(super) db: TableDb,
}

/// Whether a source is a single file of separated values, small enough to be loaded beside its text without being asked to.
pub(super) fn separated(config: &SourceConfig) -> bool {
    let named = config.path.file_name().map(|name| name.to_string_lossy());
    let format = named.and_then(|name| format_of(&name));
    let small = || std::fs::metadata(&config.path).is_ok_and(|meta| meta.is_file() && meta.len() <= BESIDE_BYTES_MAX);
    config.kind == SourceKind::Files && matches!(format, Some(Format::Csv | Format::Tsv)) && small()
}

impl TableSources {
    /// The source as it is published now, if what is published was read from its path.
    pub(crate) fn view(&self, store: &Path, name: &SourceName, config: &SourceConfig) -> Result<Arc<TableView>, EmbeddedError> {
        let published = build::published(store, name)?.ok_or_else(|| EmbeddedError::NotIndexed { name: name.to_string() })?;
        if let Some(place) = &published.place {
            place.check(name, &config.path)?;
        }
        if published.problem.is_some() {
            return Err(EmbeddedError::NotIndexed { name: name.to_string() });
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = open.get(name).filter(|view| view.published.fingerprint == published.fingerprint) {
            return Ok(Arc::clone(view));
        }
        let db = TableDb::open(&build::database(store, name, &published.fingerprint))?;
        let view = Arc::new(TableView { name: name.clone(), published, db });
        open.insert(name.clone(), Arc::clone(&view));
        Ok(view)
    }

    /// Loads what changed; the caller holds the writer's lock.
    pub(crate) fn index(
        &self,
        store: &Path,
        name: &SourceName,
        config: &SourceConfig,
        progress: &dyn Fn(IndexEvent),
    ) -> Result<IndexReport, EmbeddedError> {
        build::index(store, name, config, progress)
    }

    /// Publishes that the files as they are cannot be loaded, so that nobody tries again before they change.
    pub(crate) fn give_up(
        &self,
        store: &Path,
        name: &SourceName,
        config: &SourceConfig,
        error: &EmbeddedError,
    ) -> Result<(), EmbeddedError> {
        build::give_up(store, name, config, &error.to_string())
    }

    /// Whether the source was never loaded.
    pub(crate) fn is_unpublished(&self, store: &Path, name: &SourceName) -> Result<bool, EmbeddedError> {
        Ok(build::published(store, name)?.is_none())
    }

    /// Whether a file changed since it was loaded.
    pub(crate) fn is_stale(&self, store: &Path, name: &SourceName, config: &SourceConfig) -> Result<bool, EmbeddedError> {
        Ok(match build::published(store, name)? {
            Some(published) if published.sensitive.is_none() && build::looks_for_values(config) => true,
            Some(published) if !published.place.as_ref().is_some_and(|place| place.is(&config.path)) => true,
            Some(published) => !files::same(&published.files, &files::scan(&config.path)?),
            None => true,
        })
    }
}

impl TableView {
    /// Catalog row of a source that holds nothing else.
    pub(crate) fn entry(&self, blank: SourceEntry, config: &SourceConfig) -> SourceEntry {
        let found = self.published.sensitive.clone().unwrap_or_default();
        let mut entry = self.describe(blank);
        if config.auto_label == AutoLabel::Raise {
            entry.sensitivity = entry.sensitivity.max(raised(&found));
        }
        entry.sensitive_values = found;
        entry
    }

    fn describe(&self, blank: SourceEntry) -> SourceEntry {
        let tables: Vec<TableEntry> = self.db.tables().iter().map(|table| self.table_entry(table)).collect();
        let rows: u64 = tables.iter().map(|table| table.rows).sum();
        let prior = |us: u64| Estimated::new(Micros(us), Micros(us / 4), Micros(us * 4), Certainty::Prior, "embedded tables");
        SourceEntry {
            state: if rows == 0 { SourceState::Empty } else { SourceState::Ready },
            documents: self.published.files.len() as u64,
            passages: rows,
            bytes: self.published.files.iter().map(|file| file.bytes).sum(),
            tokens: Tokens(rows.saturating_mul(40)),
            passage_tokens: [40, 120, 300, 500],
            fingerprint: self.published.fingerprint.clone(),
            generation: self.published.generation,
            access: vec![AccessCapability { path: AccessPath::Table, latency_p50: prior(LATENCY_US.0), latency_p90: prior(LATENCY_US.1) }],
            tables,
            ..blank
        }
    }

    /// The entry of the text beside these rows, which can be queried too.
    pub(super) fn beside(&self, text: SourceEntry) -> SourceEntry {
        let rows = self.describe(text.clone());
        SourceEntry { access: text.access.iter().cloned().chain(rows.access).collect(), tables: rows.tables, ..text }
    }

    /// Whether a file of this content was loaded.
    pub(super) fn loaded(&self, fingerprint: &str) -> bool {
        self.published.files.iter().any(|file| file.hash == fingerprint)
    }

    fn table_entry(&self, table: &ctx_tables::Table) -> TableEntry {
        let column = |column: &ctx_tables::Column| ColumnEntry {
            name: column.name.clone(),
            data_type: column.ty.sql(),
            distinct: column.distinct,
            null_share: Ppm::from_share(column.nulls as f64 / table.rows.max(1) as f64),
            range: column.range.clone(),
            top: column.top.clone(),
            joins: self.published.joins.get(&format!("{}.{}", table.name, column.name)).cloned().unwrap_or_default(),
            notes: column.notes.clone(),
        };
        TableEntry {
            name: table.name.clone(),
            rows: table.rows,
            columns: table.columns.iter().map(column).collect(),
            notes: table.notes.clone(),
        }
    }

    /// What the goal means over these tables.
    pub(crate) fn probe(&self, goal: &str) -> SourceProbe {
        let own = self.own(goal);
        if let Some(Ok(())) = own {
            let table = TableProbe { reading: OWN.to_owned(), sql: goal.trim().to_owned(), probability: Ppm::ONE, ..TableProbe::default() };
            return SourceProbe { table: Some(table), lookups: 1, ..SourceProbe::default() };
        }
        let parsed = self.parse(goal);
        let refused_sql = own.and_then(Result::err);
        let refusal = parsed.refusal.as_ref().map(|refusal| refused_sql.unwrap_or_else(|| refusal.to_string()));
        let mut probe = TableProbe { refusal, ..TableProbe::default() };
        if let Some(choice) = &parsed.best {
            let table = &self.db.tables()[choice.table];
            let used: Vec<usize> = choice.query.ask.shown().into_iter().chain(choice.query.ask.measured()).collect();
            probe.table.clone_from(&table.name);
            probe.reading = describe(table, &choice.query);
            probe.sql = statement(table, &choice.query).inlined();
            probe.columns = used.into_iter().map(|column| table.columns[column].name.clone()).collect();
            probe.values = choice.query.filters.iter().flat_map(|filter| values(table, filter)).take(20).collect();
            probe.probability = Ppm::from_share(choice.probability);
        }
        SourceProbe { table: Some(probe), lookups: self.db.tables().len() as u32, ..SourceProbe::default() }
    }

    /// The SQL of a goal that is SQL: checked, or why it may not run. What merely begins like SQL may be meant in plain words.
    pub(super) fn own(&self, goal: &str) -> Option<Result<(), String>> {
        let first = goal.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
        if !matches!(first.as_str(), "select" | "with") {
            return None;
        }
        match self.db.check(goal) {
            Ok(()) => Some(Ok(())),
            Err(error) if goal.to_lowercase().contains(" from ") => Some(Err(error.to_string())),
            Err(_) => None,
        }
    }

    /// What the goal means; a reading whose statement the database does not accept is refused before anything is planned.
    pub(super) fn parse(&self, goal: &str) -> Parsed {
        let mut parsed = parse(&self.db.offered(), goal);
        if let (Some(choice), None) = (&parsed.best, &parsed.refusal)
            && let Err(reason) = self.db.accepts(choice)
        {
            let reading = describe(&self.db.tables()[choice.table], &choice.query);
            parsed.refusal = Some(Refusal::Rejected { reading, reason });
        }
        parsed
    }

    /// Whether the file that a result was computed from is still the one that was loaded.
    pub(crate) fn recheck(&self, root: &Path, locator: &Locator, fingerprint: &str) -> Result<Freshness, EmbeddedError> {
        let Some(loaded) = self.published.files.iter().find(|file| file.path == locator.path) else { return Ok(Freshness::Changed) };
        let root: PathBuf = files::root(root);
        let path = root.join(&locator.path);
        if !path.is_file() {
            return Ok(Freshness::Gone);
        }
        let untouched = files::same(std::slice::from_ref(loaded), &[files::state(&root, &path)?]);
        let hash = if untouched { loaded.hash.clone() } else { files::hash(&path)? };
        Ok(if hash == fingerprint { Freshness::Current } else { Freshness::Changed })
    }
}

fn values(table: &ctx_tables::Table, filter: &Filter) -> Vec<String> {
    match &filter.test {
        Test::In(texts) | Test::NotIn(texts) => texts.clone(),
        test => vec![predicate(&table.columns[filter.column], test)],
    }
}
