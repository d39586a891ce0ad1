//! One file in another encoding must not end a run, hide a heading or shift a line.

use super::*;
use ctx_ingest::{Warning, passage_is_current};

#[test]
fn a_legacy_mail_and_a_broken_file_are_read_with_a_warning_each() {
    let dir = folder(&[("bad.txt", b"\x81\xfe\0abc"), ("mail.txt", b"R\xe9sum\xe9 \xa7 97 \x96 dash"), ("ok.md", b"good")]);
    let documents: Vec<Document> = ingest_all(dir.path(), &options(220, 512)).into_iter().map(|d| d.expect("cut")).collect();
    assert_eq!(documents.len(), 3);
    assert!(!documents[0].head.warnings.is_empty() && documents[0].passages[0].passage.text.ends_with("abc"));
    assert_eq!(documents[1].head.warnings, [Warning::Transcoded { encoding: "windows-1252".into() }]);
    assert!(documents[1].passages[0].passage.text.starts_with("Résumé § 97"));
    assert!(documents[2].head.warnings.is_empty());
}

#[test]
fn a_byte_order_mark_hides_neither_title_nor_heading() {
    let content = b"\xef\xbb\xbf---\r\ntitle: Plan\r\n---\r\n# First\r\nbody\r\n";
    let document = ingest_one("bom.md", content, &options(220, 512));
    assert_eq!(document.head.title, "Plan");
    assert_eq!(document.passages.len(), 1);
    let passage = &document.passages[0].passage;
    assert_eq!(passage.locator.section, "First");
    assert_eq!(passage.text, "---\ntitle: Plan\n---\n# First\nbody");
    assert_eq!((passage.locator.line_start, passage.locator.line_end), (1, 5));
    assert_eq!(passage.locator.bytes.start, 3);
    assert_faithful(&document, content);
}

#[test]
fn a_marked_table_names_its_first_column_cleanly() {
    let document = ingest_one("bom.csv", b"\xef\xbb\xbfid,name\r\n1,a\r\n", &options(220, 512));
    assert_eq!(document.passages[0].passage.text, "id: 1\nname: a");
    assert_eq!(document.passages[0].passage.locator.line_start, 2);
}

#[test]
fn utf16_is_read_and_its_ranges_hold() {
    let mut content = vec![0xff, 0xfe];
    content.extend("# Größe\r\n\r\nBody 語.\r\n".encode_utf16().flat_map(u16::to_le_bytes));
    let dir = folder(&[("wide.md", &content)]);
    let document = ingest_all(dir.path(), &options(220, 512)).remove(0).expect("cut");
    let passage = &document.passages[0].passage;
    assert_eq!(passage.text, "# Größe\n\nBody 語.");
    assert_eq!((passage.locator.bytes.start, passage.locator.bytes.end), (2, content.len() as u64 - 4));
    let root = dir.path().canonicalize().expect("exists");
    assert!(passage_is_current(&root, &passage.locator, &passage.fingerprint).expect("readable"));
}

#[test]
fn a_nul_inside_good_text_is_a_space_everywhere() {
    let content = b"Good text\0with nul\n";
    let document = ingest_one("n.md", content, &options(220, 512));
    assert_eq!(document.passages[0].passage.text, "Good text with nul");
    assert_faithful(&document, content);
    let escaped = ingest_one("n.jsonl", br#"{"id":"1","text":"a\u0000b"}"#, &options(220, 512));
    assert_eq!(escaped.passages[0].passage.text, "a b");
    let page = ingest_one("n.html", b"<p>a&#0;b\0c</p>", &options(220, 512));
    assert!(!page.passages[0].passage.text.contains('\0'));
}

#[test]
fn an_edited_or_shortened_file_is_noticed_before_it_is_cited() {
    let dir = folder(&[("a.md", b"A plan is infeasible.")]);
    let document = ingest_all(dir.path(), &options(220, 512)).remove(0).expect("cut");
    let passage = &document.passages[0].passage;
    let root = dir.path().canonicalize().expect("exists");
    let check = || passage_is_current(&root, &passage.locator, &passage.fingerprint).expect("no error");
    assert!(check());
    for content in ["A plan is inFeasible.", "A plan", ""] {
        std::fs::write(root.join("a.md"), content).expect("writes");
        assert!(!check());
    }
    std::fs::remove_file(root.join("a.md")).expect("removes");
    assert!(!check());
}
