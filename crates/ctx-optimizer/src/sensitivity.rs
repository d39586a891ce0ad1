//! What would flip the choice: per weight, price and estimate the smallest factor at which a plan of another shape wins.
//!
//! Computed from the plans that the search kept, not by planning again. Along one change the score of a plan is linear
//! (a weight, an estimate of evidence) or linear minus a saturating term (a price, a latency); where two such curves meet is
//! known in closed form. A challenger counts once it is better by one unit of score than every plan of the winner's shape,
//! and only where it keeps the limits; a winner that a change pushes over a limit is flipped by that.

mod curves;

use crate::evaluate::Evaluator;
use crate::labels::{Label, Labels, Sense};
use crate::problem::{Item, Problem, Totals};
use crate::score::{self, Shares};
use crate::search::{Candidate, Reduced, shape_of, undominated};
use crate::through::Rest;
use ctx_types::{MicroNats, Micros, Objective, PicoUsd, Ppm};
use curves::{Curve, HIGHEST, LOWEST, Plans, first_flip};
use std::collections::BTreeMap;

/// One number of the problem that may turn out different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A weight of the score, by its place in [`WEIGHTS`].
    Weight(usize),
    /// Input prices of a model.
    InputPrice(u32),
    /// Output price of a model.
    OutputPrice(u32),
    /// Latency of a model's call.
    CallLatency(u32),
    /// P(evidence) of one access path of one source, by group and the items' shape.
    Evidence {
        /// The group.
        group: usize,
        /// The shape of its items.
        shape: u32,
    },
}

/// Terms of the score, in the order of [`score::weighted`].
pub const WEIGHTS: [&str; 8] = ["acc", "cache", "vrf", "cost", "lat", "risk", "hall", "loss"];

/// A change and the factor at which another shape wins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flip {
    /// What changes.
    pub change: Change,
    /// By which factor, in millionths; rounded away from one.
    pub factor_ppm: u64,
}

impl Flip {
    /// Relative size of the change, in millionths.
    pub fn size_ppm(&self) -> u64 {
        self.factor_ppm.abs_diff(1_000_000)
    }
}

/// Plans looked at for weights, prices and latencies. Beyond it the less promising frames are left out.
const PLANS_MAX: usize = 20_000;
/// Plans looked at for the evidence of one source, dominated ones of other paths included.
const PLANS_OF_GROUP_MAX: usize = 4_000;

/// The smallest flip of every change, smallest first. Empty under an objective that is not the weighted score: there the
/// weights decide ties only.
pub(crate) fn of_kept(evaluator: &Evaluator<'_>, winner: &Candidate, reduced: &Reduced, labels: &Labels, rests: &[Rest]) -> Vec<Flip> {
    let problem = evaluator.problem;
    if problem.objective != Objective::Weighted {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut look = |change: Change, plans: &Plans, range: (f64, f64), curves: &dyn Fn(usize) -> Curve| {
        if let Some(factor_ppm) = first_flip(plans, range, curves) {
            out.push(Flip { change, factor_ppm });
        }
    };
    let all = Kept::of_labels(evaluator, winner, reduced, labels);
    for weight in 0..WEIGHTS.len() {
        look(Change::Weight(weight), &all.plans, weight_range(problem, reduced.sense, weight), &|i| all.of_weight(weight, i));
    }
    for model in models(problem) {
        look(Change::InputPrice(model), &all.plans, (LOWEST, HIGHEST), &|i| all.of_price(model, Part::Input, i));
        look(Change::OutputPrice(model), &all.plans, (LOWEST, HIGHEST), &|i| all.of_price(model, Part::Output, i));
        look(Change::CallLatency(model), &all.plans, (LOWEST, HIGHEST), &|i| all.of_latency(model, i));
    }
    if reduced.sense == Sense::More {
        // Where many sources are read at once, one of them is one of many: its evidence alone decides little.
        let examined = |group: &usize| problem.groups[*group].len().saturating_mul(rests[*group].len()) <= PLANS_OF_GROUP_MAX * 8;
        for (group, rest) in rests.iter().enumerate().filter(|(group, _)| examined(group)) {
            let all = Kept::of_group(evaluator, winner, reduced, group, rest);
            let shapes: std::collections::BTreeSet<u32> =
                problem.groups[group].iter().filter(|i| i.evidence.get() > 0).map(|i| i.shape).collect();
            for shape in shapes {
                look(Change::Evidence { group, shape }, &all.plans, (LOWEST, all.evidence_range(shape)), &|i| all.of_evidence(shape, i));
            }
        }
    }
    out.sort_by_key(|f| (f.size_ppm(), f.change));
    out
}

/// How far a weight can move, relatively, before evidence or brevity counts the other way: what was dropped as dominated
/// could matter beyond.
fn weight_range(problem: &Problem, sense: Sense, weight: usize) -> (f64, f64) {
    let w = &problem.weights;
    let (mut low, mut high) = (LOWEST, HIGHEST);
    for frame in &problem.frames {
        let (evidence, brevity) = score::directions(frame);
        let evidence = Some(evidence).filter(|_| sense == Sense::More);
        let brevity = brevity.filter(|_| sense != Sense::Exact);
        for slopes in evidence.iter().flatten().chain(brevity.iter().flatten()) {
            let part = match WEIGHTS[weight] {
                "acc" => w.acc as f64 * slopes.accuracy,
                "vrf" => w.vrf as f64 * slopes.verification,
                "hall" => -(w.hall as f64) * slopes.hallucination,
                _ => continue,
            };
            let turn = -slopes.score(w) / part;
            match part {
                p if p > 0.0 => low = low.max(turn),
                p if p < 0.0 => high = high.min(turn),
                _ => {}
            }
        }
    }
    (low, high)
}

/// The problem after a change.
pub fn changed(problem: &Problem, change: Change, factor_ppm: u64) -> Problem {
    let factor = factor_ppm as f64 / 1e6;
    let scaled = |x: i64| (x as f64 * factor).round() as i64;
    let mut out = problem.clone();
    match change {
        Change::Weight(at) => {
            let w = &mut out.weights;
            let slots = [&mut w.acc, &mut w.cache, &mut w.vrf, &mut w.cost, &mut w.lat, &mut w.risk, &mut w.hall, &mut w.loss];
            if let Some(slot) = slots.into_iter().nth(at) {
                *slot = scaled(*slot);
            }
        }
        Change::InputPrice(model) => {
            for frame in &mut out.frames {
                let Some(call) = frame.call.as_mut().filter(|c| c.model == model) else { continue };
                frame.fixed_cost = frame.fixed_cost - call.input_cost + PicoUsd(scaled(call.input_cost.get()));
                frame.cost_bound = frame.cost_bound - call.input_bound + PicoUsd(scaled(call.input_bound.get()));
                frame.context_price = PicoUsd(scaled(frame.context_price.get()));
                call.input_cost = PicoUsd(scaled(call.input_cost.get()));
                call.input_bound = PicoUsd(scaled(call.input_bound.get()));
            }
        }
        Change::OutputPrice(model) => {
            for frame in &mut out.frames {
                let Some(call) = frame.call.filter(|c| c.model == model) else { continue };
                frame.fixed_cost = call.input_cost + PicoUsd(scaled((frame.fixed_cost - call.input_cost).get()));
                frame.cost_bound = call.input_bound + PicoUsd(scaled((frame.cost_bound - call.input_bound).get()));
            }
        }
        Change::CallLatency(model) => {
            for frame in &mut out.frames {
                let Some(call) = frame.call.as_mut().filter(|c| c.model == model) else { continue };
                let moved = |l: Micros| Micros(scaled(i64::try_from(l.get()).unwrap_or(i64::MAX)).max(0) as u64);
                frame.latency_p50 = frame.latency_p50 - call.latency_p50 + moved(call.latency_p50);
                frame.latency_p90 = frame.latency_p90 - call.latency_p90 + moved(call.latency_p90);
                (call.latency_p50, call.latency_p90) = (moved(call.latency_p50), moved(call.latency_p90));
            }
        }
        Change::Evidence { group, shape } => {
            for item in out.groups[group].iter_mut().filter(|i| i.shape == shape) {
                item.evidence = nats((Shares::of(&Totals { evidence: item.evidence, ..Totals::default() }).evidence * factor).min(1.0));
            }
        }
    }
    out
}

fn nats(p: f64) -> MicroNats {
    let miss = 1.0 - p;
    if miss <= 1e-7 { Ppm::ONE.to_micro_nats() } else { MicroNats((-libm::log(miss) * 1e6).round() as i64) }
}

fn models(problem: &Problem) -> std::collections::BTreeSet<u32> {
    problem.frames.iter().filter_map(|f| f.call.map(|c| c.model)).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Input,
    Output,
}

/// One plan with what its curves are made of.
struct Entry {
    frame: usize,
    totals: Totals,
    shares: Shares,
    parts: [f64; 8],
    score: f64,
    broken: u8,
    cost: f64,
    latency: f64,
    /// Item of the group that changes, where one does.
    item: Option<Item>,
}

/// Plans with their shapes, and the problem they are of.
struct Kept<'a> {
    evaluator: &'a Evaluator<'a>,
    entries: Vec<Entry>,
    plans: Plans,
    /// The winner: looked at whatever else is left out.
    winner: &'a Candidate,
}

impl<'a> Kept<'a> {
    fn of_labels(evaluator: &'a Evaluator<'a>, winner: &'a Candidate, reduced: &Reduced, labels: &Labels) -> Kept<'a> {
        let complete = labels.complete();
        let shapes: Vec<Vec<u32>> =
            (0..complete.len()).map(|l| labels.selection(l).iter().zip(&reduced.items).map(|(i, g)| g[*i].shape).collect()).collect();
        let mut kept = Kept::new(evaluator, winner);
        let mut names = Names::default();
        for frame in kept.frames(complete.len(), PLANS_MAX) {
            for (label, shape) in complete.iter().zip(&shapes) {
                let frame_shape = shape_of(evaluator.problem, reduced, frame, &label.totals, &[]).0;
                kept.add(frame, label.totals, None, names.of(frame_shape, shape));
            }
        }
        kept.crown(None);
        kept
    }

    /// Every item of a group that no other of its own shape dominates, with the labels over all other groups. The other
    /// groups' shapes are not told apart: what flips is this group's choice or the frame's.
    fn of_group(evaluator: &'a Evaluator<'a>, winner: &'a Candidate, reduced: &Reduced, group: usize, rest: &[Label]) -> Kept<'a> {
        let mut kept = Kept::new(evaluator, winner);
        let mut by_shape: BTreeMap<u32, Vec<Item>> = BTreeMap::new();
        for item in &evaluator.problem.groups[group] {
            by_shape.entry(item.shape).or_default().push(*item);
        }
        let items: Vec<Item> =
            by_shape.values().flat_map(|items| undominated(items, reduced.sense).into_iter().map(move |i| items[i])).collect();
        let mut names = Names::default();
        for frame in kept.frames(items.len() * rest.len(), PLANS_OF_GROUP_MAX) {
            for item in &items {
                for label in rest {
                    let totals = label.totals.with(item);
                    let frame_shape = shape_of(evaluator.problem, reduced, frame, &totals, &[]).0;
                    kept.add(frame, totals, Some(*item), names.of(frame_shape, &[item.shape]));
                }
            }
        }
        kept.crown(Some(evaluator.problem.groups[group][winner.selection[group]]));
        kept
    }

    fn new(evaluator: &'a Evaluator<'a>, winner: &'a Candidate) -> Kept<'a> {
        Kept { evaluator, entries: Vec::new(), plans: Plans::default(), winner }
    }

    /// Frames to look at: all, or the most promising ones.
    fn frames(&self, per_frame: usize, plans_max: usize) -> Vec<usize> {
        let count = self.evaluator.problem.frames.len();
        let most = (plans_max / per_frame.max(1)).max(1);
        let mut frames: Vec<usize> = (0..count).collect();
        if count > most {
            let full = |f: usize| &self.evaluator.problem.frames[f];
            let best = |f: usize| Totals { evidence: full(f).answerable, reads: 1, ..Totals::default() };
            frames.sort_by_cached_key(|&f| std::cmp::Reverse(self.evaluator.at(f, &best(f), Shares::of(&best(f))).value));
            frames.truncate(most);
            if !frames.contains(&self.winner.frame) {
                frames.push(self.winner.frame);
            }
        }
        frames
    }

    fn add(&mut self, frame: usize, totals: Totals, item: Option<Item>, shape: u32) {
        let shares = Shares::of(&totals);
        let terms = self.evaluator.terms(frame, &totals, shares);
        let parts = score::weighted(&terms, &self.evaluator.problem.weights);
        let usage = crate::constraints::Usage::of(&self.evaluator.problem.frames[frame], &totals, terms.accuracy);
        let broken = usage.violations(&self.evaluator.problem.limits);
        let entry = Entry {
            frame,
            totals,
            shares,
            score: parts.iter().sum(),
            parts,
            broken,
            cost: terms.cost.get().max(0) as f64 / 1e3,
            latency: terms.latency.get() as f64,
            item,
        };
        self.plans.shapes.push(shape);
        self.entries.push(entry);
    }

    /// Finds the winner among the plans.
    fn crown(&mut self, item: Option<Item>) {
        let is = |e: &Entry| e.frame == self.winner.frame && e.totals == self.winner.totals && e.item.map(|i| i.id) == item.map(|i| i.id);
        self.plans.winner = self.entries.iter().position(is);
    }

    fn limits(&self) -> &ctx_types::Constraints {
        &self.evaluator.problem.limits
    }

    fn constant(&self, at: usize) -> Curve {
        Curve::constant(self.entries[at].score).unless(self.entries[at].broken != 0)
    }

    fn of_weight(&self, weight: usize, at: usize) -> Curve {
        Curve { slope: self.entries[at].parts[weight], ..self.constant(at) }
    }

    fn of_price(&self, model: u32, part: Part, at: usize) -> Curve {
        let entry = &self.entries[at];
        let frame = &self.evaluator.problem.frames[entry.frame];
        let Some(call) = frame.call.filter(|c| c.model == model) else { return self.constant(at) };
        let tokens = entry.totals.tokens.min(frame.budget);
        let (cost, bound) = match part {
            Part::Input => (call.input_cost + frame.context_price.times(tokens), call.input_bound),
            Part::Output => (frame.fixed_cost - call.input_cost, frame.cost_bound - call.input_bound),
        };
        let weights = &self.evaluator.problem.weights;
        let curve = Curve {
            base: entry.score - entry.parts[3],
            weight: weights.cost as f64,
            start: entry.cost,
            step: cost.get() as f64 / 1e3,
            scale: (weights.cost_scale.get() as f64).max(1.0),
            ..self.constant(at).unless(entry.broken & !1 != 0)
        };
        let total = (frame.cost_bound + entry.totals.cost).get() as f64 / 1e3;
        match self.limits().max_cost {
            Some(most) => Curve { alive: entry.broken & !1 == 0, ..curve }.within(total, bound.get() as f64 / 1e3, most.get() as f64),
            None => curve,
        }
    }

    fn of_latency(&self, model: u32, at: usize) -> Curve {
        let entry = &self.entries[at];
        let frame = &self.evaluator.problem.frames[entry.frame];
        let Some(call) = frame.call.filter(|c| c.model == model) else { return self.constant(at) };
        let weights = &self.evaluator.problem.weights;
        let curve = Curve {
            base: entry.score - entry.parts[4],
            weight: weights.lat as f64,
            start: entry.latency,
            step: call.latency_p50.get() as f64,
            scale: (weights.latency_scale.get() as f64).max(1.0),
            ..self.constant(at)
        };
        match self.limits().max_latency.filter(|_| frame.latency_measured) {
            Some(most) => {
                let total = (frame.latency_p90 + entry.totals.latency_p90).get() as f64;
                Curve { alive: entry.broken & !2 == 0, ..curve }.within(total, call.latency_p90.get() as f64, most.get() as f64)
            }
            None => curve,
        }
    }

    /// How far P(evidence) of a shape can grow before some selection would hold more than all sources together.
    fn evidence_range(&self, shape: u32) -> f64 {
        let room = |at: usize| {
            let entry = &self.entries[at];
            let grown = self.grown(entry, shape)?;
            let held = Totals { evidence: self.evaluator.problem.frames[entry.frame].answerable, ..Totals::default() };
            Some((Shares::of(&held).evidence - entry.shares.evidence) / grown.max(1e-12))
        };
        (0..self.entries.len()).filter_map(room).fold(HIGHEST, f64::min).max(0.0)
    }

    /// By how much the plan's P(evidence) grows when that of its item, if it has the shape, doubles.
    fn grown(&self, entry: &Entry, shape: u32) -> Option<f64> {
        let item = entry.item.filter(|i| i.shape == shape)?;
        let p = Shares::of(&Totals { evidence: item.evidence, ..Totals::default() }).evidence;
        Some((1.0 - entry.shares.evidence) / (1.0 - p).max(1e-9) * p)
    }

    fn of_evidence(&self, shape: u32, at: usize) -> Curve {
        let entry = &self.entries[at];
        let Some(grown) = self.grown(entry, shape) else { return self.constant(at) };
        let frame = &self.evaluator.problem.frames[entry.frame];
        let slopes = score::evidence_slopes(frame, &entry.totals);
        let curve = Curve { slope: slopes.score(&self.evaluator.problem.weights) * grown, ..self.constant(at) };
        match self.limits().min_accuracy {
            Some(least) => {
                let accuracy = self.evaluator.terms(entry.frame, &entry.totals, entry.shares).accuracy;
                Curve { alive: entry.broken & !ACCURACY == 0, ..curve }.within(-accuracy, -slopes.accuracy * grown, -least.share())
            }
            None => curve,
        }
    }
}

/// Bit of the accuracy in a set of broken limits.
const ACCURACY: u8 = 1 << 5;

/// Small numbers for shapes.
#[derive(Default)]
struct Names(BTreeMap<(u32, Vec<u32>), u32>);

impl Names {
    fn of(&mut self, frame: u32, items: &[u32]) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((frame, items.to_vec())).or_insert(next)
    }
}
