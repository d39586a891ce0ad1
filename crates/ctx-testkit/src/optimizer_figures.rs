//! Figures of the optimizer and of cold planning: times, certificates, and agreement with exhaustive search. Measured in
//! rounds; the best of each side and the 99th percentile are kept, because other work may run beside. It stands here, below
//! the crates with a database, so that it builds in a minute: `cargo run --release -p ctx-testkit --example optimizer_figures`.

use crate::catalogs;
use crate::plans::World;
use crate::statistics_figures::quantile;
use ctx_optimizer::linear::{LinearItem, LinearProblem, LinearSolution, NODES_MAX, branch_and_bound, label_setting};
use ctx_optimizer::packing::{PackItem, pack};
use ctx_optimizer::problem::TEXT;
use ctx_optimizer::{Frame, Item, Problem, brute_force, milp, solve};
use ctx_types::{AlternativeId, Catalog, Constraints, MicroNats, Micros, NanoUsd, Objective, PicoUsd, Ppm, Tokens, Weights};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;

/// One row: what was measured, its value, the bar, the baseline of the same run, and how.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What.
    pub what: String,
    /// Value.
    pub value: f64,
    /// Unit.
    pub unit: &'static str,
    /// Most the value may be; `None`: at least one of what was tried must be met, or there is no bar.
    pub at_most: Option<f64>,
    /// Least the value may be.
    pub at_least: Option<f64>,
    /// Baseline.
    pub baseline: String,
    /// How.
    pub how: String,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, value: f64, unit: &'static str, how: impl Into<String>) -> Row {
        Row { what: what.into(), value, unit, at_most: None, at_least: None, baseline: String::new(), how: how.into() }
    }

    pub(crate) fn at_most(self, bar: f64) -> Row {
        Row { at_most: Some(bar), ..self }
    }

    pub(crate) fn at_least(self, bar: f64) -> Row {
        Row { at_least: Some(bar), ..self }
    }

    pub(crate) fn beside(self, baseline: impl Into<String>) -> Row {
        Row { baseline: baseline.into(), ..self }
    }

    /// Whether the bar is met.
    pub fn met(&self) -> Option<bool> {
        let low = self.at_least.map(|b| self.value >= b);
        self.at_most.map(|b| self.value <= b).or(low)
    }
}

/// Seed of everything drawn.
pub const SEED: u64 = 20_261_129;
/// Instances of each kind.
const INSTANCES: u64 = 40;
/// Rounds; the best counts.
const ROUNDS: usize = 5;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}

/// Everything.
pub fn measure() -> Vec<Row> {
    let mut rows = optimality();
    rows.extend(selection());
    rows.extend(packing());
    rows.extend(planning());
    rows.push(interval());
    rows
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Best time of some rounds.
fn best<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut fastest = f64::INFINITY;
    let mut last = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let result = black_box(work());
        fastest = fastest.min(millis(start));
        last = Some(result);
    }
    (fastest, last.expect("there is at least one round"))
}

/// A hundred problems of a million assignments against every one of them.
fn optimality() -> Vec<Row> {
    let (mut equal, mut times, mut exhaustive) = (0u32, Vec::new(), 0.0);
    for seed in 0..100 {
        let problem = million(&mut Random(SEED + seed));
        let (time, found) = best(|| solve(&problem));
        times.push(time);
        let start = Instant::now();
        let oracle = brute_force(&problem);
        exhaustive += millis(start);
        equal += u32::from(found.winner.map(|w| w.value) == oracle.map(|o| o.value) && found.stopped_by.is_none());
    }
    let how = "100 random problems of 10⁶ assignments, full objective, limits on cost, latency and accuracy";
    let time = quantile(&mut times, 0.99);
    vec![
        Row::new("equal to enumeration", f64::from(equal), "of 100", how).at_least(100.0),
        Row::new("the search on these, p99", time, "ms", how).beside(format!("enumeration {:.0} ms on average", exhaustive / 100.0)),
    ]
}

fn million(random: &mut Random) -> Problem {
    let mut id = 0;
    let groups: Vec<Vec<Item>> = [50, 50, 40]
        .into_iter()
        .map(|size| {
            (0..size)
                .map(|_| {
                    id += 1;
                    let (evidence, tokens, latency) = (random.below(3_000_000) as i64, random.below(3_000), random.below(90_000));
                    Item {
                        id: AlternativeId(id),
                        evidence: MicroNats(evidence),
                        loss: MicroNats(random.below(400_000) as i64),
                        cost: PicoUsd(random.below(1_000_000) as i64),
                        tokens: Tokens(tokens),
                        quota: Tokens(tokens + random.below(800)),
                        latency_p50: Micros(latency),
                        latency_p90: Micros(latency + random.below(90_000)),
                        reads: random.below(8) > 0,
                        brings: TEXT,
                        shape: id % 4,
                    }
                })
                .collect()
        })
        .collect();
    let frames = (0..10).map(|f| frame(random, f)).collect();
    let often = |random: &mut Random, value: u64| (random.below(2) == 0).then(|| random.below(value));
    let limits = Constraints {
        max_cost: often(random, 150_000_000).map(|v| NanoUsd(v as i64)),
        max_latency: often(random, 20_000_000).map(Micros),
        min_accuracy: often(random, 700_000).map(|v| Ppm(v as u32)),
        ..Constraints::default()
    };
    Problem { groups, frames, weights: Weights::default(), objective: Objective::Weighted, limits, labels_max: 100_000 }
}

fn frame(random: &mut Random, number: u32) -> Frame {
    let right = random.below(1_000_000) as u32;
    let caught = random.below(1_000_000) as u32;
    let (price, budget, latency) = (random.below(20_000_000) as i64, 500 + random.below(8_500), random.below(9_000_000));
    Frame {
        alternatives: vec![AlternativeId(10_000 + number)],
        shape: number,
        shape_of_one: number,
        accepts: TEXT,
        needs: 0,
        right_with: Ppm(right),
        right_without: Ppm(right / 9),
        withheld_with: Ppm(50_000),
        withheld_without: Ppm(300_000),
        dilution: Ppm(20_000),
        catches: Ppm(caught),
        rejects: Ppm(caught / 11),
        answerable: MicroNats(9_000_000),
        fuse_factor: Ppm(900_000),
        gain: Ppm(0),
        sent: Ppm::ONE,
        survives: Ppm::ONE,
        fixed_cost: PicoUsd(price * 100),
        context_price: PicoUsd(price),
        cost_bound: PicoUsd(price * (100 + budget as i64)),
        tokens_bound: Tokens(budget + 500),
        calls: number % 3,
        latency_p50: Micros(latency),
        latency_per_ktoken: Micros(0),
        latency_p90: Micros(latency * 3),
        latency_measured: true,
        budget: Tokens(budget),
        risk: Ppm(0),
        cache: Ppm(0),
        call: None,
    }
}

/// A selection problem of fifty groups of fifty items whose values have nothing to do with their weights.
pub fn selection_instance(budgets: usize) -> LinearProblem {
    instance(&mut Random(SEED), budgets, |_, random| 1 + random.below(1_000) as i64)
}

/// Fifty groups of fifty items under budgets of half of what the heaviest selection uses.
fn instance(random: &mut Random, budgets: usize, values: fn(i64, &mut Random) -> i64) -> LinearProblem {
    let groups: Vec<Vec<LinearItem>> = (0..50)
        .map(|_| {
            (0..50)
                .map(|_| {
                    let weights: Vec<i64> = (0..budgets).map(|_| 1 + random.below(1_000) as i64).collect();
                    let value = values(weights.iter().sum::<i64>() / budgets as i64, random);
                    LinearItem { value, weights }
                })
                .collect()
        })
        .collect();
    let capacities = (0..budgets)
        .map(|d| {
            let of = |f: fn(i64, i64) -> i64| -> i64 { groups.iter().map(|g| g.iter().map(|i| i.weights[d]).reduce(f).unwrap_or(0)).sum() };
            (of(i64::min) + of(i64::max)) / 2
        })
        .collect();
    LinearProblem { groups, capacities }
}

fn selection() -> Vec<Row> {
    let free: fn(i64, &mut Random) -> i64 = |_, random| 1 + random.below(1_000) as i64;
    let near: fn(i64, &mut Random) -> i64 = |weight, random| (weight - 100 + random.below(201) as i64).max(1);
    let same: fn(i64, &mut Random) -> i64 = |weight, _| weight + 100;
    let kinds = [
        ("one budget", 1, free),
        ("one budget, values near weights", 1, near),
        ("one budget, values = weights + 100", 1, same),
        ("three budgets", 3, free),
        ("three budgets, values near weights", 3, near),
        ("three budgets, values = mean weight + 100", 3, same),
    ];
    let mut rows = Vec::new();
    for (name, budgets, values) in kinds {
        for (method, search) in
            [("branch and bound", branch_and_bound as fn(&LinearProblem, u64) -> LinearSolution), ("label-setting", label_setting)]
        {
            let (mut times, mut proven, mut worst) = (Vec::new(), 0u32, 0.0f64);
            for seed in 0..INSTANCES {
                let problem = instance(&mut Random(SEED ^ (seed << 8)), budgets, values);
                let (time, found) = best(|| search(&problem, NODES_MAX));
                times.push(time);
                proven += u32::from(found.stopped_by.is_none());
                let gap = found.gap().unwrap_or(i64::MAX) as f64 / found.value.unwrap_or(1).max(1) as f64;
                worst = worst.max(gap);
            }
            let how = format!(
                "{INSTANCES} instances; certificate on {proven}, largest stated gap {:.4} %; limit {NODES_MAX} nodes",
                worst * 100.0
            );
            let median = quantile(&mut times, 0.5);
            rows.push(
                Row::new(format!("50 × 50, {name}: {method} p99"), quantile(&mut times, 0.99), "ms", how)
                    .at_most(5.0)
                    .beside(format!("p50 {median:.3} ms")),
            );
        }
    }
    let problem = instance(&mut Random(SEED), 1, free);
    let start = Instant::now();
    let program = milp::solve_linear(&problem).ok().and_then(|picks| problem.value_of(&picks));
    let time = millis(start);
    let agree = f64::from(u8::from(program == branch_and_bound(&problem, NODES_MAX).value));
    rows.push(
        Row::new(
            "50 × 50, one budget: the integer program agrees",
            agree,
            "of 1",
            format!("good_lp with microlp, one instance, {time:.0} ms"),
        )
        .at_least(1.0),
    );
    rows
}

/// Five hundred passages.
pub fn packing_instance(seed: u64, documents: u64) -> Vec<PackItem> {
    let mut random = Random(seed);
    (0..500)
        .map(|i| {
            let tokens = 40 + random.below(470);
            let value = (random.below(2_000_000) / (1 + u64::from(i) / 8) + tokens) as i64;
            PackItem { value, tokens, document: random.below(documents) as u32, cluster: i }
        })
        .collect()
}

fn packing() -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, documents, per_document, max_items) in
        [("no caps", 500, 500, 500), ("3 a document", 60, 3, 500), ("3 a document, 8 in all", 60, 3, 8)]
    {
        let (mut times, mut exact, mut table) = (Vec::new(), 0u32, Vec::new());
        for seed in 0..INSTANCES {
            let items = packing_instance(SEED + seed, documents);
            let (time, packing) = best(|| pack(&items, 8_000, per_document, max_items));
            times.push(time);
            exact += u32::from(packing.optimal);
            let (time, value) = best(|| by_table(&items, 8_000));
            table.push(time);
            if per_document == 500 && packing.value != value {
                exact = 0;
            }
        }
        let how = format!("500 passages, 8,000 tokens, {INSTANCES} instances, proven on {exact}");
        let baseline = format!("dynamic programming over tokens, without caps: p50 {:.2} ms", quantile(&mut table, 0.5));
        rows.push(Row::new(format!("evidence packing, {name}, p99"), quantile(&mut times, 0.99), "ms", how).at_most(1.0).beside(baseline));
    }
    rows
}

/// The plain table: value by tokens.
fn by_table(items: &[PackItem], budget: usize) -> i64 {
    let mut table = vec![0i64; budget + 1];
    for item in items {
        let tokens = item.tokens as usize;
        for room in (tokens..=budget).rev() {
            table[room] = table[room].max(table[room - tokens] + item.value);
        }
    }
    table[budget]
}

/// Goals of different kinds.
const GOALS: [&str; 8] = [
    "How does the planner decide that a plan is infeasible?",
    "What is the default budget of a run?",
    "Why was the nightly import slow on Tuesday and what changed since then?",
    "Compare reciprocal rank fusion with linear fusion of scores for short queries.",
    "List every constraint that a request can tighten.",
    "Is E0502 raised when two threads write at once?",
    "Which release introduced the plan cache, and who changed its key later?",
    "Summarise how verification failures are handled.",
];

/// A world with so many sources and models.
fn world(sources: usize, models: usize, goal: &str) -> World {
    let names: Vec<String> = (0..sources).map(|i| format!("s{i}")).collect();
    let entries: Vec<_> = names.iter().enumerate().map(|(i, n)| (n.as_str(), catalogs::files(900 + 3_000 * i as u64))).collect();
    let tiers: Vec<_> = [("local", catalogs::local_model()), ("premium", catalogs::remote_model())].into_iter().take(models).collect();
    let catalog: Catalog = catalogs::catalog(&entries, &tiers);
    let said = |i: usize| catalogs::source_probe(&[("plan", 90 + 40 * i as u64), ("infeas", 14), ("budget", 31)], &[("e0502", i as u64)]);
    let probes: Vec<_> = names.iter().enumerate().map(|(i, n)| (n.as_str(), said(i))).collect();
    World::of(catalog, catalogs::probe(&probes), goal)
}

fn planning() -> Vec<Row> {
    let mut rows = Vec::new();
    for (sources, models, bar) in [(1, 2, Some(1.0)), (2, 0, Some(10.0)), (2, 2, None), (3, 2, None), (5, 2, None)] {
        let (mut times, mut first, mut most, mut fewest) = (Vec::new(), Vec::new(), 0u64, u64::MAX);
        for goal in GOALS.iter().cycle().take(GOALS.len() * 5) {
            let world = world(sources, models, goal);
            let start = Instant::now();
            let Ok(planned) = black_box(world.decide()) else { continue };
            first.push(millis(start));
            times.push(best(|| world.decide().is_ok()).0);
            most = most.max(planned.plan.candidates);
            fewest = fewest.min(planned.plan.candidates);
        }
        if times.is_empty() {
            continue;
        }
        let how = format!(
            "{sources} sources, {models} models, {fewest} to {most} candidates, {} plannings, best of {ROUNDS} rounds each",
            times.len()
        );
        let baseline = format!("p50 {:.3} ms; first run p99 {:.3} ms", quantile(&mut times, 0.5), quantile(&mut first, 0.99));
        let row = Row::new(format!("cold planning, {sources} sources, p99"), quantile(&mut times, 0.99), "ms", how).beside(baseline);
        rows.push(match bar {
            Some(bar) => row.at_most(bar),
            None => row,
        });
    }
    rows
}

fn interval() -> Row {
    let planned = world(1, 2, GOALS[0]).plan().expect("nothing forbids it");
    let mut times: Vec<f64> = (0..INSTANCES).map(|_| best(|| ctx_simulate::simulate(&planned.plan, &planned.graph, 7).is_ok()).0).collect();
    Row::new(
        "the winner's Monte Carlo interval, p99",
        quantile(&mut times, 0.99),
        "ms",
        format!("4,096 draws, {INSTANCES} times, best of {ROUNDS} rounds"),
    )
    .at_most(3.0)
}
