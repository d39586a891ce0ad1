//! Which query is meant, and how likely that is: a log-linear model over [`crate::features`], fitted on questions with
//! known answers, and a calibration of its probability. Where no reading is likely enough, a refusal that says why.

use crate::candidates::{Candidate, Grounded};
use crate::describe::{condition, describe};
use crate::explained::{unexplained, unknown_side};
use crate::features::{Leftovers, Sink, features, is_lexical, leftovers};
use crate::interpret::{Rows, interpret};
use crate::joined::{Unaccounted, unaccounted};
use crate::plain::is_plain;
use crate::query::{Ask, Filter, Function, Query};
use crate::question::{Form, Question};
use crate::rivals::rival;
use crate::schema::Table;
use crate::values::ValueIndex;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::sync::OnceLock;

pub use crate::refusal::Refusal;

/// Coefficients as shipped.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coefficients {
    /// What they were fitted on.
    pub provenance: String,
    /// Weights by feature.
    pub weights: BTreeMap<String, f64>,
    /// Weights of the calibration by feature of the best reading.
    pub calibration: BTreeMap<String, f64>,
    /// P(right) from which a reading is answered.
    pub threshold: f64,
}

/// A model ready for use: weights by the hash of the feature's name.
#[derive(Clone, Debug)]
pub struct Model {
    weights: BTreeMap<u64, f64>,
    calibration: BTreeMap<u64, f64>,
    /// P(right) from which a reading is answered.
    pub threshold: f64,
}

impl Model {
    /// From coefficients.
    pub fn new(coefficients: &Coefficients) -> Model {
        let hashed =
            |weights: &BTreeMap<String, f64>| weights.iter().map(|(name, weight)| (hash(format_args!("{name}")), *weight)).collect();
        Model { weights: hashed(&coefficients.weights), calibration: hashed(&coefficients.calibration), threshold: coefficients.threshold }
    }

    /// The shipped one.
    pub fn shipped() -> &'static Model {
        static MODEL: OnceLock<Model> = OnceLock::new();
        MODEL.get_or_init(|| {
            let coefficients =
                serde_json::from_str(include_str!("../coefficients/tables.json")).expect("shipped with the crate and tested");
            Model::new(&coefficients)
        })
    }

    /// The score of a candidate.
    pub fn score(&self, on: &Grounded<'_>, candidate: &Candidate) -> f64 {
        let mut sum = Sum { weights: &self.weights, total: 0.0 };
        features(on, candidate, &mut sum);
        sum.total
    }

    fn calibrated(&self, signals: &[String], log_odds: f64) -> f64 {
        let slope = self.calibration.get(&hash(format_args!("log_odds"))).copied().unwrap_or(1.0);
        let mut total = slope * log_odds;
        for signal in signals {
            total += self.calibration.get(&hash(format_args!("{signal}"))).copied().unwrap_or(0.0);
        }
        1.0 / (1.0 + libm::exp(-total))
    }
}

struct Sum<'a> {
    weights: &'a BTreeMap<u64, f64>,
    total: f64,
}

impl Sink for Sum<'_> {
    fn add(&mut self, name: fmt::Arguments<'_>) {
        self.total += self.weights.get(&hash(name)).copied().unwrap_or(0.0);
    }
}

struct Fnv(u64);

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

fn hash(name: fmt::Arguments<'_>) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    // Writing to a number cannot fail.
    let _ = hasher.write_fmt(name);
    hasher.0
}

/// A table that a goal may be about.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// Its schema.
    pub table: &'a Table,
    /// Its values.
    pub index: &'a ValueIndex,
    /// Its rows, of small tables: readings whose result is empty are dropped, and readings with equal results agree.
    pub rows: Option<&'a Rows>,
}

/// One reading of a goal over one of the tables.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Position of the table among those that were offered.
    pub table: usize,
    /// The query.
    pub query: Query,
    /// The model's score.
    pub score: f64,
    /// What it leaves unexplained.
    pub left: Leftovers,
    /// Those words, of the first few readings only.
    pub left_over: Vec<String>,
    /// Signals of the calibration, by name; of the first few readings only.
    pub signals: Vec<String>,
    /// Its result, of the first few readings over small tables only.
    pub values: Option<Vec<String>>,
    /// What it passes over although it changes the rows; such a reading is never answered.
    pub unaccounted: Option<Unaccounted>,
    candidate: Candidate,
}

/// Readings whose result is looked at.
const LOOKED_AT_MAX: usize = 12;

/// The reading that is meant.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Position of the table.
    pub table: usize,
    /// The query.
    pub query: Query,
    /// P(this is what was asked), calibrated.
    pub probability: f64,
}

/// What a goal means over some tables.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The likeliest reading with its calibrated probability, answered or not; none without any match.
    pub best: Option<Choice>,
    /// Why the best is not to be answered.
    pub refusal: Option<Refusal>,
}

/// Readings of a goal over all tables, best first, those that pass over something last; the best of equal queries kept.
pub fn readings(tables: &[Offered<'_>], question: &Question, model: &Model) -> Vec<Reading> {
    let mut found: BTreeMap<(usize, Query), Reading> = BTreeMap::new();
    let grounded: Vec<Grounded<'_>> = tables.iter().map(|offered| Grounded::new(offered.table, offered.index, question)).collect();
    for (table, on) in grounded.iter().enumerate() {
        if on.mentions.is_empty() && on.conditions.is_empty() && on.table_named.is_empty() && tables.len() > 1 {
            continue;
        }
        for candidate in on.candidates() {
            let score = model.score(on, &candidate);
            let key = (table, candidate.query.clone());
            if found.get(&key).is_some_and(|before: &Reading| before.score >= score) {
                continue;
            }
            let query = candidate.query.clone();
            let unaccounted = unaccounted(on, &candidate).filter(|passed| !is_common(&tables[table], question, &query, passed));
            let (left, left_over, signals) = (Leftovers::default(), Vec::new(), Vec::new());
            found.insert(key, Reading { table, query, score, left, left_over, signals, values: None, unaccounted, candidate });
        }
    }
    let mut found: Vec<Reading> = found.into_values().collect();
    let passes_over = |reading: &Reading| reading.unaccounted.is_some();
    found.sort_by(|a, b| {
        let order = passes_over(a).cmp(&passes_over(b)).then(b.score.total_cmp(&a.score));
        order.then(a.table.cmp(&b.table)).then_with(|| a.query.cmp(&b.query))
    });
    look(tables, &mut found);
    let count = found.len();
    for reading in found.iter_mut().take(4) {
        let on = &grounded[reading.table];
        reading.left = leftovers(on, &reading.candidate);
        reading.left_over = reading.left.words.iter().map(|at| question.words[*at].text.clone()).collect();
        reading.signals = signals(on, &reading.candidate);
        reading.signals.push(format!("readings:{}", libm::log2(count as f64 + 1.0) as u32));
    }
    found
}

/// "A and B both played which position": cells that are the same for both are the answer, whichever of the two is looked up.
fn is_common(offered: &Offered<'_>, question: &Question, query: &Query, passed: &Unaccounted) -> bool {
    if matches!(question.form, Form::HowMany | Form::HowMuch) {
        return false;
    }
    let (Unaccounted::And(one, other), Ask::Cells { .. }, Some(rows)) = (passed, &query.ask, offered.rows) else { return false };
    let (from, to) = if query.filters.contains(one) { (one, other) } else { (other, one) };
    let swapped = |filter: &Filter| if filter == from { to.clone() } else { filter.clone() };
    let second = Query { filters: query.filters.iter().map(swapped).collect(), ask: query.ask.clone() };
    let values = |query: &Query| interpret(offered.table, rows, query).into_iter().collect::<BTreeSet<String>>();
    second != *query && values(&second) == values(query)
}

/// Drops the first readings whose result is known to be empty and keeps the results of the others.
fn look(tables: &[Offered<'_>], found: &mut Vec<Reading>) {
    let mut at = 0;
    for _ in 0..LOOKED_AT_MAX {
        let Some(reading) = found.get_mut(at) else { return };
        let Some(rows) = tables[reading.table].rows else {
            at += 1;
            continue;
        };
        let values = interpret(tables[reading.table].table, rows, &reading.query);
        if values.is_empty() {
            found.remove(at);
        } else {
            reading.values = Some(values);
            at += 1;
        }
    }
}

/// Signals of the calibration: features of the reading that do not name its words, and the size of the question.
fn signals(on: &Grounded<'_>, candidate: &Candidate) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    features(on, candidate, &mut names);
    names.retain(|name| !is_lexical(name));
    names.push("bias".to_owned());
    names.push(format!("words:{}", on.question.words.len().min(20) / 4));
    names.sort();
    names.dedup();
    names
}

/// Log-odds of the best reading, and those that give the same result, against all others.
pub fn log_odds(readings: &[Reading]) -> f64 {
    let Some(best) = readings.first() else { return f64::NEG_INFINITY };
    let weight = |r: &Reading| libm::exp(r.score - best.score);
    let agrees = |r: &&Reading| r.values.is_some() && r.values == best.values && r.table == best.table;
    let with: f64 = 1.0 + readings[1..].iter().filter(agrees).map(weight).sum::<f64>();
    // Nobody who says "or" means both at once.
    let meant = |r: &&Reading| !matches!(r.unaccounted, Some(Unaccounted::Or(_)));
    let against: f64 = readings[1..].iter().filter(|r| !agrees(r)).filter(meant).map(weight).sum();
    libm::log(with / against.max(1e-4)).clamp(-LOG_ODDS_MAX, LOG_ODDS_MAX)
}

/// Beyond this the odds say nothing more: readings that were not thought of are not among them.
const LOG_ODDS_MAX: f64 = 3.0;
/// Readings whose score is this close to the best are as good as it.
const TIE: f64 = 0.05;

/// What a goal means over some tables, by the shipped coefficients.
pub fn parse(tables: &[Offered<'_>], goal: &str) -> Parsed {
    parse_with(tables, goal, Model::shipped())
}

/// P(the only plain reading is right), of [`crate::plain`]: 47 of 55 on the train questions of the coefficients, and one more
/// right and wrong.
const PLAIN: f64 = 0.84;

/// The only plain reading, if there is one: equal results count as one where the rows are known.
pub fn plain(tables: &[Offered<'_>], question: &Question, readings: &[Reading]) -> Option<Choice> {
    only_plain(tables, &ground(tables, question), readings).map(taken_at_its_word)
}

fn ground<'a>(tables: &[Offered<'a>], question: &'a Question) -> Vec<Grounded<'a>> {
    tables.iter().map(|offered| Grounded::new(offered.table, offered.index, question)).collect()
}

fn taken_at_its_word(reading: &Reading) -> Choice {
    Choice { table: reading.table, query: reading.query.clone(), probability: PLAIN }
}

fn only_plain<'r>(tables: &[Offered<'_>], grounded: &[Grounded<'_>], readings: &'r [Reading]) -> Option<&'r Reading> {
    let mut found: Option<(&Reading, Option<Vec<String>>)> = None;
    for reading in
        readings.iter().filter(|r| r.unaccounted.is_none()).filter(|reading| is_plain(&grounded[reading.table], &reading.candidate))
    {
        let offered = &tables[reading.table];
        let values = offered.rows.map(|rows| interpret(offered.table, rows, &reading.query));
        if values.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        match &found {
            None => found = Some((reading, values)),
            Some((first, seen)) if first.table == reading.table && values.is_some() && *seen == values => {}
            Some(_) => return None,
        }
    }
    found.map(|(reading, _)| reading)
}

/// What a goal means over some tables.
pub fn parse_with(tables: &[Offered<'_>], goal: &str, model: &Model) -> Parsed {
    let question = Question::new(goal);
    let readings = readings(tables, &question, model);
    let Some(best) = readings.first() else { return Parsed { best: None, refusal: Some(no_reading(tables, &question)) } };
    let probability = model.calibrated(&best.signals, log_odds(&readings));
    let likeliest = Choice { table: best.table, query: best.query.clone(), probability };
    let refused = |refusal| Parsed { best: Some(likeliest.clone()), refusal: Some(refusal) };
    if let Some(function) = not_computed(tables, &question) {
        return refused(Refusal::NotComputed { function });
    }
    let grounded = ground(tables, &question);
    if let Some(unaccounted) = &best.unaccounted {
        return refused(passes_over(&grounded, goal, best, unaccounted));
    }
    let doubts = |reading: &Reading, probability| doubt(&grounded[reading.table], tables[reading.table].rows, reading, probability);
    let tied = unsure(tables, &readings, probability, model.threshold);
    let refusal = tied.or_else(|| doubts(best, probability));
    // What is said in full is meant rather than what leaves words over, however likely.
    if (refusal.is_some() || !best.left.words.is_empty())
        && let Some(reading) = only_plain(tables, &grounded, &readings)
    {
        return Parsed { best: Some(taken_at_its_word(reading)), refusal: doubts(reading, PLAIN) };
    }
    // Where a likelier reading was set aside for what it passes over, that is what the goal has to decide.
    let set_aside = |r: &&Reading| match &r.unaccounted {
        Some(Unaccounted::Quantity(_)) => true,
        Some(Unaccounted::Or(Some((one, other)))) => one.column != other.column && r.score > best.score,
        Some(_) => r.score > best.score,
        None => false,
    };
    let refusal = refusal.map(|refusal| match readings.iter().find(set_aside).map(|reading| (reading, &reading.unaccounted)) {
        Some((reading, Some(unaccounted))) => passes_over(&grounded, goal, reading, unaccounted),
        _ => refusal,
    });
    Parsed { best: Some(likeliest), refusal }
}

/// Why the best reading is not sure enough: others are as good, or it is not likely enough.
fn unsure(tables: &[Offered<'_>], readings: &[Reading], probability: f64, threshold: f64) -> Option<Refusal> {
    let best = readings.first()?;
    let describe = |reading: &Reading| describe(tables[reading.table].table, &reading.query);
    let differs = |r: &&Reading| r.unaccounted.is_none() && (r.values.is_none() || r.values != best.values);
    let close = readings.iter().skip(1).take_while(|r| best.score - r.score < TIE).filter(differs).take(3);
    let tied: Vec<&Reading> = std::iter::once(best).chain(close).collect();
    if tied.len() > 1 {
        return Some(Refusal::Ambiguous { readings: tied.into_iter().map(describe).collect() });
    }
    let unexplained = best.left_over.clone();
    (probability < threshold).then(|| Refusal::Unlikely { reading: describe(best), probability, unexplained })
}

/// Why a reading that is likely enough is not answered: words that ask for something else, or another reading of the same
/// words.
fn doubt(on: &Grounded<'_>, rows: Option<&Rows>, reading: &Reading, probability: f64) -> Option<Refusal> {
    let left = unexplained(on, &reading.candidate);
    if !left.is_empty() {
        let unexplained = left.into_iter().map(|at| on.question.words[at].text.clone()).collect();
        return Some(Refusal::Unlikely { reading: describe(on.table, &reading.query), probability, unexplained });
    }
    let other = rival(on, &reading.candidate, rows)?;
    Some(Refusal::Ambiguous { readings: vec![describe(on.table, &reading.query), describe(on.table, &other)] })
}

/// Between what the goal is to decide, where a reading passes over something.
fn passes_over(grounded: &[Grounded<'_>], goal: &str, reading: &Reading, unaccounted: &Unaccounted) -> Refusal {
    let (table, query) = (grounded[reading.table].table, &reading.query);
    if let (Unaccounted::Or(_), Some(at)) = (unaccounted, unknown_side(grounded)) {
        return Refusal::Unknown { word: as_written(goal, &grounded[reading.table].question.words[at].text) };
    }
    let side = |filter: &Filter| condition(table, filter);
    match unaccounted {
        Unaccounted::Or(sides) => Refusal::Either { sides: sides.as_ref().map(|(one, other)| (side(one), side(other))) },
        Unaccounted::And(one, other) => Refusal::Both { sides: (side(one), side(other)) },
        Unaccounted::Quantity(column) => {
            let with = |ask| describe(table, &Query { filters: query.filters.clone(), ask });
            let sum = with(Ask::Aggregate { function: Function::Sum, column: *column });
            Refusal::Ambiguous { readings: vec![sum, with(Ask::Count)] }
        }
    }
}

/// A word as the goal has it.
fn as_written(goal: &str, word: &str) -> String {
    let mut parts = goal.split(|c: char| !c.is_alphanumeric());
    parts.find(|part| part.to_lowercase() == word).unwrap_or(word).to_owned()
}

/// What is asked of numbers in other words than those of the functions that are computed.
const NOT_COMPUTED: &[&str] =
    &["median", "quartile", "quantile", "percentile", "variance", "deviation", "correlation", "stddev", "skewness", "covariance"];

/// A function that the goal names and that is not computed, unless the word is a column's or a value's.
fn not_computed(tables: &[Offered<'_>], question: &Question) -> Option<String> {
    let known = |stem: &str| {
        let named = |name: &str| words(name).iter().any(|word| word.stem == stem);
        tables.iter().any(|t| t.index.knows(stem) || t.table.columns.iter().any(|column| named(&column.name)))
    };
    let word = question.words.iter().find(|word| NOT_COMPUTED.contains(&word.text.as_str()))?;
    (!known(&word.stem)).then(|| word.text.clone())
}

fn no_reading(tables: &[Offered<'_>], question: &Question) -> Refusal {
    if let Some(function) = not_computed(tables, question) {
        return Refusal::NotComputed { function };
    }
    let grounded = tables.iter().map(|offered| Grounded::new(offered.table, offered.index, question));
    let named = |on: Grounded<'_>| on.mentions.first().map(|mention| on.table.columns[mention.column].name.clone());
    grounded.filter_map(named).next().map_or(Refusal::NoMatch, |column| Refusal::NoOperation { column })
}
