//! A segment's database from its first row to concurrent readers.

#![allow(clippy::unwrap_used)]

use ctx_duckdb::{DocumentRow, DuckError, PassageRow, SegmentDb, SegmentTotals, SegmentWriter, check_library};
use std::path::{Path, PathBuf};

const DIMENSION: u32 = 4;

fn passage(n: u32) -> PassageRow {
    PassageRow {
        byte_start: u64::from(n) * 10,
        byte_end: u64::from(n) * 10 + 9,
        line_start: n + 1,
        line_end: n + 2,
        section: format!("Setup > {n}; DROP TABLE passages; -- ü 漢字 '\""),
        tokens: 10 + n % 5,
        ..PassageRow::default()
    }
}

fn embedding(n: u32) -> Vec<f32> {
    vec![n as f32, 0.5, -1.0, 0.25]
}

/// `documents` documents with three passages each.
fn segment(folder: &Path, documents: u32) -> PathBuf {
    let path = folder.join("segment.duckdb");
    let mut writer = SegmentWriter::create(&path, Some(DIMENSION)).unwrap();
    for d in 0..documents {
        let row = DocumentRow {
            path: format!("doc{d}.md"),
            language: ["en", "de"][d as usize % 2].into(),
            kind: "markdown".into(),
            bytes: 100,
            ..DocumentRow::default()
        };
        assert_eq!(writer.add_document(row).unwrap(), d);
        for n in 3 * d..3 * d + 3 {
            assert_eq!(writer.add_passage(passage(n), Some(&embedding(n))).unwrap(), n);
        }
    }
    assert_eq!(writer.finish().unwrap(), SegmentTotals { documents, passages: 3 * documents });
    path
}

#[test]
fn the_library_is_the_one_that_was_built_for() {
    assert_eq!(check_library().unwrap(), "v1.5.6");
}

#[test]
fn rows_come_back_in_the_order_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let segment = SegmentDb::open(&segment(folder.path(), 2000)).unwrap();
    assert_eq!((segment.documents_len(), segment.passages_len(), segment.dimension()), (2000, 6000, Some(DIMENSION)));
    let wanted = [5999, 3, 0, 4097, 3];
    assert_eq!(segment.embeddings(&wanted).unwrap(), wanted.map(embedding));
    assert_eq!(segment.embeddings(&wanted).unwrap(), wanted.map(embedding), "from memory as from disk");
    let document = &segment.documents(&[1500]).unwrap()[0];
    assert_eq!((document.first_passage, document.passages, document.path.as_str()), (4500, 3, "doc1500.md"));
    assert_eq!(segment.embeddings(&[]).unwrap(), Vec::<Vec<f32>>::new());
    let many: Vec<u32> = (0..1500).rev().collect();
    assert_eq!(segment.documents(&many).unwrap().iter().map(|row| row.ordinal).collect::<Vec<_>>(), many);
    let error = segment.embeddings(&[1, 6000]).unwrap_err();
    assert!(matches!(error, DuckError::Missing { ordinal: 6000, .. }), "{error}");
}

#[test]
fn ranges_read_everything_once() {
    let folder = tempfile::tempdir().unwrap();
    let segment = SegmentDb::open(&segment(folder.path(), 1000)).unwrap();
    let rows: Vec<PassageRow> = [0..2048, 2048..4096].into_iter().flat_map(|range| segment.passages_in(range).unwrap()).collect();
    let expected: Vec<PassageRow> = (0..3000).map(|n| PassageRow { ordinal: n, document: n / 3, ..passage(n) }).collect();
    assert_eq!(rows, expected);
    assert_eq!(segment.documents_in(990..2000).unwrap().len(), 10);
    assert_eq!(segment.embeddings_in(7..9).unwrap(), [embedding(7), embedding(8)]);
}

#[test]
fn statistics_leave_deleted_documents_out() {
    let folder = tempfile::tempdir().unwrap();
    let segment = SegmentDb::open(&segment(folder.path(), 10)).unwrap();
    let all = segment.statistics(&[]).unwrap();
    assert_eq!((all.documents, all.passages, all.bytes), (10, 30, 1000));
    assert_eq!(all.languages, [("de".to_owned(), 5), ("en".to_owned(), 5)].into());
    assert_eq!((all.tokens_quantile(50), all.tokens_quantile(100), all.tokens_total()), (12, 14, 360));
    let some = segment.statistics(&[0, 2, 9]).unwrap();
    assert_eq!((some.documents, some.passages), (7, 21));
    assert_eq!(some.languages, [("de".to_owned(), 4), ("en".to_owned(), 3)].into());
    let mut sum = all.clone();
    sum.add(&some);
    assert_eq!((sum.documents, sum.passages, sum.languages["en"]), (17, 51, 8));
}

#[test]
fn opening_twice_gives_one_instance_and_threads_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = segment(folder.path(), 50);
    let indirect = folder.path().join(".").join("segment.duckdb");
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let path = if thread % 2 == 0 { &path } else { &indirect };
            scope.spawn(move || {
                for n in 0..20 {
                    let segment = SegmentDb::open(path).unwrap();
                    assert_eq!(segment.embeddings(&[n * 7 % 150]).unwrap(), [embedding(n * 7 % 150)]);
                }
            });
        }
    });
}

#[test]
fn more_segments_than_instances_are_kept_open_work() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..20)
        .map(|n| {
            let folder = folder.path().join(n.to_string());
            std::fs::create_dir(&folder).unwrap();
            segment(&folder, 1)
        })
        .collect();
    let held = SegmentDb::open(&paths[0]).unwrap();
    for path in paths.iter().chain(&paths) {
        assert_eq!(SegmentDb::open(path).unwrap().embeddings(&[2]).unwrap(), [embedding(2)]);
    }
    assert_eq!(held.embeddings(&[1]).unwrap(), [embedding(1)]);
}

#[test]
fn damaged_missing_and_foreign_files_are_errors_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = segment(folder.path(), 300);
    let whole = std::fs::read(&path).unwrap();
    for (name, content) in [("cut", &whole[..whole.len() / 3]), ("empty", &[][..]), ("foreign", &b"not a database at all"[..])] {
        let damaged = folder.path().join(name);
        std::fs::write(&damaged, content).unwrap();
        let error = SegmentDb::open(&damaged).and_then(|segment| segment.passages_in(0..1)).unwrap_err();
        assert!(error.to_string().contains(name) && error.hint().unwrap().contains("ctxrt index"), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let error = SegmentDb::open(&folder.path().join("absent")).unwrap_err();
    assert!(matches!(error, DuckError::Open { .. }), "{error}");
}

#[test]
fn an_empty_segment_and_one_without_embeddings_are_fine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment.duckdb");
    let mut writer = SegmentWriter::create(&path, None).unwrap();
    assert!(matches!(writer.add_passage(PassageRow::default(), None), Err(DuckError::Inconsistent { .. })));
    writer.add_document(DocumentRow::default()).unwrap();
    assert!(writer.add_passage(PassageRow::default(), Some(&[1.0])).is_err());
    writer.finish().unwrap();
    assert!(SegmentWriter::create(&path, None).is_err(), "a sealed file is never written again");
    let segment = SegmentDb::open(&path).unwrap();
    assert_eq!((segment.passages_len(), segment.dimension()), (0, None));
    assert_eq!(segment.statistics(&[]).unwrap().tokens_quantile(50), 0);
    assert_eq!(segment.embeddings_in(0..5).unwrap(), Vec::<Vec<f32>>::new());
}

#[test]
fn a_folder_with_a_quote_in_its_name_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("it's; DROP TABLE x --");
    std::fs::create_dir(&odd).unwrap();
    let path = segment(&odd, 6_000);
    assert_eq!(SegmentDb::open(&path).unwrap().passages_in(17_999..18_000).unwrap()[0].tokens, 14);
    assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 1, "no log, no temporary file is left beside the sealed one");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
