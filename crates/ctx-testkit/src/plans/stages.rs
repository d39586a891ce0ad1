//! What the planning stages print: intent, plan space, one rule's effect, estimates, the solution, the plan.

use ctx_candidates::PlanSpace;
use ctx_types::intent::Distribution;
use ctx_types::{Alternative, AlternativeEstimate, Estimated, Intent, Operator, Plan, Ppm, Stage, Tokens};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// Facet values below this are not printed.
const SHARE_SHOWN_MIN: Ppm = Ppm(5_000);

pub(super) fn intent(intent: &Intent) -> String {
    let mut out = format!("bucket    {}\n", intent.bucket);
    let _ = writeln!(out, "answer    {}", shares(&intent.answer));
    let _ = writeln!(out, "evidence  {}", shares(&intent.evidence));
    let _ = writeln!(out, "sources   {}", shares(&intent.sources));
    for entity in &intent.entities {
        let _ = writeln!(out, "entity    {} `{}` at {}..{}", entity.kind, entity.text, entity.start, entity.end);
    }
    for span in &intent.sensitive_spans {
        let _ = writeln!(out, "sensitive {} at {}..{} raises to {}", span.detector, span.start, span.end, span.raises_to);
    }
    if !intent.sensitive_topics.is_empty() {
        let _ = writeln!(out, "about     {}", intent.sensitive_topics.join(", "));
    }
    if let Some(time) = &intent.time {
        let _ = writeln!(out, "time      `{}` {}", time.text, if time.relative { "relative" } else { "absolute" });
    }
    let _ = writeln!(out, "risk      {:.2}, sensitivity {}, language {}", intent.risk.share(), intent.sensitivity, intent.language);
    let _ = writeln!(out, "hardness  {:+.1}", f64::from(intent.hardness_milli) / 1e3);
    if !intent.operands.is_empty() {
        let _ = writeln!(out, "operands  {}", intent.operands.join(" | "));
    }
    out
}

fn shares<T: Copy + PartialEq + Display>(distribution: &Distribution<T>) -> String {
    let mut shown: Vec<&(T, Ppm)> = distribution.0.iter().filter(|(_, p)| *p >= SHARE_SHOWN_MIN).collect();
    shown.sort_by_key(|(_, p)| std::cmp::Reverse(*p));
    shown.iter().map(|(value, p)| format!("{value} {:.2}", p.share())).collect::<Vec<_>>().join(", ")
}

/// An operator without its numbers.
fn folded(operator: &Operator) -> String {
    match operator {
        Operator::Access { path, .. } => path.to_string(),
        Operator::Pack { layout, .. } => layout.to_string(),
        other => other.to_string(),
    }
}

/// `skip, bm25 ×20, dense ×20`, in canonical order.
fn list<'a>(alternatives: impl Iterator<Item = &'a Alternative>) -> String {
    let mut counts: Vec<(String, u32)> = Vec::new();
    for alternative in alternatives {
        let name = folded(&alternative.operator);
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => counts.push((name, 1)),
        }
    }
    let words: Vec<String> = counts.into_iter().map(|(name, n)| if n > 1 { format!("{name} ×{n}") } else { name }).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

fn stages(space: &PlanSpace) -> Vec<Stage> {
    let mut all: Vec<&Alternative> = space.alternatives.iter().chain(space.pruned.iter().map(|p| &p.alternative)).collect();
    all.sort_by_key(|a| a.id);
    let mut out: Vec<Stage> = Vec::new();
    for alternative in all {
        if out.last() != Some(&alternative.stage) {
            out.push(alternative.stage.clone());
        }
    }
    out
}

pub(super) fn candidates(space: &PlanSpace) -> String {
    let mut out = String::new();
    for stage in stages(space) {
        let _ = writeln!(out, "{stage}: {}", list(space.alternatives.iter().filter(|a| a.stage == stage)));
        let mut reasons: Vec<(&str, &str)> = Vec::new();
        for pruned in space.pruned.iter().filter(|p| p.alternative.stage == stage) {
            if !reasons.contains(&(pruned.rule, pruned.reason.as_str())) {
                reasons.push((pruned.rule, &pruned.reason));
            }
        }
        for (rule, reason) in reasons {
            let gone = space.pruned.iter().filter(|p| p.alternative.stage == stage && p.rule == rule && p.reason == reason);
            let _ = writeln!(out, "  - {} by {rule}: {reason}", list(gone.map(|p| &p.alternative)));
        }
    }
    let selections: u64 = space.groups.iter().map(|(_, g)| g.len() as u64).product();
    let _ =
        writeln!(out, "{} frames × {selections} selections = {} candidates", space.frames.len(), space.frames.len() as u64 * selections);
    out
}

/// The stages a rule touches, without it and with it.
pub(super) fn rule(name: &str, space: &PlanSpace) -> String {
    let mut out = String::new();
    for stage in stages(space) {
        let mine = || space.pruned.iter().filter(|p| p.alternative.stage == stage && p.rule == name);
        if mine().next().is_none() {
            continue;
        }
        let mut before: Vec<&Alternative> =
            space.alternatives.iter().filter(|a| a.stage == stage).chain(mine().map(|p| &p.alternative)).collect();
        before.sort_by_key(|a| a.id);
        let _ = writeln!(out, "{stage}\n  before: {}", list(before.into_iter()));
        let _ = writeln!(out, "  after:  {}", list(space.alternatives.iter().filter(|a| a.stage == stage)));
        let mut reasons: Vec<&str> = Vec::new();
        for pruned in mine().filter(|p| !reasons.contains(&p.reason.as_str())).collect::<Vec<_>>() {
            if !reasons.contains(&pruned.reason.as_str()) {
                reasons.push(&pruned.reason);
                let _ = writeln!(out, "  because {}", pruned.reason);
            }
        }
    }
    if out.is_empty() { format!("{name} prunes nothing\n") } else { out }
}

/// Every alternative that was estimated, accesses at one k and quota only.
pub(super) fn estimate(plan: &Plan, k: u64, quota: u64) -> String {
    let chosen = plan.chosen.iter().map(|c| (&c.alternative, &c.estimate));
    let rejected = plan.rejected.iter().filter_map(|r| r.estimate.as_ref().map(|e| (&r.alternative, e)));
    let by_id: BTreeMap<_, _> = chosen.chain(rejected).map(|(a, e)| (a.id, (a, e))).collect();
    let mut out = String::new();
    for (alternative, estimate) in by_id.values() {
        let shown = match &alternative.operator {
            Operator::Access { k: mine, quota: most, path } => {
                *path == ctx_types::AccessPath::Whole || (u64::from(*mine) == k && *most == Tokens(quota))
            }
            Operator::Pack { .. } => false,
            _ => true,
        };
        let numbers = numbers(estimate);
        if shown && !numbers.is_empty() {
            let _ = writeln!(out, "{} {}", alternative.stage, alternative.operator);
            numbers.iter().for_each(|line| _ = writeln!(out, "  {line}"));
        }
    }
    out
}

fn numbers(e: &AlternativeEstimate) -> Vec<String> {
    fn line<T: Display>(name: &str, e: &Option<Estimated<T>>) -> Option<String> {
        e.as_ref().map(|e| format!("{name:<9}{} [{}, {}] {} {}", e.value, e.low, e.high, e.certainty, e.provenance))
    }
    let unknown =
        e.cost.as_ref().filter(|c| c.certainty == ctx_types::Certainty::Unknown).map(|c| format!("cost     unknown {}", c.provenance));
    let cost = unknown.or_else(|| line("cost", &e.cost));
    [
        line("passages", &e.hits),
        line("tokens", &e.tokens),
        cost,
        line("latency", &e.latency),
        line("evidence", &e.evidence),
        line("quality", &e.quality),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn solve(plan: &Plan) -> String {
    let mut out = String::new();
    for (i, best) in plan.best.iter().enumerate() {
        let _ = writeln!(
            out,
            "{:>2}. score {} accuracy {} cost {} time {}  {}",
            i + 1,
            best.score,
            best.accuracy,
            best.cost,
            best.latency,
            best.shape
        );
    }
    if let Some(margin) = &plan.margin {
        let _ = writeln!(out, "runner-up {} below: {}", margin.difference, margin.runner_up);
    }
    let c = &plan.certificate;
    let proof = c.stopped_by.as_ref().map_or_else(|| "optimal".to_owned(), |limit| format!("stopped by {limit}"));
    let _ = writeln!(
        out,
        "{} candidates, {} Pareto points, value {} bound {}: {proof}",
        plan.candidates,
        plan.frontier.len(),
        c.value,
        c.bound
    );
    out
}

/// The chosen operators in one line.
pub(super) fn words(plan: &Plan) -> String {
    plan.best.first().map(|b| b.shape.clone()).unwrap_or_default()
}

/// Operators, sources, models and order; no number.
pub(super) fn shape(plan: &Plan) -> String {
    let mut out = String::new();
    for chosen in &plan.chosen {
        let _ = writeln!(out, "{:<16} {}", chosen.alternative.stage.to_string(), folded(&chosen.alternative.operator));
    }
    let _ = writeln!(out, "{}", plan.gist);
    out
}

/// The chosen operators with everything they are expected to do, then the whole.
pub(super) fn full(plan: &Plan) -> String {
    let mut out = String::new();
    for chosen in &plan.chosen {
        let _ = writeln!(out, "{}: {}", chosen.alternative.stage, chosen.alternative.operator);
        numbers(&chosen.estimate).iter().for_each(|line| _ = writeln!(out, "  {line}"));
    }
    let e = &plan.estimate;
    let _ = writeln!(out, "whole");
    let _ = writeln!(out, "  evidence {} [{}, {}] {}", e.evidence.value, e.evidence.low, e.evidence.high, e.evidence.certainty);
    let _ = writeln!(out, "  accuracy {} [{}, {}] {}", e.accuracy.value, e.accuracy.low, e.accuracy.high, e.accuracy.certainty);
    let _ = writeln!(
        out,
        "  hallucination {} verification {:.3} loss {} risk {}",
        e.hallucination,
        e.verification as f64 / 1e6,
        e.loss,
        e.risk
    );
    let cost = if e.cost_incomplete {
        format!("≥ {}, the rest at unknown price", e.cost.value)
    } else {
        format!("{} at most {} {}", e.cost.value, e.cost_bound, e.cost.certainty)
    };
    let _ = writeln!(out, "  cost {cost}");
    let _ = writeln!(out, "  latency {} high {} {}", e.latency.value, e.latency.high, e.latency.certainty);
    let _ = writeln!(out, "  context {} tokens, calls {}, at most {} tokens in all", e.context_tokens.value, e.calls, e.tokens_bound);
    let s = &plan.score;
    let _ = writeln!(
        out,
        "  score {} = acc {} cache {} vrf {} cost {} lat {} risk {} hall {} loss {}",
        s.total, s.acc, s.cache, s.vrf, s.cost, s.lat, s.risk, s.hall, s.loss
    );
    out
}
