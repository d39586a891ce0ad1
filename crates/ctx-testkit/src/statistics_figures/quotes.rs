//! Whether quotes hold, end to end: a plan is made, its quote drawn, a run recorded or simulated, what it showed absorbed;
//! then the quotes that the learned statistics give are compared with runs that nobody has learned from.
//!
//! *Recorded*: latencies and lengths of answers of requests recorded at real endpoints, prompts counted as planned. *Simulated
//! servers*: made-up ones, each with a queue, a speed and a usual length of its own.

use super::recorded::{AT, Request, is_train, tier};
use super::{SEED, share, within};
use crate::catalogs;
use crate::optimizer_figures::Row;
use crate::traces;
use ctx_cost::statistics::{Statistics, TraceContext, from_trace};
use ctx_planner::{Inputs, Planned, Planner};
use ctx_simulate::{Simulation, simulate};
use ctx_types::id::sha256_hex;
use ctx_types::trace::{CallTiming, Trace};
use ctx_types::{Catalog, Constraints, Goal, Micros, NanoUsd, Settings, Tokens};
use std::collections::BTreeMap;

/// Runs of each simulated server that are learned from, and that are judged.
const LEARNED: u64 = 150;
const JUDGED: u64 = 50;
/// Simulated servers.
const SERVERS: u32 = 12;
/// Longest answer that they give: as many tokens as the tier allows.
const OUTPUT_MAX: f64 = 600.0;
/// Requests of a tier that must have been served for its quotes to be judged: fewer give no interval that is shown to hold.
const SERVED_MIN: usize = 20;

/// What one call took.
#[derive(Clone, Copy)]
struct Call {
    /// Prompt as the provider counts it, in thousandths of ours.
    prompt_milli: u64,
    timing: CallTiming,
}

/// Actuals inside their quotes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Runs judged.
    pub n: usize,
    /// Of these inside in dollars.
    pub cost: usize,
    /// In time.
    pub latency: usize,
    /// In tokens.
    pub tokens: usize,
    /// Tokens below the quote, and above it.
    pub tokens_missed: (usize, usize),
}

/// Recorded runs beside their quotes; `None`: planning failed.
pub fn recorded_runs(requests: &[Request]) -> Option<Held> {
    Some(recorded(requests)?.0)
}

/// One row per quantity and kind of run; `None`: planning failed, which is a defect.
pub fn figures(requests: &[Request]) -> Option<Vec<Row>> {
    let (recorded, tiers) = recorded(requests)?;
    let simulated = simulated()?;
    let mut rows = Vec::new();
    let how = |n: usize, what: &str| format!("{n} runs judged, none of them learned from; {what}; seed {SEED}");
    let kinds = [
        (&recorded, "recorded runs", format!("{tiers} tiers of requests recorded at endpoints, split 0 by hash")),
        (&simulated, "simulated servers", format!("{SERVERS} made-up servers, {LEARNED} runs learned each")),
    ];
    for (held, name, what) in &kinds {
        for (quantity, hits) in [("cost", held.cost), ("latency", held.latency), ("tokens", held.tokens)] {
            let (p, error) = share(hits, held.n);
            rows.push(
                Row { at_most: None, ..within(format!("quote of {quantity}, {name}"), p, 0.9, 0.03, how(held.n, what)) }
                    .beside(beside(quantity, held, error)),
            );
        }
    }
    let n = recorded.n + simulated.n;
    for (quantity, hits) in [
        ("cost", recorded.cost + simulated.cost),
        ("latency", recorded.latency + simulated.latency),
        ("tokens", recorded.tokens + simulated.tokens),
    ] {
        let (p, error) = share(hits, n);
        let all = how(n, "recorded runs and simulated servers together");
        rows.push(within(format!("quote of {quantity}, all"), p, 0.9, 0.03, all).beside(format!("± {:.1} standard error", 100.0 * error)));
    }
    Some(rows)
}

/// The standard error; of tokens, also on which side they lie outside: where answers are cut at a limit that most of them reach,
/// nothing lies above, and ends with equal tails hold 95 %.
fn beside(quantity: &str, held: &Held, error: f64) -> String {
    let (below, above) = held.tokens_missed;
    let sides = if quantity == "tokens" { format!("; {below} below, {above} above") } else { String::new() };
    format!("± {:.1} standard error{sides}", 100.0 * error)
}

fn recorded(requests: &[Request]) -> Option<(Held, usize)> {
    let mut tiers: BTreeMap<String, Vec<&Request>> = BTreeMap::new();
    requests.iter().filter(|request| !request.failed).for_each(|r| tiers.entry(r.operator()).or_default().push(r));
    let (mut held, mut judged) = (Held::default(), 0);
    for requests in tiers.values() {
        let (train, test): (Vec<&Request>, Vec<&Request>) = requests.iter().copied().partition(|request| is_train(0, &request.id));
        if train.len() < SERVED_MIN {
            continue;
        }
        judged += 1;
        let call = |request: &&Request| Call {
            prompt_milli: 1_000,
            timing: CallTiming { first_token: Some(request.first_token), elapsed: request.elapsed, output: request.output },
        };
        judge(&train.iter().map(call).collect::<Vec<Call>>(), &test.iter().map(call).collect::<Vec<Call>>(), &mut held)?;
    }
    Some((held, judged))
}

fn simulated() -> Option<Held> {
    let mut held = Held::default();
    for server in 0..SERVERS {
        let mut noise = Noise(u64::from_str_radix(&sha256_hex(format!("{SEED}/{server}").as_bytes())[..16], 16).unwrap_or(SEED));
        // Medians of the queue and of the time per token in microseconds, of the answer in tokens.
        let (queue, per_token, usual) = (400_000.0 * noise.lognormal(1.0), 12_000.0 * noise.lognormal(0.8), 120.0 * noise.lognormal(0.6));
        let mut call = || {
            let output = (usual * noise.lognormal(0.35)).round().clamp(1.0, OUTPUT_MAX);
            let first = queue * noise.lognormal(0.4);
            let elapsed = first + per_token * output * noise.lognormal(0.1);
            // What is sent is seldom exactly what was expected, and never more than was allowed.
            let prompt = (950.0 * noise.lognormal(0.03)).min(1_050.0);
            let output = Tokens(output as u64);
            let timing = CallTiming { first_token: Some(Micros(first as u64)), elapsed: Micros(elapsed as u64), output };
            Call { prompt_milli: prompt as u64, timing }
        };
        let calls: Vec<Call> = (0..LEARNED + JUDGED).map(|_| call()).collect();
        let (train, test) = calls.split_at(LEARNED as usize);
        judge(train, test, &mut held)?;
    }
    Some(held)
}

/// Learns from some runs, quotes, and judges the quote by the others.
fn judge(train: &[Call], test: &[Call], held: &mut Held) -> Option<()> {
    let catalog = catalogs::catalog(&[("docs", catalogs::files(500))], &[("m", tier())]);
    let mut statistics = Statistics::default();
    for (number, calls) in train.chunks(20).enumerate() {
        let planned = plan(&catalog, &statistics)?;
        let seen = calls.iter().enumerate().flat_map(|(at, call)| {
            let trace = run(&planned, call, &catalog, format!("run-{number}-{at}"));
            let bucket = planned.plan.intent.bucket;
            from_trace(&trace, &TraceContext { bucket, catalog: &catalog, statistics: &statistics, at: AT })
        });
        let seen: Vec<_> = seen.collect();
        statistics = statistics.absorb(&seen, AT);
    }
    let planned = plan(&catalog, &statistics)?;
    let quote: Simulation = simulate(&planned.plan, &planned.graph, planned.plan.seed).ok()?;
    for call in test {
        let trace = run(&planned, call, &catalog, "judged".to_owned());
        let answer = trace.nodes.iter().find(|node| node.node == "answer")?;
        let elapsed = trace.nodes.iter().map(|node| node.end).max()?;
        held.n += 1;
        held.cost += usize::from(answer.actual.cost.is_some_and(|cost| quote.cost.low <= cost && cost <= quote.cost.high));
        held.tokens += usize::from(answer.actual.tokens.is_some_and(|tokens| quote.tokens.low <= tokens && tokens <= quote.tokens.high));
        held.tokens_missed.0 += usize::from(answer.actual.tokens.is_some_and(|tokens| tokens < quote.tokens.low));
        held.tokens_missed.1 += usize::from(answer.actual.tokens.is_some_and(|tokens| tokens > quote.tokens.high));
        held.latency += usize::from(quote.latency.low <= elapsed && elapsed <= quote.latency.high);
    }
    Some(())
}

fn plan(catalog: &Catalog, statistics: &Statistics) -> Option<Planned> {
    let mut goal = Goal::new("How is an infeasible plan reported?");
    goal.hints = vec![ctx_types::goal::Hint::Force("single_shot".to_owned())];
    let limits = Constraints { require_verification: Some(false), ..Constraints::default() };
    goal.constraints = limits.clone();
    let probe = catalogs::probe(&[("docs", catalogs::source_probe(&[("plan", 90), ("infeas", 4)], &[]))]);
    let settings = Settings::default();
    let inputs =
        Inputs { goal: &goal, limits: &limits, catalog, probe: &probe, statistics, denials: &[], settings: &settings, versions: None };
    Planner::builder().build().plan(&inputs).ok()
}

/// The trace of a run in which everything went as planned but the call, which took what it took.
fn run(planned: &Planned, call: &Call, catalog: &Catalog, id: String) -> Trace {
    let mut trace = traces::completed(planned);
    trace.id = id;
    let Some(at) = trace.nodes.iter().position(|node| node.node == "answer") else { return trace };
    let (start, planned_end) = (trace.nodes[at].start, trace.nodes[at].end);
    let end = start + call.timing.elapsed;
    for node in trace.nodes.iter_mut().filter(|node| node.start >= planned_end) {
        node.start = Micros(node.start.0 - planned_end.0 + end.0);
        node.end = Micros(node.end.0 - planned_end.0 + end.0);
    }
    let node = &mut trace.nodes[at];
    let input = node.estimate.call.as_ref().map_or(Tokens(0), |call| call.input);
    let input = Tokens(input.get() * call.prompt_milli / 1_000);
    let price = catalog.models.values().next().map(|entry| entry.prices.fresh(input, call.timing.output).ceil_nano());
    node.end = end;
    node.actual.call = Some(call.timing);
    node.actual.tokens = Some(input + call.timing.output);
    node.actual.cost = price.or(Some(NanoUsd(0)));
    trace
}

/// Seeded noise: a congruential generator, and sums of twelve uniform numbers.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn lognormal(&mut self, sigma: f64) -> f64 {
        let normal = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        (normal * sigma).exp()
    }
}
