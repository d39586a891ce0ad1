//! Each kind of file is cut along its own structure.

use super::*;
use ctx_ingest::Warning;
#[cfg(feature = "code")]
use ctx_ingest::{DocumentKind, kind::CodeLanguage};

fn sections(document: &Document) -> Vec<&str> {
    document.passages.iter().map(|p| p.passage.locator.section.as_str()).collect()
}

fn words(n: usize) -> String {
    (0..n).map(|i| format!("word{i} ")).collect::<String>() + "end.\n"
}

#[test]
fn a_small_document_is_one_passage_and_a_large_one_follows_its_headings() {
    let small = ingest_one("s.md", b"# Setup\n\nShort.\n\n## Linux\n\nGo.\n\n## Mac\n\nBrew.\n", &options(220, 512));
    assert_eq!(sections(&small), ["Setup"]);
    let text = format!("# Setup\n\n{}\n## Linux\n\n{}\n\n{}\n## Mac\n\n{}", words(150), words(150), words(150), words(150));
    let large = ingest_one("l.md", text.as_bytes(), &options(220, 512));
    assert_eq!(sections(&large), ["Setup", "Setup > Linux", "Setup > Linux", "Setup > Mac"]);
    assert!(large.passages[1].passage.text.starts_with("## Linux"));
    assert_faithful(&large, text.as_bytes());
    assert_bounded(&large, 512);
}

#[test]
fn tiny_sections_join_their_neighbours() {
    let text = format!("{}# A\n\nx\n\n# B\n\ny\n\n# C\n\n{}", words(500), words(190));
    let document = ingest_one("t.md", text.as_bytes(), &options(220, 512));
    assert!(sections(&document).contains(&"A, B, C"), "{:?}", sections(&document));
}

#[cfg(feature = "code")]
#[test]
fn code_is_cited_by_symbol() {
    let body = "        let value = self.balance + amount;\n".repeat(40);
    let source = format!(
        "//! Ledger.\n\nuse std::fmt;\n\n/// Money.\n#[derive(Debug)]\nstruct Ledger {{ balance: u64 }}\n\nimpl Ledger {{\n    /// Reserves.\n    \
         fn reserve(&mut self, amount: u64) {{\n{body}    }}\n\n    fn settle(&mut self, amount: u64) {{\n{body}    }}\n}}\n\n\
         impl fmt::Display for Ledger {{ fn fmt(&self) {{}} }}\n"
    );
    let document = ingest_one("ledger.rs", source.as_bytes(), &options(120, 512));
    assert_eq!(document.head.kind, DocumentKind::Code(CodeLanguage::Rust));
    let found = sections(&document);
    assert!(found.contains(&"impl Ledger > reserve") && found.contains(&"impl Ledger > settle"), "{found:?}");
    let reserve = document.passages.iter().find(|p| p.passage.locator.section.ends_with("reserve")).expect("present");
    assert!(reserve.passage.text.starts_with("    /// Reserves."), "{}", reserve.passage.text);
    assert_eq!(reserve.passage.locator.line_start, 10);
    assert_faithful(&document, source.as_bytes());
}

#[cfg(feature = "code")]
#[test]
fn every_language_names_its_definitions() {
    let line = "  x = x + step(value, other, more);\n".repeat(40);
    for (name, source, symbol) in [
        (
            "a.py",
            format!(
                "import os\n\n@cached\nclass Plan:\n  def cost(self):\n{}\n  def run(self):\n    pass\n",
                line.replace("  x", "    x").replace(';', "")
            ),
            "Plan > cost",
        ),
        ("a.js", format!("import x from 'y';\n\nexport class Plan {{\n cost() {{\n{line} }}\n run() {{\n{line} }}\n}}\n"), "Plan > cost"),
        ("a.ts", format!("export interface A {{ x: number }}\nexport const plan = (x: number) => {{\n{line}}};\n"), "plan"),
        ("a.tsx", format!("function View() {{\n{line} return <p>x</p>;\n}}\n"), "View"),
        ("a.go", format!("package a\n\nfunc (p *Plan) Cost() int {{\n{line}}}\n"), "(p *Plan) Cost"),
        ("A.java", format!("class Plan {{\n int cost() {{\n{line} }}\n int run() {{\n{line} }}\n}}\n"), "Plan > cost"),
        ("a.c", format!("#include <x.h>\n\nstatic int *cost(int x) {{\n{line}}}\n"), "cost"),
        ("a.cpp", format!("namespace n {{\nint Plan::cost(int x) {{\n{line}}}\nint run() {{\n{line}}}\n}}\n"), "n > Plan::cost"),
    ] {
        let document = ingest_one(name, source.as_bytes(), &options(120, 512));
        assert!(document.head.warnings.is_empty(), "{name}: {:?}", document.head.warnings);
        let found = sections(&document);
        assert!(found.contains(&symbol), "{name}: {found:?}");
        assert_faithful(&document, source.as_bytes());
    }
}

#[test]
fn a_collection_gives_one_unit_a_record() {
    let long: String = (0..400).map(|i| format!("Sentence number {i} is here. ")).collect();
    let content = format!(
        "{{\"_id\":\"4983\",\"title\":\"Cells\",\"text\":\"One abstract.\",\"metadata\":{{}}}}\n\n{{\"id\":7,\"title\":\"Long\",\"text\":\"{long}\"}}\r\n\
         {{\"user\":\"ann\",\"n\":3}}\nnot json\n"
    );
    let document = ingest_one("corpus.jsonl", content.as_bytes(), &options(220, 512));
    assert_eq!((document.head.units, document.head.title.as_str()), (4, "corpus.jsonl"));
    let first = &document.passages[0];
    assert_eq!((first.passage.title.as_str(), first.passage.text.as_str()), ("Cells", "One abstract."));
    assert_eq!((first.passage.locator.section.as_str(), first.unit), ("4983", 0));
    let line = content.lines().next().expect("a line");
    assert_eq!((first.passage.locator.bytes.start, first.passage.locator.bytes.end), (0, line.len() as u64));
    let cut: Vec<_> = document.passages.iter().filter(|p| p.unit == 1).collect();
    assert!(cut.len() > 3 && cut.iter().all(|p| p.passage.locator.section == "7" && p.passage.locator.line_start == 3));
    assert!(cut.iter().all(|p| p.passage.text.trim_end().ends_with("here.")), "records are cut at sentences");
    assert_eq!(document.passages[document.passages.len() - 2].passage.text, "user: ann\nn: 3");
    assert_eq!(document.head.warnings, [Warning::MalformedRecords { count: 1, line_first: 5 }]);
    assert_bounded(&document, 512);
}

#[test]
fn rows_are_grouped_and_point_at_their_lines() {
    let rows: String = (0..200).map(|i| format!("{i},\"name {i}\",\"a\nb\"\r\n")).collect();
    let document = ingest_one("t.csv", format!("id,name,note\r\n{rows}").as_bytes(), &options(60, 120));
    assert_bounded(&document, 120);
    let second = &document.passages[1].passage;
    let id: u32 = second.text.lines().next().and_then(|l| l.strip_prefix("id: ")).and_then(|n| n.parse().ok()).expect("an id");
    assert_eq!(second.locator.line_start, 2 + id * 2);
    assert!(second.text.contains(&format!("id: {id}\nname: name {id}\nnote: a\nb")));
}

#[test]
fn pages_give_visible_text_with_places_in_the_page() {
    let page = format!(
        "<html><head><title>Guide &amp; more</title><script>secret()</script></head><body><h1>Setup</h1>\n<p>{}</p>\n<h2>Linux</h2><p>{}</p></body></html>",
        words(200),
        words(200)
    );
    let document = ingest_one("p.html", page.as_bytes(), &options(220, 300));
    assert_eq!(document.head.title, "Guide & more");
    assert_eq!(sections(&document), ["Setup", "Setup > Linux"]);
    let range = document.passages[1].passage.locator.bytes;
    let bytes = &page[range.start as usize..range.end as usize];
    assert!(bytes.starts_with("Linux</h2><p>word0") && bytes.ends_with("end."), "{bytes}");
    assert!(document.passages.iter().all(|p| !p.passage.text.contains("secret")));
}

#[test]
fn the_same_text_at_two_places_has_two_ids_and_one_fingerprint() {
    let dir = folder(&[("a/run.md", b"Restart with systemctl restart api."), ("b/copy.md", b"Restart with systemctl restart api.")]);
    let documents: Vec<Document> = ingest_all(dir.path(), &options(220, 512)).into_iter().map(|d| d.expect("cut")).collect();
    let (a, b) = (&documents[0], &documents[1]);
    assert_eq!(a.passages[0].passage.fingerprint, b.passages[0].passage.fingerprint);
    assert_eq!(a.head.content_hash, b.head.content_hash);
    assert_ne!(a.passages[0].passage.id, b.passages[0].passage.id);
}

#[test]
fn languages_are_told_per_document_and_per_record() {
    let german = "Der Planer wird mit den Grenzen verglichen und das Ergebnis ist nicht zulässig.";
    let document = ingest_one("d.txt", german.as_bytes(), &options(220, 512));
    assert_eq!((document.head.language.as_str(), document.passages[0].language), ("de", "de"));
    let records =
        format!("{{\"id\":1,\"text\":\"{german}\"}}\n{{\"id\":2,\"text\":\"The plan is not feasible for this goal and the budget.\"}}\n");
    let document = ingest_one("r.jsonl", records.as_bytes(), &options(220, 512));
    assert_eq!(document.passages.iter().map(|p| p.language).collect::<Vec<_>>(), ["de", "en"]);
}

#[test]
fn empty_files_have_no_passage_and_no_error() {
    for name in ["e.md", "e.txt", "e.rs", "e.jsonl", "e.csv", "e.html", "e.rst", "e.log"] {
        for content in ["", "\n\n", " \r\n"] {
            let document = ingest_one(name, content.as_bytes(), &options(220, 512));
            assert!(document.passages.is_empty() && document.head.title == name, "{name}: {document:?}");
        }
    }
}

#[test]
fn a_large_collection_is_streamed_with_its_lines_and_places() {
    let record = |i: u32| format!("{{\"_id\":\"{i}\",\"text\":\"Record {i} {}\"}}\n", "is about plans and costs. ".repeat(8));
    let content: String = (1..=40_000).map(record).collect();
    let dir = folder(&[("big.jsonl", content.as_bytes())]);
    let found = walk(dir.path(), &WalkOptions::default()).expect("exists");
    let mut expected = 1;
    let head = ctx_ingest::ingest_file_streaming(&found.root, &found.entries[0], &options(220, 512), &Words, &mut |piece| {
        let locator = &piece.passage.locator;
        let bytes = &content[locator.bytes.start as usize..locator.bytes.end as usize];
        assert_eq!((locator.line_start, locator.line_end, piece.unit), (expected, expected, u64::from(expected) - 1));
        assert_eq!(format!("{bytes}\n"), record(expected));
        expected += 1;
        Ok(())
    });
    assert_eq!((head.expect("cut").units, expected), (40_000, 40_001));
}

#[test]
fn a_receiver_that_fails_ends_the_file_with_its_error() {
    let dir = folder(&[("a.md", b"x")]);
    let found = walk(dir.path(), &WalkOptions::default()).expect("exists");
    let failed =
        ctx_ingest::ingest_file_streaming(&found.root, &found.entries[0], &options(220, 512), &Words, &mut |_| Err("disk full".into()));
    assert!(matches!(failed, Err(IngestError::Sink { .. })));
}
