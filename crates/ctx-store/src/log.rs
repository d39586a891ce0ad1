//! Append-only logs: one file per process, so that appending never waits for another process.
//!
//! File: magic `CTXLOG1\n`, then records. Record (little-endian): bytes of the body 4 · first 8 bytes of the body's
//! SHA-256 · body. Body: length of the kind 1 · kind · payload as JSON. Each record is one `write` of a file opened for
//! appending. A reader stops at the first record that is short or does not match its checksum: the torn tail of a
//! process that died, or a record that is being written right now.

use crate::disk;
use crate::error::StoreError;
use crate::layout::Layout;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;

/// First bytes of every log.
pub const LOG_MAGIC: &[u8; 8] = b"CTXLOG1\n";
/// Longest body of a record; a length beyond it is damage.
pub const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Commits asked for within this time share one sync (`durability: async`).
pub const GROUP_COMMIT: Duration = Duration::from_millis(10);
const HEAD_BYTES: usize = 12;
/// What the payload of an emptied record is made of.
const EMPTY: u8 = b' ';

/// When a record survives a power cut. Every record survives the death of the process as soon as it is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When the system gets to it.
    None,
    /// Within about 10 ms, together with its neighbours.
    Async,
    /// Before `append` returns.
    Sync,
}

/// One record as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// File name of the log.
    pub log: String,
    /// Where the record begins in it.
    pub offset: u64,
    /// What it is.
    pub kind: String,
    payload: Vec<u8>,
}

impl LogRecord {
    /// The payload as a value; an error names log and offset.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        serde_json::from_slice(&self.payload).map_err(|error| StoreError::Inconsistent {
            doing: "reading a log record",
            problem: format!("{} at byte {}: a record of kind {:?}: {error}", self.log, self.offset, self.kind),
        })
    }
    /// Whether its payload was taken out.
    pub(crate) fn is_empty(&self) -> bool {
        self.payload.iter().all(|byte| *byte == EMPTY)
    }
    /// The payload's JSON text.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

/// Appends to this process's log. Dropping it syncs what is pending.
#[derive(Debug)]
pub struct LogWriter {
    file: Arc<File>,
    path: PathBuf,
    group: Option<GroupCommit>,
}

impl LogWriter {
    /// Begins a log of its own in the store. The file is locked while this value lives, so that nobody removes it.
    pub fn create(layout: &Layout) -> Result<LogWriter, StoreError> {
        disk::create_dir(&layout.logs())?;
        let start = crate::writer::now_ns();
        let path = layout.logs().join(format!("{}-{start:020}-{}.log", std::process::id(), &disk::unique_name()[..4]));
        let mut file = File::options().append(true).read(true).create_new(true).open(&path).map_err(StoreError::io("creating", &path))?;
        // Waits for whoever just looks whether this log has ended. Where there are no locks, a log is kept for as long as
        // its process may live: see `absorb::retire`.
        let _ = file.lock_shared();
        file.write_all(LOG_MAGIC).map_err(StoreError::io("writing", &path))?;
        disk::sync_dir(&layout.logs())?;
        Ok(LogWriter { file: Arc::new(file), path, group: None })
    }

    /// The log's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one record.
    pub fn append<T: Serialize>(&mut self, kind: &str, payload: &T, durability: Durability) -> Result<(), StoreError> {
        let record = encode(kind, payload)?;
        (&*self.file).write_all(&record).map_err(StoreError::io("appending to", &self.path))?;
        match durability {
            Durability::None => Ok(()),
            Durability::Async => {
                let group = self.group.get_or_insert_with(|| GroupCommit::start(Arc::clone(&self.file)));
                group.request();
                // A sync that failed in the background is tried again here, where its reason can be reported.
                if group.failed.swap(false, Ordering::Relaxed) { self.sync() } else { Ok(()) }
            }
            Durability::Sync => self.sync(),
        }
    }

    /// Makes everything appended so far durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(StoreError::io("syncing", &self.path))
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.group = None;
        // By hand: a child process that is just being started has a copy of the handle.
        let _ = self.file.unlock();
    }
}

/// A thread that syncs at most once per [`GROUP_COMMIT`], ended and joined when dropped.
#[derive(Debug)]
struct GroupCommit {
    requests: Option<SyncSender<()>>,
    failed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl GroupCommit {
    fn start(file: Arc<File>) -> GroupCommit {
        let (requests, pending) = mpsc::sync_channel::<()>(1);
        let failed = Arc::new(AtomicBool::new(false));
        let report = Arc::clone(&failed);
        let thread = std::thread::spawn(move || {
            while pending.recv().is_ok() {
                // Records appended during the pause are covered by the same sync.
                let ended = pending.recv_timeout(GROUP_COMMIT) == Err(RecvTimeoutError::Disconnected);
                report.fetch_or(file.sync_data().is_err(), Ordering::Relaxed);
                if ended {
                    return;
                }
            }
        });
        GroupCommit { requests: Some(requests), failed, thread: Some(thread) }
    }

    fn request(&self) {
        if let Some(requests) = &self.requests {
            // Full means that a sync is due anyway.
            let _: Result<(), TrySendError<()>> = requests.try_send(());
        }
    }
}

impl Drop for GroupCommit {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn encode<T: Serialize>(kind: &str, payload: &T) -> Result<Vec<u8>, StoreError> {
    let doing = "appending to a log";
    let failed = |problem: String| StoreError::Inconsistent { doing, problem };
    let kind_len = u8::try_from(kind.len()).map_err(|_| failed(format!("a kind of {} bytes", kind.len())))?;
    let mut body = vec![kind_len];
    body.extend_from_slice(kind.as_bytes());
    serde_json::to_writer(&mut body, payload).map_err(|error| failed(error.to_string()))?;
    if body.len() > RECORD_BYTES_MAX {
        return Err(failed(format!("a record of {} bytes; at most {RECORD_BYTES_MAX}", body.len())));
    }
    let mut record = Vec::with_capacity(HEAD_BYTES + body.len());
    record.extend_from_slice(&(body.len() as u32).to_le_bytes());
    record.extend_from_slice(&Sha256::digest(&body)[..8]);
    record.extend_from_slice(&body);
    Ok(record)
}

/// What a log held beyond an offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) records: Vec<LogRecord>,
    /// Where the next record begins.
    pub(crate) end: u64,
    /// Bytes after `end` that are no record (yet).
    pub(crate) torn: u64,
}

/// Reads the records of one log from `offset` on. Never fails on content.
pub(crate) fn read_from(path: &Path, offset: u64) -> Result<Tail, StoreError> {
    let mut file = File::open(path).map_err(StoreError::io("opening", path))?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_to_end(&mut bytes)).map_err(StoreError::io("reading", path))?;
    Ok(parse(disk::file_name(path), offset, &bytes))
}

/// The bytes of a log with the `unwanted` records emptied; each keeps its place and length, so that offsets still hold. `None`:
/// nothing is to be emptied.
pub(crate) fn emptied(path: &Path, mut unwanted: impl FnMut(&LogRecord) -> bool) -> Result<Option<(Vec<u8>, u32)>, StoreError> {
    let mut bytes = std::fs::read(path).map_err(StoreError::io("reading", path))?;
    let records = parse(disk::file_name(path), 0, &bytes).records;
    let mut count = 0;
    for record in records.iter().filter(|record| !record.is_empty() && unwanted(record)) {
        let start = usize::try_from(record.offset).unwrap_or(usize::MAX).saturating_add(HEAD_BYTES);
        let end = start.saturating_add(1 + record.kind.len() + record.payload.len());
        let Some(body) = bytes.get_mut(start..end) else { continue };
        body[1 + record.kind.len()..].fill(EMPTY);
        let sum = Sha256::digest(&*body);
        bytes[start - 8..start].copy_from_slice(&sum[..8]);
        count += 1;
    }
    Ok((count > 0).then_some((bytes, count)))
}

fn parse(log: &str, offset: u64, bytes: &[u8]) -> Tail {
    let mut tail = Tail { end: offset, ..Tail::default() };
    let mut rest = bytes;
    if offset == 0 {
        match rest.strip_prefix(LOG_MAGIC) {
            Some(after) => {
                rest = after;
                tail.end = LOG_MAGIC.len() as u64
            }
            None => return Tail { torn: bytes.len() as u64, ..tail },
        }
    }
    while let Some((kind, payload, used)) = first_record(rest) {
        tail.records.push(LogRecord { log: log.to_owned(), offset: tail.end, kind, payload });
        tail.end += used as u64;
        rest = &rest[used..];
    }
    tail.torn = rest.len() as u64;
    tail
}

/// Kind, payload and bytes used; `None` where no whole record begins.
fn first_record(bytes: &[u8]) -> Option<(String, Vec<u8>, usize)> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
    let body = rest.get(..length).filter(|_| length <= RECORD_BYTES_MAX)?;
    if Sha256::digest(body)[..8] != head[4..] {
        return None;
    }
    let (kind_len, rest) = body.split_first()?;
    let (kind, payload) = rest.split_at_checked(usize::from(*kind_len))?;
    Some((String::from_utf8(kind.to_vec()).ok()?, payload.to_vec(), HEAD_BYTES + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(payloads: &[String]) -> Vec<u8> {
        let mut bytes = LOG_MAGIC.to_vec();
        payloads.iter().for_each(|payload| bytes.extend(encode("note", payload).unwrap()));
        bytes
    }

    proptest! {
        #[test]
        fn a_cut_anywhere_loses_only_what_was_cut(payloads in proptest::collection::vec(".{0,20}", 0..6), cut in any::<usize>()) {
            let whole = log(&payloads);
            let cut = cut % (whole.len() + 1);
            let tail = parse("l", 0, &whole[..cut]);
            let read: Vec<String> = tail.records.iter().map(|r| r.decode().unwrap()).collect();
            prop_assert_eq!(&read[..], &payloads[..read.len()]);
            prop_assert_eq!(tail.end + tail.torn, cut as u64);
            let rest = parse("l", tail.end, &whole[tail.end as usize..]);
            prop_assert_eq!(tail.records.len() + rest.records.len(), payloads.len());
        }

        #[test]
        fn no_input_panics_and_no_damaged_record_passes(payloads in proptest::collection::vec(".{0,20}", 1..4), at in any::<usize>(), flip in 1_u8..=255) {
            let mut bytes = log(&payloads);
            let at = at % bytes.len();
            bytes[at] ^= flip;
            for record in parse("l", 0, &bytes).records {
                prop_assert!(payloads.contains(&record.decode::<String>().unwrap()));
            }
        }

        #[test]
        fn noise_is_a_torn_tail(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(parse("l", 8, &bytes).torn, bytes.len() as u64);
        }
    }

    #[test]
    fn every_durability_keeps_every_record_and_a_record_that_is_too_long_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::create(&Layout::new(folder.path())).unwrap();
        for n in 0..30 {
            let durability = [Durability::None, Durability::Async, Durability::Sync][n % 3];
            writer.append("count", &n, durability).unwrap();
        }
        assert!(writer.append(&"k".repeat(256), &0, Durability::None).is_err());
        let path = writer.path().to_owned();
        drop(writer);
        let tail = read_from(&path, 0).unwrap();
        let read: Vec<usize> = tail.records.iter().map(|record| record.decode().unwrap()).collect();
        assert_eq!((read, tail.torn), ((0..30).collect(), 0));
    }
}
