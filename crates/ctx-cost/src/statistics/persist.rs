//! Statistics as JSON: integers only, versioned, mergeable on import, exportable as they are.

use super::key::StatKey;
use super::published::Published;
use super::sample::{Item, Sample};
use super::{Cell, Statistics};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

#[derive(Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    as_of: u64,
    keys: Vec<Record>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    key: StatKey,
    published: Published,
    overflowed: bool,
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
            outcomes: cell.sample.by_hash().clone(),
        });
        let document = Document { schema_version: STATISTICS_SCHEMA_VERSION, as_of: self.as_of(), keys: keys.collect() };
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
            (record.key, cell)
        });
        Ok(Statistics::restored(cells.collect(), document.as_of))
    }
}
