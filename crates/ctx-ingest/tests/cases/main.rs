//! Files as people have them, cut from end to end: encodings, folders, oversized and hostile input.

mod encoding;
mod hostile;
mod kinds;
mod oversize;
mod walking;

use ctx_ingest::{ChunkOptions, Document, IngestError, IngestOptions, WalkOptions, Words, ingest_file, walk};
use ctx_types::SourceName;
use std::path::Path;

/// A folder with the given files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
    dir
}

fn options(target_tokens: u32, max_tokens: u32) -> IngestOptions {
    let mut options = IngestOptions::new(SourceName::new("docs").expect("a name"));
    options.chunk = ChunkOptions { target_tokens, max_tokens };
    options
}

/// Walks `root` and cuts every file found, in order of path.
fn ingest_all(root: &Path, options: &IngestOptions) -> Vec<Result<Document, IngestError>> {
    let found = walk(root, &WalkOptions::default()).expect("the root exists");
    found.entries.iter().map(|entry| ingest_file(&found.root, entry, options, &Words)).collect()
}

/// The one file of a folder, cut.
fn ingest_one(name: &str, content: &[u8], options: &IngestOptions) -> Document {
    let dir = folder(&[(name, content)]);
    ingest_all(dir.path(), options).remove(0).expect("the file is cut")
}

/// Every passage's text, fingerprint and lines agree with the bytes of its range, and what lies between is blank.
fn assert_faithful(document: &Document, content: &[u8]) {
    let mut end = 0;
    for piece in &document.passages {
        let passage = &piece.passage;
        let range = passage.locator.bytes.start as usize..passage.locator.bytes.end as usize;
        assert!(range.start >= end, "passages overlap at {range:?}");
        assert!(content[end..range.start].iter().all(|b| b.is_ascii_whitespace() || *b >= 0xBB), "bytes {end}.. are lost");
        let decoded = String::from_utf8_lossy(&content[range.clone()]).replace("\r\n", "\n").replace('\0', " ");
        assert_eq!(decoded, passage.text);
        assert_eq!(ctx_types::id::sha256_hex(&content[range.clone()]), passage.fingerprint);
        let line = |at: usize| content[..at].iter().filter(|b| **b == b'\n').count() as u32 + 1;
        assert_eq!(passage.locator.line_start, line(range.start), "{:?}", passage.text);
        assert_eq!(passage.locator.line_end, line(range.end.saturating_sub(1).max(range.start)), "{:?}", passage.text);
        end = range.end;
    }
    assert!(content[end..].iter().all(u8::is_ascii_whitespace), "bytes {end}.. are lost");
}

fn assert_bounded(document: &Document, max: u32) {
    use ctx_ingest::TokenCounter;
    for piece in &document.passages {
        let counted = Words.count(&piece.passage.text);
        assert_eq!(piece.passage.tokens, counted, "{:?}", piece.passage.text);
        assert!(counted <= max, "{counted} tokens in one passage");
    }
    let ids: std::collections::BTreeSet<&str> = document.passages.iter().map(|p| p.passage.id.as_str()).collect();
    assert_eq!(ids.len(), document.passages.len(), "ids repeat");
}
