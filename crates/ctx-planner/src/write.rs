//! From the search's solution to the plan: a complete value.

use crate::assemble::Assembled;
use crate::{Inputs, PLANNER_VERSION, PlanError};
use ctx_candidates::{FrameChoice, PlanSpace, Pruned, View};
use ctx_cost::{CostInputs, model, prefix};
use ctx_optimizer::constraints::{Limit, Usage};
use ctx_optimizer::search::{Candidate, Solution, Through};
use ctx_optimizer::sensitivity::{self, Change, Flip};
use ctx_optimizer::{Frame, score};
use ctx_types::catalog::SourceState;
use ctx_types::estimate::TokenClasses;
use ctx_types::plan::{Certificate, CompletePlan, Known, Margin, PLAN_SCHEMA_VERSION, PlannedAlternative, SourceUse, Stamp};
use ctx_types::{
    AccessPath, Alternative, Certainty, Constraints, ContentId, Estimated, Fate, Goal, Layout, Micros, ModelName, NanoUsd, Operator, Plan,
    PlanEstimate, Ppm, Rejection, Score, SourceName, Stage, Tokens, content_id,
};
use std::collections::BTreeSet;

/// Everything known after the search.
pub(crate) struct Context<'a> {
    pub inputs: &'a Inputs<'a>,
    pub view: &'a View<'a>,
    pub cost: &'a CostInputs<'a>,
    pub space: &'a PlanSpace,
    pub assembled: &'a Assembled,
    pub solution: &'a Solution,
    /// Whether what only EXPLAIN prints is wanted.
    pub detailed: bool,
    /// What the search was among, if not among everything.
    pub known: Option<&'a Known>,
}

/// The part of a shape that is not about sources, with so many of them read.
pub(crate) fn frame_parts(alternatives: &[Alternative], frame: &FrameChoice, reads: usize) -> Vec<String> {
    let mut members = [frame.fuse, frame.rerank, frame.pack, frame.compress, frame.answer, frame.verify];
    members.sort_unstable();
    let part = |m: usize| {
        let a = &alternatives[m];
        match (&a.stage, &a.operator) {
            (Stage::Rerank | Stage::Compress, Operator::NoRerank | Operator::NoCompress) => None,
            (Stage::Fuse, _) if reads < 2 => None,
            (stage, op) => Some(format!("{stage} {}", op.shape())),
        }
    };
    members.into_iter().filter_map(part).collect()
}

/// The gist of a shape.
pub(crate) fn gist_of(shape: &str) -> Result<ContentId, PlanError> {
    id("gist", &shape)
}

impl Context<'_> {
    /// Indices of the alternatives of a complete plan, in canonical order.
    pub(crate) fn members(&self, candidate: &Candidate) -> Vec<usize> {
        let mut out: Vec<usize> = self.space.groups.iter().zip(&candidate.selection).map(|((_, g), &i)| g[i]).collect();
        let f = &self.space.frames[candidate.frame];
        out.extend([f.fuse, f.rerank, f.pack, f.compress, f.answer, f.verify]);
        out.sort_unstable();
        out
    }

    fn shape(&self, candidate: &Candidate) -> String {
        let accesses = self
            .space
            .groups
            .iter()
            .zip(&candidate.selection)
            .map(|((source, g), &i)| format!("{source}:{}", self.space.alternatives[g[i]].operator.shape()));
        let stages = frame_parts(&self.space.alternatives, &self.space.frames[candidate.frame], usize::from(candidate.totals.reads));
        accesses.chain(stages).collect::<Vec<_>>().join(" → ")
    }

    fn frame(&self, candidate: &Candidate) -> &Frame {
        &self.assembled.problem.frames[candidate.frame]
    }

    /// Order of context and question in a complete plan.
    fn layout(&self, candidate: &Candidate) -> Layout {
        match self.space.alternatives[self.space.frames[candidate.frame].pack].operator {
            Operator::Pack { layout, .. } => layout,
            _ => Layout::ContextFirst,
        }
    }

    pub(crate) fn complete(&self, candidate: &Candidate) -> CompletePlan {
        let terms = score::terms(self.frame(candidate), &candidate.totals);
        CompletePlan {
            alternatives: self.members(candidate).into_iter().map(|m| self.space.alternatives[m].id).collect(),
            shape: self.shape(candidate),
            score: candidate.value.score,
            accuracy: Ppm::from_share(terms.accuracy),
            cost: terms.cost.half_even_nano(),
            latency: terms.latency,
        }
    }
}

/// The plan of a winner.
pub(crate) fn plan(context: &Context<'_>, winner: &Candidate) -> Result<Plan, PlanError> {
    let frame = context.frame(winner);
    let terms = score::terms(frame, &winner.totals);
    let score = score::breakdown(&terms, &context.view.goal.weights);
    let shape = context.shape(winner);
    let gist = gist_of(&shape)?;
    let read = Tokens(winner.totals.tokens.get().min(frame.budget.get()));
    let layout = context.layout(winner);
    let chosen: Vec<PlannedAlternative> =
        context.members(winner).into_iter().map(|m| planned(context, m, read, frame.budget, layout)).collect();
    let stamps = crate::stamps::of_plan(context);
    let configuration = &context.inputs.settings.configuration_digest;
    let plan_id = plan_id(context.view.goal, context.view.limits, &chosen, &stamps, configuration)?;
    let seed = context.view.goal.seed.unwrap_or_else(|| seed_of(&plan_id));
    Ok(Plan {
        schema_version: PLAN_SCHEMA_VERSION,
        id: plan_id,
        gist,
        parent: None,
        goal: context.view.goal.clone(),
        limits: context.view.limits.clone(),
        intent: context.view.intent.clone(),
        rejected: rejections(context, Some(winner)),
        sources: sources(context, Some(winner)),
        estimate: estimate(context, winner, &chosen),
        margin: margin(context, winner),
        best: context.solution.best.iter().map(|c| context.complete(c)).collect(),
        frontier: context.solution.frontier.iter().map(|c| context.complete(c)).collect(),
        certificate: Certificate {
            // Of the search: an explored plan is not what it proved best.
            value: context.solution.winner.as_ref().map_or(winner.value.score, |best| best.value.score),
            bound: context.solution.bound.score,
            nodes: context.solution.nodes,
            stopped_by: context.solution.stopped_by.clone(),
            memory: context.solution.memory,
        },
        candidates: context.assembled.problem.candidates(),
        stamps,
        statistics_epoch: context.inputs.statistics.epoch(&context.view.goal.principal.tenant).to_owned(),
        planner_version: PLANNER_VERSION.to_owned(),
        seed,
        notes: notes(context, winner),
        chosen,
        score,
    })
}

fn id(kind: &'static str, value: &impl serde::Serialize) -> Result<ContentId, PlanError> {
    content_id(kind, value).map_err(|e| PlanError::Internal(e.to_string()))
}

/// The id of a plan as it stands.
pub(crate) fn identify(plan: &Plan, configuration: &str) -> Result<ContentId, PlanError> {
    plan_id(&plan.goal, &plan.limits, &plan.chosen, &plan.stamps, configuration)
}

fn plan_id(
    goal: &Goal,
    limits: &Constraints,
    chosen: &[PlannedAlternative],
    stamps: &[Stamp],
    configuration: &str,
) -> Result<ContentId, PlanError> {
    let versions = (PLAN_SCHEMA_VERSION, PLANNER_VERSION, configuration);
    id("plan", &(versions, (goal, limits), chosen.iter().map(|c| &c.alternative).collect::<Vec<_>>(), stamps))
}

pub(crate) fn seed_of(id: &ContentId) -> u64 {
    let digits = id.0.rsplit('_').next().unwrap_or_default();
    u64::from_str_radix(digits.get(..16).unwrap_or("0"), 16).unwrap_or(0)
}

/// An alternative with its estimate at the context the plan expects to send, and its bounds at the context it may send.
fn planned(context: &Context<'_>, member: usize, read: Tokens, budget: Tokens, layout: Layout) -> PlannedAlternative {
    let alternative = context.space.alternatives[member].clone();
    let estimate = match alternative.stage {
        Stage::Answer | Stage::Pack | Stage::Compress => {
            let mut expected = model::estimate_in(context.cost, &alternative, read, layout);
            let full = model::estimate(context.cost, &alternative, budget);
            if let (Some(tokens), Some(full)) = (&mut expected.tokens, full.tokens) {
                tokens.high = full.high;
            }
            if let (Some(cost), Some(full)) = (&mut expected.cost, full.cost) {
                cost.high = full.high;
            }
            expected
        }
        Stage::Rerank => model::estimate(context.cost, &alternative, budget),
        _ => context.assembled.estimates[member].clone(),
    };
    PlannedAlternative { alternative, estimate }
}

fn estimate(context: &Context<'_>, winner: &Candidate, chosen: &[PlannedAlternative]) -> PlanEstimate {
    let frame = context.frame(winner);
    let terms = score::terms(frame, &winner.totals);
    let usage = Usage::of(frame, &winner.totals, terms.accuracy);
    let evidence: Vec<&Estimated<Ppm>> = chosen.iter().filter_map(|c| c.estimate.evidence.as_ref()).collect();
    let certainty = evidence.iter().map(|e| e.certainty).fold(Certainty::Configured, Certainty::weaker);
    let merged = if winner.totals.reads > 1 { frame.fuse_factor } else { Ppm::ONE };
    let union = |pick: fn(&Estimated<Ppm>) -> Ppm| {
        let read = evidence.iter().map(|e| pick(e).to_micro_nats()).sum::<ctx_types::MicroNats>().to_ppm().and(merged);
        Ppm::from_share((read.share() * (1.0 + frame.gain.share())).min(1.0)).and(frame.survives)
    };
    let (low, high) = (union(|e| e.low), union(|e| e.high));
    let answer = chosen.iter().find(|c| c.alternative.stage == Stage::Answer);
    let quality = answer.and_then(|a| a.estimate.quality.as_ref());
    let accuracy = Ppm::from_share(terms.accuracy);
    let spread = |e: Ppm, q: Option<Ppm>| e.and(q.unwrap_or(Ppm::ONE));
    let unknown = context.assembled.price_unknown[winner.frame];
    // An unknown price is scored as dear; what is stated is the part that is known.
    let known = answer.and_then(|a| a.estimate.cost.as_ref()).map_or(NanoUsd(0), |c| c.value);
    let cost = if unknown { known } else { terms.cost.half_even_nano() };
    let packed = winner.totals.tokens.get().min(frame.budget.get());
    let context_tokens = Tokens((packed as f64 * frame.sent.share()).round() as u64);
    let tokens = match &answer.map(|a| &a.alternative.operator) {
        Some(Operator::Answer { model: Some(m), .. }) => context.cost.catalog.models.get(m).map_or_else(TokenClasses::default, |entry| {
            let (input, _) = model::prompt_tokens(context.cost, m, entry, context_tokens);
            let output = model::output_tokens(context.cost, m, entry).0.value;
            let held = prefix::expected(context.cost, m, entry, context.layout(winner), input);
            let cached_input = held.map_or(Tokens::ZERO, |held| held.prefix.read(input));
            TokenClasses { input: input - cached_input, cached_input, output, ..TokenClasses::default() }
        }),
        _ => TokenClasses::default(),
    };
    PlanEstimate {
        evidence: Estimated::new(Ppm::from_share(terms.evidence), low, high, certainty, "union over sources"),
        accuracy: Estimated::new(
            accuracy,
            spread(low, quality.map(|q| q.low)).min(accuracy),
            spread(high, quality.map(|q| q.high)).max(accuracy),
            certainty.weaker(quality.map_or(Certainty::Prior, |q| q.certainty)),
            "P(evidence) × P(right | evidence), corrected by the check",
        ),
        hallucination: Ppm::from_share(terms.hallucination),
        verification: (terms.verification * 1e6).round() as i64,
        risk: Ppm::from_share(terms.risk),
        loss: Ppm::from_share(terms.loss),
        cache: Ppm::from_share(terms.cache),
        cost: Estimated::new(
            cost,
            if frame.calls == 0 { cost } else { NanoUsd(0) },
            usage.cost,
            if unknown { Certainty::Unknown } else { cost_certainty(answer.and_then(|a| a.estimate.cost.as_ref())) },
            "tokens × price table",
        ),
        cost_incomplete: unknown,
        cost_bound: usage.cost,
        latency: Estimated::new(terms.latency, Micros(0), Micros(usage.latency), latency_certainty(chosen), "critical path"),
        tokens,
        tokens_bound: usage.tokens,
        context_tokens: Estimated::new(context_tokens, Tokens(0), frame.budget, Certainty::Prior, "expected passages × passage size"),
        calls: frame.calls,
    }
}

fn cost_certainty(call: Option<&Estimated<NanoUsd>>) -> Certainty {
    call.map_or(Certainty::Configured, |c| c.certainty)
}

fn latency_certainty(chosen: &[PlannedAlternative]) -> Certainty {
    chosen.iter().filter_map(|c| c.estimate.latency.as_ref()).map(|l| l.certainty).fold(Certainty::Configured, Certainty::weaker)
}

/// Every alternative that is not part of the winner, with where it ended.
pub(crate) fn rejections(context: &Context<'_>, winner: Option<&Candidate>) -> Vec<Rejection> {
    let chosen: BTreeSet<usize> = winner.map(|w| context.members(w).into_iter().collect()).unwrap_or_default();
    let best = winner.map(|w| w.value.score);
    let space = context.space;
    let mut out = Vec::with_capacity(space.pruned.len() + space.alternatives.len());
    let removed = |p: &Pruned| Rejection {
        alternative: p.alternative.clone(),
        estimate: None,
        fate: Fate::Pruned { rule: p.rule.to_owned(), reason: p.reason.clone() },
    };
    // Both are in canonical order: merged, not sorted.
    let mut pruned = space.pruned.iter().peekable();
    for (i, alternative) in space.alternatives.iter().enumerate().filter(|(i, _)| !chosen.contains(i)) {
        while let Some(before) = pruned.next_if(|p| p.alternative.id < alternative.id) {
            out.push(removed(before));
        }
        out.push(Rejection {
            alternative: alternative.clone(),
            estimate: Some(context.assembled.estimates[i].clone()),
            fate: fate(context, alternative, best),
        });
    }
    out.extend(pruned.map(removed));
    out
}

fn fate(context: &Context<'_>, alternative: &Alternative, best: Option<Score>) -> Fate {
    match (context.solution.through.get(&alternative.id), best) {
        (Some(Through::Dominated(by)), _) => Fate::Dominated { by: *by },
        (Some(Through::Feasible(value)), Some(best)) => Fate::Outscored { score: value.score, difference: best - value.score },
        (Some(Through::Infeasible(bits)), _) if *bits != u8::MAX => {
            if *bits == 1 << Limit::Answerer as u8 {
                let reason = "no answerer that is left works on what this brings together with the rest".to_owned();
                return Fate::Infeasible { constraint: Limit::Answerer.key().to_owned(), reason };
            }
            let names: Vec<&str> = Limit::ALL.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, l)| l.key()).collect();
            Fate::Infeasible { constraint: names.join(", "), reason: format!("every plan through it breaks {}", names.join(" and ")) }
        }
        _ => Fate::Infeasible { constraint: "plan space".to_owned(), reason: "no complete plan goes through it".to_owned() },
    }
}

/// Every permitted source once: used, or not and why.
pub(crate) fn sources(context: &Context<'_>, winner: Option<&Candidate>) -> Vec<SourceUse> {
    context
        .space
        .groups
        .iter()
        .enumerate()
        .map(|(g, (name, members))| {
            let entry = context.view.source(name);
            let read = winner.map(|w| &context.space.alternatives[members[w.selection[g]]]).filter(|a| a.operator != Operator::Skip);
            let reason = match read {
                Some(alternative) => read_by(context, name, alternative),
                None => skipped(context, name, members),
            };
            SourceUse {
                source: name.clone(),
                used: read.is_some(),
                reason,
                fingerprint: entry.map(|e| e.fingerprint.clone()).unwrap_or_default(),
                generation: entry.map_or(0, |e| e.generation),
                passages: entry.map_or(0, |e| e.passages),
            }
        })
        .collect()
}

/// How a source is read; what a query computes, in words and as SQL.
fn read_by(context: &Context<'_>, name: &SourceName, alternative: &Alternative) -> String {
    let table = matches!(alternative.operator, Operator::Access { path: AccessPath::Table, .. });
    match context.view.probed(name).and_then(|probe| probe.table.as_ref()).filter(|_| table) {
        Some(query) => format!("computes {} (P = {}) by {}", query.reading, query.probability, query.sql),
        None => format!("read by {}", alternative.operator),
    }
}

fn skipped(context: &Context<'_>, name: &ctx_types::SourceName, members: &[usize]) -> String {
    match context.view.source(name).map(|e| &e.state) {
        Some(SourceState::Empty) => return "rejected: empty".to_owned(),
        Some(SourceState::Unavailable { reason }) => return format!("rejected: {reason}"),
        _ => {}
    }
    let stage = Stage::Access(name.clone());
    // Most of what was removed was removed for this reason.
    let of_stage = || context.space.pruned.iter().filter(|p| p.alternative.stage == stage);
    let count = |reason: &str| of_stage().filter(|p| p.reason == reason).count();
    let pruned = of_stage().min_by_key(|p| std::cmp::Reverse(count(&p.reason)));
    match pruned {
        Some(p) if members.len() <= 1 => format!("rejected: {}", p.reason),
        _ if context.solution.winner.is_none() => "no plan that reads it is feasible".to_owned(),
        _ => "reading it adds less than it costs".to_owned(),
    }
}

/// Distance to the best plan of another shape, and the single changes that would flip the choice.
fn margin(context: &Context<'_>, winner: &Candidate) -> Option<Margin> {
    let other = context.solution.runner_up.as_ref()?;
    let flips = if context.detailed { flips(context, winner) } else { Vec::new() };
    Some(Margin { runner_up: context.shape(other), difference: winner.value.score - other.value.score, flips })
}

/// What flips the choice, in words. Changes that multiply by nothing are those of a number that is zero.
fn flips(context: &Context<'_>, winner: &Candidate) -> Vec<String> {
    let words = |flip: &Flip| Some(format!("{} × {}", changed(context, flip.change)?, factor(flip.factor_ppm)));
    ctx_optimizer::search::flips(&context.assembled.problem, winner).iter().filter_map(words).collect()
}

/// Three digits behind the point for what is close to one, two for the rest; rounded away from one.
fn factor(ppm: u64) -> String {
    let unit = if ppm.abs_diff(1_000_000) < 100_000 { 1_000 } else { 10_000 };
    let rounded = if ppm >= 1_000_000 { ppm.div_ceil(unit) } else { ppm / unit };
    if unit == 1_000 { format!("{}.{:03}", rounded / 1_000, rounded % 1_000) } else { format!("{}.{:02}", rounded / 100, rounded % 100) }
}

fn changed(context: &Context<'_>, change: Change) -> Option<String> {
    let model = |number: u32| context.assembled.models.get(number as usize);
    Some(match change {
        Change::Weight(at) => format!("weight {}", sensitivity::WEIGHTS.get(at)?),
        Change::InputPrice(number) => format!("input price of {}", model(number)?),
        Change::OutputPrice(number) => format!("output price of {}", model(number)?),
        Change::CallLatency(number) => format!("latency of {}", model(number)?),
        Change::Evidence { group, shape } => {
            let (name, members) = context.space.groups.get(group)?;
            let items = &context.assembled.problem.groups[group];
            let member = members.iter().zip(items).find(|(_, i)| i.shape == shape).map(|(&m, _)| m)?;
            format!("evidence of {name} by {}", context.space.alternatives[member].operator.shape())
        }
    })
}

/// How long a call of a model takes and what that rests on: `model `m` takes 4.2 s, up to 6.1 s (n=84)`.
pub(crate) fn call_latency(model: &ModelName, latency: &Estimated<Micros>) -> String {
    let source = match latency.certainty {
        Certainty::Measured { n } => format!("n={n}"),
        Certainty::Configured => "configured".to_owned(),
        Certainty::Prior | Certainty::Unknown => "not measured".to_owned(),
    };
    format!("model `{model}` takes {}, up to {} ({source})", latency.value, latency.high)
}

/// A latency limit that rests on too few runs, and the call behind it where it is expected to take longer.
fn unmeasured(context: &Context<'_>, winner: &Candidate, limit: Micros) -> String {
    let answers = context.members(winner).into_iter().map(|member| (&context.space.alternatives[member].operator, member));
    let mut calls = answers.filter_map(|(operator, member)| match operator {
        Operator::Answer { model: Some(model), .. } => Some((model, context.assembled.estimates[member].latency.as_ref()?)),
        _ => None,
    });
    let note = "latency is not measured yet: feasible, unverified, enforced by the deadline";
    match calls.find(|(_, latency)| latency.value > limit) {
        Some((model, latency)) => format!("{note}; {}, the limit is {limit}", call_latency(model, latency)),
        None => note.to_owned(),
    }
}

/// What of the prompt the provider's cache is expected to hold, where a price says that it matters.
fn prompt_cache(context: &Context<'_>, winner: &Candidate) -> Option<String> {
    let answer = context.space.frames[winner.frame].answer;
    let Operator::Answer { model: Some(name), .. } = &context.space.alternatives[answer].operator else { return None };
    let entry = context.cost.catalog.models.get(name)?;
    let frame = context.frame(winner);
    let packed = winner.totals.tokens.get().min(frame.budget.get());
    let (prompt, _) = model::prompt_tokens(context.cost, name, entry, Tokens((packed as f64 * frame.sent.share()).round() as u64));
    let held = prefix::expected(context.cost, name, entry, context.layout(winner), prompt)?.prefix;
    let (of, probability) = (held.of(prompt), held.held.share());
    Some(format!("prompt cache: {of} of {prompt} tokens expected held by `{name}`, p {probability:.2}"))
}

fn notes(context: &Context<'_>, winner: &Candidate) -> Vec<String> {
    let mut out: Vec<String> = context.view.goal.what_if.iter().flat_map(|assumed| crate::what_if::words(assumed)).collect();
    if !out.is_empty() {
        out.push("hypothetical: this plan can be explained and simulated, not run".to_owned());
    }
    for name in context.view.sources {
        if context.view.source(name).is_some_and(|e| e.state == SourceState::NoStatistics) {
            out.push(format!("source `{name}` has no statistics: planned with priors; run `ctxrt index`"));
        }
    }
    let frame = context.frame(winner);
    if let Some(limit) = context.view.limits.max_latency.filter(|_| !frame.latency_measured) {
        out.push(unmeasured(context, winner, limit));
    }
    if context.view.limits.quantile.is_some() {
        out.push(format!("random quantities keep their limits at the {} quantile", context.view.limits.quantile()));
    }
    if context.view.settings.verification_default && context.view.limits.require_verification == Some(false) {
        out.push("verification is switched off by the request".to_owned());
    }
    out.extend(prompt_cache(context, winner));
    let whole = context.view.intent.evidence.of(ctx_types::intent::EvidenceShape::WholeCorpus);
    if whole > Ppm(500_000) {
        out.push("the goal asks about everything in a source: the answer states how much of it was seen".to_owned());
    }
    out
}
