//! What is said about the infeasible, against enumeration: per limit the least that alone suffices, and the smallest joint set.

mod support;

use ctx_optimizer::constraints::{Limit, Usage};
use ctx_optimizer::{Problem, Totals, score, solve};
use support::{KINDS, Random, problem};

/// Usage and broken limits of every complete plan that fits its pack budget and whose answerer works on what it reads.
fn plans(problem: &Problem) -> Vec<(Usage, u8)> {
    let mut out = Vec::new();
    let mut selection = vec![0usize; problem.groups.len()];
    loop {
        let totals = selection.iter().zip(&problem.groups).fold(Totals::default(), |t, (&i, g)| t.with(&g[i]));
        for frame in &problem.frames {
            let usage = Usage::of(frame, &totals, score::terms(frame, &totals).accuracy);
            if usage.over_quota.get() == 0 && usage.answerable {
                out.push((usage, usage.violations(&problem.limits)));
            }
        }
        let Some(at) = (0..selection.len()).rev().find(|&g| selection[g] + 1 < problem.groups[g].len()) else { return out };
        selection[at] += 1;
        selection[at + 1..].fill(0);
    }
}

fn bit(limit: Limit) -> u8 {
    Limit::ALL.iter().position(|l| *l == limit).map_or(0, |i| 1 << i)
}

fn needed(limit: Limit, usage: &Usage) -> String {
    match limit {
        Limit::Cost => usage.cost.to_string(),
        Limit::Latency => ctx_types::Micros(usage.latency).to_string(),
        Limit::Tokens => usage.tokens.to_string(),
        Limit::Calls => usage.calls.to_string(),
        Limit::Accuracy => usage.accuracy.to_string(),
        Limit::UnmeasuredLatency => "allow".to_owned(),
        Limit::Quota | Limit::Answerer => String::new(),
    }
}

fn amount(limit: Limit, usage: &Usage) -> i128 {
    match limit {
        Limit::Cost => i128::from(usage.cost.get()),
        Limit::Latency => i128::from(usage.latency),
        Limit::Tokens => i128::from(usage.tokens.get()),
        Limit::Calls => i128::from(usage.calls),
        Limit::Accuracy => -i128::from(usage.accuracy.get()),
        Limit::UnmeasuredLatency | Limit::Quota | Limit::Answerer => 0,
    }
}

#[test]
fn relaxations_are_the_least_that_suffice_and_joint_sets_the_smallest() {
    let (mut alone, mut together) = (0, 0);
    for seed in 0..6_000 {
        let mut random = Random(seed + 900_000);
        let problem = problem(&mut random, KINDS[seed as usize % KINDS.len()], 120);
        let Some(diagnosis) = solve(&problem).diagnosis else { continue };
        let all = plans(&problem);
        for limit in Limit::ALL.into_iter().filter(|l| !matches!(l, Limit::Quota | Limit::Answerer)) {
            let least = all.iter().filter(|(_, set)| *set == bit(limit)).map(|(u, _)| u).min_by_key(|u| amount(limit, u));
            let Some(said) = diagnosis.relaxations.iter().find(|r| r.constraint == limit.key()) else {
                assert!(all.iter().all(|(_, set)| set & bit(limit) == 0), "seed {seed}: {limit:?} is in force and not mentioned");
                continue;
            };
            assert_eq!(said.suffices, least.map(|u| needed(limit, u)), "seed {seed}: {limit:?}");
            alone += usize::from(least.is_some());
        }
        let fewest = all.iter().map(|(_, set)| set.count_ones()).min();
        match fewest {
            Some(1) | None => assert!(diagnosis.joint.is_empty(), "seed {seed}"),
            Some(fewest) => {
                together += 1;
                assert_eq!(diagnosis.joint.len() as u32, fewest, "seed {seed}");
                let set: u8 = Limit::ALL.iter().filter(|l| diagnosis.joint.iter().any(|r| r.constraint == l.key())).map(|l| bit(*l)).sum();
                let suffices = |u: &Usage| {
                    diagnosis.joint.iter().all(|r| Limit::ALL.iter().any(|l| l.key() == r.constraint && r.suffices == Some(needed(*l, u))))
                };
                assert!(all.iter().any(|(u, broken)| *broken == set && suffices(u)), "seed {seed}: no plan needs exactly that");
            }
        }
    }
    assert!(alone > 100 && together > 100, "{alone} alone, {together} together");
}
