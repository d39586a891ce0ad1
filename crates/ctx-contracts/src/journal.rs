//! Journals of a store: streams of records that several processes append to, each with a snapshot of what was folded so far.
//!
//! What records and snapshot mean is their owner's business; the store keeps them in one piece. A database serves a journal
//! as a table with a row lock, a folder as append-only logs with a file lock.

use serde::Serialize;
use std::collections::BTreeSet;

/// When a record survives a power cut. Every record survives the death of its process as soon as it is appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The operating system decides.
    None,
    /// Within 10 ms, together with its neighbours.
    #[default]
    Async,
    /// Before the call returns.
    Sync,
}

/// One record of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Who appended it: a name that no other process ever has.
    pub writer: String,
    /// What it appended.
    pub record: serde_json::Value,
}

/// A journal as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// What was folded so far; `None`: nothing yet.
    pub snapshot: Option<Vec<u8>>,
    /// What was appended since, in order of writing by writer.
    pub records: Vec<Recorded>,
    /// Writers that may still append; all others have ended.
    pub live: BTreeSet<String>,
}

/// Decides whether a record may be appended to a journal.
pub type Admit = Box<dyn FnOnce(&Journal) -> bool + Send>;

/// Makes the next snapshot of a journal; `None` leaves it as it is.
pub type Fold = Box<dyn FnOnce(&Journal) -> Option<Vec<u8>> + Send>;
