//! A labelled collection in the BEIR layout: documents, queries, judgments. Read from disk, never changed.
//!
//! Rows carry `_id` or `id`; judgments stand in `qrels.tsv` or `qrels/NAME.tsv`, with or without a header, in three
//! columns (query, document, grade) or in TREC's four; every file may be compressed (`.zst`).

use crate::error::EvalError;
use ctx_types::id::sha256_hex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Splits that exist in every collection, by the hash of the query's id.
const HASHED_SPLITS: [&str; 3] = ["all", "train", "test"];
/// Share of the hash range that is *train*.
const TRAIN_SHARE: f64 = 0.6;

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// A query with its judgments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its id.
    pub id: String,
    /// Its words.
    pub text: String,
    /// Grade by document; only grades above zero.
    pub relevant: BTreeMap<String, u32>,
}

/// A collection, cut down to one split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Name of the folder.
    pub name: String,
    /// Every document.
    pub documents: Vec<Document>,
    /// The split's queries that have a relevant document, in the order of the file.
    pub queries: Vec<Query>,
    /// Name of the split.
    pub split: String,
}

impl Collection {
    /// Reads a folder. Without `split`: all queries (those of `qrels/test.tsv` where there are several files of judgments).
    pub fn read(folder: &Path, split: Option<&str>) -> Result<Collection, EvalError> {
        let (judgments, split) = choose_judgments(folder, split)?;
        Collection::judged_by(folder, &judgments, split, &BTreeSet::new())
    }

    /// The queries to choose by, or those to judge the choice by: the files of both names where the collection has them, else the
    /// split by the hash of the query's id. No query is in both.
    pub fn read_half(folder: &Path, half: Half) -> Result<Collection, EvalError> {
        let files = judgment_files(folder)?;
        let (Some(train), Some(test)) = (files.get(Half::Train.as_str()), files.get(Half::Test.as_str())) else {
            let (judgments, _) = choose_judgments(folder, Some("all"))?;
            return Collection::judged_by(folder, &judgments, half.as_str().to_owned(), &BTreeSet::new());
        };
        let split = format!("qrels/{}", half.as_str());
        match half {
            Half::Train => Collection::judged_by(folder, std::slice::from_ref(train), split, &BTreeSet::new()),
            Half::Test => {
                let chosen_by = read_judgments(std::slice::from_ref(train))?.into_keys().collect();
                Collection::judged_by(folder, std::slice::from_ref(test), split, &chosen_by)
            }
        }
    }

    fn judged_by(folder: &Path, judgments: &[PathBuf], split: String, without: &BTreeSet<String>) -> Result<Collection, EvalError> {
        let documents: Vec<Document> = rows(folder, "corpus.jsonl", "corpus.jsonl (or corpus.jsonl.zst)")?
            .into_iter()
            .map(|(id, row)| Document { id, title: field(&row, "title"), text: field(&row, "text") })
            .collect();
        let known: BTreeSet<&str> = documents.iter().map(|document| document.id.as_str()).collect();
        let mut relevant = read_judgments(judgments)?;
        relevant.values_mut().for_each(|grades| grades.retain(|document, _| known.contains(document.as_str())));
        let queries: Vec<Query> = rows(folder, "queries.jsonl", "queries.jsonl (or queries.jsonl.zst)")?
            .into_iter()
            .filter(|(id, _)| is_in(&split, id) && !without.contains(id))
            .filter_map(|(id, row)| {
                let relevant = relevant.remove(&id).filter(|grades| !grades.is_empty())?;
                Some(Query { text: field(&row, "text"), id, relevant })
            })
            .collect();
        if queries.is_empty() {
            return Err(EvalError::NothingJudged { folder: folder.to_owned(), split });
        }
        let name = folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
        Ok(Collection { name, documents, queries, split })
    }
}

/// One of two parts of a collection's queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// What choices are made by.
    Train,
    /// What they are judged by.
    Test,
}

impl Half {
    fn as_str(self) -> &'static str {
        match self {
            Half::Train => "train",
            Half::Test => "test",
        }
    }
}

/// Whether a query belongs to *train*: its id's SHA-256 lies in the first 60 % of the range.
pub fn is_train(id: &str) -> bool {
    let leading = u64::from_str_radix(&sha256_hex(id.as_bytes())[..8], 16).unwrap_or(u64::MAX);
    (leading as f64) < TRAIN_SHARE * 4_294_967_296.0
}

fn is_in(split: &str, id: &str) -> bool {
    match split {
        "train" => is_train(id),
        "test" => !is_train(id),
        _ => true,
    }
}

/// The file of judgments and the name of the split. A file of that name beats the split by hash.
fn choose_judgments(folder: &Path, split: Option<&str>) -> Result<(Vec<PathBuf>, String), EvalError> {
    if !folder.is_dir() {
        return Err(EvalError::Missing { folder: folder.to_owned(), wanted: "the folder" });
    }
    let files = judgment_files(folder)?;
    if files.is_empty() {
        return Err(EvalError::Missing { folder: folder.to_owned(), wanted: "qrels.tsv or a qrels/NAME.tsv" });
    }
    let all = || files.values().cloned().collect::<Vec<_>>();
    match split {
        Some(name) => match files.get(name) {
            // A file's own split is named after it, so that the hash does not cut it again.
            Some(file) => Ok((vec![file.clone()], format!("qrels/{name}"))),
            None if HASHED_SPLITS.contains(&name) => Ok((all(), name.to_owned())),
            None => {
                let known = files.keys().map(String::as_str).chain(HASHED_SPLITS).collect::<Vec<_>>().join(", ");
                Err(EvalError::UnknownSplit { folder: folder.to_owned(), wanted: name.to_owned(), known })
            }
        },
        None => match files.get("test") {
            Some(file) if files.len() > 1 => Ok((vec![file.clone()], "qrels/test".to_owned())),
            _ => Ok((all(), "all".to_owned())),
        },
    }
}

/// Files of `qrels/` by name; the single `qrels.tsv` has no name that could be asked for.
fn judgment_files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, EvalError> {
    let mut files = BTreeMap::new();
    for name in ["qrels.tsv", "qrels.tsv.zst"] {
        if folder.join(name).is_file() {
            files.insert("qrels.tsv".to_owned(), folder.join(name));
        }
    }
    let inner = folder.join("qrels");
    if inner.is_dir() {
        for entry in std::fs::read_dir(&inner).map_err(EvalError::io("reading", &inner))? {
            let path = entry.map_err(EvalError::io("reading", &inner))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(name) = name.strip_suffix(".zst").unwrap_or(&name).strip_suffix(".tsv") {
                files.insert(name.to_owned(), path.clone());
            }
        }
    }
    Ok(files)
}

fn read_judgments(files: &[PathBuf]) -> Result<BTreeMap<String, BTreeMap<String, u32>>, EvalError> {
    let mut relevant: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for file in files {
        for (at, line) in read(file)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
            let wrong = |problem: String| EvalError::Line { path: file.clone(), line: at + 1, problem };
            let (query, document, grade) = match cells.as_slice() {
                [query, document, grade] => (query, document, grade),
                [query, _, document, grade] => (query, document, grade),
                _ => return Err(wrong(format!("expected 3 or 4 columns separated by tabs, found {}", cells.len()))),
            };
            match grade.parse::<f64>() {
                Ok(grade) if grade > 0.0 => {
                    relevant.entry((*query).to_owned()).or_default().insert((*document).to_owned(), grade.round().max(1.0) as u32);
                }
                Ok(_) => {}
                Err(_) if at == 0 => {} // the header
                Err(_) => return Err(wrong(format!("the grade is not a number: {grade:?}"))),
            }
        }
    }
    Ok(relevant)
}

/// Rows of a JSON Lines file with their ids.
fn rows(folder: &Path, name: &str, wanted: &'static str) -> Result<Vec<(String, Value)>, EvalError> {
    let candidates = [folder.join(name), folder.join(format!("{name}.zst"))];
    let path = candidates.iter().find(|path| path.is_file());
    let path = path.ok_or_else(|| EvalError::Missing { folder: folder.to_owned(), wanted })?;
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, line) in read(path)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |problem: String| EvalError::Line { path: path.clone(), line: at + 1, problem };
        let row: Value = serde_json::from_str(line.trim_start_matches('\u{feff}')).map_err(|cause| wrong(format!("not JSON: {cause}")))?;
        let id = id_of(&row).ok_or_else(|| wrong("the row has neither _id nor id".to_owned()))?;
        if !seen.insert(id.clone()) {
            return Err(wrong(format!("the id {id:?} occurs twice")));
        }
        found.push((id, row));
    }
    Ok(found)
}

fn id_of(row: &Value) -> Option<String> {
    match row.get("_id").or_else(|| row.get("id"))? {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

fn field(row: &Value, name: &str) -> String {
    row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A file's text, decompressed if its name says so.
fn read(path: &Path) -> Result<String, EvalError> {
    if path.extension().is_none_or(|extension| extension != "zst") {
        return std::fs::read_to_string(path).map_err(EvalError::io("reading", path));
    }
    let file = std::fs::File::open(path).map_err(EvalError::io("reading", path))?;
    let broken = |cause: String| EvalError::Compressed { path: path.to_owned(), cause };
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(file).map_err(|cause| broken(cause.to_string()))?;
    let mut text = String::new();
    decoder.read_to_string(&mut text).map_err(|cause| broken(cause.to_string()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn small() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            "corpus.jsonl",
            "{\"_id\": \"d1\", \"title\": \"t\", \"text\": \"one\"}\n\n{\"_id\": \"d2\", \"text\": \"two\"}\n",
        );
        write(dir.path(), "queries.jsonl", "{\"id\": 1, \"text\": \"q one\"}\n{\"id\": 2, \"text\": \"q two\"}\n");
        dir
    }

    #[test]
    fn both_layouts_are_read_with_or_without_a_header() {
        let dir = small();
        write(dir.path(), "qrels.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n1\tgone\t1\n2\td2\t0\n");
        let collection = Collection::read(dir.path(), None).unwrap();
        assert_eq!((collection.documents.len(), collection.queries.len()), (2, 1));
        assert_eq!(collection.queries[0].relevant, BTreeMap::from([("d1".to_owned(), 2)]));
        std::fs::remove_file(dir.path().join("qrels.tsv")).unwrap();
        write(dir.path(), "qrels/dev.tsv", "2\t0\td2\t1\n");
        write(dir.path(), "qrels/test.tsv", "1\td1\t1\n");
        let ids = |split| Collection::read(dir.path(), split).unwrap().queries.iter().map(|q| q.id.clone()).collect::<Vec<_>>();
        assert_eq!(
            (ids(None), ids(Some("dev")), ids(Some("all"))),
            (vec!["1".to_owned()], vec!["2".to_owned()], vec!["1".to_owned(), "2".to_owned()])
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let dir = small();
        let error = Collection::read(dir.path(), None).unwrap_err();
        assert!(error.to_string().contains("qrels.tsv or a qrels/NAME.tsv is missing") && error.hint().is_some(), "{error}");
        write(dir.path(), "qrels.tsv", "1\td1\t1\n1\td1\tmany\n");
        assert!(Collection::read(dir.path(), None).unwrap_err().to_string().contains("line 2: the grade is not a number: \"many\""));
        write(dir.path(), "qrels.tsv", "1\td1\t1\n");
        assert!(Collection::read(dir.path(), Some("dev")).unwrap_err().to_string().contains("no such split"));
        write(dir.path(), "corpus.jsonl.zst", "not zstd");
        std::fs::remove_file(dir.path().join("corpus.jsonl")).unwrap();
        assert!(Collection::read(dir.path(), None).unwrap_err().to_string().starts_with("decompressing"));
        assert!(matches!(Collection::read(&dir.path().join("nowhere"), None), Err(EvalError::Missing { .. })));
    }

    #[test]
    fn halves_share_no_query() {
        let dir = small();
        write(dir.path(), "qrels/train.tsv", "1\td1\t1\n");
        let ids = |half| Collection::read_half(dir.path(), half).map(|c| c.queries.into_iter().map(|q| q.id).collect::<Vec<_>>());
        // Only a file of train: both halves go by the hash, over all that is judged.
        let halves: Vec<String> = [Half::Train, Half::Test].into_iter().flat_map(|half| ids(half).unwrap_or_default()).collect();
        assert_eq!(halves, ["1"]);
        write(dir.path(), "qrels/test.tsv", "1\td1\t1\n2\td2\t1\n");
        assert_eq!((ids(Half::Train).unwrap(), ids(Half::Test).unwrap()), (vec!["1".to_owned()], vec!["2".to_owned()]));
    }

    #[test]
    fn train_and_test_are_a_partition_by_the_hash_of_the_id() {
        let ids: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
        let train = ids.iter().filter(|id| is_in("train", id)).count();
        assert!((1100..1300).contains(&train), "{train}");
        assert!(ids.iter().all(|id| is_in("train", id) != is_in("test", id)));
    }
}
