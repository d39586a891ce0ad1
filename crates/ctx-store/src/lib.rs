//! The store: immutable segments, a manifest per generation, the writer's lock, and the small files beside them.
//!
//! It knows files and nothing else: no DuckDB, no tantivy, no SQL. A segment is a folder that others fill; the store
//! builds it aside, makes it durable, publishes it by replacing one small file (`CURRENT`) and sweeps what no reader
//! holds any more. A crash at any step leaves the generation that was current before it readable.
//!
//! ```text
//! STORE/CURRENT                 name of the current manifest, replaced by rename
//!       manifests/<n>.json      one generation, immutable, checksummed
//!       files/<sha256>.json     the file list of one source, shared by generations that agree on it
//!       segments/<id>/          sealed segments: each belongs to one source
//!       building/<random>/      segments under construction; whatever is left here is swept
//!       leases/<n>              shared-locked by every process that reads generation n
//!       logs/<pid>-<start>.log  append-only records of one process
//!       blobs/<name>            small snapshots (statistics, plan cache), replaced by rename
//!       writer.lock             the one writer
//! ```
//!
//! ```
//! use ctx_store::{Change, FileEntry, FileList, SegmentSize, SourceUpdate, Store};
//! use ctx_types::SourceName;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path());
//! let docs = SourceName::new("docs")?;
//!
//! let mut writer = store.writer(Duration::from_secs(30))?;
//! let build = writer.begin_segment(&docs)?;
//! std::fs::write(build.path().join("data"), b"anything")?;
//! let segment = build.seal(SegmentSize { documents: 1, passages: 1 })?;
//! let mut files = FileList::default();
//! files.insert("a.md", FileEntry { segment: Some(segment.id.clone()), documents: 1, ..FileEntry::new("c0ffee") });
//! let mut update = SourceUpdate::new(docs.clone(), "/srv/docs");
//! update.add_segments.push(segment);
//! update.files = Some(files);
//! writer.publish(vec![Change::Update(update)])?;
//!
//! let generation = store.current()?;
//! assert_eq!(generation.source(&docs).map(|s| s.live_documents()), Some(1));
//! # Ok(()) }
//! ```
//!
//! Reading order: [`layout`] → [`manifest`] → [`generation`] → [`store`] → [`writer`] → [`sweep`]; then the files inside
//! a segment ([`passages`], [`terms`], [`vectors`], [`ranges`]) and beside them ([`log`], [`mod@absorb`], [`journal`], [`blob`]).

pub mod absorb;
pub mod blob;
pub(crate) mod checksum;
pub(crate) mod disk;
pub mod envelope;
pub mod error;
pub mod files;
pub mod generation;
pub mod journal;
pub mod layout;
pub mod lock;
pub mod log;
pub mod manifest;
pub(crate) mod mapped;
pub mod passages;
pub mod ranges;
pub mod store;
pub mod sweep;
pub mod terms;
pub mod vectors;
pub mod writer;

pub use absorb::{Absorbed, Offsets, absorb, retire};
pub use disk::replace_file;
pub use error::StoreError;
pub use files::{FileEntry, FileList, FileStat, Freshness};
pub use generation::Generation;
pub use journal::{Journal, Journals};
pub use lock::Holder;
pub use log::{Durability, LogRecord, LogWriter};
pub use manifest::{IdfIdentity, Manifest, MergeReason, SegmentId, SegmentRef, SourceState};
pub use passages::{PassageFile, PassageWriter};
pub use ranges::{PassageFilter, PassageRanges};
pub use store::{Step, Store};
pub use sweep::SweepReport;
pub use terms::{Dictionary, DictionaryBuilder, DictionaryTotals, TermCount};
pub use vectors::{Neighbour, VectorFile, VectorWriter};
pub use writer::{Change, SegmentBuild, SegmentSize, SourceUpdate, Writer};
