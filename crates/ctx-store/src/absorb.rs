//! Reading what all processes have logged since last time.
//!
//! Whoever absorbs keeps the [`Offsets`] *inside* the snapshot that it builds from the records, and writes both as one
//! blob: a crash between the two cannot count a record twice or lose it. Holding a [`Writer`](crate::Writer) makes the
//! absorber the only one; anybody may read. Logs are removed by [`retire`] only, never by a sweep.

use crate::disk;
use crate::error::StoreError;
use crate::layout::Layout;
use crate::log::{self, LogRecord};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// How far each log has been read. Persist it together with what was made of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offsets {
    logs: BTreeMap<String, u64>,
}

impl Offsets {
    /// Where the next unread record of a log begins.
    pub fn of(&self, log: &str) -> u64 {
        self.logs.get(log).copied().unwrap_or(0)
    }
}

/// What the logs held beyond the given offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// Records, log by log (by file name), in order of writing within a log.
    pub records: Vec<LogRecord>,
    /// Offsets after them; logs that no longer exist are forgotten.
    pub offsets: Offsets,
    /// Logs that end in bytes that are no record, with their number: being written now, or torn by a crash.
    pub torn: BTreeMap<String, u64>,
}

/// Reads all records beyond `from`.
pub fn absorb(layout: &Layout, from: &Offsets) -> Result<Absorbed, StoreError> {
    let mut absorbed = Absorbed::default();
    for path in logs(layout)? {
        let name = disk::file_name(&path).to_owned();
        let tail = log::read_from(&path, from.of(&name))?;
        absorbed.records.extend(tail.records);
        if tail.torn > 0 {
            absorbed.torn.insert(name.clone(), tail.torn);
        }
        absorbed.offsets.logs.insert(name, tail.end);
    }
    Ok(absorbed)
}

/// Removes logs whose process has ended and whose records are all `kept` elsewhere (a torn tail is given up).
/// Returns how many. The caller holds the writer's lock and has made durable what `kept` says.
pub fn retire(layout: &Layout, mut kept: impl FnMut(&LogRecord) -> Result<bool, StoreError>) -> Result<u32, StoreError> {
    let mut removed = 0;
    for path in logs(layout)? {
        let done = has_ended(&path) && all(&log::read_from(&path, 0)?.records, &mut kept)?;
        if done {
            fs::remove_file(&path).map_err(StoreError::io("removing", &path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Empties records in logs whose process has ended, in place: see [`log::emptied`]. Returns how many. The caller holds the
/// writer's lock and has made durable what is to remain of them.
pub(crate) fn scrub(layout: &Layout, mut unwanted: impl FnMut(&LogRecord) -> bool) -> Result<u32, StoreError> {
    let mut emptied = 0;
    for path in logs(layout)?.into_iter().filter(|path| has_ended(path)) {
        if let Some((bytes, count)) = log::emptied(&path, &mut unwanted)? {
            disk::replace(&path, &layout.building(), &bytes)?;
            emptied += count;
        }
    }
    Ok(emptied)
}

fn all(records: &[LogRecord], kept: &mut impl FnMut(&LogRecord) -> Result<bool, StoreError>) -> Result<bool, StoreError> {
    for record in records {
        if !kept(record)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// File names of the logs that somebody may still append to.
pub(crate) fn live(layout: &Layout) -> Result<BTreeSet<String>, StoreError> {
    let logs = logs(layout)?;
    Ok(logs.iter().filter(|path| !has_ended(path)).map(|path| disk::file_name(path).to_owned()).collect())
}

/// Whether nobody appends any more. Without locks the answer is no: then logs stay.
fn has_ended(path: &Path) -> bool {
    let Ok(file) = File::options().append(true).open(path) else { return false };
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

fn logs(layout: &Layout) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = disk::list(&layout.logs())?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Durability, LogWriter};
    use std::io::Write;

    fn numbers(absorbed: &Absorbed) -> Vec<u32> {
        let mut numbers: Vec<u32> = absorbed.records.iter().map(|record| record.decode().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn each_record_is_seen_once_and_a_torn_tail_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let mut first = LogWriter::create(&layout).unwrap();
        let mut second = LogWriter::create(&layout).unwrap();
        first.append("n", &1, Durability::None).unwrap();
        second.append("n", &2, Durability::None).unwrap();
        let seen = absorb(&layout, &Offsets::default()).unwrap();
        assert_eq!(numbers(&seen), [1, 2]);

        second.append("n", &3, Durability::None).unwrap();
        let torn = first.path().to_owned();
        drop(first);
        File::options().append(true).open(&torn).unwrap().write_all(&[9, 0, 0, 0, 1, 2]).unwrap();
        let more = absorb(&layout, &seen.offsets).unwrap();
        assert_eq!(numbers(&more), [3]);
        assert_eq!(more.torn.values().copied().collect::<Vec<_>>(), [6]);

        let before = |offsets: &Offsets, record: &LogRecord| Ok(record.offset < offsets.of(&record.log));
        assert_eq!(retire(&layout, |record| before(&Offsets::default(), record)).unwrap(), 0, "unread logs must stay");
        assert_eq!(retire(&layout, |record| before(&more.offsets, record)).unwrap(), 1, "the ended one goes, the live one stays");
        second.append("n", &4, Durability::None).unwrap();
        assert_eq!(numbers(&absorb(&layout, &more.offsets).unwrap()), [4]);
    }

    #[test]
    fn a_store_without_logs_is_an_empty_answer() {
        let layout = Layout::new("/nonexistent/store");
        assert_eq!(absorb(&layout, &Offsets::default()).unwrap(), Absorbed::default());
    }
}
