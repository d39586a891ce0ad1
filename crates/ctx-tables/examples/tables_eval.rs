//! Goal → SQL without a model, measured on questions with known answers, and its coefficients fitted.
//!
//! ```sh
//! cargo run -p ctx-tables --example tables_eval -- fit   wikitablequestions/ crates/ctx-tables/coefficients/tables.json
//! cargo run -p ctx-tables --example tables_eval -- test  wikitablequestions/
//! cargo run -p ctx-tables --example tables_eval -- plain wikitablequestions/
//! cargo run -p ctx-tables --example tables_eval -- ask   folder-of-csv/ "a question"
//! cargo run -p ctx-tables --example tables_eval -- other sqleval/ sqleval-as-csv/
//! ```
//!
//! `wikitablequestions` holds `tables/*.csv`, `queries.jsonl` and `answers.jsonl`; train are the questions whose SHA-256 of
//! the id falls in the first 60 %, `fit` sees nothing else. `sqleval-as-csv` holds one folder of CSV files per database
//! (`scripts/export_sqlite.py` writes it). Answers are those of the reference interpreter, which the tests of
//! `ctx-duckdb` hold equal to DuckDB's.
#![allow(clippy::print_stdout)]

use ctx_tables::candidates::Grounded;
use ctx_tables::equal::{is_right, normal};
use ctx_tables::features::features;
use ctx_tables::interpret::{interpret, interpret_rows};
use ctx_tables::learn::{Example, Names, fit, logistic};
use ctx_tables::memory::Memory;
use ctx_tables::question::Question;
use ctx_tables::rank::{Coefficients, Model, Refusal, log_odds, parse_with, plain, readings};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

/// Accuracy on the answered that the threshold aims at, in cross-validation on train.
const AIM: f64 = 0.80;
/// Passes, rate and L1 of the fit; chosen by cross-validation on train.
const PASSES: usize = 12;
const RATE: f64 = 0.08;
const L1: f64 = 0.02;
/// Penalty of the calibration.
const L2: f64 = 6.0;
const FOLDS: u64 = 5;

struct Asked {
    id: String,
    text: String,
    table: usize,
    gold: Vec<String>,
    train: bool,
}

struct World {
    tables: Vec<Memory>,
    asked: Vec<Asked>,
}

fn main() -> Anyhow<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = |at: usize| arguments.get(at).map(PathBuf::from).ok_or("a folder is missing: see the head of this file");
    match arguments.first().map(String::as_str) {
        Some("fit") => fit_all(&load(&folder(1)?)?, &folder(2)?),
        Some("test") => test(&load(&folder(1)?)?, false),
        Some("train") => test(&load(&folder(1)?)?, true),
        Some("plain") => plain_readings(&load(&folder(1)?)?),
        Some("ask") => ask(&folder_of_tables(&folder(1)?)?, arguments.get(2).map_or("", String::as_str)),
        Some("other") => other(&folder(1)?, &folder(2)?),
        _ => Err("fit, test or other: see the head of this file".into()),
    }
}

fn lines(path: &Path) -> Anyhow<Vec<Value>> {
    std::fs::read_to_string(path)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().to_owned()
}

fn share(text: &str) -> f64 {
    let hash = Sha256::digest(text.as_bytes());
    f64::from(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])) / f64::from(u32::MAX)
}

fn table(path: &Path) -> Anyhow<Memory> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).has_headers(false).from_path(path)?;
    let mut rows = reader.records().map(|row| Ok(row?.iter().map(str::to_owned).collect())).collect::<Anyhow<Vec<Vec<String>>>>()?;
    let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
    Ok(Memory::new(&path.file_stem().unwrap_or_default().to_string_lossy(), &header, &rows))
}

fn folder_of_tables(folder: &Path) -> Anyhow<Vec<Memory>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Anyhow<_>>()?;
    paths.sort();
    paths.iter().map(|path| table(path)).collect()
}

fn load(folder: &Path) -> Anyhow<World> {
    let tables = folder_of_tables(&folder.join("tables"))?;
    let gold: BTreeMap<String, Vec<String>> = lines(&folder.join("answers.jsonl"))?
        .iter()
        .map(|row| {
            (text(row, "id"), row["answers"].as_array().into_iter().flatten().filter_map(|a| a.as_str().map(str::to_owned)).collect())
        })
        .collect();
    let mut asked = Vec::new();
    for row in lines(&folder.join("queries.jsonl"))? {
        let (id, name) = (text(&row, "id"), text(&row, "table"));
        let table = tables.iter().position(|table| table.table.name == name).ok_or("a question's table is missing")?;
        asked.push(Asked {
            text: text(&row, "text"),
            table,
            gold: gold.get(&id).cloned().unwrap_or_default(),
            train: share(&id) < 0.6,
            id,
        });
    }
    Ok(World { tables, asked })
}

/// Signals of the best reading, its log-odds, whether its answer is right.
type Judged = (Vec<String>, f64, bool);

struct Prepared {
    features: Vec<Vec<u32>>,
    right: Vec<bool>,
}

fn prepare(world: &World, asked: &Asked, names: &mut Names) -> Prepared {
    let Memory { table, index, rows } = &world.tables[asked.table];
    let question = Question::new(&asked.text);
    let on = Grounded::new(table, index, &question);
    let mut prepared = Prepared { features: Vec::new(), right: Vec::new() };
    for candidate in on.candidates() {
        let values = interpret(table, rows, &candidate.query);
        if values.is_empty() {
            continue;
        }
        let mut found: Vec<String> = Vec::new();
        features(&on, &candidate, &mut found);
        prepared.features.push(found.iter().map(|name| names.number(name)).collect());
        prepared.right.push(is_right(&values, &asked.gold));
    }
    prepared
}

fn fit_all(world: &World, out: &Path) -> Anyhow<()> {
    let mut names = Names::default();
    let train: Vec<&Asked> = world.asked.iter().filter(|asked| asked.train).collect();
    let prepared: Vec<Prepared> = train.iter().map(|asked| prepare(world, asked, &mut names)).collect();
    let reachable = prepared.iter().filter(|p| p.right.iter().any(|r| *r)).count();
    let candidates: usize = prepared.iter().map(|p| p.right.len()).sum();
    println!(
        "train {} questions, {} features, {:.0} candidates each, a right one for {:.3}",
        train.len(),
        names.len(),
        candidates as f64 / train.len() as f64,
        reachable as f64 / train.len() as f64
    );
    let fold = |asked: &Asked| (share(&world.tables[asked.table].table.name) * FOLDS as f64) as u64;
    let examples = |keep: &dyn Fn(&Asked) -> bool| -> Vec<Example> {
        let kept = train.iter().zip(&prepared).filter(|(asked, _)| keep(asked));
        kept.map(|(_, p)| Example { features: p.features.clone(), right: p.right.clone() }).collect()
    };
    let mut judged: Vec<Judged> = Vec::new();
    let mut ends: Vec<usize> = Vec::new();
    for held in 0..FOLDS {
        let weights = fit(&examples(&|asked| fold(asked) != held), names.len(), PASSES, RATE, L1);
        let model = Model::new(&Coefficients { weights: names.weights(&weights, 0.0), ..Coefficients::default() });
        for asked in train.iter().filter(|asked| fold(asked) == held) {
            let found = judge(world, asked, &model);
            if let Some((_, odds, false)) = &found
                && *odds > 0.7
                && std::env::var("SHOW").is_ok_and(|show| show == "wrong")
            {
                let Memory { table, rows, .. } = &world.tables[asked.table];
                let best = &readings(&[world.tables[asked.table].offered()], &Question::new(&asked.text), &model)[0];
                let values = interpret(table, rows, &best.query);
                println!(
                    "! {odds:.2} {} | {} | {:?} | {:?}",
                    asked.text,
                    ctx_tables::describe::describe(table, &best.query),
                    values.iter().take(2).collect::<Vec<_>>(),
                    asked.gold.first()
                );
            }
            judged.extend(found);
        }
        ends.push(judged.len());
    }
    let top1 = judged.iter().filter(|(_, _, right)| *right).count() as f64 / train.len() as f64;
    println!("cross-validated: the best reading is right for {top1:.3}");
    let calibration = calibrate(&judged);
    let weights = fit(&examples(&|_| true), names.len(), PASSES, RATE, L1);
    let mut coefficients = Coefficients {
        provenance: format!(
            "WikiTableQuestions train ({} questions, SHA-256 of the id in the first 60 %), {FOLDS}-fold cross-validation by table for calibration and threshold; tables_eval fit",
            train.len()
        ),
        weights: names.weights(&weights, 0.02),
        calibration,
        threshold: 0.0,
    };
    // The calibration of each fold is that of the others.
    let mut scored = Vec::new();
    for (at, end) in ends.iter().enumerate() {
        let start = if at == 0 { 0 } else { ends[at - 1] };
        let others: Vec<Judged> = judged[..start].iter().chain(&judged[*end..]).cloned().collect();
        let calibration = Coefficients { calibration: calibrate(&others), ..Coefficients::default() };
        scored.extend(judged[start..*end].iter().map(|(s, o, right)| (probability(&calibration, s, *o), *right)));
    }
    coefficients.threshold = threshold(scored, train.len());
    println!("{} weights kept", coefficients.weights.len());
    std::fs::write(out, serde_json::to_string_pretty(&coefficients)? + "\n")?;
    Ok(())
}

fn judge(world: &World, asked: &Asked, model: &Model) -> Option<Judged> {
    let Memory { table, rows, .. } = &world.tables[asked.table];
    let found = readings(&[world.tables[asked.table].offered()], &Question::new(&asked.text), model);
    let best = found.first()?;
    let values = interpret(table, rows, &best.query);
    let parsed = parse_with(&[world.tables[asked.table].offered()], &asked.text, model);
    let tied = matches!(parsed.refusal, Some(Refusal::Ambiguous { .. }));
    // Neither an empty result nor one of several equal readings is ever given as an answer.
    (!values.is_empty() && !tied).then(|| (best.signals.clone(), log_odds(&found), is_right(&values, &asked.gold)))
}

fn calibrate(judged: &[Judged]) -> BTreeMap<String, f64> {
    let mut names = Names::default();
    let odds = names.number("log_odds");
    let rows: Vec<Vec<(u32, f64)>> = judged
        .iter()
        .map(|(signals, log_odds, _)| std::iter::once((odds, *log_odds)).chain(signals.iter().map(|s| (names.number(s), 1.0))).collect())
        .collect();
    let right: Vec<bool> = judged.iter().map(|(_, _, right)| *right).collect();
    names.weights(&logistic(&rows, &right, names.len(), L2, 200), 0.0)
}

fn probability(coefficients: &Coefficients, signals: &[String], log_odds: f64) -> f64 {
    let weight = |name: &str| coefficients.calibration.get(name).copied().unwrap_or(0.0);
    let total = weight("log_odds") * log_odds + signals.iter().map(|s| weight(s)).sum::<f64>();
    1.0 / (1.0 + (-total).exp())
}

/// The lowest probability at which those above it are right as often as aimed at.
fn threshold(mut scored: Vec<(f64, bool)>, asked: usize) -> f64 {
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut right, mut best) = (0, (1.0, 0, 0.0));
    for (at, (probability, is_right)) in scored.iter().enumerate() {
        right += usize::from(*is_right);
        let accuracy = right as f64 / (at + 1) as f64;
        if accuracy >= AIM {
            best = (*probability, at + 1, accuracy);
        }
        if (at + 1) % 100 == 0 {
            println!("  answered {:.3} accuracy {accuracy:.3} at P {probability:.3}", (at + 1) as f64 / asked as f64);
        }
    }
    println!("threshold {:.3}: answered {:.3} accuracy {:.3} (cross-validated)", best.0, best.1 as f64 / asked as f64, best.2);
    (best.0 * 1000.0).ceil() / 1000.0
}

fn test(world: &World, on_train: bool) -> Anyhow<()> {
    let model = Model::shipped();
    let (mut all, mut answered, mut right, mut ambiguous) = (0, 0, 0, 0);
    let mut by_operation: BTreeMap<&'static str, (u32, u32)> = BTreeMap::new();
    let mut bins = [(0_u32, 0_u32, 0.0); 10];
    for asked in world.asked.iter().filter(|asked| asked.train == on_train) {
        all += 1;
        let Memory { table, rows, .. } = &world.tables[asked.table];
        let parsed = parse_with(&[world.tables[asked.table].offered()], &asked.text, model);
        let Some(choice) = parsed.best else { continue };
        ambiguous += u32::from(matches!(parsed.refusal, Some(Refusal::Ambiguous { .. })));
        let values = interpret(table, rows, &choice.query);
        let is_good = is_right(&values, &asked.gold);
        if !values.is_empty() {
            let bin = &mut bins[((choice.probability * 10.0) as usize).min(9)];
            *bin = (bin.0 + 1, bin.1 + u32::from(is_good), bin.2 + choice.probability);
        }
        if parsed.refusal.is_some() {
            if on_train && std::env::var("SHOW").is_ok_and(|show| show == "refused") {
                println!(
                    "? {:.2} {is_good} {} | {} | {:?} | {:?}",
                    choice.probability,
                    asked.text,
                    ctx_tables::describe::describe(table, &choice.query),
                    values.first(),
                    asked.gold.first()
                );
            }
            continue;
        }
        if values.is_empty() {
            continue;
        }
        answered += 1;
        right += u32::from(is_good);
        let operation = by_operation.entry(choice.query.ask.name()).or_default();
        *operation = (operation.0 + 1, operation.1 + u32::from(is_good));
        if on_train && std::env::var("SHOW").is_ok_and(|show| show == "answered") {
            let question = Question::new(&asked.text);
            let found = readings(&[world.tables[asked.table].offered()], &question, model);
            let left = found.iter().find(|r| r.query == choice.query).map(|r| r.left.words.clone()).unwrap_or_default();
            let left: Vec<&str> = left.iter().map(|at| question.words[*at].text.as_str()).collect();
            println!(
                "@ {is_good} {:.2} {} [{}] {} | {} | {:?} | {:?}",
                choice.probability,
                choice.query.ask.name(),
                left.join(" "),
                asked.text,
                ctx_tables::describe::describe(table, &choice.query),
                values.iter().take(2).collect::<Vec<_>>(),
                asked.gold.first()
            );
        }
        if !is_good && std::env::var("SHOW").is_ok_and(|show| show == "wrong") {
            println!(
                "! {:.2} {} {} | {} | {:?} | {:?}",
                choice.probability,
                asked.id,
                asked.text,
                ctx_tables::describe::describe(table, &choice.query),
                values.first(),
                asked.gold
            );
        }
    }
    let z = 1.96_f64;
    let (n, p) = (f64::from(answered), f64::from(right) / f64::from(answered.max(1)));
    let (centre, half) = (p + z * z / (2.0 * n), z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt());
    println!(
        "{} questions: answered {:.3} ({answered}), accuracy on the answered {p:.3} [{:.3}, {:.3}]; ambiguous {ambiguous}",
        all,
        n / f64::from(all),
        (centre - half) / (1.0 + z * z / n),
        (centre + half) / (1.0 + z * z / n)
    );
    for (operation, (count, good)) in by_operation {
        println!("  {operation}: {count} answered, {good} right");
    }
    for (count, good, sum) in bins.iter().filter(|bin| bin.0 > 0) {
        println!("  P {:.2}: n {count}, right {:.2}", sum / f64::from(*count), f64::from(*good) / f64::from(*count));
    }
    Ok(())
}

/// Train questions that only a plain reading answers: how many, how often right.
fn plain_readings(world: &World) -> Anyhow<()> {
    let model = Model::shipped();
    let (mut all, mut given, mut right) = (0, 0, 0);
    for asked in world.asked.iter().filter(|asked| asked.train) {
        all += 1;
        let Memory { table, rows, .. } = &world.tables[asked.table];
        let offered = [world.tables[asked.table].offered()];
        let question = Question::new(&asked.text);
        let found = readings(&offered, &question, model);
        let Some(choice) = plain(&offered, &question, &found) else { continue };
        let values = interpret(table, rows, &choice.query);
        let is_good = is_right(&values, &asked.gold);
        given += 1;
        right += u32::from(is_good);
        let parsed = parse_with(&offered, &asked.text, model);
        if let Some(best) = parsed.best.filter(|best| best.query != choice.query) {
            let other = is_right(&interpret(table, rows, &best.query), &asked.gold);
            println!("? plain {is_good}, likeliest {other} (P = {:.2}): {}", best.probability, asked.text);
        }
        if std::env::var("SHOW").is_ok_and(|show| show == "wrong") && !is_good {
            let words = ctx_tables::describe::describe(table, &choice.query);
            println!("! {} | {words} | {:?} | {:?}", asked.text, values.first(), asked.gold);
        }
    }
    println!("{all} questions: {given} have one plain reading, {right} of them right");
    Ok(())
}

/// What a goal means over the tables of a folder: the likeliest readings, then what is made of them.
fn ask(tables: &[Memory], goal: &str) -> Anyhow<()> {
    let offered: Vec<_> = tables.iter().map(Memory::offered).collect();
    for reading in readings(&offered, &Question::new(goal), Model::shipped()).iter().take(8) {
        let words = ctx_tables::describe::describe(&tables[reading.table].table, &reading.query);
        println!("{:7.3} {words} {:?}", reading.score, reading.values.as_ref().and_then(|values| values.first()));
    }
    let parsed = parse_with(&offered, goal, Model::shipped());
    let words = |choice: &ctx_tables::Choice| ctx_tables::describe::describe(&tables[choice.table].table, &choice.query);
    println!("{:?} {:?}", parsed.best.as_ref().map(|best| (best.probability, words(best))), parsed.refusal.map(|r| r.to_string()));
    Ok(())
}

/// Refusals on another collection: unanswerable questions, and answerable ones for the rate of false refusals.
fn other(folder: &Path, exported: &Path) -> Anyhow<()> {
    let unanswerable = lines(&folder.join("unanswerable.jsonl"))?;
    let answerable = lines(&folder.join("queries.jsonl"))?;
    let gold: BTreeMap<String, Value> = lines(&folder.join("answers.jsonl"))?.into_iter().map(|row| (text(&row, "id"), row)).collect();
    let mut refused = 0;
    let mut databases: BTreeMap<String, Vec<Memory>> = BTreeMap::new();
    for name in unanswerable.iter().chain(&answerable).map(|row| text(row, "db")) {
        if let Entry::Vacant(place) = databases.entry(name) {
            let tables = folder_of_tables(&exported.join(place.key()))?;
            place.insert(tables);
        }
    }
    for row in &unanswerable {
        let db = &databases[&text(row, "db")];
        match answer(db, &text(row, "text")) {
            Ok((description, values)) => println!("! answered: {} | {description} | {:?}", text(row, "text"), values.first()),
            Err(_) => refused += 1,
        }
    }
    println!("unanswerable: refused {refused} of {} = {:.3}", unanswerable.len(), f64::from(refused) / unanswerable.len() as f64);
    let (mut answered, mut right) = (0, 0);
    for row in &answerable {
        let db = &databases[&text(row, "db")];
        if let Ok((description, values)) = answer(db, &text(row, "text")) {
            answered += 1;
            let good = is_gold(&gold[&text(row, "id")], &values);
            right += u32::from(good);
            println!("{} answered: {} | {description} | {:?}", if good { "+" } else { "-" }, text(row, "text"), values.first());
        }
    }
    println!("answerable: answered {answered} of {}, right {right}", answerable.len());
    Ok(())
}

fn answer(tables: &[Memory], goal: &str) -> Result<(String, Vec<Vec<String>>), Option<Refusal>> {
    let offered: Vec<_> = tables.iter().map(Memory::offered).collect();
    let parsed = parse_with(&offered, goal, Model::shipped());
    let Some(choice) = parsed.best.filter(|_| parsed.refusal.is_none()) else { return Err(parsed.refusal) };
    let memory = &tables[choice.table];
    let rows = interpret_rows(&memory.table, &memory.rows, &choice.query);
    if rows.is_empty() { Err(None) } else { Ok((ctx_tables::describe::describe(&memory.table, &choice.query), rows)) }
}

/// Rows equal as multisets to those of one acceptable answer, names of columns ignored.
fn is_gold(gold: &Value, rows: &[Vec<String>]) -> bool {
    let mut given: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| normal(cell)).collect()).collect();
    given.sort();
    gold["acceptable"].as_array().into_iter().flatten().any(|answer| {
        let cell = |cell: &Value| normal(&cell.as_str().map_or_else(|| cell.to_string(), str::to_owned));
        let mut wanted: Vec<Vec<String>> =
            answer["rows"].as_array().into_iter().flatten().map(|row| row.as_array().into_iter().flatten().map(cell).collect()).collect();
        wanted.sort();
        wanted == given
    })
}
