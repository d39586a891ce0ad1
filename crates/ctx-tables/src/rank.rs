//! Which query is meant, and how likely that is: a log-linear model over [`crate::features`], fitted on questions with
//! known answers, and a calibration of its probability. Where no reading is likely enough, a refusal that says why.

use crate::candidates::{Candidate, Grounded};
use crate::describe::{condition, describe};
use crate::features::{Leftovers, Sink, features, is_lexical, leftovers};
use crate::interpret::{Rows, interpret};
use crate::joined::{Unaccounted, unaccounted};
use crate::plain::is_plain;
use crate::query::{Ask, Filter, Function, Query};
use crate::question::{Form, Question};
use crate::schema::Table;
use crate::values::ValueIndex;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::sync::OnceLock;

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

/// Why nothing is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nothing in the goal names a column or a value.
    NoMatch,
    /// A function is asked for that is not computed.
    NotComputed {
        /// Its name in the goal.
        function: String,
    },
    /// A column is named, but not what is asked of it.
    NoOperation {
        /// The column.
        column: String,
    },
    /// An "or" that is no choice on one column.
    Either {
        /// Both sides in words, where both are conditions.
        sides: Option<(String, String)>,
    },
    /// Two conditions that exclude each other.
    Both {
        /// They, in words.
        sides: (String, String),
    },
    /// Several readings fit about equally.
    Ambiguous {
        /// In words, the likeliest first.
        readings: Vec<String>,
    },
    /// The likeliest reading is not likely enough.
    Unlikely {
        /// It, in words.
        reading: String,
        /// Its probability.
        probability: f64,
        /// Words that it does not explain.
        unexplained: Vec<String>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoMatch => f.write_str("nothing in the goal names a column or a value of the tables"),
            Refusal::NotComputed { function } => {
                write!(f, "the goal asks for the {function}, which is not computed; sums, means, extremes, counts and differences are")
            }
            Refusal::NoOperation { column } => {
                write!(f, "the goal names `{column}` but not what is to be computed of it: say a total, an average, the highest, how many")
            }
            Refusal::Either { sides: Some((one, other)) } => {
                write!(
                    f,
                    "the goal reads as rows where either {one} or {other}, which is not computed as one query; ask for each by itself"
                )
            }
            Refusal::Either { sides: None } => {
                f.write_str("the goal has an \"or\" that joins no two conditions on one column; ask for each side by itself")
            }
            Refusal::Both { sides: (one, other) } => {
                let between = "the goal reads as either rows with one of the two or one result for each";
                write!(
                    f,
                    "{between}, because no row passes both {one} and {other}; write \"or\" for rows with one of them, or ask for each by itself"
                )
            }
            Refusal::Ambiguous { readings } => write!(f, "the goal fits {} about equally", readings.join(" and ")),
            Refusal::Unlikely { reading, probability, unexplained } => {
                write!(f, "the likeliest reading is {reading}, P = {probability:.2}")?;
                match unexplained.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; not explained: {}", unexplained.join(", ")),
                }
            }
        }
    }
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
            let (left, signals) = (Leftovers::default(), Vec::new());
            found.insert(key, Reading { table, query, score, left, signals, values: None, unaccounted, candidate });
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

/// P(the only plain reading is right), of [`crate::plain`]: 38 of 46 on the train questions of the coefficients, and one more
/// right and wrong.
const PLAIN: f64 = 0.81;

/// The only plain reading, if there is one: equal results count as one where the rows are known.
pub fn plain(tables: &[Offered<'_>], question: &Question, readings: &[Reading]) -> Option<Choice> {
    let grounded: Vec<Grounded<'_>> = tables.iter().map(|offered| Grounded::new(offered.table, offered.index, question)).collect();
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
    found.map(|(reading, _)| Choice { table: reading.table, query: reading.query.clone(), probability: PLAIN })
}

/// What a goal means over some tables.
pub fn parse_with(tables: &[Offered<'_>], goal: &str, model: &Model) -> Parsed {
    let question = Question::new(goal);
    let readings = readings(tables, &question, model);
    let Some(best) = readings.first() else { return Parsed { best: None, refusal: Some(no_reading(tables, &question)) } };
    let probability = model.calibrated(&best.signals, log_odds(&readings));
    let likeliest = Some(Choice { table: best.table, query: best.query.clone(), probability });
    if let Some(function) = not_computed(tables, &question) {
        return Parsed { best: likeliest, refusal: Some(Refusal::NotComputed { function }) };
    }
    if let Some(unaccounted) = &best.unaccounted {
        return Parsed { best: likeliest, refusal: Some(passes_over(tables[best.table].table, &best.query, unaccounted)) };
    }
    let describe = |reading: &Reading| describe(tables[reading.table].table, &reading.query);
    let differs = |r: &&Reading| r.unaccounted.is_none() && (r.values.is_none() || r.values != best.values);
    let close = readings.iter().skip(1).take_while(|r| best.score - r.score < TIE).filter(differs).take(3);
    let tied: Vec<&Reading> = std::iter::once(best).chain(close).collect();
    let refusal = if tied.len() > 1 {
        Some(Refusal::Ambiguous { readings: tied.into_iter().map(describe).collect() })
    } else if probability < model.threshold {
        let unexplained = best.left.words.iter().map(|at| question.words[*at].text.clone()).collect();
        Some(Refusal::Unlikely { reading: describe(best), probability, unexplained })
    } else {
        None
    };
    // What is said in full is meant rather than what leaves words over, however likely.
    if (refusal.is_some() || !best.left.words.is_empty())
        && let Some(choice) = plain(tables, &question, &readings)
    {
        return Parsed { best: Some(choice), refusal: None };
    }
    // Where a likelier reading was set aside for what it passes over, that is what the goal has to decide.
    let set_aside = |r: &&Reading| match &r.unaccounted {
        Some(Unaccounted::Quantity(_)) => true,
        Some(Unaccounted::Or(Some((one, other)))) => one.column != other.column && r.score > best.score,
        Some(_) => r.score > best.score,
        None => false,
    };
    let refusal = refusal.map(|refusal| match readings.iter().find(set_aside) {
        Some(Reading { table, query, unaccounted: Some(unaccounted), .. }) => passes_over(tables[*table].table, query, unaccounted),
        _ => refusal,
    });
    Parsed { best: likeliest, refusal }
}

/// Between what the goal is to decide, where a reading passes over something.
fn passes_over(table: &Table, query: &Query, unaccounted: &Unaccounted) -> Refusal {
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
