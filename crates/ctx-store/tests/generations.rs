//! Publication, deletion, merging, leases and damage, as the indexing pipeline uses them.

#![allow(clippy::unwrap_used)]

use ctx_store::{Change, FileEntry, FileList, IdfIdentity, SegmentRef, SegmentSize, SourceUpdate, Store, StoreError, Writer};
use ctx_types::SourceName;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

fn name(text: &str) -> SourceName {
    SourceName::new(text).unwrap()
}

fn writer(store: &Store) -> Writer {
    store.writer(Duration::from_secs(5)).unwrap()
}

fn seal(writer: &Writer, source: &str, documents: u32) -> SegmentRef {
    let build = writer.begin_segment(&name(source)).unwrap();
    fs::create_dir(build.path().join("text")).unwrap();
    fs::write(build.path().join("text/data"), b"content").unwrap();
    build.seal(SegmentSize { documents, passages: documents * 2 }).unwrap()
}

fn update(source: &str, add: Vec<SegmentRef>, paths: &[&str]) -> SourceUpdate {
    let mut files = FileList::default();
    for path in paths {
        files.insert(*path, FileEntry::new("ab"));
    }
    SourceUpdate { add_segments: add, files: Some(files), ..SourceUpdate::new(name(source), "/root") }
}

fn segments_on_disk(store: &Store) -> usize {
    fs::read_dir(store.layout().segments()).map_or(0, Iterator::count)
}

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"));
    (folder, store)
}

#[test]
fn a_store_that_is_not_there_is_empty_and_looking_creates_nothing() {
    let (_folder, store) = store();
    let generation = store.current().unwrap();
    assert_eq!((generation.number(), generation.sources().count()), (0, 0));
    assert!(!store.root().exists());
}

#[test]
fn sources_come_change_and_go() {
    let (_folder, store) = store();
    let mut w = writer(&store);
    let first = seal(&w, "docs", 5);
    w.publish(vec![Change::Update(update("docs", vec![first.clone()], &["a", "b"])), Change::Update(update("empty", vec![], &[]))])
        .unwrap();
    let one = store.current().unwrap();
    assert_eq!((one.number(), one.source(&name("docs")).unwrap().live_documents()), (1, 5));
    assert_eq!(one.files(&name("docs")).unwrap().len(), 2);
    assert!(one.segment_path(&first.id).join("text/data").exists());

    let mut second = update("docs", vec![seal(&w, "docs", 1)], &["a", "c"]);
    second.tombstones.insert(first.id.clone(), BTreeSet::from([1, 4]));
    second.idf = Some(IdfIdentity { identity: "i".into(), blob: "idf-docs".into() });
    w.publish(vec![Change::Update(second)]).unwrap();
    let two = store.current().unwrap();
    let docs = two.source(&name("docs")).unwrap();
    assert_eq!((docs.live_documents(), docs.segments[0].tombstones.as_slice()), (4, &[1, 4][..]));
    assert_ne!(one.fingerprint(), two.fingerprint());
    assert_eq!(one.source(&name("empty")), two.source(&name("empty")), "an untouched source is the same value");

    let mut touch = SourceUpdate::new(name("docs"), "/moved");
    touch.tombstones.insert(first.id.clone(), BTreeSet::from([0]));
    let three = w.publish(vec![Change::Update(touch)]).unwrap();
    let docs = three.source(&name("docs")).unwrap();
    assert_eq!((docs.segments[0].tombstones.as_slice(), docs.root.as_str()), (&[0, 1, 4][..], "/moved"));
    assert_eq!(docs.idf.as_ref().unwrap().identity, "i");
    assert_eq!(three.fingerprint(), two.fingerprint(), "the root is not part of the fingerprint");

    w.publish(vec![Change::Remove(name("docs"))]).unwrap();
    assert!(store.current().unwrap().source(&name("docs")).is_none());
}

#[test]
fn a_reader_keeps_its_generation_and_what_nobody_reads_goes() {
    let (_folder, store) = store();
    let reader = Store::open(store.root());
    let mut w = writer(&store);
    let old = seal(&w, "docs", 2);
    w.publish(vec![Change::Update(update("docs", vec![old.clone()], &["a"]))]).unwrap();
    let held = reader.current().unwrap();

    let mut replace = update("docs", vec![seal(&w, "docs", 2)], &["a", "b"]);
    replace.drop_segments.insert(old.id.clone());
    w.publish(vec![Change::Update(replace)]).unwrap();
    assert_eq!((w.swept().held, segments_on_disk(&store)), (1, 2));
    assert!(held.segment_path(&old.id).exists());
    assert_eq!(held.files(&name("docs")).unwrap().len(), 1, "its file list is kept as well");

    assert_eq!(reader.current().unwrap().number(), 2);
    drop(held);
    assert_eq!(w.sweep().unwrap().segments, 1);
    assert_eq!(segments_on_disk(&store), 1);
    assert_eq!(fs::read_dir(store.layout().manifests()).unwrap().count(), 1);
}

#[test]
fn a_segment_without_a_visible_document_is_dropped_at_once() {
    let (_folder, store) = store();
    let mut w = writer(&store);
    let segment = seal(&w, "docs", 2);
    w.publish(vec![Change::Update(update("docs", vec![segment.clone()], &["a", "b"]))]).unwrap();
    let mut delete = update("docs", vec![], &[]);
    delete.tombstones.insert(segment.id, BTreeSet::from([0, 1]));
    w.publish(vec![Change::Update(delete)]).unwrap();
    assert_eq!(segments_on_disk(&store), 0);
}

#[test]
fn contradictions_leave_the_old_generation_current() {
    let (_folder, store) = store();
    let mut w = writer(&store);
    let segment = seal(&w, "docs", 2);
    w.publish(vec![Change::Update(update("docs", vec![segment.clone()], &["a"]))]).unwrap();
    let mut unknown = update("docs", vec![], &["a"]);
    unknown.drop_segments.insert(seal(&w, "docs", 1).id);
    let mut beyond = update("docs", vec![], &["a"]);
    beyond.tombstones.insert(segment.id.clone(), BTreeSet::from([2]));
    let stolen = update("other", vec![segment.clone()], &["a"]);
    for bad in [unknown, beyond, stolen] {
        let error = w.publish(vec![Change::Update(bad)]).unwrap_err();
        assert!(matches!(error, StoreError::Inconsistent { .. }), "{error}");
    }
    assert_eq!(store.current().unwrap().number(), 1);
}

#[test]
fn a_folder_that_disappears_before_publication_is_an_error_value() {
    let (_folder, store) = store();
    let mut w = writer(&store);
    w.publish(vec![Change::Update(update("docs", vec![], &[]))]).unwrap();
    let lost = seal(&w, "docs", 1);
    fs::remove_dir_all(store.layout().segment(&lost.id)).unwrap();
    let error = w.publish(vec![Change::Update(update("docs", vec![lost], &["a"]))]).unwrap_err();
    assert!(error.to_string().contains("missing") && error.hint().is_some(), "{error}");

    let build = w.begin_segment(&name("docs")).unwrap();
    fs::remove_dir_all(store.layout().building()).unwrap();
    assert!(build.seal(SegmentSize { documents: 1, passages: 1 }).is_err());
    assert_eq!(store.current().unwrap().number(), 1, "the other sources stay readable");
}

#[test]
fn damage_is_named_and_a_rebuild_gets_past_it() {
    let (_folder, store) = store();
    let mut w = writer(&store);
    w.publish(vec![Change::Update(update("docs", vec![seal(&w, "docs", 1)], &["a"]))]).unwrap();
    drop(w);
    let layout = store.layout().clone();
    let list = store.current().unwrap().source(&name("docs")).unwrap().file_list.clone();
    for path in [layout.current(), layout.manifest(1), layout.file_list(&list)] {
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damaged in [&whole[..whole.len() / 2], &flipped, &[]] {
            fs::write(&path, damaged).unwrap();
            let fresh = Store::open(store.root());
            let error = fresh.current().and_then(|generation| generation.files(&name("docs"))).unwrap_err();
            assert!(error.to_string().contains("ctxrt index"), "{}: {error}", path.display());
        }
        fs::write(&path, &whole).unwrap();
    }
    fs::write(layout.manifest(1), b"garbage").unwrap();
    assert!(Store::open(store.root()).writer(Duration::ZERO).is_err());
    store.forget();
    let mut rebuilding = Store::open(store.root()).writer_rebuilding(Duration::ZERO).unwrap();
    rebuilding.publish(vec![Change::Update(update("docs", vec![seal(&rebuilding, "docs", 3)], &["a"]))]).unwrap();
    let generation = Store::open(store.root()).current().unwrap();
    assert_eq!((generation.number(), generation.source(&name("docs")).unwrap().live_documents()), (2, 3));
    assert_eq!(segments_on_disk(&store), 1);
}

#[test]
fn an_abandoned_build_is_removed() {
    let (_folder, store) = store();
    let w = writer(&store);
    let build = w.begin_segment(&name("docs")).unwrap();
    let path = build.path().to_owned();
    assert!(path.exists());
    assert_eq!(w.sweep().unwrap().builds, 0, "a build in progress is not a leftover");
    drop(build);
    assert!(!path.exists());
}

#[test]
fn a_rebuild_of_a_healthy_store_keeps_it_readable_until_it_publishes() {
    let (_folder, store) = store();
    let mut w = writer(&store);
    let old = seal(&w, "docs", 2);
    w.publish(vec![Change::Update(update("docs", vec![old.clone()], &["a"]))]).unwrap();
    drop(w);
    store.forget();
    let mut rebuilding = store.writer_rebuilding(Duration::ZERO).unwrap();
    let fresh = seal(&rebuilding, "docs", 2);
    assert_eq!(rebuilding.sweep().unwrap().segments, 0);
    assert!(Store::open(store.root()).current().unwrap().segment_path(&old.id).exists());
    let generation = rebuilding.publish(vec![Change::Update(update("docs", vec![fresh], &["a"]))]).unwrap();
    assert_eq!((generation.number(), generation.source(&name("docs")).unwrap().segments.len()), (2, 1));
    assert!(!generation.segment_path(&old.id).exists());
}
