//! Why nothing is feasible: per limit what alone would suffice, and the smallest joint set.

use crate::constraints::{Limit, Usage};
use ctx_types::plan::Relaxation;
use ctx_types::{Constraints, Micros, NanoUsd, Ppm, Tokens};

/// The diagnosis of an infeasible problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The limit whose relaxation is smallest in relation to its present value, or the first of the joint set.
    pub binding: Limit,
    /// By how much it is missed, in words.
    pub missed_by: String,
    /// Per limit in force: what alone would suffice.
    pub relaxations: Vec<Relaxation>,
    /// The smallest set that must move together, when none alone suffices.
    pub joint: Vec<Relaxation>,
}

fn amount(limit: Limit, usage: &Usage) -> f64 {
    match limit {
        Limit::Cost => usage.cost.get() as f64,
        Limit::Latency => usage.latency as f64,
        Limit::UnmeasuredLatency => 1.0,
        Limit::Tokens => usage.tokens.get() as f64,
        Limit::Calls => f64::from(usage.calls),
        Limit::Accuracy => -f64::from(usage.accuracy.get()),
        Limit::Quota => usage.over_quota.get() as f64,
        Limit::Answerer => f64::from(u8::from(!usage.answerable)),
    }
}

fn in_force(limit: Limit, limits: &Constraints) -> Option<String> {
    Some(match limit {
        Limit::Cost => limits.max_cost?.to_string(),
        Limit::Latency => limits.max_latency?.to_string(),
        Limit::UnmeasuredLatency => {
            limits.max_latency?;
            if limits.uncertain_latency != ctx_types::goal::UncertainLatency::Refuse {
                return None;
            }
            "refuse".to_owned()
        }
        Limit::Tokens => limits.max_tokens?.to_string(),
        Limit::Calls => limits.max_calls?.to_string(),
        Limit::Accuracy => limits.min_accuracy?.to_string(),
        Limit::Quota | Limit::Answerer => return None,
    })
}

fn needed(limit: Limit, usage: &Usage) -> String {
    match limit {
        Limit::Cost => usage.cost.to_string(),
        Limit::Latency => Micros(usage.latency).to_string(),
        Limit::UnmeasuredLatency => "allow".to_owned(),
        Limit::Tokens => usage.tokens.to_string(),
        Limit::Calls => usage.calls.to_string(),
        Limit::Accuracy => Ppm(usage.accuracy.get()).to_string(),
        Limit::Quota => usage.over_quota.to_string(),
        Limit::Answerer => usage.answerable.to_string(),
    }
}

fn present(limit: Limit, limits: &Constraints) -> f64 {
    match limit {
        Limit::Cost => limits.max_cost.map_or(0.0, |v: NanoUsd| v.get() as f64),
        Limit::Latency | Limit::UnmeasuredLatency => limits.max_latency.map_or(0.0, |v| v.get() as f64),
        Limit::Tokens => limits.max_tokens.map_or(0.0, |v: Tokens| v.get() as f64),
        Limit::Calls => limits.max_calls.map_or(0.0, f64::from),
        Limit::Accuracy => limits.min_accuracy.map_or(0.0, |v| -f64::from(v.get())),
        Limit::Quota | Limit::Answerer => 0.0,
    }
}

fn bit(limit: Limit) -> u8 {
    Limit::ALL.iter().position(|l| *l == limit).map_or(0, |i| 1 << i)
}

/// Relative size of the step from the present value to what `usage` needs.
fn step(limit: Limit, limits: &Constraints, usage: &Usage) -> f64 {
    let now = present(limit, limits);
    (amount(limit, usage) - now).abs() / now.abs().max(1.0)
}

/// Diagnoses from the usage and broken limits of every non-dominated complete plan.
pub fn diagnose(limits: &Constraints, plans: &[(Usage, u8)]) -> Diagnosis {
    // A plan over its pack budget, or with an answerer that cannot work on what is read, is no plan: never a relaxation.
    let none = bit(Limit::Quota) | bit(Limit::Answerer);
    let real: Vec<&(Usage, u8)> = plans.iter().filter(|(_, set)| set & none == 0).collect();
    let mut relaxations = Vec::new();
    let mut binding: Option<(f64, Limit, Usage)> = None;
    for limit in Limit::ALL {
        let Some(now) = in_force(limit, limits) else { continue };
        let cheapest = real
            .iter()
            .filter(|(_, set)| *set == bit(limit))
            .map(|(usage, _)| usage)
            .min_by(|a, b| amount(limit, a).total_cmp(&amount(limit, b)));
        if let Some(usage) = cheapest {
            let size = step(limit, limits, usage);
            if binding.as_ref().is_none_or(|(best, _, _)| size < *best) {
                binding = Some((size, limit, *usage));
            }
        }
        relaxations.push(Relaxation { constraint: limit.key().to_owned(), now, suffices: cheapest.map(|u| needed(limit, u)) });
    }
    if let Some((_, limit, usage)) = binding {
        return Diagnosis { binding: limit, missed_by: missed_by(limit, limits, &usage), relaxations, joint: Vec::new() };
    }
    let joint_plan = real.iter().min_by(|a, b| {
        let total = |(usage, set): &(Usage, u8)| -> f64 {
            Limit::ALL.iter().filter(|l| set & bit(**l) != 0).map(|l| step(*l, limits, usage)).sum()
        };
        (a.1.count_ones()).cmp(&b.1.count_ones()).then(total(a).total_cmp(&total(b)))
    });
    let Some((usage, set)) = joint_plan else {
        return Diagnosis { binding: Limit::Quota, missed_by: "no complete plan exists".to_owned(), relaxations, joint: Vec::new() };
    };
    let broken: Vec<Limit> = Limit::ALL.into_iter().filter(|l| set & bit(*l) != 0).collect();
    let joint = broken
        .iter()
        .map(|l| Relaxation {
            constraint: l.key().to_owned(),
            now: in_force(*l, limits).unwrap_or_default(),
            suffices: Some(needed(*l, usage)),
        })
        .collect();
    let first = broken.first().copied().unwrap_or(Limit::Quota);
    Diagnosis { binding: first, missed_by: missed_by(first, limits, usage), relaxations, joint }
}

fn missed_by(limit: Limit, limits: &Constraints, usage: &Usage) -> String {
    let now = in_force(limit, limits).unwrap_or_default();
    match limit {
        Limit::Accuracy => format!("the best plan reaches {} of the required {now}", needed(limit, usage)),
        Limit::UnmeasuredLatency => "no feasible plan's latency has been measured".to_owned(),
        _ => format!("the cheapest plan needs {}, the limit is {now}", needed(limit, usage)),
    }
}
