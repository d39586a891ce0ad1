//! Statistics as JSON: integers only, versioned, mergeable on import, exportable as they are.

use super::key::StatKey;
use super::published::Published;
use super::sample::{Item, Sample};
use super::{Cell, Statistics};
use crate::neural::Estimators;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Version of the persisted form.
pub const STATISTICS_SCHEMA_VERSION: u32 = 1;

/// Why statistics could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    /// Not the JSON that is written here.
    #[error("reading statistics: {cause}; planning goes on with priors")]
    NotStatistics {
        /// The parser's words.
        cause: String,
    },
    /// Written by another version.
    #[error("reading statistics: schema version {found}, this program reads {STATISTICS_SCHEMA_VERSION}; planning goes on with priors")]
    OtherVersion {
        /// The version found.
        found: u32,
    },
}

/// A snapshot that was imported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// What it was called: a file, a host.
    pub name: String,
    /// Its last publication, seconds since the Unix epoch.
    pub as_of: u64,
    /// Keys it held.
    pub keys: u32,
    /// Outcomes behind the best known of them.
    pub outcomes: u32,
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    as_of: u64,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    origins: BTreeSet<Origin>,
    keys: Vec<Record>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimators: Option<Estimators>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    key: StatKey,
    published: Published,
    overflowed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
    outcomes: BTreeMap<u64, Item>,
}

#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

impl Statistics {
    /// The whole snapshot, keys in canonical order: equal snapshots give equal text.
    pub fn to_json(&self) -> String {
        let keys = self.cells().iter().map(|(key, cell)| Record {
            key: key.clone(),
            published: cell.published,
            overflowed: cell.sample.overflowed(),
            imported: cell.imported,
            outcomes: cell.sample.by_hash().clone(),
        });
        let (as_of, origins) = (self.as_of(), self.origins().cloned().collect());
        let document = Document {
            schema_version: STATISTICS_SCHEMA_VERSION,
            as_of,
            origins,
            keys: keys.collect(),
            estimators: self.estimators().cloned(),
        };
        serde_json::to_string(&document).expect("records hold integers, strings and integer keys only")
    }

    /// A snapshot from its text.
    pub fn from_json(text: &str) -> Result<Statistics, StatisticsError> {
        let broken = |error: serde_json::Error| StatisticsError::NotStatistics { cause: error.to_string() };
        let Version { schema_version } = serde_json::from_str(text).map_err(broken)?;
        if schema_version != STATISTICS_SCHEMA_VERSION {
            return Err(StatisticsError::OtherVersion { found: schema_version });
        }
        let document: Document = serde_json::from_str(text).map_err(broken)?;
        let cells = document.keys.into_iter().map(|record| {
            let sample = Sample::restored(record.outcomes, record.overflowed);
            let cell = Cell::new(&record.key, sample, record.published);
            let cell = if record.imported { cell.with_import(&record.key) } else { cell };
            (record.key, cell)
        });
        let restored = Statistics::restored(cells.collect(), document.as_of, document.origins);
        Ok(match document.estimators {
            Some(estimators) => restored.with_estimators(Arc::new(estimators)),
            None => restored,
        })
    }
}
