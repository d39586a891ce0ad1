//! Traces: a journal of the store. Appended when a run ends, moved into one snapshot by whoever next writes the store.

use crate::error::EmbeddedError;
use ctx_store::{Durability, Journal, Journals, Writer};
use ctx_types::{SourceName, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the journal.
const JOURNAL: &str = "trace";
/// Traces kept in the snapshot; older ones are forgotten.
const TRACES_MAX: usize = 2_000;
/// Version of the snapshot.
const VERSION: u32 = 1;

/// Writer and reader of traces.
pub(crate) struct Traces {
    journals: Arc<Journals>,
    durability: Durability,
}

/// What was moved so far.
#[derive(Default, Serialize, Deserialize)]
struct Snapshot {
    version: u32,
    /// Oldest first, as they were logged.
    traces: Vec<serde_json::Value>,
}

impl Traces {
    pub(crate) fn new(journals: Arc<Journals>, durability: Durability) -> Traces {
        Traces { journals, durability }
    }

    /// Appends one trace.
    pub(crate) fn record(&self, trace: &Trace) -> Result<(), EmbeddedError> {
        Ok(self.journals.append(JOURNAL, trace, self.durability)?)
    }

    /// Newest first, at most `limit`. A record of another version is left out.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<Trace>, EmbeddedError> {
        let values = values(&self.journals.read(JOURNAL)?)?;
        let mut traces: Vec<Trace> = values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect();
        traces.sort_by(|a, b| b.started_at.cmp(&a.started_at));
        traces.truncate(limit);
        Ok(traces)
    }

    /// Moves what all processes logged into the snapshot, with what `forget` takes out of each trace, and takes the originals off
    /// the disk, except those in logs of processes that still run. Gives the number of changed traces by what `forget` names.
    pub(crate) fn purge(
        &self,
        writer: &Writer,
        mut forget: impl FnMut(&mut Trace) -> Option<SourceName>,
    ) -> Result<BTreeMap<SourceName, u64>, EmbeddedError> {
        let mut changed: BTreeMap<SourceName, u64> = BTreeMap::new();
        let mut failed = None;
        self.journals.fold(writer, JOURNAL, |journal| {
            let mut remember = |source: SourceName| *changed.entry(source).or_default() += 1;
            let without = |value: serde_json::Value| match serde_json::from_value::<Trace>(value.clone()) {
                Ok(mut trace) => match forget(&mut trace) {
                    Some(source) => {
                        remember(source);
                        serde_json::to_value(&trace).unwrap_or_default()
                    }
                    None => value,
                },
                Err(_) => value,
            };
            let kept = values(journal).map(|all| all.into_iter().map(without).collect());
            kept.and_then(folded).map_err(|error| failed = Some(error)).ok()
        })?;
        self.journals.scrub(writer, JOURNAL)?;
        self.journals.retire(writer)?;
        failed.map_or(Ok(changed), Err)
    }

    /// Moves what all processes logged into the snapshot, and removes logs that nobody needs any more.
    pub(crate) fn absorb(&self, writer: &Writer) -> Result<(), EmbeddedError> {
        let mut failed = None;
        self.journals.fold(writer, JOURNAL, |journal| {
            if journal.records.is_empty() {
                return None;
            }
            values(journal).and_then(folded).map_err(|error| failed = Some(error)).ok()
        })?;
        self.journals.retire(writer)?;
        failed.map_or(Ok(()), Err)
    }
}

fn values(journal: &Journal) -> Result<Vec<serde_json::Value>, EmbeddedError> {
    let failed = |error: serde_json::Error| EmbeddedError::Json { doing: "reading stored traces", reason: error.to_string() };
    let snapshot: Option<Snapshot> = journal.snapshot.as_deref().map(serde_json::from_slice).transpose().map_err(failed)?;
    let mut values = snapshot.unwrap_or_default().traces;
    values.extend(journal.records.iter().filter_map(|record| record.decode().ok()));
    Ok(values)
}

fn folded(mut traces: Vec<serde_json::Value>) -> Result<Vec<u8>, EmbeddedError> {
    let forgotten = traces.len().saturating_sub(TRACES_MAX);
    traces.drain(..forgotten);
    serde_json::to_vec(&Snapshot { version: VERSION, traces })
        .map_err(|error| EmbeddedError::Json { doing: "storing traces", reason: error.to_string() })
}
