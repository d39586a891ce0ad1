//! The fits of `ctx-local`: which sentence answers, whether what is quoted answers, and how often that is right.

use super::contexts::Observation;
use super::gold::Gold;
use super::measures::{self, Mean, auc};
use super::regression::{Row, Shape, fit};
use anyhow::Context;
use ctx_local::choose;
use ctx_local::logistic::Logistic;
use ctx_local::reading::{ANSWER, Reading, SENTENCE};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Share of questions that a source cannot answer; an assumption, as in the fits of evidence.
const STRANGERS: f64 = 0.25;
/// Of the sentences that answer nothing, one in so many is kept, with that weight.
const THINNED: usize = 4;
/// Ridges tried; the one with the least leave-one-collection-out loss is taken.
const RIDGES: [f64; 4] = [2.0, 8.0, 32.0, 128.0];
/// Coefficients of sentences that these collections cannot teach: they hold no code, no tables and hardly an identifier.
const SENTENCE_PRIORS: [(&str, f64); 3] = [("exact", 2.0), ("symbols", -3.0), ("table_row", -0.6)];
/// Features that cannot speak against a sentence.
const SENTENCE_RISING: [&str; 15] = [
    "coverage",
    "heading",
    "both",
    "around",
    "passage",
    "leads",
    "precision",
    "bigrams",
    "rarest",
    "similarity",
    "nearest",
    "answer_type",
    "numbers",
    "names",
    "relevance",
];
const ANSWER_RISING: [&str; 7] = ["sentence", "coverage", "both", "similarity", "answer_type", "relevance", "passage"];
const ANSWER_FALLING: [&str; 3] = ["numbers_missing", "negation", "unknown"];

/// A query with its context read and its sentences labelled.
pub struct Case<'a> {
    /// The observation.
    pub seen: &'a Observation,
    /// What answers it; `None`: nothing does.
    pub gold: Option<&'a Gold>,
    /// Whether the context holds the evidence.
    pub holds: bool,
    /// Label of each sentence of `reading`.
    pub positive: Vec<bool>,
    /// The reading.
    pub reading: Reading<'a>,
    collection: usize,
}

/// What an answerer with a model of sentences does with a case.
#[derive(Clone, Debug)]
pub struct Answered {
    /// P(the best sentence answers).
    pub best: f64,
    /// Whether some quoted sentence is right.
    pub right: bool,
    /// Features of the quoted answer.
    pub features: Vec<f64>,
}

/// Labels the sentences of every observation whose context is not empty.
pub fn cases<'a>(
    observations: &'a [Observation],
    contexts: &'a [Vec<ctx_contracts::ContextPassage>],
    golds: &'a BTreeMap<String, BTreeMap<String, Gold>>,
) -> Vec<Case<'a>> {
    let names: Vec<&String> = golds.keys().collect();
    let pairs = observations.iter().zip(contexts).filter(|(seen, context)| !context.is_empty() && golds.contains_key(&seen.collection));
    pairs
        .map(|(seen, context)| {
            let gold = golds[&seen.collection].get(&seen.query).filter(|gold| !seen.stranger && gold.answerable());
            case(seen, context, gold, names.iter().position(|name| **name == seen.collection).unwrap_or(0))
        })
        .collect()
}

/// One observation, read and labelled.
pub fn case<'a>(
    seen: &'a Observation,
    context: &'a [ctx_contracts::ContextPassage],
    gold: Option<&'a Gold>,
    collection: usize,
) -> Case<'a> {
    let reading = Reading::of(&seen.text, &seen.language, context);
    let document = |label: u32| seen.passages[label as usize - 1].document.as_str();
    let positive = reading.sentences.iter().map(|s| gold.is_some_and(|g| g.is_positive(document(s.passage.label), s.text()))).collect();
    let holds = gold.is_some_and(|g| seen.holds(&g.documents, g.all));
    Case { seen, gold, holds, positive, reading, collection }
}

impl Case<'_> {
    /// What quoting with this model gives.
    pub fn answered(&self, model: &Logistic) -> Answered {
        let chosen = choose(&self.reading, model);
        let right = |s: &ctx_local::reading::Sentence<'_>| {
            let document = &self.seen.passages[s.passage.label as usize - 1].document;
            self.gold.is_some_and(|gold| gold.is_right(document, s.text()))
        };
        let quoted: Vec<_> = chosen.iter().map(|q| (q.sentence, q.logit)).collect();
        Answered {
            best: chosen.first().map_or(0.0, |q| q.probability),
            right: chosen.iter().any(|q| right(q.sentence)),
            features: self.reading.answer(&quoted).to_vec(),
        }
    }

    /// Whether fits may see it.
    pub fn train(&self) -> bool {
        self.seen.train
    }
}

/// Collections weigh the same; in each, queries that nothing answers weigh [`STRANGERS`] together.
fn weigh(rows: &mut [Row], answerable: &[bool]) {
    let mut sums: BTreeMap<(usize, bool), f64> = BTreeMap::new();
    for row in rows.iter() {
        *sums.entry((row.collection, answerable[row.group])).or_default() += row.w;
    }
    let collections = rows.iter().map(|r| r.collection).collect::<BTreeSet<_>>().len() as f64;
    let queries = rows.iter().map(|r| r.group).collect::<BTreeSet<_>>().len() as f64;
    for row in rows {
        let kind = answerable[row.group];
        let both = sums.contains_key(&(row.collection, !kind));
        let share = if !both {
            1.0
        } else if kind {
            1.0 - STRANGERS
        } else {
            STRANGERS
        };
        row.w *= share * queries / collections / sums[&(row.collection, kind)];
    }
}

/// The fit with the ridge of least leave-one-collection-out loss, and that loss per ridge and collection.
pub(super) fn best_ridge(rows: &[Row], shape: &Shape<'_>) -> anyhow::Result<(Logistic, Value)> {
    let collections: BTreeSet<usize> = rows.iter().map(|r| r.collection).collect();
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    for ridge in RIDGES {
        let mut losses = Vec::new();
        for held in &collections {
            let rest: Vec<&Row> = rows.iter().filter(|r| r.collection != *held).collect();
            let rest = if rest.is_empty() { rows.iter().collect() } else { rest };
            let scorer = fit(&rest, shape, ridge)?.for_features(shape.names);
            let out = rows.iter().filter(|r| r.collection == *held);
            let (loss, weight) = out.fold((0.0, 0.0), |(loss, weight), r| {
                let p = scorer.probability(&r.x).clamp(1e-6, 1.0 - 1e-6);
                (loss - r.w * if r.y { p.ln() } else { (1.0 - p).ln() }, weight + r.w)
            });
            losses.push(loss / weight);
        }
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        if best.as_ref().is_none_or(|(least, ..)| mean < *least) {
            best = Some((mean, ridge, losses));
        }
    }
    let (mean, ridge, losses) = best.context("there are ridges")?;
    let model = fit(&rows.iter().collect::<Vec<_>>(), shape, ridge)?;
    Ok((model, json!({ "ridge": ridge, "log_loss_left_out": losses, "mean": mean })))
}

/// Fits which sentence answers, on train.
pub fn sentences(cases: &[Case<'_>]) -> anyhow::Result<(Logistic, Value)> {
    let mut rows = Vec::new();
    for (group, case) in cases.iter().enumerate().filter(|(_, case)| case.train()) {
        let all = case.positive.len().max(1) as f64;
        for (at, (sentence, positive)) in case.reading.sentences.iter().zip(&case.positive).enumerate() {
            if *positive || at % THINNED == group % THINNED {
                let w = if *positive { 1.0 } else { THINNED as f64 } / all;
                rows.push(Row { x: sentence.values.to_vec(), y: *positive, w, group, collection: case.collection });
            }
        }
    }
    let answerable: Vec<bool> = cases.iter().map(|case| case.gold.is_some()).collect();
    weigh(&mut rows, &answerable);
    let shape = Shape {
        names: &SENTENCE,
        fixed: SENTENCE_PRIORS.into_iter().collect(),
        rising: SENTENCE_RISING.into_iter().collect(),
        falling: BTreeSet::from(["negation"]),
    };
    best_ridge(&rows, &shape)
}

/// Fits whether what is quoted answers, on train, given the model of sentences.
pub fn answers(cases: &[Case<'_>], answered: &[Answered]) -> anyhow::Result<(Logistic, Value)> {
    let mut rows: Vec<Row> = cases
        .iter()
        .zip(answered)
        .enumerate()
        .filter(|(_, (case, _))| case.train())
        .map(|(group, (case, a))| Row { x: a.features.clone(), y: a.right, w: 1.0, group, collection: case.collection })
        .collect();
    let answerable: Vec<bool> = cases.iter().map(|case| case.gold.is_some()).collect();
    weigh(&mut rows, &answerable);
    let shape = Shape {
        names: &ANSWER,
        fixed: BTreeMap::new(),
        rising: ANSWER_RISING.into_iter().collect(),
        falling: ANSWER_FALLING.into_iter().collect(),
    };
    best_ridge(&rows, &shape)
}

/// Scores of one feature or model over the sentences of a case, and what its best one is worth.
fn within(case: &Case<'_>, score: &dyn Fn(&[f64]) -> f64) -> (Option<f64>, bool) {
    let pairs: Vec<(f64, bool)> = case.reading.sentences.iter().map(|s| score(&s.values)).zip(case.positive.iter().copied()).collect();
    let best = pairs.iter().fold(None::<(f64, bool)>, |best, pair| match best {
        Some(b) if b.0 >= pair.0 => Some(b),
        _ => Some(*pair),
    });
    (auc(&pairs), best.is_some_and(|b| b.1))
}

/// A score of a sentence's features.
type Score = dyn Fn(&[f64]) -> f64;

/// Ranking of sentences where the context holds a positive: mean AUC within a query and precision of the best sentence, of the
/// model and of dumb baselines.
pub fn ranking(cases: &[&Case<'_>], model: &Logistic, seed: u64) -> Vec<(String, Mean, Mean)> {
    let scorer = model.for_features(&SENTENCE);
    let at = |name: &str| SENTENCE.iter().position(|n| *n == name).unwrap_or(0);
    let (coverage, similarity, standing, position) = (at("coverage"), at("similarity"), at("standing"), at("position"));
    let systems: [(&str, Box<Score>); 4] = [
        ("fitted", Box::new(move |x| scorer.logit(x))),
        ("weighted overlap", Box::new(move |x| x[coverage])),
        ("cosine", Box::new(move |x| x[similarity])),
        ("first sentence of the best passage", Box::new(move |x| x[standing] - x[position] / 1e3)),
    ];
    let held: Vec<&&Case<'_>> = cases.iter().filter(|case| case.positive.iter().any(|p| *p)).collect();
    let of = |score: &Score| {
        let found: Vec<(Option<f64>, bool)> = held.iter().map(|case| within(case, score)).collect();
        let areas: Vec<f64> = found.iter().filter_map(|f| f.0).collect();
        let firsts: Vec<f64> = found.iter().map(|f| f64::from(u8::from(f.1))).collect();
        (measures::mean(&areas, seed), measures::mean(&firsts, seed))
    };
    systems
        .iter()
        .map(|(name, score)| {
            let (area, first) = of(score.as_ref());
            ((*name).to_owned(), area, first)
        })
        .collect()
}

/// Share of right answers given evidence, and the answers counted. Not by answer shape: in these collections shapes and
/// collections go hand in hand, so that a shape's share would be a collection's.
pub fn right_given_evidence(cases: &[&Case<'_>], answered: &[&Answered], quoted: &dyn Fn(&Case<'_>, &Answered) -> bool) -> (f64, usize) {
    let held = cases.iter().zip(answered).filter(|(case, _)| case.holds);
    let right: Vec<bool> = held.map(|(case, a)| a.right && quoted(case, a)).collect();
    (right.iter().filter(|right| **right).count() as f64 / right.len().max(1) as f64, right.len())
}
