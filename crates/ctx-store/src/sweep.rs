//! Removing what nobody needs: leftovers of crashed builds, generations without readers, unreferenced segments.
//!
//! Rule: the current manifest stays; a newer one was never current and goes; an older one goes if its lease can be
//! locked exclusively, that is, if no living process reads it. Segments and file lists go when no remaining manifest
//! names them. If a remaining manifest cannot be read, no segment is removed.

use crate::disk;
use crate::error::StoreError;
use crate::manifest::Manifest;
use crate::store::Store;
use crate::writer::Pending;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::ops::Add;
use std::path::Path;

/// What a sweep removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Builds that a crashed process left behind.
    pub builds: u32,
    /// Manifests.
    pub generations: u32,
    /// Segments.
    pub segments: u32,
    /// Older generations that somebody still reads; a later sweep takes them.
    pub held: u32,
}

impl Add for SweepReport {
    type Output = SweepReport;
    fn add(self, other: SweepReport) -> SweepReport {
        SweepReport {
            builds: self.builds + other.builds,
            generations: self.generations + other.generations,
            segments: self.segments + other.segments,
            held: other.held,
        }
    }
}

/// Sweeps; the caller holds the writer's lock. `removed` is called after each removal.
pub(crate) fn run(store: &Store, current: &Manifest, pending: &Pending, removed: &dyn Fn()) -> Result<SweepReport, StoreError> {
    let mut report = SweepReport { builds: sweep_builds(store, pending, removed)?, ..SweepReport::default() };
    let kept = sweep_manifests(store, current, &mut report, removed)?;
    let Some((segments, lists)) = referenced(store, current, &kept) else { return Ok(report) };
    for path in disk::list(&store.layout().segments())? {
        let name = disk::file_name(&path);
        if !segments.contains(name) && !pending.sealed.iter().any(|id| id.as_str() == name) {
            remove_segment(store, &path)?;
            report.segments += 1;
            removed();
        }
    }
    for path in disk::list(&store.layout().file_lists())? {
        if !lists.contains(disk::file_name(&path).trim_end_matches(".json")) {
            remove(&path)?;
        }
    }
    Ok(report)
}

fn sweep_builds(store: &Store, pending: &Pending, removed: &dyn Fn()) -> Result<u32, StoreError> {
    let mut count = 0;
    for path in disk::list(&store.layout().building())? {
        if !pending.folders.contains(&path) {
            remove(&path)?;
            count += 1;
            removed();
        }
    }
    Ok(count)
}

/// Removes manifests without readers; returns the older ones that stay.
fn sweep_manifests(store: &Store, current: &Manifest, report: &mut SweepReport, removed: &dyn Fn()) -> Result<Vec<u64>, StoreError> {
    let mut kept = Vec::new();
    for number in store.manifest_numbers()?.into_iter().filter(|number| *number != current.generation) {
        // Held until the manifest is gone: a reader that takes the lease afterwards finds no manifest and looks again.
        let _exclusive = match without_readers(store, number) {
            Lease::Read => {
                kept.push(number);
                report.held += 1;
                continue;
            }
            Lease::Exclusive(file) => Some(file),
            Lease::NoLocks => None,
        };
        remove(&store.layout().manifest(number))?;
        report.generations += 1;
        removed();
    }
    sweep_leases(store, current, &kept)?;
    Ok(kept)
}

/// What a generation's lease says.
enum Lease {
    /// A living process reads it.
    Read,
    /// Nobody does, and nobody can start to while this is held.
    Exclusive(File),
    /// The file system has no locks: readers that are outrun look again.
    NoLocks,
}

fn without_readers(store: &Store, number: u64) -> Lease {
    let opened = File::options().create(true).truncate(false).write(true).open(store.layout().lease(number));
    let Ok(lease) = opened else { return Lease::NoLocks };
    match lease.try_lock() {
        Ok(()) => Lease::Exclusive(lease),
        Err(fs::TryLockError::WouldBlock) => Lease::Read,
        Err(fs::TryLockError::Error(_)) => Lease::NoLocks,
    }
}

fn sweep_leases(store: &Store, current: &Manifest, kept: &[u64]) -> Result<(), StoreError> {
    for path in disk::list(&store.layout().leases())? {
        let number = disk::file_name(&path).parse::<u64>();
        if !number.is_ok_and(|number| number == current.generation || kept.contains(&number)) {
            remove(&path)?;
        }
    }
    Ok(())
}

type Names = BTreeSet<String>;

/// Segments and file lists that remaining manifests name; `None` if one of them cannot be read.
fn referenced(store: &Store, current: &Manifest, kept: &[u64]) -> Option<(Names, Names)> {
    let mut manifests = vec![current.clone()];
    for number in kept {
        let path = store.layout().manifest(*number);
        manifests.push(Manifest::decode(&path, &fs::read(&path).ok()?).ok()?);
    }
    let segments = manifests.iter().flat_map(|m| m.segment_ids()).map(|id| id.as_str().to_owned()).collect();
    let lists = manifests.iter().flat_map(|m| m.sources.values()).map(|s| s.file_list.clone()).collect();
    Some((segments, lists))
}

/// Moves the folder aside before emptying it: no half-removed segment ever stands in `segments/`.
fn remove_segment(store: &Store, path: &Path) -> Result<(), StoreError> {
    let aside = store.layout().building().join(format!("gone-{}", disk::unique_name()));
    fs::rename(path, &aside).map_err(StoreError::io("removing", path))?;
    remove(&aside)
}

/// Removes a file or folder; one that is gone already is fine.
fn remove(path: &Path) -> Result<(), StoreError> {
    let result = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("removing", path)(error)),
        _ => Ok(()),
    }
}
