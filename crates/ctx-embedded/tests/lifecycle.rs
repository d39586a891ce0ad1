//! A source over time: edits, deletions, merges, other writers, damage, another model.
#![allow(clippy::unwrap_used)] // a test that cannot be set up has failed

mod support;

use ctx_contracts::Freshness;
use ctx_embedded::{EmbeddedError, IndexOptions};
use ctx_store::StoreError;
use ctx_types::AccessPath::{Bm25, Dense, Identifier, Whole};
use ctx_types::catalog::SourceState;
use support::World;

fn file(n: u32) -> (String, Vec<u8>) {
    (format!("f{n}.md"), format!("# File {n}\n\nThis one holds the marker token{n}x and words about topic {}.", n % 7).into_bytes())
}

#[test]
fn what_is_deleted_is_found_by_nothing() {
    let world =
        World::new(&[("secret.md", b"marker quartz heron"), ("other.md", b"something else entirely"), ("third.md", b"and a third text")]);
    let before = world.index();
    let hit = world.search(Bm25, "marker quartz heron").remove(0);
    std::fs::remove_file(world.path("secret.md")).unwrap();
    let report = world.index();
    assert_eq!((report.removed, report.unchanged, report.indexed), (1, 2, 0));
    assert_ne!(report.fingerprint, before.fingerprint);
    for path in [Bm25, Dense, Whole, Identifier] {
        assert!(!world.paths(path, "marker quartz heron").contains(&"secret.md".to_owned()), "{path}");
    }
    assert_eq!(world.engine.passage(&world.docs, &hit.passage.id).unwrap(), None);
    assert_eq!(world.engine.recheck(&hit.passage.locator, &hit.passage.fingerprint).unwrap(), Freshness::Gone);
}

#[test]
fn an_edit_of_the_same_size_replaces_the_text() {
    let world = World::new(&[("n.md", b"The limit is 10."), ("m.md", b"another file"), ("o.md", b"one more")]);
    let before = world.index();
    let old = world.search(Bm25, "limit").remove(0);
    world.write("n.md", b"The limit is 25.");
    assert_eq!(world.engine.recheck(&old.passage.locator, &old.passage.fingerprint).unwrap(), Freshness::Changed);
    let reports = world.refresh();
    assert_eq!(reports[0].indexed, 1);
    assert_ne!(reports[0].fingerprint, before.fingerprint);
    let hits = world.search(Bm25, "limit");
    assert_eq!((hits.len(), hits[0].passage.text.contains("25")), (1, true));
    assert_eq!(world.engine.recheck(&hits[0].passage.locator, &hits[0].passage.fingerprint).unwrap(), Freshness::Current);
    assert!(world.refresh().is_empty(), "nothing changed since");
}

#[test]
fn paths_outside_the_source_are_not_rechecked() {
    let world = World::new(&[("a.md", b"alpha")]);
    world.index();
    let mut hit = world.search(Bm25, "alpha").remove(0);
    for path in ["../x", "/etc/passwd", "a/../../x", ""] {
        hit.passage.locator.path = path.to_owned();
        assert!(world.engine.recheck(&hit.passage.locator, &hit.passage.fingerprint).is_err(), "{path}");
    }
}

#[test]
fn many_small_changes_are_merged_and_lose_nothing() {
    let world = World::new(&[]);
    for n in 0..60 {
        let (path, content) = file(n);
        world.write(&path, &content);
    }
    world.index();
    let mut merged = false;
    for n in 60..75 {
        let (path, content) = file(n);
        world.write(&path, &content);
        merged |= world.index().merged;
    }
    assert!(merged, "fifteen runs leave more than eight segments");
    for n in 0..16 {
        std::fs::remove_file(world.path(&format!("f{n}.md"))).unwrap();
    }
    assert!(world.index().merged, "more than a fifth is deleted");
    for n in 0..75 {
        let found = world.paths(Bm25, &format!("token{n}x"));
        let expected: Vec<String> = if n < 16 { vec![] } else { vec![format!("f{n}.md")] };
        assert_eq!(found, expected, "{n}");
    }
    let entry = world.engine.describe().unwrap().remove(&world.docs).unwrap();
    assert_eq!((entry.documents, entry.passages, entry.state), (59, 59, SourceState::Ready));
    let fresh = World::new(&[]);
    for n in 16..75 {
        let (path, content) = file(n);
        fresh.write(&path, &content);
    }
    assert_eq!(fresh.index().fingerprint, entry.fingerprint, "equal content, equal fingerprint, whatever the history");
}

#[test]
fn purge_removes_deleted_text_from_disk() {
    let world = World::new(&[]);
    for n in 0..20 {
        let (path, content) = file(n);
        world.write(&path, &content);
    }
    world.index();
    std::fs::remove_file(world.path("f3.md")).unwrap();
    assert!(!world.index().merged);
    world.engine.index(&[], IndexOptions { purge: true, ..IndexOptions::default() }, &|_| {}, &|| false).unwrap();
    let segments = std::fs::read_dir(world.store.path().join("segments")).unwrap().count();
    assert_eq!(segments, 1);
    assert!(world.paths(Bm25, "token3x").is_empty());
    assert_eq!(world.paths(Bm25, "token4x"), ["f4.md"]);
}

#[test]
fn two_writers_lose_nothing() {
    let world = World::new(&[]);
    for n in 0..50 {
        let (path, content) = file(n);
        world.write(&path, &content);
    }
    let other = world.again();
    std::thread::scope(|scope| {
        scope.spawn(|| world.index());
        for n in 50..100 {
            let (path, content) = file(n);
            world.write(&path, &content);
        }
        scope.spawn(|| other.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap());
    });
    world.index();
    for n in 0..100 {
        assert_eq!(world.paths(Bm25, &format!("token{n}x")), [format!("f{n}.md")]);
    }
}

#[test]
fn a_held_lock_ends_in_an_error_that_names_the_holder_and_readers_go_on() {
    let world = World::new(&[("a.md", b"alpha")]);
    world.index();
    let source = world.engine.sources()[&world.docs].clone();
    let options = ctx_embedded::EngineOptions { lock_wait: std::time::Duration::from_millis(50), ..Default::default() };
    let impatient = ctx_embedded::Engine::open(world.store.path(), [(world.docs.clone(), source)].into(), options);
    let _held = world.engine.store().writer(std::time::Duration::from_secs(5)).unwrap();
    let error = impatient.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap_err();
    assert!(matches!(error, EmbeddedError::Store(StoreError::Busy { .. })), "{error}");
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    let hits = impatient.search(&world.docs, Bm25, "alpha", 5).unwrap().hits;
    assert_eq!(hits.len(), 1);
}

#[test]
fn a_damaged_leg_fails_alone_and_indexing_repairs_it() {
    for (damaged, alive) in [("vectors.i8", Bm25), ("text", Dense)] {
        let world = World::new(&[("a.md", b"alpha letters"), ("b.md", b"beta letters")]);
        world.index();
        let segment = std::fs::read_dir(world.store.path().join("segments")).unwrap().next().unwrap().unwrap().path();
        let part = segment.join(damaged);
        if part.is_dir() {
            std::fs::remove_dir_all(&part).unwrap()
        } else {
            std::fs::write(&part, b"garbage").unwrap()
        }
        let reader = world.again();
        let broken = if alive == Bm25 { Dense } else { Bm25 };
        let error = reader.search(&world.docs, broken, "alpha", 5).map(|_| ()).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        assert_eq!(reader.search(&world.docs, alive, "alpha", 1).unwrap().hits.len(), 1, "{damaged}");
        let report = reader.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap().remove(0);
        assert!(report.warnings.iter().any(|warning| warning.starts_with("built again")), "{report:?}");
        assert_eq!(reader.search(&world.docs, broken, "alpha", 1).unwrap().hits[0].passage.locator.path, "a.md", "{damaged}");
    }
}

#[test]
fn damaged_passages_are_never_shown_and_indexing_repairs_them() {
    let world = World::new(&[("a.md", b"alpha letters"), ("b.md", b"beta letters")]);
    world.index();
    let segment = std::fs::read_dir(world.store.path().join("segments")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(segment.join("passages.bin")).unwrap();
    let mut flipped = whole.clone();
    let at = whole.windows(4).position(|bytes| bytes == b"beta").unwrap();
    flipped[at] = b'z';
    std::fs::write(segment.join("passages.bin"), &flipped).unwrap();
    let reader = world.again();
    assert_eq!(reader.search(&world.docs, Bm25, "alpha", 1).unwrap().hits.len(), 1, "the other passage is whole");
    let error = reader.search(&world.docs, Bm25, "beta", 1).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("passages.bin") && error.hint().is_some(), "{error}");
    let report = reader.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap().remove(0);
    assert!(report.warnings.iter().any(|warning| warning.starts_with("built again")), "{report:?}");
    assert_eq!(reader.search(&world.docs, Bm25, "beta", 1).unwrap().hits[0].passage.locator.path, "b.md");
}

#[test]
fn a_rebuild_reads_everything_again_and_a_stopped_one_changes_nothing() {
    let world = World::new(&[("a.md", b"alpha"), ("b.md", b"beta")]);
    let first = world.index();
    let rebuild = IndexOptions { rebuild: true, ..IndexOptions::default() };
    let stopped = world.engine.index(&[], rebuild, &|_| {}, &|| true).unwrap_err();
    assert!(matches!(stopped, EmbeddedError::Cancelled { .. }), "{stopped}");
    assert_eq!(world.engine.store().current().unwrap().number(), first.generation);
    assert_eq!(world.paths(Bm25, "alpha"), ["a.md"], "the old index is still there");
    let again = world.engine.index(&[], rebuild, &|_| {}, &|| false).unwrap().remove(0);
    assert_eq!((again.indexed, again.unchanged, again.fingerprint), (2, 0, first.fingerprint));
    assert_eq!((world.paths(Bm25, "alpha"), world.paths(Bm25, "beta")), (vec!["a.md".to_owned()], vec!["b.md".to_owned()]));
    assert_eq!(world.index().unchanged, 2, "the next run has nothing to do");
}

#[test]
fn the_bound_of_passages_stays_with_the_source() {
    let paragraphs: String = (0..60).map(|n| format!("Paragraph {n} says a few words about topic{n}x and then stops.\n\n")).collect();
    let world = World::new(&[("a.md", paragraphs.as_bytes())]);
    let usual = world.index().passages;
    let bounded = |max| IndexOptions { max_chunk_tokens: Some(max), ..IndexOptions::default() };
    let small = world.engine.index(&[], bounded(32), &|_| {}, &|| false).unwrap().remove(0);
    assert!(small.passages > 2 * usual && small.indexed == 1, "{small:?}");
    assert!(world.whole().iter().all(|hit| hit.passage.tokens <= 32));
    assert!(world.refresh().is_empty(), "a refresh cuts as before");
    world.write("b.md", paragraphs.as_bytes());
    assert_eq!(world.index().unchanged, 1, "another run keeps the bound");
    assert!(world.whole().iter().all(|hit| hit.passage.tokens <= 32));
    let failure = world.engine.index(&[], bounded(3), &|_| {}, &|| false).unwrap().remove(0).failure.unwrap();
    assert!(failure.to_string().contains('3'), "{failure}");
    std::fs::remove_file(world.path("b.md")).unwrap();
    assert_eq!(world.engine.index(&[], bounded(512), &|_| {}, &|| false).unwrap()[0].passages, usual);
}

#[test]
fn a_missing_segment_makes_the_source_unavailable_until_it_is_indexed_again() {
    let world = World::new(&[("a.md", b"alpha")]);
    world.index();
    std::fs::remove_dir_all(world.store.path().join("segments")).unwrap();
    let reader = world.again();
    let entry = reader.describe().unwrap().remove(&world.docs).unwrap();
    assert!(matches!(entry.state, SourceState::Unavailable { .. }), "{:?}", entry.state);
    reader.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap();
    assert_eq!(reader.search(&world.docs, Bm25, "alpha", 1).unwrap().hits.len(), 1);
}

#[test]
fn a_damaged_manifest_is_an_error_for_readers_and_rebuilt_by_indexing() {
    let world = World::new(&[("a.md", b"alpha")]);
    world.index();
    std::fs::write(world.store.path().join("CURRENT"), b"nonsense").unwrap();
    let reader = world.again();
    let error = reader.search(&world.docs, Bm25, "alpha", 1).map(|_| ()).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("index")), "{error}");
    reader.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap();
    assert_eq!(reader.search(&world.docs, Bm25, "alpha", 1).unwrap().hits.len(), 1);
}

#[test]
fn vectors_of_another_model_are_refused_by_readers_and_replaced_by_indexing() {
    let world = World::new(&[("a.md", b"alpha letters"), ("b.md", b"beta letters")]);
    world.index();
    let segment = std::fs::read_dir(world.store.path().join("segments")).unwrap().next().unwrap().unwrap().path();
    let note = std::fs::read_to_string(segment.join("note.json")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&note).unwrap();
    value["embedding"]["hash"] = "00000000000000000000000000000000".into();
    std::fs::write(segment.join("note.json"), value.to_string()).unwrap();
    let reader = world.again();
    let error = reader.search(&world.docs, Dense, "alpha", 1).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("dense"), "{error}");
    let entry = reader.describe().unwrap().remove(&world.docs).unwrap();
    assert_eq!(entry.embedding, None, "what cannot be searched is not offered");
    assert_eq!(reader.search(&world.docs, Bm25, "alpha", 1).unwrap().hits.len(), 1, "text is still there");
    // The old files are untouched by reading: put the note back and everything works.
    std::fs::write(segment.join("note.json"), &note).unwrap();
    assert_eq!(world.again().search(&world.docs, Dense, "alpha", 1).unwrap().hits.len(), 1);
    std::fs::write(segment.join("note.json"), value.to_string()).unwrap();
    let writer = world.again();
    writer.index(&[], IndexOptions::default(), &|_| {}, &|| false).unwrap();
    assert_eq!(writer.search(&world.docs, Dense, "alpha letters", 1).unwrap().hits.len(), 1);
}

#[test]
fn a_cancelled_run_publishes_nothing() {
    let world = World::new(&[("a.md", b"alpha")]);
    let error = world.engine.index(&[], IndexOptions::default(), &|_| {}, &|| true).unwrap_err();
    assert!(matches!(error, EmbeddedError::Cancelled { .. }), "{error}");
    assert_eq!(world.engine.store().current().unwrap().number(), 0);
    assert_eq!(std::fs::read_dir(world.store.path().join("building")).unwrap().count(), 0);
}
