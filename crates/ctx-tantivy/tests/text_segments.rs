//! Behaviour of sealed text segments as their users see it: what is found, in which order, and what fails how.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ctx_tantivy::{Found, MultiSearcher, SegmentReader, SegmentWriter, TextHit, TextIndexError, language};

fn seal(folder: &Path, passages: &[&str]) -> Arc<SegmentReader> {
    let mut writer = SegmentWriter::create(folder).unwrap();
    for (ordinal, text) in passages.iter().enumerate() {
        writer.add(ordinal as u32, "", text, language::detect(text).code()).unwrap();
    }
    writer.seal().unwrap();
    Arc::new(SegmentReader::open(folder).unwrap())
}

fn searching(passages: &[&str]) -> (tempfile::TempDir, MultiSearcher) {
    let folder = tempfile::tempdir().unwrap();
    let reader = seal(&folder.path().join("text"), passages);
    (folder, MultiSearcher::new(vec![reader]))
}

fn ordinals(found: &Found) -> Vec<u32> {
    found.hits.iter().map(|hit| hit.ordinal).collect()
}

fn search(searcher: &MultiSearcher, query: &str) -> Vec<u32> {
    ordinals(&searcher.search(query, 10, &|_, _| false).unwrap())
}

fn lookup(searcher: &MultiSearcher, query: &str) -> Vec<u32> {
    ordinals(&searcher.search_identifiers(query, 10, &|_, _| false).unwrap())
}

#[test]
fn text_is_never_a_query_language() {
    let (_folder, searcher) = searching(&["See https://kb.example.org/cables for the hdmi-2 cable."]);
    for query in ["https://kb.example.org/cables", "cable:", "hdmi-2 cable\"\"", "-hdmi"] {
        assert_eq!(search(&searcher, query), [0], "{query}");
    }
    for query in ["<<<", "\"<<<\"", "\\<\\<\\<", "\"\"", ":", " ", "", "note:\nlines", "\0", "AND OR NOT ( [ TO } ^2~"] {
        search(&searcher, query);
        lookup(&searcher, query);
    }
}

#[test]
fn quotes_inches_and_gershayim_are_text() {
    let (_folder, searcher) = searching(&["Shelf 24\" oak; the form is called דו\"ח here."]);
    for query in ["shelf 24\"", "דו\"ח", "\"shelf 24"] {
        assert_eq!(search(&searcher, query), [0], "{query}");
    }
    assert!(search(&searcher, "zz\"").is_empty());
}

#[test]
fn punctuation_in_ordinary_words_does_not_hide_them() {
    let (_folder, searcher) =
        searching(&["Debian 12.5 minutes in Archive/meetings: can't open it. core.util v3.14 (key=) 50% off @me #tag {x} ~y ^z !w"]);
    let hits = ["debian 12.5", "Archive/meetings", "can't open it", "core.util", "v3.14", "key=", "50%", "@me", "#tag", "{x}"];
    for query in hits {
        assert_eq!(search(&searcher, query), [0], "{query}");
    }
    for query in ["~y", "^z", "!w", "a*", "?", "\\"] {
        search(&searcher, query);
    }
}

#[test]
fn text_without_spaces_is_found_by_any_part() {
    let (_folder, searcher) = searching(&[
        "系統把草稿標記為正式版本，然後歸檔。",
        "来週は東京で会議があります",
        "내일은 회의가 있습니다",
        "release notes发布notes 用Postgres存储 🚀deploy✅done",
    ]);
    for (query, expected) in [("正式版本", 0), ("草稿標記", 0), ("会議", 1), ("회의가", 2), ("发布", 3), ("postgres", 3)] {
        assert_eq!(search(&searcher, query), [expected], "{query}");
    }
    for (query, expected) in [("deploy", 3), ("done", 3), ("議", 1), ("本", 0)] {
        assert_eq!(search(&searcher, query), [expected], "{query}");
    }
    assert!(search(&searcher, "🚀").is_empty());
}

#[test]
fn words_are_stemmed_in_the_language_of_their_passage() {
    let (_folder, searcher) = searching(&[
        "The planner decides which sources are read and how many connections each of them is given.",
        "Планировщик решает, какие источники читать и сколько соединений открыть для каждого из них.",
        "Der Planer entscheidet, welche Quellen gelesen werden und wie viele Verbindungen jede bekommt.",
        "Le planificateur décide quelles sources sont lues et combien de connexions chacune reçoit.",
        "El planificador decide qué fuentes se leen y cuántas conexiones recibe cada una de ellas.",
    ]);
    for (query, expected) in [("connection", 0), ("источника", 1), ("Verbindung", 2), ("planificateurs", 3), ("conexión", 4)] {
        let found = searcher.search(query, 10, &|_, _| false).unwrap();
        assert_eq!(ordinals(&found).first(), Some(&expected), "{query} {:?}", found.summary);
    }
}

#[test]
fn identifiers_match_whole_or_not_at_all() {
    let (_folder, searcher) = searching(&["order,item", "ORD-204417,saw", "ORD-204418,axe"]);
    assert_eq!(lookup(&searcher, "ORD-204417"), [1]);
    assert_eq!(search(&searcher, "ORD-204417")[0], 1);
    for absent in ["QRS-908", "CVE-2024-1234"] {
        let found = searcher.search_identifiers(absent, 10, &|_, _| false).unwrap();
        assert!(found.hits.is_empty());
        assert_eq!(found.summary.identifiers, [(absent.to_lowercase(), 0)]);
        assert!(search(&searcher, absent).is_empty());
    }
}

#[test]
fn a_code_is_found_however_it_is_spelled() {
    let (_folder, searcher) = searching(&["SKU-73104: steel hinge", "SKU-73105: brass hinge", "SKU-73106: iron hinge"]);
    for query in ["What is SKU-73105?", "SKU 73105 material", "sku-73105", "sku_73105"] {
        assert_eq!(lookup(&searcher, query), [1], "{query}");
        assert_eq!(search(&searcher, query)[0], 1, "{query}");
    }
}

#[test]
fn more_identifiers_rank_before_better_words() {
    let (_folder, searcher) = searching(&["E0502 borrow borrow borrow", "E0502 and E0499", "E0499 moved"]);
    assert_eq!(lookup(&searcher, "borrow E0502 E0499"), [1, 0, 2]);
}

#[test]
fn deleted_passages_are_skipped_and_ties_go_to_the_smaller_ordinal() {
    let (_folder, searcher) = searching(&["alpha beta"; 20]);
    let found = searcher.search("alpha beta", 3, &|_, ordinal| ordinal == 1).unwrap();
    assert_eq!(ordinals(&found), [0, 2, 3]);
}

#[test]
fn segments_share_their_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let common = seal(&folder.path().join("a"), &["cache hit", "cache miss", "cache line", "cache size"]);
    let rare = seal(&folder.path().join("b"), &["cache hit", "planner"]);
    let together = MultiSearcher::new(vec![common.clone(), rare.clone()]);
    let found = together.search("cache", 10, &|_, _| false).unwrap();
    let places: Vec<(usize, u32)> = found.hits.iter().map(|hit| (hit.segment, hit.ordinal)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]);
    assert!(found.hits.iter().all(|hit| hit.score == found.hits[0].score), "one collection, one score");
    let alone = MultiSearcher::new(vec![rare.clone()]);
    let lent = alone.clone().with_statistics_over(vec![common, rare]);
    let score = |searcher: &MultiSearcher| searcher.search("cache", 1, &|_, _| false).unwrap().hits[0].score;
    assert_ne!(score(&alone), score(&lent));
    assert_eq!(score(&lent), found.hits[4].score);
}

/// BM25 written out: what every score must equal, but for tantivy's one-byte document lengths (exact below 40 terms).
#[test]
fn scores_equal_the_formula() {
    let passages = ["planner cost planner", "cost model", "segment store cost planner model"];
    let (_folder, searcher) = searching(&passages);
    let found = searcher.search("planner model model", 10, &|_, _| false).unwrap();
    let words: Vec<Vec<&str>> = passages.iter().map(|text| text.split(' ').collect()).collect();
    let mean = words.iter().map(Vec::len).sum::<usize>() as f64 / words.len() as f64;
    let mut expected: BTreeMap<u32, f64> = BTreeMap::new();
    for (term, times) in [("planner", 1.0), ("model", 2.0)] {
        let frequency = words.iter().filter(|words| words.contains(&term)).count() as f64;
        let idf = (1.0 + (3.0 - frequency + 0.5) / (frequency + 0.5)).ln();
        for (ordinal, words) in words.iter().enumerate() {
            let tf = words.iter().filter(|word| **word == term).count() as f64;
            let score = times * idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * words.len() as f64 / mean));
            *expected.entry(ordinal as u32).or_default() += score;
        }
    }
    for TextHit { ordinal, score, .. } in found.hits {
        assert!((f64::from(score) - expected[&ordinal]).abs() < 2e-4, "{ordinal}: {score} {}", expected[&ordinal]);
    }
}

/// Long queries are scored by another loop than short ones; both must add up alike, over segments too.
#[test]
fn a_long_query_scores_as_the_sum_of_its_words() {
    let words: Vec<String> = (0..40).map(|number| format!("w{number}")).collect();
    let passages: Vec<String> = (1..=40).map(|length| words[..length].join(" ")).collect();
    let folder = tempfile::tempdir().unwrap();
    let halves = passages.split_at(25);
    let segments = [("a", halves.0), ("b", halves.1)]
        .map(|(name, texts)| seal(&folder.path().join(name), &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let searcher = MultiSearcher::new(segments.to_vec());
    let hits = |query: &str, k: usize| searcher.search(query, k, &|_, _| false).unwrap().hits;
    let mut sums: BTreeMap<(usize, u32), f64> = BTreeMap::new();
    for word in &words {
        for hit in hits(word, 40) {
            *sums.entry((hit.segment, hit.ordinal)).or_default() += f64::from(hit.score);
        }
    }
    let long = hits(&words.join(" "), 40);
    assert_eq!(long.len(), 40);
    for hit in &long {
        assert!((f64::from(hit.score) - sums[&(hit.segment, hit.ordinal)]).abs() < 5e-3, "{hit:?}");
    }
    assert_eq!(hits(&words.join(" "), 7), long[..7]);
    for k in [1, 3, 40] {
        let short = words[5..20].join(" ");
        assert_eq!(hits(&short, k), hits(&short, 40)[..k.min(hits(&short, 40).len())]);
    }
}

#[test]
fn readers_and_searchers_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<SegmentReader>();
    shared::<MultiSearcher>();
}

#[test]
fn an_empty_segment_is_searched_like_any_other() {
    let (_folder, searcher) = searching(&[]);
    assert!(search(&searcher, "anything").is_empty());
    assert!(lookup(&searcher, "SKU-73105").is_empty());
    assert!(MultiSearcher::new(vec![]).search("anything", 5, &|_, _| false).unwrap().hits.is_empty());
}

#[test]
fn an_enormous_query_is_bounded_and_says_so() {
    let (_folder, searcher) = searching(&["needle in hay", "hay"]);
    let query: String = (0..20_000).map(|number| format!("w{number} ")).collect::<String>();
    let found = searcher.search(&format!("needle {query}"), 5, &|_, _| false).unwrap();
    assert_eq!(ordinals(&found), [0]);
    assert!(found.summary.words_dropped > 0 && found.summary.bytes_dropped > 0);
}

#[test]
fn dictionaries_are_sorted_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let reader = seal(folder.path(), &["alpha E0502", "alpha beta"]);
    let mut terms = Vec::new();
    reader.for_each_term(|term, count| terms.push((term.to_owned(), count))).unwrap();
    assert_eq!(terms, [("alpha".into(), 2), ("beta".into(), 1), ("e0502".into(), 1)]);
    let mut names = Vec::new();
    reader.for_each_identifier(|name, count| names.push((name.to_owned(), count))).unwrap();
    assert_eq!(names, [("e0502".into(), 1)]);
    let contents = reader.contents().unwrap();
    assert_eq!((contents.documents, contents.tokens, contents.terms, contents.identifiers), (2, 4, 3, 1));
}

#[test]
fn failures_are_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    assert!(matches!(SegmentReader::open(&path), Err(TextIndexError::Missing { .. })));
    let mut writer = SegmentWriter::create(&path).unwrap();
    writer.add(3, "", "text", "en").unwrap();
    assert!(matches!(writer.add(3, "", "text", "en"), Err(TextIndexError::OutOfOrder { last: 3, .. })));
    writer.seal().unwrap();

    let note = path.join("text-segment.json");
    let sound = std::fs::read(&note).unwrap();
    std::fs::write(&note, b"{").unwrap();
    assert!(matches!(SegmentReader::open(&path), Err(TextIndexError::Damaged { .. })));
    std::fs::write(&note, String::from_utf8(sound.clone()).unwrap().replace("\"format\":1", "\"format\":9")).unwrap();
    let error = SegmentReader::open(&path).err().unwrap();
    assert!(matches!(error, TextIndexError::Incompatible { .. }), "{error}");
    std::fs::write(&note, sound).unwrap();
    let reader = SegmentReader::open(&path).unwrap();
    reader.verify().unwrap();

    damage_postings(&path);
    let error = SegmentReader::open(&path).and_then(|reader| reader.verify()).err().unwrap();
    assert!(!error.hint().is_empty(), "{error}");
}

fn is_postings(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "idx")
}

fn damage_postings(path: &Path) {
    let file = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).find(|path| is_postings(path)).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[0] ^= 0xFF;
    std::fs::write(&file, bytes).unwrap();
}

/// Whoever deletes the folder while it is being written gets an error back, not a crash.
#[test]
fn a_folder_lost_during_writing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    let mut writer = SegmentWriter::create(&path).unwrap();
    writer.add(0, "", "some text", "en").unwrap();
    // The writer's thread may create a file between the listing and the removal of the folder.
    while path.exists() {
        let _ = std::fs::remove_dir_all(&path);
    }
    assert!(writer.seal().is_err());
}

#[test]
fn two_writers_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _first = SegmentWriter::create(folder.path()).unwrap();
    let error = SegmentWriter::create(folder.path()).err().unwrap();
    assert!(matches!(error, TextIndexError::Busy { .. } | TextIndexError::Io { .. } | TextIndexError::Library { .. }), "{error}");
}

/// No lock file, no temporary file: reading leaves the folder as it was.
#[test]
fn reading_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    seal(folder.path(), &["some text"]);
    let listing = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for name in [".tantivy-meta.lock", ".tantivy-writer.lock"] {
        let _ = std::fs::remove_file(folder.path().join(name));
    }
    let before = listing();
    let searcher = MultiSearcher::new(vec![Arc::new(SegmentReader::open(folder.path()).unwrap())]);
    assert_eq!(search(&searcher, "text"), [0]);
    assert_eq!(listing(), before);
}
