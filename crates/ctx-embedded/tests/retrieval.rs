//! What is found, where, and how it is cited: end to end through the engine.
#![allow(clippy::unwrap_used)] // a test that cannot be set up has failed

mod support;

use ctx_types::AccessPath::{Bm25, Dense, Identifier, Whole};
use ctx_types::catalog::SourceState;
use support::World;

#[test]
fn a_hyphenated_number_is_looked_up_and_a_missing_one_is_not_an_error() {
    let world = World::new(&[("o.csv", b"order,item\nORD-204417,saw\nORD-204418,axe\n")]);
    world.index();
    for path in [Bm25, Identifier] {
        let hits = world.search(path, "ORD-204417");
        assert!(hits[0].passage.text.contains("saw"), "{path}: {}", hits[0].passage.text);
    }
    assert!(world.search(Identifier, "ORD-204417")[0].exact);
    for query in ["QRS-908", "CVE-2024-1234"] {
        assert!(world.search(Identifier, query).is_empty(), "{query}");
    }
}

#[test]
fn only_the_right_sku_is_exact() {
    let world =
        World::new(&[("p1.md", b"SKU-73104: steel hinge"), ("p2.md", b"SKU-73105: brass hinge"), ("p3.md", b"SKU-73106: iron hinge")]);
    world.index();
    for query in ["What is SKU-73105?", "SKU 73105 material", "sku-73105"] {
        assert_eq!(world.paths(Identifier, query), ["p2.md"], "{query}");
        for path in [Bm25, Dense] {
            for hit in world.search(path, query) {
                assert_eq!(hit.exact, hit.passage.locator.path == "p2.md", "{path}: {query}");
            }
        }
        let probe = world.engine.probe(query, std::slice::from_ref(&world.docs)).unwrap();
        assert_eq!(probe.sources[&world.docs].identifiers.iter().map(|i| i.passages).sum::<u64>(), 1, "{query}");
    }
}

#[test]
fn scripts_without_spaces_are_found() {
    let world = World::new(&[
        ("zh.md", "系統把草稿標記為正式版本，然後歸檔。".as_bytes()),
        ("ja.md", "来週は東京で会議があります".as_bytes()),
        ("ko.md", "내일은 회의가 있습니다".as_bytes()),
    ]);
    world.index();
    for (query, file) in [("正式版本", "zh.md"), ("草稿標記", "zh.md"), ("会議", "ja.md"), ("회의가", "ko.md")] {
        assert_eq!(world.paths(Bm25, query).first().map(String::as_str), Some(file), "{query}");
    }
}

#[test]
fn glued_scripts_are_split_and_symbols_are_a_query() {
    let world = World::new(&[("a.md", "release notes发布notes 用Postgres存储 🚀deploy✅done".as_bytes())]);
    world.index();
    for query in ["发布", "postgres", "deploy", "done"] {
        assert_eq!(world.paths(Bm25, query), ["a.md"], "{query}");
    }
    for path in [Bm25, Dense, Identifier] {
        for query in ["🚀", "", "   ", "\"(*:~^)\" AND OR NOT", "\u{0}"] {
            world.engine.search(&world.docs, path, query, 5).unwrap();
        }
    }
}

#[test]
fn an_empty_folder_is_an_empty_source() {
    let world = World::new(&[]);
    let report = world.index();
    assert_eq!((report.indexed, report.passages), (0, 0));
    assert_eq!(world.engine.describe().unwrap()[&world.docs].state, SourceState::Empty);
    for path in [Bm25, Dense, Identifier, Whole] {
        assert!(world.search(path, "x").is_empty(), "{path}");
    }
    let probe = world.engine.probe("x", std::slice::from_ref(&world.docs)).unwrap();
    assert!(probe.sources[&world.docs].terms.is_empty());
}

#[test]
fn copies_are_one_hit_that_names_all_paths() {
    let world = World::new(&[
        ("a/run.md", b"Restart with systemctl restart api."),
        ("b/copy.md", b"Restart with systemctl restart api."),
        ("c/other.md", b"Restart needs approval by the on-call person."),
    ]);
    world.index();
    for path in [Bm25, Dense, Whole] {
        let hits = world.engine.search(&world.docs, path, "how do I restart?", 2).unwrap().hits;
        let mut paths: Vec<&str> = hits.iter().map(|hit| hit.passage.locator.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["a/run.md", "c/other.md"], "{path}");
        let copied = hits.iter().find(|hit| hit.passage.locator.path == "a/run.md").unwrap();
        assert_eq!(copied.passage.locator.also_at, ["b/copy.md"], "{path}");
    }
}

#[test]
fn a_source_describes_itself_without_opening_a_database() {
    let world = World::new(&[
        ("a.md", b"# Alpha\n\nThe first letter. Write to jane@example.org."),
        ("b.md", b"# Beta\n\nThe second letter, after alpha."),
    ]);
    let report = world.index();
    assert!(report.warnings.iter().any(|warning| warning.contains("1 email")), "{:?}", report.warnings);
    let entry = world.again().describe().unwrap().remove(&world.docs).unwrap();
    assert_eq!((entry.state, entry.documents, entry.passages), (SourceState::Ready, 2, 2));
    assert!(entry.tokens.0 > 10 && entry.vocabulary > 5 && entry.passage_tokens[3] > 5);
    assert_eq!(entry.sensitive_values["email"], 1);
    let embedding = entry.embedding.unwrap();
    assert_eq!((embedding.vectors, embedding.dimension), (2, 256));
    assert_eq!(entry.access.len(), 6);
    assert_eq!(entry.fingerprint, report.fingerprint);
    let probe = world.engine.probe("Where does the letter alpha stand?", std::slice::from_ref(&world.docs)).unwrap();
    let source = &probe.sources[&world.docs];
    assert!(source.terms.iter().any(|term| term.term.starts_with("alpha") && term.passages == 2), "{:?}", source.terms);
    assert!(source.centroid_similarity.is_some_and(|similarity| similarity > 0));
}

#[test]
fn timings_come_from_analyze_and_leave_the_fingerprint_alone() {
    let world = World::new(&[("a.md", b"# Alpha\n\nThe first letter.")]);
    let before = world.index().fingerprint;
    world.engine.analyze(&[], &|_| {}).unwrap();
    let entry = world.engine.describe().unwrap().remove(&world.docs).unwrap();
    assert_eq!(entry.fingerprint, before);
    assert!(entry.access.iter().all(|access| access.latency_p50.certainty.observations() > 0), "{:?}", entry.access);
    world.write("b.md", b"more text about letters");
    world.index();
    let entry = world.engine.describe().unwrap().remove(&world.docs).unwrap();
    assert!(entry.access.iter().all(|access| access.latency_p50.certainty.observations() > 0), "kept while the size is similar");
}

#[test]
fn a_passage_is_read_by_its_id() {
    let world = World::new(&[("a.md", b"alpha"), ("b.md", b"beta")]);
    world.index();
    let hit = world.search(Bm25, "beta").remove(0);
    let passage = world.engine.passage(&world.docs, &hit.passage.id).unwrap().unwrap();
    assert_eq!(passage, hit.passage);
    assert_eq!(world.engine.passage(&world.docs, "passage_00000000000000000000000000000000").unwrap(), None);
    assert_eq!(world.engine.passage(&world.docs, "nonsense").unwrap(), None);
}
