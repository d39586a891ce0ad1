//! Questions over tables, end to end: each is a run through the runtime with its table as the only source and no model.
//!
//! Data: `wikitablequestions` (`tables/*.csv`, `queries.jsonl`, `answers.jsonl`). Coefficients were fitted on the train side;
//! the test side is what counts.

use crate::data::{is_train, lines};
use crate::figure::Figure;
use anyhow::Context;
use ctx_embedded::{EngineOptions, SourceConfig};
use ctx_runtime::{Config, RunReport, Runtime};
use ctx_tables::equal::is_right;
use ctx_types::computed::ComputedResult;
use ctx_types::{Goal, SourceKind, SourceName, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// 95 %.
const Z: f64 = 1.96;

struct Asked {
    text: String,
    gold: Vec<String>,
}

/// What became of the questions.
#[derive(Default)]
struct Counts {
    asked: u32,
    answered: u32,
    right: u32,
    refused: u32,
    other: BTreeMap<String, u32>,
    elapsed_us: Vec<u64>,
}

/// The rows.
pub async fn figures(data: &Path) -> anyhow::Result<(Vec<Figure>, Value)> {
    let folder = data.join("wikitablequestions");
    let mut counts = Counts::default();
    for (table, questions) in questions(&folder)? {
        let store = tempfile::tempdir()?;
        let runtime = runtime(&folder.join("tables").join(format!("{table}.csv")), store.path()).await?;
        for asked in questions {
            counts.add(&runtime.run(&Goal::new(asked.text)).await?, &asked.gold);
        }
    }
    counts.elapsed_us.sort_unstable();
    let at = |share: f64| counts.elapsed_us.get((counts.elapsed_us.len() as f64 * share) as usize).map_or(0.0, |us| *us as f64 / 1e3);
    let (n, right) = (f64::from(counts.answered.max(1)), f64::from(counts.right));
    let [low, high] = interval(right / n, n);
    let how = format!("{} test questions of WikiTableQuestions dev, one run each, no model", counts.asked);
    let share = f64::from(counts.answered) / f64::from(counts.asked.max(1));
    let rows = vec![
        Figure::new("questions answered", share, "", how.clone()).at_least(0.2).beside(format!("{} of {}", counts.answered, counts.asked)),
        Figure::new("accuracy on the answered", right / n, "", format!("{how}; 95 % interval [{low:.3}, {high:.3}]")).at_least(0.8),
        Figure::new("time of a run, p50", at(0.5), "ms", how.clone()).beside(format!("p95 {:.1} ms", at(0.95))),
    ];
    let details = json!({ "answered": counts.answered, "right": counts.right, "refused": counts.refused, "other": counts.other });
    Ok((rows, details))
}

/// Test questions by table.
fn questions(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<Asked>>> {
    let text = |row: &Value, member: &str| row[member].as_str().unwrap_or_default().to_owned();
    let mut gold: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in lines(&folder.join("answers.jsonl"))? {
        let answers = row["answers"].as_array().into_iter().flatten().filter_map(|answer| answer.as_str().map(str::to_owned)).collect();
        gold.insert(text(&row, "id"), answers);
    }
    let mut found: BTreeMap<String, Vec<Asked>> = BTreeMap::new();
    for row in lines(&folder.join("queries.jsonl"))?.iter().filter(|row| !is_train(&text(row, "id"))) {
        let asked = Asked { text: text(row, "text"), gold: gold.get(&text(row, "id")).cloned().unwrap_or_default() };
        found.entry(text(row, "table")).or_default().push(asked);
    }
    Ok(found)
}

async fn runtime(table: &Path, store: &Path) -> anyhow::Result<Runtime> {
    let mut config = Config::default();
    config.store = Some(store.to_owned());
    let mut source = SourceConfig::at(table);
    source.kind = SourceKind::Tables;
    config.sources.insert(SourceName::new("table")?, source);
    let (runtime, _) = ctx_embedded::open(config, EngineOptions::default()).await.context("opening a runtime over one table")?;
    Ok(runtime)
}

impl Counts {
    fn add(&mut self, report: &RunReport, gold: &[String]) {
        self.asked += 1;
        self.elapsed_us.push(report.outcome.spend.elapsed.get());
        match report.outcome.status {
            Status::Completed => {
                self.answered += 1;
                let results = report.context.iter().filter_map(|passage| ComputedResult::read(&passage.passage.text));
                self.right += u32::from(results.take(1).any(|result| is_right(&result.values, gold)));
            }
            Status::Abstained | Status::Infeasible => self.refused += 1,
            other => *self.other.entry(format!("{other:?}")).or_default() += 1,
        }
    }
}

/// Wilson's interval of a share.
fn interval(share: f64, n: f64) -> [f64; 2] {
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    [centre - half, centre + half].map(|end| end / (1.0 + Z * Z / n))
}
