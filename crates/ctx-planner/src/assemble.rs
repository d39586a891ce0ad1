//! From plan space and estimates to the optimizer's problem.

use crate::refine::{self, Places};
use ctx_candidates::{FrameChoice, PlanSpace, View};
use ctx_cost::prefix::Expected;
use ctx_cost::quality::AnswererQuality;
use ctx_cost::{CostInputs, model, prefix};
use ctx_graph::latency;
use ctx_optimizer::problem::{RESULT, TEXT};
use ctx_optimizer::worth::{self, Need};
use ctx_optimizer::{CallShare, Frame, Item, Problem};
use ctx_types::catalog::SourceState;
use ctx_types::{
    AccessPath, Alternative, AlternativeEstimate, Certainty, FuseMethod, Layout, MicroNats, Micros, ModelEntry, ModelName, Operator,
    PicoUsd, Ppm, SourceEntry, SourceName, Stage, Strategy, Tokens,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Runs behind a measured latency before it may decide feasibility.
const LATENCY_RUNS_MIN: u32 = 20;

/// Input and output price of a dear model, $15 and $75 per million tokens: the most that the large providers listed for a
/// general model in 2026.
const DEAR_INPUT: PicoUsd = PicoUsd(15_000_000);
const DEAR_OUTPUT: PicoUsd = PicoUsd(75_000_000);

/// The problem, and what it was made from.
pub(crate) struct Assembled {
    /// For the optimizer.
    pub problem: Problem,
    /// Estimate of every surviving alternative, by its index in the plan space. Answerers at the largest pack budget.
    pub estimates: Vec<AlternativeEstimate>,
    /// Whether some frame's price is unknown, by frame.
    pub price_unknown: Vec<bool>,
    /// Models by the number that frames know them by.
    pub models: Vec<ModelName>,
}

pub(crate) fn assemble(view: &View<'_>, cost: &CostInputs<'_>, space: &PlanSpace, labels_max: usize) -> Assembled {
    let widest = space.alternatives.iter().filter_map(|a| budget(&a.operator)).max().unwrap_or(Tokens(0));
    let estimates: Vec<AlternativeEstimate> =
        space.alternatives.iter().map(|a| model::estimate(cost, a, budget(&a.operator).unwrap_or(widest))).collect();
    let branches = space.groups.iter().filter(|(_, g)| g.len() > 1).count().max(1);
    let shapes = shapes(space);
    let quantile = view.limits.quantile().share();
    let paying = paying(cost, space);
    let groups = space
        .groups
        .iter()
        .map(|(_, members)| members.iter().map(|&m| item(cost, space, &estimates, m, (branches, quantile), (&shapes, &paying))).collect())
        .collect();
    let answerable = answerable(cost, space);
    let models: Vec<ModelName> = cost.catalog.models.keys().cloned().collect();
    let mut builder = FrameBuilder {
        view,
        cost,
        space,
        estimates: &estimates,
        answerable,
        shapes: &shapes,
        places: Places::of(&space.alternatives, &shapes),
        models: &models,
        dear_input: dearest(cost, |m| m.prices.input, DEAR_INPUT),
        answers: BTreeMap::new(),
        qualities: BTreeMap::new(),
    };
    for choice in &space.frames {
        builder.learn(choice);
    }
    let frames: Vec<Frame> = space.frames.iter().map(|f| builder.frame(f)).collect();
    let price_unknown = space.frames.iter().map(|f| builder.price_unknown(f)).collect();
    let problem =
        Problem { groups, frames, weights: view.goal.weights, objective: view.goal.objective, limits: view.limits.clone(), labels_max };
    Assembled { problem, estimates, price_unknown, models }
}

fn budget(operator: &Operator) -> Option<Tokens> {
    if let Operator::Pack { budget, .. } = operator { Some(*budget) } else { None }
}

/// A number per operator without its numbers.
fn shapes(space: &PlanSpace) -> Vec<u32> {
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let mut name = String::new();
    let mut number = |alternative: &Alternative| {
        name.clear();
        let _ = write!(name, "{}/{}", alternative.stage, alternative.operator.shape());
        let next = known.len() as u32;
        known.get(&name).copied().unwrap_or_else(|| {
            known.insert(name.clone(), next);
            next
        })
    };
    space.alternatives.iter().map(&mut number).collect()
}

fn item(
    cost: &CostInputs<'_>,
    space: &PlanSpace,
    estimates: &[AlternativeEstimate],
    member: usize,
    (branches, quantile): (usize, f64),
    (shapes, paying): (&[u32], &BTreeMap<(SourceName, AccessPath), f64>),
) -> Item {
    let alternative = &space.alternatives[member];
    let estimate = &estimates[member];
    let zero = Item {
        id: alternative.id,
        evidence: MicroNats(0),
        loss: MicroNats(0),
        cost: PicoUsd(0),
        tokens: Tokens(0),
        quota: Tokens(0),
        latency_p50: Micros(0),
        latency_p90: Micros(0),
        reads: false,
        brings: 0,
        shape: shapes[member],
    };
    let (Stage::Access(source), Operator::Access { path, k, quota }) = (&alternative.stage, &alternative.operator) else { return zero };
    let Some(entry) = cost.catalog.sources.get(source) else { return zero };
    let within = estimate.evidence.as_ref().map_or(Ppm(0), |e| e.value);
    let unlimited = model::evidence_of(cost, source, entry, *path, model::expected_passages(cost, entry, *k, Tokens(u64::MAX))).value;
    let fits = estimate.tokens.as_ref().map_or(Tokens(0), |t| t.value);
    let step = estimate.latency.as_ref().map_or((Micros(0), Micros(0)), |l| (l.value, l.high));
    // Every source that might be read counts as a branch, so the bound also holds when fewer are.
    let level = |q: f64| latency::join_level(q, branches as u32);
    Item {
        evidence: within.to_micro_nats(),
        loss: ratio_nats(unlimited, within),
        tokens: sent(cost, entry, (*k, *quota), fits, paying.get(&(source.clone(), *path)).copied()),
        quota: *quota,
        latency_p50: latency::quantile(step, level(0.5)),
        latency_p90: latency::quantile(step, level(quantile)),
        reads: true,
        brings: if *path == AccessPath::Table { RESULT } else { TEXT },
        ..zero
    }
}

/// How many passages of a source's ranked lists are expected to pay, by path. A source read whole is sent whole, and so is
/// what the goal names.
fn paying(cost: &CostInputs<'_>, space: &PlanSpace) -> BTreeMap<(SourceName, AccessPath), f64> {
    let mut out = BTreeMap::new();
    let need = Need::of(cost.intent);
    for alternative in &space.alternatives {
        let (Stage::Access(source), Operator::Access { path, .. }) = (&alternative.stage, &alternative.operator) else { continue };
        let ranked = matches!(path, AccessPath::Bm25 | AccessPath::Dense | AccessPath::HybridLinear | AccessPath::HybridRrf);
        let Some(entry) = cost.catalog.sources.get(source).filter(|_| ranked) else { continue };
        let within = |passages: u32| model::evidence_of(cost, source, entry, *path, f64::from(passages)).value;
        out.entry((source.clone(), *path)).or_insert_with(|| worth::expected(&within, need));
    }
    out
}

/// Context tokens of an alternative: of what is read and fits, what is expected to pay.
fn sent(cost: &CostInputs<'_>, entry: &SourceEntry, (k, quota): (u32, Tokens), fits: Tokens, paying: Option<f64>) -> Tokens {
    let read = model::expected_passages(cost, entry, k, quota).max(1.0);
    let share = paying.map_or(1.0, |passages| passages / read).min(1.0);
    Tokens((fits.get() as f64 * share).round() as u64)
}

/// ln(p_all / p_within) in micro-nats, zero when nothing is lost.
fn ratio_nats(all: Ppm, within: Ppm) -> MicroNats {
    if all <= within || within.get() == 0 {
        return MicroNats(0);
    }
    Ppm::from_share(1.0 - within.share() / all.share()).to_micro_nats()
}

/// Evidence over all permitted, readable sources at their best path, reading everything.
fn answerable(cost: &CostInputs<'_>, space: &PlanSpace) -> MicroNats {
    space
        .groups
        .iter()
        .filter_map(|(source, members)| {
            let entry = cost.catalog.sources.get(source)?;
            let paths = members.iter().filter_map(|&m| match space.alternatives[m].operator {
                Operator::Access { path, .. } => Some(path),
                _ => None,
            });
            let best = paths
                .collect::<std::collections::BTreeSet<AccessPath>>()
                .into_iter()
                .map(|p| model::evidence_of(cost, source, entry, p, held(entry)).value.to_micro_nats())
                .max();
            Some(best.unwrap_or(MicroNats(0)))
        })
        .sum()
}

/// Passages of a source; a guess where nobody has counted them: a folder of documentation holds hundreds to thousands.
fn held(entry: &SourceEntry) -> f64 {
    const UNCOUNTED: f64 = 1_000.0;
    if entry.state == SourceState::NoStatistics { UNCOUNTED } else { entry.passages.max(1) as f64 }
}

struct FrameBuilder<'a> {
    view: &'a View<'a>,
    cost: &'a CostInputs<'a>,
    space: &'a PlanSpace,
    estimates: &'a [AlternativeEstimate],
    answerable: MicroNats,
    shapes: &'a [u32],
    places: Places,
    models: &'a [ModelName],
    /// Price of a token read by what has none.
    dear_input: PicoUsd,
    /// Latency and cost of an answer by its alternative and the pack budget: many frames share them.
    answers: BTreeMap<(usize, Tokens), AnswerStep>,
    /// How good an answer is by its alternative and the layout.
    qualities: BTreeMap<(usize, Layout), AnswererQuality>,
}

/// Latency, where known, and cost of an answer.
type AnswerStep = (Option<AnswerLatency>, CallCost);

/// How long an answer takes: the median without context, per 1,000 tokens of it and with all of it, and the upper quantile then.
#[derive(Clone, Copy)]
struct AnswerLatency {
    alone: Micros,
    per_ktoken: Micros,
    full: Micros,
    high: Micros,
}

/// What one call costs: expected apart from context, per context token, and at most.
#[derive(Clone, Copy, Default)]
struct CallCost {
    fixed: PicoUsd,
    per_context_token: PicoUsd,
    bound: PicoUsd,
    input: PicoUsd,
    input_bound: PicoUsd,
    tokens_bound: Tokens,
    calls: u32,
    /// Tokens of the prompt apart from context, and per context token.
    without_context: Tokens,
    tokens_per_context_token: f64,
}

/// What a provider's cache takes off a call: apart from context, per context token; and the share of the prompt that it holds.
#[derive(Clone, Copy, Default)]
struct CacheRead {
    fixed: PicoUsd,
    per_context_token: PicoUsd,
    share: Ppm,
}

impl FrameBuilder<'_> {
    fn at(&self, index: usize) -> &Alternative {
        &self.space.alternatives[index]
    }

    fn packing(&self, choice: &FrameChoice) -> (Tokens, Layout) {
        match self.at(choice.pack).operator {
            Operator::Pack { budget, layout } => (budget, layout),
            _ => (Tokens(0), Layout::ContextFirst),
        }
    }

    /// Works out what this frame's answer takes, unless a frame before it did.
    fn learn(&mut self, choice: &FrameChoice) {
        let (budget, layout) = self.packing(choice);
        if !self.qualities.contains_key(&(choice.answer, layout)) {
            let (strategy, model) = self.answerer(choice);
            let quality = model::answerer(self.cost, strategy, model, layout);
            self.qualities.insert((choice.answer, layout), quality);
        }
        if !self.answers.contains_key(&(choice.answer, budget)) {
            let known = (self.answer_latency(choice.answer, budget), self.call(choice, budget));
            self.answers.insert((choice.answer, budget), known);
        }
    }

    fn frame(&self, choice: &FrameChoice) -> Frame {
        let (budget, layout) = self.packing(choice);
        let (strategy, _) = self.answerer(choice);
        // `learn` saw this choice before.
        let quality = &self.qualities[&(choice.answer, layout)];
        let (catches, rejects) = self.check(choice);
        let (answer, call) = self.answers.get(&(choice.answer, budget)).copied().unwrap_or_default();
        let (sent, survives) = refine::shortening(self.cost, self.at(choice.compress));
        let reordering = refine::reordering(self.cost, self.at(choice.rerank), self.dear_input);
        let (shape, shape_of_one) = self.frame_shapes(choice);
        let read = self.read(choice, layout, budget, call);
        let steps = [choice.fuse, choice.rerank, choice.pack, choice.compress, choice.verify];
        let others = steps.map(|step| self.estimates[step].latency.as_ref().map(|l| (l.value, l.high)));
        let answer_step = answer.map_or((Micros(0), Micros(0)), |answer| (answer.alone, self.upper((answer.full, answer.high))));
        let latency = |high: bool| -> Micros {
            let of_answer = if high { answer_step.1 } else { answer_step.0 };
            others.iter().copied().flatten().map(|l| if high { self.upper(l) } else { l.0 }).sum::<Micros>() + of_answer
        };
        let answer_latency = self.estimates[choice.answer].latency.as_ref();
        Frame {
            alternatives: self.ids(choice),
            shape,
            shape_of_one,
            accepts: match strategy {
                Strategy::Extractive => TEXT,
                Strategy::Computed => RESULT,
                Strategy::SingleShot => TEXT | RESULT,
            },
            needs: if strategy == Strategy::Computed { RESULT } else { 0 },
            right_with: quality.right_with.value,
            right_without: quality.right_without,
            withheld_with: quality.withheld_with,
            withheld_without: quality.withheld_without,
            dilution: quality.dilution,
            catches,
            rejects,
            answerable: self.answerable,
            fuse_factor: self.fuse_factor(choice),
            gain: refine::gain(self.cost, self.at(choice.rerank), budget),
            sent,
            survives,
            fixed_cost: call.fixed - read.fixed + reordering.cost,
            context_price: PicoUsd(((call.per_context_token - read.per_context_token).get() as f64 * sent.share()).round() as i64),
            cost_bound: call.bound + reordering.bound,
            tokens_bound: call.tokens_bound + reordering.tokens,
            calls: call.calls + reordering.calls,
            latency_p50: latency(false),
            latency_per_ktoken: answer.map_or(Micros(0), |answer| answer.per_ktoken),
            latency_p90: latency(true),
            latency_measured: answer_latency
                .is_some_and(|l| l.certainty.observations() >= LATENCY_RUNS_MIN || l.certainty == Certainty::Configured),
            budget,
            risk: Ppm(0),
            cache: read.share,
            call: self.model(choice).map(|model| CallShare {
                model,
                input_cost: call.input - read.fixed,
                input_bound: call.input_bound,
                latency_p50: answer_step.0,
                latency_p90: answer_step.1,
            }),
        }
    }

    fn ids(&self, choice: &FrameChoice) -> Vec<ctx_types::AlternativeId> {
        [choice.fuse, choice.rerank, choice.pack, choice.compress, choice.answer, choice.verify].iter().map(|&i| self.at(i).id).collect()
    }

    /// One number per shape; without the fuse method, which does nothing where at most one source is read.
    fn frame_shapes(&self, choice: &FrameChoice) -> (u32, u32) {
        let [fuse, rerank, pack, compress, answer, verify] =
            [choice.fuse, choice.rerank, choice.pack, choice.compress, choice.answer, choice.verify].map(|i| Some(self.shapes[i]));
        let number = |fuse| self.places.number([fuse, rerank, pack, compress, answer, verify]);
        (number(fuse), number(None))
    }

    fn answerer(&self, choice: &FrameChoice) -> (Strategy, Option<&ModelName>) {
        match &self.at(choice.answer).operator {
            Operator::Answer { strategy, model } => (*strategy, model.as_ref()),
            _ => (Strategy::Extractive, None),
        }
    }

    /// Number of the model that a frame calls.
    fn model(&self, choice: &FrameChoice) -> Option<u32> {
        let Operator::Answer { model: Some(name), .. } = &self.at(choice.answer).operator else { return None };
        self.models.binary_search(name).ok().map(|i| i as u32)
    }

    /// The quantile of a step that decides whether limits hold.
    fn upper(&self, step: (Micros, Micros)) -> Micros {
        match self.view.limits.quantile {
            None => step.1,
            Some(_) => latency::quantile(step, self.view.limits.quantile().share()),
        }
    }

    fn check(&self, choice: &FrameChoice) -> (Ppm, Ppm) {
        let Operator::Verify { verifier } = &self.at(choice.verify).operator else { return (Ppm(0), Ppm(0)) };
        let entry = self.cost.catalog.capabilities.verifiers.iter().find(|v| v.name == *verifier);
        entry.map_or((Ppm(0), Ppm(0)), |e| (e.catches.value, e.rejects_right.value))
    }

    fn fuse_factor(&self, choice: &FrameChoice) -> Ppm {
        match self.at(choice.fuse).operator {
            Operator::Fuse { method: FuseMethod::Rrf } => Ppm(ctx_cost::coefficients::quality().rank_fusion_factor),
            _ => Ppm::ONE,
        }
    }

    /// Latency of an answer at this pack budget: only the extractive one's depends on it.
    fn answer_latency(&self, index: usize, budget: Tokens) -> Option<AnswerLatency> {
        if matches!(self.at(index).operator, Operator::Answer { model: None, .. }) {
            let at = |context| model::estimate(self.cost, self.at(index), context).latency;
            let half = Tokens(budget.get() / 2);
            let (part, full) = (at(half)?, at(budget)?);
            let grows = full.value.get().saturating_sub(part.value.get());
            let per_ktoken = Micros(grows.saturating_mul(1_000) / (budget.get() - half.get()).max(1));
            let alone = Micros(full.value.get().saturating_sub(per_ktoken.get().saturating_mul(budget.get()) / 1_000));
            return Some(AnswerLatency { alone, per_ktoken, full: full.value, high: full.high });
        }
        let of_call = self.estimates[index].latency.as_ref()?;
        Some(AnswerLatency { alone: of_call.value, per_ktoken: Micros(0), full: of_call.value, high: of_call.high })
    }

    fn call(&self, choice: &FrameChoice, budget: Tokens) -> CallCost {
        let Operator::Answer { model: Some(name), .. } = &self.at(choice.answer).operator else { return CallCost::default() };
        let Some(entry) = self.cost.catalog.models.get(name) else { return CallCost::default() };
        let (output, cap) = model::output_tokens(self.cost, name, entry);
        let (without_context, _) = model::prompt_tokens(self.cost, name, entry, Tokens(0));
        let (with_context, bound) = model::prompt_tokens(self.cost, name, entry, budget);
        let held = entry.prices.of_prompt(with_context);
        let input = held.input.unwrap_or(self.dear_input);
        let out = held.output.unwrap_or_else(|| dearest(self.cost, |m| m.prices.output, DEAR_OUTPUT));
        let ratio_milli = (with_context.get() - without_context.get()) * 1_000 / budget.get().max(1);
        CallCost {
            fixed: input.times(without_context) + out.times(output.value),
            per_context_token: PicoUsd(input.get() * i64::try_from(ratio_milli).unwrap_or(1_000) / 1_000),
            // What the ledger reserves; an unknown price is scored, not bounded.
            bound: if entry.prices.known() { entry.prices.bound(bound, cap) } else { input.times(bound) + out.times(cap) },
            input: input.times(without_context),
            input_bound: if entry.prices.known() { entry.prices.bound(bound, Tokens::ZERO) } else { input.times(bound) },
            tokens_bound: bound + cap,
            calls: 1,
            without_context,
            tokens_per_context_token: ratio_milli as f64 / 1e3,
        }
    }

    /// What the provider's cache is expected to take off a call. The share is that of a full context: of a shorter one more is
    /// held, but the search needs a number that does not depend on what is selected.
    fn read(&self, choice: &FrameChoice, layout: Layout, budget: Tokens, call: CallCost) -> CacheRead {
        let none = CacheRead::default();
        let (Some(name), false) = (self.answerer(choice).1, self.cost.probe.prompt_caches.is_empty()) else { return none };
        let Some(entry) = self.cost.catalog.models.get(name) else { return none };
        let (full, _) = model::prompt_tokens(self.cost, name, entry, budget);
        let Some(Expected { prefix, saving }) = prefix::expected(self.cost, name, entry, layout, full) else { return none };
        let repeated = prefix.repeats.and(prefix.held).share();
        let per_token = saving.get() as f64 * repeated * call.tokens_per_context_token;
        CacheRead {
            fixed: saving.times(prefix.read(call.without_context)),
            per_context_token: PicoUsd(per_token.round() as i64),
            share: prefix.share(full),
        }
    }

    fn price_unknown(&self, choice: &FrameChoice) -> bool {
        let entry = self.answerer(choice).1.and_then(|name| self.cost.catalog.models.get(name));
        entry.is_some_and(|e| !e.prices.known()) || refine::price_unknown(self.cost, self.at(choice.rerank))
    }
}

/// A price nobody knows is scored at the dearest known one, never below `floor`: a catalog of free models says nothing
/// about a model that is not.
fn dearest(cost: &CostInputs<'_>, price: impl Fn(&ModelEntry) -> Option<PicoUsd>, floor: PicoUsd) -> PicoUsd {
    cost.catalog.models.values().filter_map(price).fold(floor, PicoUsd::max)
}
