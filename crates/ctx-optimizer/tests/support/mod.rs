//! Random and adversarial problems from a seed. Sizes are bounded in assignments, so that enumeration stays cheap.
#![allow(dead_code, unreachable_pub)] // each test file uses its own part

use ctx_optimizer::linear::{LinearItem, LinearProblem};
use ctx_optimizer::problem::{RESULT, TEXT};
use ctx_optimizer::{CallShare, Frame, Item, Problem};
use ctx_types::{AlternativeId, Constraints, MicroNats, Micros, NanoUsd, Objective, PicoUsd, Ppm, Tokens, Weights};

/// SplitMix64: the same numbers on every platform.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In `low..high`.
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low).max(1) as u64) as i64
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() as usize % list.len()]
    }
}

/// What makes an instance hard in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Plain,
    /// Few distinct numbers: ties everywhere.
    Ties,
    /// Evidence proportional to tokens.
    Correlated,
    /// Differences of single units.
    Close,
    /// Weights under which evidence hurts in some frames.
    Hurtful,
    /// Limits near what plans need.
    Tight,
}

pub const KINDS: [Kind; 6] = [Kind::Plain, Kind::Ties, Kind::Correlated, Kind::Close, Kind::Hurtful, Kind::Tight];

pub fn item(id: u32, (evidence, cost, tokens, latency, reads): (i64, i64, u64, u64, bool)) -> Item {
    Item {
        id: AlternativeId(id),
        evidence: MicroNats(evidence),
        loss: MicroNats(evidence / 7),
        cost: PicoUsd(cost),
        tokens: Tokens(tokens),
        quota: Tokens(tokens + tokens / 3),
        latency_p50: Micros(latency),
        latency_p90: Micros(latency * 2),
        reads,
        brings: if reads { TEXT } else { 0 },
        shape: id,
    }
}

pub fn frame(id: u32, (right, caught, price, latency, budget, calls): (u32, u32, i64, u64, u64, u32)) -> Frame {
    let input = price * (40 + budget as i64);
    Frame {
        alternatives: vec![AlternativeId(id)],
        shape: id,
        shape_of_one: id,
        accepts: TEXT | RESULT,
        needs: 0,
        right_with: Ppm(right),
        right_without: Ppm(right / 9),
        withheld_with: Ppm(50_000),
        withheld_without: Ppm(300_000),
        dilution: Ppm(20_000),
        catches: Ppm(caught),
        rejects: Ppm(caught / 11),
        answerable: MicroNats(3_000_000),
        fuse_factor: Ppm(900_000),
        gain: if id % 4 == 3 { Ppm(150_000) } else { Ppm(0) },
        sent: if id % 5 == 4 { Ppm(550_000) } else { Ppm::ONE },
        survives: if id % 5 == 4 { Ppm(930_000) } else { Ppm::ONE },
        fixed_cost: PicoUsd(price * 100),
        context_price: PicoUsd(price),
        cost_bound: PicoUsd(price * 60 + input),
        tokens_bound: Tokens(budget + 500),
        calls,
        latency_p50: Micros(latency),
        latency_per_ktoken: Micros(if id % 3 == 1 { latency / 4 } else { 0 }),
        latency_p90: Micros(latency * 3),
        latency_measured: calls != 2,
        budget: Tokens(budget),
        risk: Ppm(0),
        cache: Ppm(0),
        call: (calls > 0).then(|| CallShare {
            model: id % 3,
            input_cost: PicoUsd(price * 40),
            input_bound: PicoUsd(input),
            latency_p50: Micros(latency / 2),
            latency_p90: Micros(latency),
        }),
    }
}

/// A problem of at most `most` assignments.
pub fn problem(random: &mut Random, kind: Kind, most: u64) -> Problem {
    let mut id = 0;
    let mut groups: Vec<Vec<Item>> = Vec::new();
    let mut frames: Vec<Frame> = Vec::new();
    let frame_count = random.within(1, 7) as u64;
    let mut assignments = frame_count;
    for _ in 0..random.within(1, 6) {
        let size = random.within(1, 9) as u64;
        if assignments * size > most {
            break;
        }
        assignments *= size;
        groups.push(
            (0..size)
                .map(|_| {
                    id += 1;
                    random_item(random, kind, id)
                })
                .collect(),
        );
    }
    let evidence: i64 = groups.iter().map(|g| g.iter().map(|i| i.evidence.get()).max().unwrap_or(0)).sum();
    for _ in 0..frame_count {
        id += 1;
        let shares = if kind == Kind::Ties {
            [random.of(&[400_000, 800_000]), random.of(&[0, 500_000])]
        } else {
            [random.within(0, 1_000_000), random.within(0, 1_000_000)]
        };
        let price = if kind == Kind::Ties { random.of(&[0, 1_000_000]) } else { random.within(0, 20_000_000) };
        let of = (
            shares[0] as u32,
            shares[1] as u32,
            price,
            random.within(0, 9_000_000) as u64,
            random.within(500, 9_000) as u64,
            random.within(0, 4) as u32,
        );
        frames.push(Frame {
            answerable: MicroNats(evidence.max(random.within(0, 3_000_000))),
            withheld_without: Ppm(random.within(0, 1_000_000) as u32),
            ..frame(id, of)
        });
    }
    if matches!(kind, Kind::Plain | Kind::Ties | Kind::Tight) {
        mix(&mut groups, &mut frames);
    }
    let weights = match kind {
        Kind::Hurtful => Weights { hall: random.within(0, 9_000_000), vrf: random.of(&[0, 4_000_000]), ..Weights::default() },
        _ => Weights { vrf: random.of(&[0, 500_000, 2_000_000]), ..Weights::default() },
    };
    let often = if kind == Kind::Tight { 70 } else { 25 };
    let limits = Constraints {
        max_cost: random.chance(often).then(|| NanoUsd(random.within(0, 150_000_000))),
        max_latency: random.chance(often).then(|| Micros(random.within(0, 20_000_000) as u64)),
        max_tokens: random.chance(often / 2).then(|| Tokens(random.within(500, 9_000) as u64)),
        max_calls: random.chance(often / 3).then(|| random.within(0, 3) as u32),
        min_accuracy: random.chance(often).then(|| Ppm(random.within(0, 900_000) as u32)),
        uncertain_latency: if random.chance(20) {
            ctx_types::goal::UncertainLatency::Refuse
        } else {
            ctx_types::goal::UncertainLatency::Allow
        },
        ..Constraints::default()
    };
    let objective = if random.chance(60) {
        Objective::Weighted
    } else {
        random.of(&[Objective::MaxAccuracy, Objective::MinCost, Objective::MinLatency])
    };
    Problem { groups, frames, weights, objective, limits, labels_max: ctx_optimizer::problem::LABELS_MAX }
}

/// Some items bring results instead of text; some frames work on results only and need one, some on text only.
fn mix(groups: &mut [Vec<Item>], frames: &mut [Frame]) {
    for item in groups.iter_mut().flatten().filter(|item| item.reads && item.id.0.is_multiple_of(3)) {
        item.brings = RESULT;
    }
    for frame in frames {
        (frame.accepts, frame.needs) = match frame.shape % 4 {
            0 => (RESULT, RESULT),
            1 => (TEXT, 0),
            _ => (TEXT | RESULT, 0),
        };
    }
}

fn random_item(random: &mut Random, kind: Kind, id: u32) -> Item {
    let reads = random.chance(75);
    match kind {
        Kind::Ties => item(id, (random.of(&[0, 500_000, 900_000]), 0, random.of(&[0, 500, 1_500]), random.of(&[0, 40_000]), reads)),
        Kind::Correlated => {
            let tokens = random.within(0, 3_000);
            item(id, (tokens * 700 + random.within(0, 20), 0, tokens as u64, tokens as u64 * 20, reads))
        }
        Kind::Close => item(id, (700_000 + random.within(0, 3), random.within(0, 3), 900 + random.within(0, 3) as u64, 500, true)),
        _ => item(
            id,
            (
                random.within(0, 3_000_000),
                random.within(0, 1_000_000),
                random.within(0, 3_000) as u64,
                random.within(0, 90_000) as u64,
                reads,
            ),
        ),
    }
}

/// The same problem with groups, items and frames in another order.
pub fn shuffled(random: &mut Random, problem: &Problem) -> Problem {
    let mut out = problem.clone();
    let mut turn = |n: usize| if n == 0 { 0 } else { random.next() as usize % n };
    let n = turn(out.groups.len());
    out.groups.rotate_left(n);
    for group in &mut out.groups {
        let n = turn(group.len());
        group.rotate_left(n);
        group.reverse();
    }
    out.frames.reverse();
    out
}

/// How values of a linear instance relate to its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Not at all.
    Free,
    /// Weight and a little noise.
    Weak,
    /// Weight and a constant.
    Strong,
    /// Exactly the weight.
    Subset,
}

pub const VALUES: [Values; 4] = [Values::Free, Values::Weak, Values::Strong, Values::Subset];

/// A multiple-choice knapsack whose capacities are about half of what the heaviest selection weighs.
pub fn linear(random: &mut Random, groups: usize, items: usize, budgets: usize, values: Values) -> LinearProblem {
    let most = 1_000;
    let groups: Vec<Vec<LinearItem>> = (0..groups)
        .map(|_| {
            (0..items)
                .map(|_| {
                    let weights: Vec<i64> = (0..budgets).map(|_| random.within(1, most)).collect();
                    let weight = weights.iter().sum::<i64>() / budgets.max(1) as i64;
                    let value = match values {
                        Values::Free => random.within(1, most),
                        Values::Weak => (weight + random.within(-100, 101)).max(1),
                        Values::Strong => weight + 100,
                        Values::Subset => weight,
                    };
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
