//! Traces: appended to this process's log when a run ends, moved into one snapshot by whoever next writes the store.

use crate::error::EmbeddedError;
use ctx_store::{Durability, LogRecord, LogWriter, Offsets, Store, Writer, absorb, retire};
use ctx_types::Trace;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// Kind of the records.
const TRACE_KIND: &str = "trace";
/// Name of the snapshot.
const TRACE_BLOB: &str = "traces";
/// Traces kept in the snapshot; older ones are forgotten.
const TRACES_MAX: usize = 2_000;

/// Writer and reader of traces.
pub(crate) struct Traces {
    store: Store,
    durability: Durability,
    log: Mutex<Option<LogWriter>>,
}

/// What was absorbed, and how far.
#[derive(Default, Serialize, Deserialize)]
struct Snapshot {
    version: u32,
    offsets: Offsets,
    /// Oldest first, as they were logged.
    traces: Vec<serde_json::Value>,
}

impl Traces {
    pub(crate) fn new(store: Store, durability: Durability) -> Traces {
        Traces { store, durability, log: Mutex::new(None) }
    }

    /// Appends one trace.
    pub(crate) fn record(&self, trace: &Trace) -> Result<(), EmbeddedError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.is_none() {
            *log = Some(LogWriter::create(self.store.layout())?);
        }
        let log = log.as_mut().expect("it was created above");
        Ok(log.append(TRACE_KIND, trace, self.durability)?)
    }

    /// Newest first, at most `limit`. A record of another version is left out.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<Trace>, EmbeddedError> {
        let snapshot = self.snapshot()?;
        let later = absorb(self.store.layout(), &snapshot.offsets)?;
        let logged = later.records.iter().filter(|record| record.kind == TRACE_KIND).filter_map(|record| record.decode::<Trace>().ok());
        let mut traces: Vec<Trace> =
            snapshot.traces.into_iter().filter_map(|value| serde_json::from_value(value).ok()).chain(logged).collect();
        traces.sort_by(|a, b| b.started_at.cmp(&a.started_at));
        traces.truncate(limit);
        Ok(traces)
    }

    fn snapshot(&self) -> Result<Snapshot, EmbeddedError> {
        let Some(bytes) = self.store.read_blob(TRACE_BLOB)? else { return Ok(Snapshot::default()) };
        serde_json::from_slice(&bytes).map_err(|error| EmbeddedError::Json { doing: "reading stored traces", reason: error.to_string() })
    }

    /// Moves what all processes logged into the snapshot; the writer's lock makes this process the only one that does.
    pub(crate) fn absorb(&self, writer: &Writer) -> Result<(), EmbeddedError> {
        let layout = writer.store().layout();
        let mut snapshot = self.snapshot()?;
        let absorbed = absorb(layout, &snapshot.offsets)?;
        if absorbed.records.is_empty() {
            return Ok(());
        }
        let logged = absorbed.records.iter().filter(|record| record.kind == TRACE_KIND);
        snapshot.traces.extend(logged.filter_map(|record: &LogRecord| record.decode().ok()));
        let forgotten = snapshot.traces.len().saturating_sub(TRACES_MAX);
        snapshot.traces.drain(..forgotten);
        snapshot.offsets = absorbed.offsets;
        snapshot.version = 1;
        let bytes =
            serde_json::to_vec(&snapshot).map_err(|error| EmbeddedError::Json { doing: "storing traces", reason: error.to_string() })?;
        writer.store().write_blob_atomic(TRACE_BLOB, &bytes)?;
        retire(layout, &snapshot.offsets)?;
        Ok(())
    }
}
