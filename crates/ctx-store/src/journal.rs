//! Journals: named streams of records in the append-only logs, each with a snapshot of what was folded of it so far.
//!
//! A record is appended to this process's log under the journal's name; [`Journals::fold`] replaces the snapshot by what
//! its caller makes of snapshot and records, together with how far the logs were read. [`Journals::append_if`] and folding
//! hold the journal's lock, so that a record which depends on all others is appended by one process at a time. What the
//! records mean is their owner's business.
//!
//! Snapshot: a blob `journal-NAME` with the offsets as one line of JSON, then the owner's bytes.

use crate::absorb::{self, Offsets, absorb};
use crate::disk;
use crate::error::StoreError;
use crate::lock;
use crate::log::{Durability, LogRecord, LogWriter};
use crate::store::Store;
use crate::writer::Writer;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longest wait for a journal's lock; it is held for milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// A journal as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// What was folded so far; `None`: nothing yet.
    pub snapshot: Option<Vec<u8>>,
    /// What was appended since, log by log, in order of writing within a log.
    pub records: Vec<LogRecord>,
    /// Logs whose process may still append.
    pub live: BTreeSet<String>,
    end: Offsets,
}

/// The journals of one store, and this process's log.
#[derive(Debug)]
pub struct Journals {
    store: Store,
    log: Mutex<Option<LogWriter>>,
}

impl Journals {
    /// Journals of this store. Nothing is created before something is appended.
    pub fn new(store: Store) -> Journals {
        Journals { store, log: Mutex::new(None) }
    }

    /// Appends a record.
    pub fn append<T: Serialize>(&self, journal: &str, record: &T, durability: Durability) -> Result<(), StoreError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.is_none() {
            *log = Some(LogWriter::create(self.store.layout())?);
        }
        match log.as_mut() {
            Some(log) => log.append(journal, record, durability),
            None => Ok(()),
        }
    }

    /// Appends a record if `admit` agrees with the whole journal; nobody else appends this way or folds meanwhile.
    pub fn append_if<T: Serialize>(
        &self,
        journal: &str,
        record: &T,
        durability: Durability,
        admit: impl FnOnce(&Journal) -> bool,
    ) -> Result<bool, StoreError> {
        let _turn = self.turn(journal)?;
        let admitted = admit(&self.read(journal)?);
        if admitted {
            self.append(journal, record, durability)?;
        }
        Ok(admitted)
    }

    /// The journal now.
    pub fn read(&self, journal: &str) -> Result<Journal, StoreError> {
        let (from, snapshot) = self.snapshot(journal)?;
        let absorbed = absorb(self.store.layout(), &from)?;
        let mut records = absorbed.records;
        records.retain(|record| record.kind == journal);
        Ok(Journal { snapshot, records, live: absorb::live(self.store.layout())?, end: absorbed.offsets })
    }

    /// Replaces the snapshot by what `fold` makes of the journal; its records are part of it from then on. `None` leaves it.
    pub fn fold(&self, _: &Writer, journal: &str, fold: impl FnOnce(&Journal) -> Option<Vec<u8>>) -> Result<bool, StoreError> {
        let _turn = self.turn(journal)?;
        let read = self.read(journal)?;
        let Some(made) = fold(&read) else { return Ok(false) };
        let mut bytes = serde_json::to_vec(&read.end)
            .map_err(|error| StoreError::Inconsistent { doing: "folding a journal", problem: format!("{journal}: {error}") })?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&made);
        self.store.write_blob_atomic(&blob(journal), &bytes)?;
        Ok(true)
    }

    /// Removes logs whose process has ended and whose records are all part of some snapshot. Returns how many.
    pub fn retire(&self, _: &Writer) -> Result<u32, StoreError> {
        let mut known: BTreeMap<String, Offsets> = BTreeMap::new();
        absorb::retire(self.store.layout(), |record| {
            let offsets = match known.get(&record.kind) {
                Some(offsets) => offsets,
                None => known.entry(record.kind.clone()).or_insert(self.snapshot(&record.kind)?.0),
            };
            Ok(record.offset < offsets.of(&record.log))
        })
    }

    /// Empties the journal's records that are part of its snapshot, in logs whose process has ended: what the snapshot left out
    /// is then gone from the disk. Logs that somebody may still append to stay as they are. Returns how many were emptied.
    pub fn scrub(&self, _: &Writer, journal: &str) -> Result<u32, StoreError> {
        let _turn = self.turn(journal)?;
        let (offsets, _) = self.snapshot(journal)?;
        absorb::scrub(self.store.layout(), |record| record.kind == journal && record.offset < offsets.of(&record.log))
    }

    fn snapshot(&self, journal: &str) -> Result<(Offsets, Option<Vec<u8>>), StoreError> {
        let Some(mut bytes) = self.store.read_blob(&blob(journal))? else { return Ok((Offsets::default(), None)) };
        let broken = |problem: String| StoreError::Inconsistent { doing: "reading a journal", problem: format!("{journal}: {problem}") };
        let line = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| broken("its snapshot has no offsets".to_owned()))?;
        let content = bytes.split_off(line + 1);
        bytes.truncate(line);
        let offsets = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        Ok((offsets, Some(content)))
    }

    /// The journal's lock; where there are no locks, the lock file is no help and nothing is refused.
    fn turn(&self, journal: &str) -> Result<File, StoreError> {
        let layout = self.store.layout();
        disk::create_dir(&layout.logs())?;
        lock::exclusive(layout, &layout.journal_lock(journal), LOCK_WAIT)
    }
}

fn blob(journal: &str) -> String {
    format!("journal-{journal}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(journal: &Journal) -> Vec<u32> {
        let folded = journal.snapshot.iter().flat_map(|bytes| serde_json::from_slice::<Vec<u32>>(bytes).unwrap());
        let mut all: Vec<u32> = folded.chain(journal.records.iter().map(|record| record.decode().unwrap())).collect();
        all.sort_unstable();
        all
    }

    fn refold(journals: &Journals, store: &Store, name: &str) {
        let writer = store.writer(Duration::ZERO).unwrap();
        assert!(journals.fold(&writer, name, |journal| Some(serde_json::to_vec(&numbers(journal)).unwrap())).unwrap());
    }

    #[test]
    fn records_count_once_whoever_folds_and_a_log_stays_while_any_journal_needs_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        let (one, two) = (Journals::new(store.clone()), Journals::new(store.clone()));
        one.append("a", &1, Durability::None).unwrap();
        one.append("b", &7, Durability::None).unwrap();
        two.append("a", &2, Durability::None).unwrap();
        assert_eq!(numbers(&one.read("a").unwrap()), [1, 2]);
        refold(&two, &store, "a");
        two.append("a", &3, Durability::None).unwrap();
        let read = one.read("a").unwrap();
        assert_eq!((numbers(&read), read.records.len(), read.live.len()), (vec![1, 2, 3], 1, 2));

        drop(one);
        assert_eq!(two.read("a").unwrap().live.len(), 1, "an ended process may not append");
        let writer = store.writer(Duration::ZERO).unwrap();
        assert_eq!(two.retire(&writer).unwrap(), 0, "journal b was never folded");
        drop(writer);
        refold(&two, &store, "b");
        let writer = store.writer(Duration::ZERO).unwrap();
        assert_eq!(two.retire(&writer).unwrap(), 1);
        assert_eq!((numbers(&two.read("a").unwrap()), numbers(&two.read("b").unwrap())), (vec![1, 2, 3], vec![7]));
    }

    #[test]
    fn what_a_snapshot_left_out_can_be_taken_off_the_disk_and_nothing_else_moves() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        let (one, two) = (Journals::new(store.clone()), Journals::new(store.clone()));
        let held = |word: &str| {
            let logs = disk::list(&store.layout().logs()).unwrap();
            logs.iter().filter(|path| path.is_file()).any(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(word))
        };
        one.append("a", &"quartz heron", Durability::None).unwrap();
        one.append("b", &7, Durability::None).unwrap();
        let writer = store.writer(Duration::ZERO).unwrap();
        assert!(one.fold(&writer, "a", |_| Some(b"[]".to_vec())).unwrap());
        one.append("a", &"onyx", Durability::None).unwrap();
        assert_eq!(two.scrub(&writer, "a").unwrap(), 0, "somebody still appends to the log");
        drop(one);
        assert_eq!((held("quartz"), two.scrub(&writer, "a").unwrap(), held("quartz")), (true, 1, false));
        let left: Vec<String> = two.read("a").unwrap().records.iter().map(|record| record.decode().unwrap()).collect();
        assert_eq!((left, numbers(&two.read("b").unwrap())), (vec!["onyx".to_owned()], vec![7]));
        assert_eq!(two.scrub(&writer, "a").unwrap(), 0, "it is done");
    }

    #[test]
    fn of_two_that_depend_on_each_other_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        let admitted: Vec<bool> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..4)
                .map(|at| {
                    let journals = Journals::new(store.clone());
                    scope.spawn(move || journals.append_if("ledger", &at, Durability::None, |all| all.records.len() < 2).unwrap())
                })
                .collect();
            tries.into_iter().map(|task| task.join().unwrap()).collect()
        });
        assert_eq!(admitted.iter().filter(|admitted| **admitted).count(), 2);
        assert_eq!(Journals::new(store).read("ledger").unwrap().records.len(), 2);
    }
}
