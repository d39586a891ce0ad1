//! Whether quotes hold for runs of a real model: each run is quoted before it is made, by everything that was learned of the runs
//! before it, and its actual cost, time and tokens are compared with the quote.
//!
//! Data: `runbooks_prometheus` (its documents and questions, asked in turn). The model is any OpenAI-compatible server; a price is
//! configured, so that there is a cost to foresee. Runs that break are counted apart: what they cost is no cost of a call.

use crate::data::lines;
use crate::figure::Figure;
use anyhow::{Context, anyhow};
use ctx_embedded::{EngineOptions, SourceConfig};
use ctx_runtime::config::{Tier, TierPrice};
use ctx_runtime::{Config, Runtime};
use ctx_testkit::statistics_figures::{quotes, requests};
use ctx_types::goal::Hint;
use ctx_types::{Goal, ModelName, PicoUsd, SourceName, Status, Tokens};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs that are learned from before any is judged: as many as an operator's own interval needs.
const LEARNED: usize = 20;
/// Runs after which what they showed is absorbed.
const BATCH: usize = 5;
/// Context and answer of a run: small ones, so that a small machine makes many, and answers that seldom reach the limit.
const CONTEXT_MOST: Tokens = Tokens(250);
const OUTPUT_MOST: Tokens = Tokens(160);

/// One run beside its quote: low end, actual, high end.
#[derive(Debug, Serialize)]
struct Judged {
    goal: String,
    learned: usize,
    cost_nano_usd: [i64; 3],
    latency_us: [u64; 3],
    tokens: [u64; 3],
}

impl Judged {
    fn held(&self) -> [bool; 3] {
        let within = |[low, actual, high]: [u64; 3]| low <= actual && actual <= high;
        let [low, actual, high] = self.cost_nano_usd;
        [low <= actual && actual <= high, within(self.latency_us), within(self.tokens)]
    }
}

/// The rows of at most so many runs within so much time; then those runs and the recorded ones together.
pub async fn figures(data: &Path, url: &str, runs_max: usize, time: Duration) -> anyhow::Result<(Vec<Figure>, Value)> {
    let goals: Vec<String> =
        lines(&data.join("runbooks_prometheus/queries.jsonl"))?.iter().filter_map(|row| row["text"].as_str().map(str::to_owned)).collect();
    let store = tempfile::tempdir()?;
    let runtime = runtime(&data.join("runbooks_prometheus/docs"), store.path(), url).await?;
    let (mut judged, mut made, mut broken) = (Vec::new(), 0, 0);
    let started = Instant::now();
    while made < runs_max && started.elapsed() < time {
        match run(&runtime, &goals[made % goals.len()], made).await? {
            Some(one) if made >= LEARNED => judged.push(one),
            Some(_) => {}
            None => broken += 1,
        }
        made += 1;
        if made % BATCH == 0 {
            runtime.publish().await?;
            eprintln!("{made} runs in {:.0} s", started.elapsed().as_secs_f64());
        }
    }
    let how = format!("{made} runs of a real model, {LEARNED} learned first, {broken} broke; each quoted by what was learned before it");
    let real = [0, 1, 2].map(|at| judged.iter().filter(|one| one.held()[at]).count());
    let mut rows = rows("real runs", real, judged.len(), &how);
    let text = std::fs::read_to_string(data.join("llmperf_latency/requests.tsv")).context("reading the recorded requests")?;
    let recorded = requests(&text).map_err(|at| anyhow!("line {at} of the recorded requests is not what was expected"))?;
    let held = quotes::recorded_runs(&recorded).ok_or_else(|| anyhow!("no plan was made for the recorded requests"))?;
    let both = [held.cost + real[0], held.latency + real[1], held.tokens + real[2]];
    let how = format!("{} recorded runs and {} real ones", held.n, judged.len());
    rows.extend(self::rows("recorded and real runs", both, held.n + judged.len(), &how).into_iter().map(|row| row.at_most(3.0)));
    Ok((rows, serde_json::to_value(&judged)?))
}

fn rows(kind: &str, held: [usize; 3], n: usize, how: &str) -> Vec<Figure> {
    let row = |(quantity, hits): (&str, usize)| {
        let share = hits as f64 / n.max(1) as f64;
        let error = (share * (1.0 - share) / n.max(1) as f64).sqrt();
        let what = format!("quote of {quantity}, {kind}: {:.1} %, points off 90 %", 100.0 * share);
        Figure::new(what, 100.0 * (share - 0.9).abs(), "points", format!("n = {n}; {how}"))
            .beside(format!("± {:.1} standard error", 100.0 * error))
    };
    ["cost", "latency", "tokens"].into_iter().zip(held).map(row).collect()
}

/// Quotes a goal and runs it; none if the run broke.
async fn run(runtime: &Runtime, text: &str, learned: usize) -> anyhow::Result<Option<Judged>> {
    let mut goal = Goal::new(text);
    goal.hints = vec![Hint::Force("single_shot".to_owned())];
    goal.constraints.require_verification = Some(false);
    goal.constraints.max_context_tokens = Some(CONTEXT_MOST);
    let quote = runtime.simulate(&goal).await?;
    let outcome = runtime.run(&goal).await?.outcome;
    if !matches!(outcome.status, Status::Completed | Status::Abstained) || outcome.spend.calls == 0 {
        return Ok(None);
    }
    let spend = outcome.spend;
    Ok(Some(Judged {
        goal: text.to_owned(),
        learned,
        cost_nano_usd: [quote.cost.low.get(), spend.cost.get(), quote.cost.high.get()],
        latency_us: [quote.latency.low.get(), spend.elapsed.get(), quote.latency.high.get()],
        tokens: [quote.tokens.low.get(), spend.tokens.total().get(), quote.tokens.high.get()],
    }))
}

async fn runtime(documents: &Path, store: &Path, url: &str) -> anyhow::Result<Runtime> {
    let mut config = Config::default();
    config.store = Some(store.to_owned());
    config.sources.insert(SourceName::new("runbooks")?, SourceConfig::at(documents));
    // $0.10 and $0.40 per million tokens: a small hosted model's.
    let price = TierPrice { input: Some(PicoUsd(100_000)), cached_input: None, cache_write: None, output: Some(PicoUsd(400_000)) };
    config.models.push(Tier {
        name: ModelName::new("real")?,
        provider: None,
        base_url: Some(url.trim_end_matches('/').to_owned()),
        model: None,
        api_key_env: None,
        local: Some(true),
        accepts: None,
        good_for: Vec::new(),
        context_window: Some(Tokens(4_096)),
        max_output_tokens: Some(OUTPUT_MOST),
        price: Some(price),
        tokenizer: None,
        request: serde_json::Map::new(),
    });
    let (runtime, _) = ctx_embedded::open(config, EngineOptions::default()).await.context("opening a runtime over the runbooks")?;
    Ok(runtime)
}
