//! Several processes on one store: killed writers, waiting writers, readers during publication, logs.
//!
//! The children are this test binary, started again with one test's name and the store's folder in the environment.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use ctx_store::{
    Change, Durability, FileEntry, FileList, Journals, LogWriter, Offsets, SegmentSize, SourceUpdate, Store, StoreError, Writer, absorb,
};
use ctx_types::SourceName;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const FOLDER: &str = "CTX_STORE_TEST_FOLDER";
const STOP: &str = "CTX_STORE_TEST_STOP";

fn docs() -> SourceName {
    SourceName::new("docs").unwrap()
}

/// This binary again, running one of the `child_…` tests on `folder`.
fn child(test: &str, folder: &Path, stop: u32) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(STOP, stop.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The store and number given by the parent; `None` when the harness runs the child's test by itself.
fn given() -> Option<(std::path::PathBuf, u32)> {
    Some((env::var_os(FOLDER)?.into(), env::var(STOP).ok()?.parse().ok()?))
}

/// Publishes a generation in which one file of one document says `text`, replacing all others.
fn publish(writer: &mut Writer, text: &str) {
    let build = writer.begin_segment(&docs()).unwrap();
    fs::write(build.path().join("text"), text).unwrap();
    fs::write(build.path().join("more"), vec![7; 5000]).unwrap();
    let segment = build.seal(SegmentSize { documents: 1, passages: 1 }).unwrap();
    let mut update = SourceUpdate::new(docs(), "/docs");
    update.drop_segments = writer.base().source(&docs()).into_iter().flat_map(|s| &s.segments).map(|s| s.id.clone()).collect();
    let mut files = FileList::default();
    files.insert("f", FileEntry { segment: Some(segment.id.clone()), documents: 1, ..FileEntry::new(text) });
    (update.files, update.add_segments) = (Some(files), vec![segment]);
    writer.publish(vec![Change::Update(update)]).unwrap();
}

/// What the current generation says; it must be whole: its file list, its segment and the text must agree.
fn read(store: &Store) -> Option<String> {
    let generation = store.current().unwrap();
    let source = generation.source(&docs())?;
    let id = &source.segments[0].id;
    let text = fs::read_to_string(generation.segment_path(id).join("text")).unwrap();
    assert_eq!(generation.files(&docs()).unwrap().get("f").unwrap().content_hash, text);
    assert_eq!(fs::metadata(generation.segment_path(id).join("more")).unwrap().len(), 5000);
    Some(text)
}

/// Publishes `one`, then dies at the given step of publishing `two`.
#[test]
fn child_dies_at_a_step() {
    let Some((folder, stop)) = given() else { return };
    let seen = AtomicU32::new(0);
    let store = Store::open_observed(folder, move |_| {
        if seen.fetch_add(1, Ordering::SeqCst) == stop {
            std::process::abort();
        }
    });
    let mut writer = store.writer(Duration::from_secs(20)).unwrap();
    publish(&mut writer, "two");
}

#[test]
fn a_writer_that_dies_at_any_step_leaves_the_old_or_the_new_generation() {
    let (mut old, mut new) = (0, 0);
    for stop in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        publish(&mut store.writer(Duration::ZERO).unwrap(), "one");
        let finished = child("child_dies_at_a_step", folder.path(), stop).wait().unwrap().success();
        match read(&Store::open(folder.path())).as_deref() {
            Some("one") if !finished => old += 1,
            Some("two") => new += 1,
            other => panic!("stopped at {stop}, finished: {finished}, the store says {other:?}"),
        }
        let mut writer = Store::open(folder.path()).writer(Duration::from_secs(5)).expect("a dead writer's lock is free");
        publish(&mut writer, "three");
        assert_eq!(read(&store).as_deref(), Some("three"));
        store.forget();
        writer.sweep().unwrap();
        for (name, folder) in
            [("segments", store.layout().segments()), ("manifests", store.layout().manifests()), ("files", store.layout().file_lists())]
        {
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "stopped at {stop}: leftovers in {name}");
        }
        assert_eq!(fs::read_dir(store.layout().building()).unwrap().count(), 0);
    }
    assert!(old >= 4 && new >= 2, "the steps were not all reached: {old} old, {new} new");
}

/// Publishes without end.
#[test]
fn child_publishes_for_ever() {
    let Some((folder, _)) = given() else { return };
    let mut writer = Store::open(folder).writer(Duration::from_secs(20)).unwrap();
    println!("\nready");
    for n in 0.. {
        publish(&mut writer, &n.to_string());
        println!("published");
    }
}

fn wait_until_ready(child: &mut Child) {
    wait_for(child, "ready");
}

fn wait_for(child: &mut Child, word: &str) {
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap() == word), "the child ended without {word:?}");
}

#[test]
fn killing_the_writer_at_random_points_twenty_times_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path());
    let mut number = 0;
    for round in 0..20_u64 {
        let mut child = child("child_publishes_for_ever", folder.path(), 0);
        // Every other time the kill falls into the first publication after the sweep of the last crash.
        wait_for(&mut child, ["ready", "published"][round as usize % 2]);
        // A generation is read while the other process publishes and sweeps.
        let until = std::time::Instant::now() + Duration::from_micros(300 + round * 1777 % 9000);
        while std::time::Instant::now() < until {
            read(&store);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        read(&store);
        let now = store.current().unwrap().number();
        assert!(now >= number, "generation {number} became {now}");
        number = now;
    }
    assert!(number > 0);
}

/// Holds the writer's lock until killed.
#[test]
fn child_holds_the_lock() {
    let Some((folder, _)) = given() else { return };
    let _writer = Store::open(folder).writer(Duration::from_secs(20)).unwrap();
    println!("\nready");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_busy_store_names_the_process_and_reading_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path());
    publish(&mut store.writer(Duration::ZERO).unwrap(), "one");
    let mut child = child("child_holds_the_lock", folder.path(), 0);
    wait_until_ready(&mut child);
    let error = store.writer(Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }));
    let text = error.to_string();
    assert!(text.contains(&format!("process {} (processes", child.id())), "{text}");
    assert_eq!(read(&store).as_deref(), Some("one"));
    child.kill().unwrap();
    child.wait().unwrap();
    store.writer(Duration::from_secs(5)).expect("the kernel let go of the dead process's lock");
}

/// Adds fifty documents, one publication each, waiting for its turn.
#[test]
fn child_adds_fifty() {
    let Some((folder, first)) = given() else { return };
    for n in first..first + 50 {
        let mut writer = Store::open(&folder).writer(Duration::from_secs(60)).unwrap();
        let build = writer.begin_segment(&docs()).unwrap();
        let segment = build.seal(SegmentSize { documents: 1, passages: 1 }).unwrap();
        let mut files = (*writer.base().files(&docs()).unwrap()).clone();
        files.insert(format!("{n}"), FileEntry { segment: Some(segment.id.clone()), documents: 1, ..FileEntry::new("ab") });
        let update = SourceUpdate { add_segments: vec![segment], files: Some(files), ..SourceUpdate::new(docs(), "/docs") };
        writer.publish(vec![Change::Update(update)]).unwrap();
    }
}

#[test]
fn two_processes_that_index_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut children = [child("child_adds_fifty", folder.path(), 0), child("child_adds_fifty", folder.path(), 50)];
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let generation = Store::open(folder.path()).current().unwrap();
    let files = generation.files(&docs()).unwrap();
    assert_eq!(files.len(), 100);
    for (path, entry) in files.iter() {
        assert!(generation.segment_path(entry.segment.as_ref().unwrap()).is_dir(), "{path} is not on disk");
    }
    assert_eq!(generation.source(&docs()).unwrap().live_documents(), 100);
}

/// Takes one of ten places at a time until none is left, saying each aloud, then waits to be killed.
#[test]
fn child_takes_places() {
    let Some((folder, _)) = given() else { return };
    let journals = Journals::new(Store::open(folder));
    println!("\nready");
    let mut taken = 0;
    while journals.append_if("places", &taken, Durability::Sync, |all| all.records.len() < 10).unwrap() {
        taken += 1;
        println!("{taken}");
    }
    println!("full");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_journal_admits_no_more_than_fit_and_tells_the_living_from_the_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut children: Vec<Child> = (0..2).map(|_| child("child_takes_places", folder.path(), 0)).collect();
    let mut taken = Vec::new();
    for child in &mut children {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let numbers = lines.take_while(|line| line != "full").filter(|line| line.parse::<u32>().is_ok());
        taken.push(numbers.count());
    }
    let journals = Journals::new(Store::open(folder.path()));
    let full = journals.read("places").unwrap();
    assert_eq!((taken.iter().sum(), full.records.len()), (10, 10));
    assert_eq!(full.live, full.records.iter().map(|record| record.log.clone()).collect(), "both wait");
    children[0].kill().unwrap();
    children[0].wait().unwrap();
    let after = journals.read("places").unwrap();
    assert_eq!((after.records.len(), after.live.len()), (10, full.live.len() - usize::from(taken[0] > 0)), "what it took stays taken");
    children[1].kill().unwrap();
    children[1].wait().unwrap();
}

/// Logs numbers until killed, saying each aloud once it is appended.
#[test]
fn child_logs() {
    let Some((folder, _)) = given() else { return };
    let mut log = LogWriter::create(Store::open(folder).layout()).unwrap();
    println!("\nready");
    for n in 0_u64.. {
        log.append("n", &n, [Durability::None, Durability::Async][n as usize % 2]).unwrap();
        println!("{n}");
    }
}

#[test]
fn records_of_a_killed_process_survive() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path());
    for _ in 0..5 {
        let mut child = child("child_logs", folder.path(), 0);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        while acknowledged < 50 {
            acknowledged = lines.next().unwrap().unwrap().parse().unwrap_or(0);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged = lines.map_while(Result::ok).filter_map(|line| line.parse().ok()).last().unwrap_or(acknowledged);
        let absorbed = absorb(store.layout(), &Offsets::default()).unwrap();
        let read: Vec<u64> = absorbed.records.iter().map(|record| record.decode().unwrap()).collect();
        assert_eq!(read, (0..read.len() as u64).collect::<Vec<_>>());
        assert!(read.len() as u64 > acknowledged, "{} records, {acknowledged} acknowledged", read.len());
        ctx_store::retire(store.layout(), |record| Ok(record.offset < absorbed.offsets.of(&record.log))).unwrap();
        assert_eq!(fs::read_dir(store.layout().logs()).unwrap().count(), 0);
    }
}
