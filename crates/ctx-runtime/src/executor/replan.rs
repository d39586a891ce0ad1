//! Planning the rest of a run anew, when what was read is not what was expected.
//!
//! After packing, the evidence seen is compared with the estimate. Outside the estimate's 90 % interval the rest is planned
//! again around the lists that were read (quotas, pack budget, strategy, model, verifier); the new plan takes over if its score
//! is off the running plan's by more than [`SCORE_MOVE_PERCENT`] and it chooses something else. Budget, ledger and deadline
//! stay the run's. A provider that rejects a prompt as too long leads to one more such plan, within a smaller window. No clock
//! is read: the same lists give the same plan.

use super::walk::Progress;
use super::{Context, Ending};
use crate::prepare::Prepared;
use ctx_candidates::rules::PROMPT_OVERHEAD;
use ctx_contracts::{PluginError, Taken};
use ctx_planner::{Inputs, PlanError, Planned};
use ctx_types::probe::ReadList;
use ctx_types::{AccessPath, Catalog, Estimated, ModelName, Operator, Plan, Ppm, Probe, Stage, Status, Tokens};
use std::sync::Arc;

/// Times that surprising evidence may change the plan of one run.
const REPLANS_MAX: u32 = 2;
/// Move of the score, in per cent of the running plan's, below which a surprise changes nothing.
const SCORE_MOVE_PERCENT: i64 = 5;
/// Passages of a list whose evidence planning sees; a pack budget holds fewer.
const READ_MAX: usize = 256;
/// Share of the rejected prompt that is tried next, in per cent. Pack budgets are a factor of two apart.
const SHORTER_PERCENT: u64 = 75;

/// Looks at the context that was just packed; may put another plan in the running one's place. `Some`: the run ends here.
pub(super) fn after_packing(context: &Context, progress: &mut Progress) -> Option<Ending> {
    let seen = progress.packed.as_ref()?.evidence;
    let running = progress.planned.clone();
    let expected = &running.plan.estimate.evidence;
    if progress.replans >= REPLANS_MAX || within(expected, seen) || !ranked(&running.plan) {
        return None;
    }
    let surprise = format!("evidence {seen} is outside the expected {} to {}", expected.low, expected.high);
    let probe = probe(context, progress);
    match plan(context, &context.prepared.catalog, &probe) {
        Ok(next) if moved(&running.plan, &next.plan) && choices(&running.plan) != choices(&next.plan) => {
            progress.replans += 1;
            take_over(progress, next, probe, &surprise);
            None
        }
        Ok(_) => {
            progress.notes.push(format!("{surprise}; the plan stays the best for the rest"));
            None
        }
        Err(PlanError::Infeasible(infeasible)) if infeasible.binding == "min_accuracy" => {
            Some(Ending::new(Status::Infeasible, format!("{surprise}: {infeasible}")))
        }
        Err(error) => {
            progress.notes.push(format!("{surprise}; the plan goes on, the rest could not be planned anew: {error}"));
            None
        }
    }
}

/// The provider of `model` rejected the prompt as too long, or saw so much of it only (`error` tells): another plan within a smaller
/// window, once. `false`: there is none.
pub(super) fn after_overflow(context: &Context, progress: &mut Progress, model: &ModelName, error: &PluginError) -> bool {
    if std::mem::replace(&mut progress.shortened, true) {
        return false;
    }
    let mut catalog = Catalog::clone(&context.prepared.catalog);
    let probe = probe(context, progress);
    let Some(entry) = catalog.models.get_mut(model) else { return false };
    let sent: u64 = progress.packed.iter().flat_map(|packed| &packed.passages).map(|p| u64::from(p.passage.tokens)).sum();
    let output = context.prepared.limits.max_output_tokens.or(entry.max_output).unwrap_or(entry.output_tokens.high);
    let needed = Tokens(sent) + PROMPT_OVERHEAD + probe.goal_tokens + output.min(entry.output_tokens.high);
    let shorter = Tokens(needed.get() * SHORTER_PERCENT / 100);
    let seen = match &error.taken {
        Taken::Reported(usage) => Some(usage.prompt()),
        _ => None,
    };
    let window = seen.map_or(shorter, |seen| shorter.min(seen + output.min(entry.output_tokens.high)));
    let why = match seen {
        Some(seen) => format!("{model} saw only {seen} tokens of the prompt"),
        None => format!("{model} rejected the prompt as too long"),
    };
    entry.context_window = Some(entry.context_window.map_or(window, |known| known.min(window)));
    match plan(context, &catalog, &probe) {
        Ok(next) => {
            take_over(progress, next, probe, &format!("{why}, now at most {window} tokens"));
            true
        }
        Err(error) => {
            progress.notes.push(format!("{why}, and no shorter plan was found: {error}"));
            false
        }
    }
}

fn within(expected: &Estimated<Ppm>, seen: Ppm) -> bool {
    expected.low <= seen && seen <= expected.high
}

/// Whether anything was ranked: what is read whole shows no scores that could surprise.
fn ranked(plan: &Plan) -> bool {
    plan.accesses().any(|(_, operator, _)| !matches!(operator, Operator::Access { path: AccessPath::Whole, .. }))
}

fn moved(running: &Plan, next: &Plan) -> bool {
    let (before, now) = (running.score.total.get(), next.score.total.get());
    (now - before).abs().saturating_mul(100) > before.abs().saturating_mul(SCORE_MOVE_PERCENT)
}

fn choices(plan: &Plan) -> Vec<(&Stage, &Operator)> {
    plan.chosen.iter().map(|chosen| (&chosen.alternative.stage, &chosen.alternative.operator)).collect()
}

/// What the probe said, and what was read since. A source whose list never came is not among it.
fn probe(context: &Context, progress: &Progress) -> Probe {
    let mut probe = context.probe.get().unwrap_or(&context.prepared.probe).clone();
    let lists = progress.lists();
    for (source, operator, _) in progress.planned.plan.accesses() {
        let Operator::Access { path, k, .. } = operator else { continue };
        if let Some(list) = lists.iter().find(|list| list.source == *source) {
            let evidence = (1..=list.items.len().min(READ_MAX)).map(|read| list.evidence(read)).collect();
            probe.read.insert(source.clone(), ReadList { path: *path, k: *k, evidence });
        }
    }
    probe
}

fn plan(context: &Context, catalog: &Catalog, probe: &Probe) -> Result<Planned, PlanError> {
    let Prepared { goal, limits, statistics, denials, .. } = &context.prepared;
    let settings = context.inner.settings();
    context.inner.planner.plan(&Inputs { goal, limits, catalog, probe, statistics, denials, settings: &settings, versions: None })
}

fn take_over(progress: &mut Progress, mut next: Planned, probe: Probe, why: &str) {
    let parent = progress.planned.plan.id.clone();
    let changes = changes(&progress.planned.plan, &next.plan);
    progress.notes.push(format!("re-planned: {why}; {changes}; {parent} gave way to {}", next.plan.id));
    next.plan.parent = Some(parent);
    progress.probe = Some(probe);
    progress.take_over(Arc::new(next));
}

/// What the new plan does otherwise, stage by stage.
fn changes(before: &Plan, now: &Plan) -> String {
    let differs = |stage: &Stage| {
        let of = |plan: &Plan| plan.chosen(stage).map(|chosen| chosen.alternative.operator.to_string());
        let (old, new) = (of(before), of(now));
        (old != new).then(|| format!("{stage} {} instead of {}", new.unwrap_or_default(), old.unwrap_or_default()))
    };
    let changed: Vec<String> = now.chosen.iter().filter_map(|chosen| differs(&chosen.alternative.stage)).collect();
    if changed.is_empty() { "the same choices".to_owned() } else { changed.join(", ") }
}
