//! The writer's lock: an operating-system lock on `writer.lock`, so that a process that dies lets go of it.
//!
//! The file's content (process id and command) is for messages only; who holds the lock is the kernel's business.

use crate::disk;
use crate::error::StoreError;
use crate::layout::Layout;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// First pause between two attempts; doubled up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(2);
/// Longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// Bytes read from the lock file: a process id and a command line.
const HOLDER_BYTES_MAX: u64 = 4096;
/// Characters kept of the command.
const COMMAND_CHARS_MAX: usize = 80;

/// Who holds the writer's lock, as it said itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id; 0 if unknown.
    pub pid: u32,
    /// Program and first arguments.
    pub command: String,
}

impl Holder {
    /// Whether the holder left its name.
    pub fn is_known(&self) -> bool {
        self.pid != 0
    }

    /// This process: the program's name and its subcommand, never the arguments (a goal may be confidential).
    fn this_process() -> Holder {
        let mut args = std::env::args();
        let program = args.next().unwrap_or_default();
        let name = disk::file_name(Path::new(&program)).to_owned();
        let subcommand = args.next().filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
        let command: String = [Some(name), subcommand].into_iter().flatten().collect::<Vec<_>>().join(" ");
        Holder { pid: std::process::id(), command: command.chars().take(COMMAND_CHARS_MAX).collect() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_known() {
            return f.write_str("an unknown process (on a network file system it may run on another machine)");
        }
        write!(f, "process {}", self.pid)?;
        if !self.command.is_empty() {
            write!(f, " ({})", self.command)?;
        }
        Ok(())
    }
}

/// Held until dropped.
#[derive(Debug)]
pub(crate) struct WriterLock {
    file: File,
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Locks, polling for at most `wait`; writes who we are into the file.
pub(crate) fn acquire(layout: &Layout, wait: Duration) -> Result<WriterLock, StoreError> {
    disk::create_dir(layout.root())?;
    let path = layout.writer_lock();
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(StoreError::io("opening", &path))?;
    poll(layout, wait, || file.try_lock(), || read_holder(&path))?;
    let holder = serde_json::to_vec(&Holder::this_process()).unwrap_or_default();
    file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&holder)).map_err(StoreError::io("writing", &path))?;
    Ok(WriterLock { file })
}

/// Locks some other file of the store, for the time of a few reads and one write. Unlocked when closed.
pub(crate) fn exclusive(layout: &Layout, path: &Path, wait: Duration) -> Result<File, StoreError> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(StoreError::io("opening", path))?;
    poll(layout, wait, || file.try_lock(), Holder::default)?;
    Ok(file)
}

/// Attempts until it succeeds or `wait` is over. Any error of the lock call counts as "not yet": network file systems
/// report a busy lock in several ways.
fn poll(
    layout: &Layout,
    wait: Duration,
    mut attempt: impl FnMut() -> Result<(), TryLockError>,
    holder: impl Fn() -> Holder,
) -> Result<(), StoreError> {
    let start = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        let failure = match attempt() {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        let waited = start.elapsed();
        if waited >= wait {
            return Err(give_up(layout, failure, holder(), waited));
        }
        std::thread::sleep(pause.min(wait - waited));
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn give_up(layout: &Layout, failure: TryLockError, holder: Holder, waited: Duration) -> StoreError {
    match failure {
        TryLockError::Error(source) if source.kind() != io::ErrorKind::WouldBlock => {
            StoreError::LockFailed { path: layout.writer_lock(), source, waited }
        }
        _ => StoreError::Busy { store: layout.root().to_owned(), holder, waited },
    }
}

fn read_holder(path: &Path) -> Holder {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HOLDER_BYTES_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(_) => Holder::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_writer_waits_with_a_bound_and_names_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let held = acquire(&layout, Duration::ZERO).unwrap();
        let error = acquire(&layout, Duration::from_millis(30)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
        assert!(text.contains("waited 0.0 s") && text.starts_with("index of "), "{text}");
        drop(held);
        acquire(&layout, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_lock_that_is_busy_and_held_by_nobody_ends_with_a_word_on_network_file_systems() {
        let layout = Layout::new("/store");
        let mut attempts = 0;
        let again = || {
            attempts += 1;
            Err(TryLockError::Error(io::Error::from(io::ErrorKind::WouldBlock)))
        };
        let error = poll(&layout, Duration::from_millis(10), again, Holder::default).unwrap_err();
        assert!(attempts > 1, "one attempt is not waiting");
        assert!(error.to_string().contains("network file system"), "{error}");
        assert!(error.hint().unwrap().contains("CTXRT_STORE"));
    }

    #[test]
    fn a_lock_call_that_fails_is_reported_with_its_reason() {
        let layout = Layout::new("/store");
        let fails = || Err(TryLockError::Error(io::Error::other("No locks available")));
        let error = poll(&layout, Duration::ZERO, fails, Holder::default).unwrap_err();
        assert!(error.to_string().contains("No locks available"), "{error}");
        assert!(error.hint().unwrap().contains("network"));
    }

    #[test]
    fn a_lock_that_frees_itself_is_taken() {
        let mut left = 3;
        let attempt = || {
            left -= 1;
            if left == 0 { Ok(()) } else { Err(TryLockError::WouldBlock) }
        };
        poll(&Layout::new("/store"), Duration::from_secs(5), attempt, Holder::default).unwrap();
    }
}
