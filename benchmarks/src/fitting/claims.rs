//! The fit of `support`: whether a claim is supported by what it cites, on SciFact's verdicts and on claims that cite the wrong
//! passage.

use super::contexts::{Observation, Packed};
use super::gold::normal;
use super::local::best_ridge;
use super::regression::{Row, Shape};
use ctx_local::logistic::Logistic;
use ctx_local::{CLAIM, claim, unheld_numbers};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const RISING: [&str; 5] = ["coverage", "sentence", "similarity", "passage", "bigrams"];
const FALLING: [&str; 4] = ["numbers_missing", "names_missing", "negation", "opposite"];
/// Kind of a claim that cites a passage of another document than the one its verdict is about.
pub const MISCITED: &str = "MISCITED";
/// Kind of a claim whose cited passage supports it.
pub const SUPPORTED: &str = "SUPPORT";

/// A claim beside what it cites.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its features, by [`CLAIM`].
    pub features: Vec<f64>,
    /// Whether what it cites holds every number that it says; a claim of which it does not is rejected whatever the features say.
    pub held: bool,
    /// SUPPORT, CONTRADICT, NOT_ENOUGH_INFO or [`MISCITED`].
    pub kind: String,
    /// Whether fits may see it.
    pub train: bool,
}

/// Claims with verdicts beside the whole document, and each claim beside the best passage of another document.
pub fn observe(
    observations: &[Observation],
    verdicts: &[(String, String, String)],
    documents: &BTreeMap<String, (String, String)>,
) -> anyhow::Result<Vec<Claim>> {
    let own: BTreeMap<&str, &Observation> =
        observations.iter().filter(|o| o.collection == "scifact" && !o.stranger).map(|o| (o.query.as_str(), o)).collect();
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for (query, kind, document) in verdicts {
        let (Some(observation), Some((title, text))) = (own.get(query.as_str()), documents.get(document)) else { continue };
        let whole = Packed {
            document: document.clone(),
            title: title.clone(),
            section: String::new(),
            text: text.clone(),
            relevance: 0,
            exact: false,
            sent: true,
        };
        let mut packed: Vec<Packed> = vec![whole];
        packed.extend(observation.passages.iter().filter(|p| p.document != *document).cloned());
        let context = packed.iter().zip(1..).map(|(p, label)| p.passage(label)).collect::<anyhow::Result<Vec<_>>>()?;
        let mut add = |kind: &str, label: u32| {
            let features = claim(&observation.text, &observation.language, &context, &[label]).to_vec();
            // The claim is no answer to a question: only what it cites may hold its numbers.
            let held = unheld_numbers(&observation.text, "", &context, &[label]).is_empty();
            out.push(Claim { features, held, kind: kind.to_owned(), train: observation.train });
        };
        add(kind, 1);
        if seen.insert((query.clone(), normal(&observation.text))) && packed.len() > 1 {
            add(MISCITED, 2);
        }
    }
    Ok(out)
}

/// Fits on train.
pub fn fit(claims: &[Claim]) -> anyhow::Result<(Logistic, Value)> {
    let rows: Vec<Row> = claims
        .iter()
        .enumerate()
        .filter(|(_, c)| c.train)
        // Folds of the ridge: one collection only, so claims are cut by number.
        .map(|(group, c)| Row { x: c.features.clone(), y: c.kind == SUPPORTED, w: 1.0, group, collection: group % 5 })
        .collect();
    let shape =
        Shape { names: &CLAIM, fixed: BTreeMap::new(), rising: RISING.into_iter().collect(), falling: FALLING.into_iter().collect() };
    best_ridge(&rows, &shape)
}

/// P(supported) and whether it is, of the claims of a split; `kinds` empty: all.
pub fn scored(claims: &[Claim], model: &Logistic, train: bool, kinds: &[&str]) -> Vec<(f64, bool)> {
    let scorer = model.for_features(&CLAIM);
    let wanted = |c: &&Claim| c.train == train && (kinds.is_empty() || kinds.contains(&c.kind.as_str()));
    let probability = |c: &Claim| if c.held { scorer.probability(&c.features) } else { 0.0 };
    claims.iter().filter(wanted).map(|c| (probability(c), c.kind == SUPPORTED)).collect()
}
