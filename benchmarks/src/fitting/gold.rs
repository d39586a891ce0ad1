//! Which sentences answer which query: SciFact's rationales, HotpotQA's supporting sentences and answers, and for runbooks every
//! sentence of the page that the alert links to.

use anyhow::Context;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A sentence shorter than this is matched only as a whole.
const PART_CHARS_MIN: usize = 24;

/// What answers one query.
#[derive(Clone, Debug, Default)]
pub struct Gold {
    /// Document and normalised sentence.
    pub sentences: Vec<(String, String)>,
    /// Normalised answers, where words of an answer are known.
    pub answers: Vec<String>,
    /// Documents of which every sentence counts.
    pub pages: BTreeSet<String>,
    /// Documents that hold the evidence.
    pub documents: Vec<String>,
    /// Whether all of them are needed.
    pub all: bool,
}

impl Gold {
    /// Whether something answers it at all.
    pub fn answerable(&self) -> bool {
        !self.documents.is_empty()
    }

    /// Whether this sentence is a rationale.
    pub fn is_rationale(&self, document: &str, sentence: &str) -> bool {
        if self.pages.contains(document) {
            return true;
        }
        let text = normal(sentence);
        self.sentences.iter().any(|(of, gold)| {
            let part = text.len().min(gold.len()) >= PART_CHARS_MIN && (gold.contains(&text) || text.contains(gold.as_str()));
            of == document && (text == *gold || part)
        })
    }

    /// Whether quoting this sentence is right: it is a rationale or holds the answer.
    pub fn is_right(&self, document: &str, sentence: &str) -> bool {
        let padded = format!(" {} ", normal(sentence));
        self.is_rationale(document, sentence) || self.answers.iter().any(|answer| padded.contains(&format!(" {answer} ")))
    }

    /// Whether a sentence is a positive of the sentence model: an answer counts in a document that holds the evidence only.
    pub fn is_positive(&self, document: &str, sentence: &str) -> bool {
        self.is_rationale(document, sentence) || (self.documents.iter().any(|d| d == document) && self.is_right(document, sentence))
    }
}

/// Lower case, words only, one blank between them.
pub fn normal(text: &str) -> String {
    let words: String = text.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Gold of a collection by query; `None` for a collection without sentences or pages to count.
pub fn read(data: &Path, collection: &str) -> anyhow::Result<BTreeMap<String, Gold>> {
    let folder = data.join(collection);
    match collection {
        "scifact" => scifact(&folder),
        "hotpotqa_200" => hotpotqa(&folder),
        _ => pages(&folder),
    }
}

/// Verdicts of SciFact: claim, verdict, document.
pub fn verdicts(data: &Path) -> anyhow::Result<Vec<(String, String, String)>> {
    let mut out = Vec::new();
    for row in rows(&data.join("scifact/claims.jsonl"))? {
        let (id, label) = (text(&row, "id"), text(&row, "label"));
        if label == "NOT_ENOUGH_INFO" {
            out.extend(list(&row, "cited_doc_ids").iter().map(|d| (id.clone(), label.clone(), plain(d))));
        } else {
            out.extend(list(&row, "evidence").iter().map(|e| (id.clone(), text(e, "label"), text(e, "doc_id"))));
        }
    }
    Ok(out)
}

fn scifact(folder: &Path) -> anyhow::Result<BTreeMap<String, Gold>> {
    let sentences = sentences_by_document(folder)?;
    let mut out = BTreeMap::new();
    for row in rows(&folder.join("claims.jsonl"))? {
        let mut gold = Gold::default();
        for evidence in list(&row, "evidence") {
            add(&mut gold, &sentences, &text(&evidence, "doc_id"), list(&evidence, "sentences").iter().filter_map(Value::as_u64));
        }
        out.insert(text(&row, "id"), gold);
    }
    Ok(out)
}

fn hotpotqa(folder: &Path) -> anyhow::Result<BTreeMap<String, Gold>> {
    let sentences = sentences_by_document(folder)?;
    let mut out = BTreeMap::new();
    for row in rows(&folder.join("answers.jsonl"))? {
        let mut gold = Gold { all: true, ..Gold::default() };
        for fact in list(&row, "supporting_facts") {
            add(&mut gold, &sentences, &text(&fact, "doc_id"), fact["sentence"].as_u64().into_iter());
        }
        gold.answers = list(&row, "answers").iter().map(|a| normal(&plain(a))).collect();
        gold.answers.retain(|answer| !matches!(answer.as_str(), "" | "yes" | "no"));
        out.insert(text(&row, "id"), gold);
    }
    Ok(out)
}

/// A collection that judges documents only.
fn pages(folder: &Path) -> anyhow::Result<BTreeMap<String, Gold>> {
    let collection = judged(folder)?;
    Ok(collection
        .into_iter()
        .map(|(query, documents)| (query, Gold { pages: documents.iter().cloned().collect(), documents, ..Gold::default() }))
        .collect())
}

fn judged(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let path = folder.join("qrels.tsv");
    let lines = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    for line in lines.lines().skip(1) {
        if let [query, document, grade] = line.split('\t').collect::<Vec<_>>()[..]
            && grade.parse::<f64>().unwrap_or(0.0) > 0.0
        {
            out.entry(query.to_owned()).or_default().push(document.to_owned());
        }
    }
    Ok(out)
}

fn add(gold: &mut Gold, sentences: &BTreeMap<String, Vec<String>>, document: &str, at: impl Iterator<Item = u64>) {
    if !gold.documents.iter().any(|d| d == document) {
        gold.documents.push(document.to_owned());
    }
    let of = sentences.get(document);
    gold.sentences.extend(at.filter_map(|n| Some((document.to_owned(), normal(of?.get(usize::try_from(n).ok()?)?)))));
}

fn sentences_by_document(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let plain_file = folder.join("corpus.jsonl");
    let path = if plain_file.is_file() { plain_file } else { folder.join("corpus.jsonl.zst") };
    Ok(rows(&path)?.iter().map(|row| (text(row, "id"), list(row, "sentences").iter().map(plain).collect())).collect())
}

/// Rows of a JSON Lines file, decompressed if its name says so.
pub fn rows(path: &Path) -> anyhow::Result<Vec<Value>> {
    let doing = || format!("reading {}", path.display());
    let text = if path.extension().is_some_and(|e| e == "zst") {
        let file = std::fs::File::open(path).with_context(doing)?;
        let mut out = String::new();
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(file).map_err(|e| anyhow::anyhow!("{}: {e}", doing()))?;
        std::io::Read::read_to_string(&mut decoder, &mut out).with_context(doing)?;
        out
    } else {
        std::fs::read_to_string(path).with_context(doing)?
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).with_context(doing)).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn text(row: &Value, key: &str) -> String {
    row.get(key).map(plain).unwrap_or_default()
}

fn list(row: &Value, key: &str) -> Vec<Value> {
    row.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rationale_is_found_by_its_words_and_an_answer_by_whole_words() {
        let gold = Gold {
            sentences: vec![("d1".into(), normal("The drug reduces mortality in adults."))],
            answers: vec!["ada".into()],
            documents: vec!["d1".into()],
            ..Gold::default()
        };
        assert!(gold.is_rationale("d1", "BACKGROUND: The drug reduces mortality in adults."));
        assert!(!gold.is_rationale("d2", "The drug reduces mortality in adults."));
        assert!(gold.is_right("d9", "It was Ada.") && !gold.is_right("d9", "It was Adalbert."));
        assert!(!gold.is_positive("d9", "It was Ada."));
    }
}
