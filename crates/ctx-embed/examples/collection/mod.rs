//! Reads a retrieval collection in the BEIR layout for the examples beside it: `corpus.jsonl`, `queries.jsonl`
//! (`.zst` as they are) and `qrels.tsv`. Not a library: `ctxrt eval` is the evaluation for users.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

/// Texts by id, and the relevance of documents to queries.
#[allow(dead_code)] // each example uses its part
pub(crate) struct Collection {
    pub(crate) documents: Vec<(String, String)>,
    pub(crate) queries: Vec<(String, String)>,
    pub(crate) relevant: BTreeMap<String, BTreeMap<String, u32>>,
}

pub(crate) fn read(folder: &Path) -> Result<Collection, Box<dyn Error>> {
    let relevant = relevance(&std::fs::read_to_string(folder.join("qrels.tsv"))?);
    let mut queries = texts(folder, "queries.jsonl")?;
    let judged: BTreeSet<&String> = relevant.keys().collect();
    queries.retain(|(id, _)| judged.contains(id));
    Ok(Collection { documents: texts(folder, "corpus.jsonl")?, queries, relevant })
}

fn texts(folder: &Path, name: &str) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut text = String::new();
    match std::fs::File::open(folder.join(name)) {
        Ok(mut file) => file.read_to_string(&mut text)?,
        Err(_) => {
            let file = std::fs::File::open(folder.join(format!("{name}.zst")))?;
            ruzstd::decoding::StreamingDecoder::new(file)?.read_to_string(&mut text)?
        }
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| Ok(id_and_text(&serde_json::from_str(line)?))).collect()
}

fn id_and_text(row: &Value) -> (String, String) {
    let field = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let id = if row.get("_id").is_some() { field("_id") } else { field("id") };
    (id.to_owned(), format!("{} {}", field("title"), field("text")).trim().to_owned())
}

fn relevance(tsv: &str) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut relevant: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for line in tsv.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        if let [query, .., document, grade] = cells.as_slice()
            && let Ok(grade @ 1..) = grade.trim().parse()
        {
            relevant.entry((*query).to_owned()).or_default().insert((*document).to_owned(), grade);
        }
    }
    relevant
}
