//! What the compressors keep of gold sentences, and the fit of the learned one: units of documents that hold a rationale, label
//! *is one*, train queries only.

use super::gold::{Gold, normal};
use super::regression::{Row, Shape, fit};
use ctx_local::compress::learned::{FEATURES, features};
use ctx_local::compress::{GAP, Scoring, shorten, units};
use ctx_types::passage::{ByteRange, Locator};
use ctx_types::{Passage, SourceName, Tokens};
use std::collections::{BTreeMap, BTreeSet};

/// Shares of the tokens that are tried.
pub const KEEPS: [u32; 3] = [350_000, 500_000, 700_000];
/// Units of a collection's queries before the weights are made equal.
const NAMES_RISING: [&str; 6] = ["coverage", "neighbours", "rarest", "title", "names", "heading"];

/// A document that holds a rationale of a query.
#[derive(Clone, Debug)]
pub struct Case {
    /// Collection.
    pub collection: String,
    /// The question.
    pub goal: String,
    /// Whether fits may see it.
    pub train: bool,
    /// The document as one passage.
    pub passage: Passage,
    /// Its rationales, normalised.
    pub rationales: Vec<String>,
    /// Document id.
    pub document: String,
}

/// One case per (query, document with a rationale).
pub fn cases(
    collection: &str,
    queries: &[(String, String, bool)],
    gold: &BTreeMap<String, Gold>,
    documents: &BTreeMap<String, (String, String)>,
) -> anyhow::Result<Vec<Case>> {
    let mut out = Vec::new();
    for (id, goal, train) in queries {
        let Some(gold) = gold.get(id) else { continue };
        for document in gold.sentences.iter().map(|(d, _)| d).collect::<BTreeSet<_>>() {
            let Some((title, text)) = documents.get(document) else { continue };
            let rationales = gold.sentences.iter().filter(|(d, _)| d == document).map(|(_, s)| s.clone()).collect();
            let passage = passage(document, title, text)?;
            let (goal, document) = (goal.clone(), document.clone());
            out.push(Case { collection: collection.to_owned(), goal, train: *train, passage, rationales, document });
        }
    }
    Ok(out)
}

fn passage(id: &str, title: &str, text: &str) -> anyhow::Result<Passage> {
    let locator = Locator {
        source: SourceName::new("collection")?,
        path: format!("{id}.md"),
        bytes: ByteRange { start: 0, end: text.len() as u64 },
        line_start: 1,
        line_end: 1,
        section: String::new(),
        also_at: Vec::new(),
    };
    let tokens = u32::try_from(text.len().div_ceil(4))?.max(1);
    Ok(Passage { id: id.to_owned(), locator, title: title.to_owned(), text: text.to_owned(), fingerprint: String::new(), tokens })
}

/// Weights of the learned score.
pub fn weights(cases: &[&Case]) -> anyhow::Result<BTreeMap<String, f64>> {
    let names: Vec<&str> = FEATURES.to_vec();
    let collections: Vec<&str> = cases.iter().map(|c| c.collection.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    let mut rows: Vec<Row> = Vec::new();
    for (group, case) in cases.iter().enumerate() {
        let cut = units(&case.passage.locator.path, &case.passage.text);
        let gold = Gold { sentences: case.rationales.iter().map(|r| (case.document.clone(), r.clone())).collect(), ..Gold::default() };
        let at = collections.iter().position(|c| *c == case.collection).unwrap_or(0);
        for (unit, x) in cut.iter().zip(features(&case.goal, "en", &case.passage, &cut)) {
            let y = gold.is_rationale(&case.document, &case.passage.text[unit.range.clone()]);
            rows.push(Row { x: x.to_vec(), y, w: 1.0 / cut.len() as f64, group, collection: at });
        }
    }
    let mut total = vec![0.0; collections.len()];
    rows.iter().for_each(|r| total[r.collection] += r.w);
    rows.iter_mut().for_each(|r| r.w *= 500.0 / total[r.collection]);
    let shape = Shape { names: &names, rising: NAMES_RISING.into_iter().collect(), ..Shape::default() };
    let fitted = fit(&rows.iter().collect::<Vec<_>>(), &shape, 0.05)?;
    Ok(FEATURES.iter().map(|n| ((*n).to_owned(), fitted.weights.get(*n).copied().unwrap_or(0.0))).collect())
}

/// Per case: whether every rationale stands in the shorter form, and the share of the text that is sent.
pub fn survival(cases: &[&Case], scoring: Scoring, keep: u32) -> Vec<(bool, f64)> {
    cases
        .iter()
        .map(|case| {
            let budget = Tokens((f64::from(case.passage.tokens) * f64::from(keep) / 1e6).ceil() as u64);
            let short = shorten(scoring, &case.goal, "en", &case.passage, budget);
            let parts: Vec<String> = short.text.split(GAP.trim()).map(normal).collect();
            let survives = case.rationales.iter().all(|r| parts.iter().any(|p| p.contains(r.as_str())));
            (survives, short.text.len() as f64 / case.passage.text.len().max(1) as f64)
        })
        .collect()
}
