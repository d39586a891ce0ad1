//! Flips, checked by applying the change and searching again.

mod support;

use ctx_optimizer::search::{Solution, flips};
use ctx_optimizer::sensitivity::{Change, Flip, changed};
use ctx_optimizer::{Problem, score, solve};
use ctx_types::Objective;
use std::collections::BTreeMap;
use support::{KINDS, Kind, Random, problem};

/// Shapes are shared, so that a plan of the winner's own shape can take over.
fn instance(seed: u64) -> Problem {
    let mut random = Random(seed + 40_000);
    let kinds: Vec<Kind> = KINDS.into_iter().filter(|k| *k != Kind::Hurtful).collect();
    let mut problem = problem(&mut random, kinds[seed as usize % kinds.len()], 300);
    problem.objective = Objective::Weighted;
    problem.frames.iter_mut().for_each(|f| {
        f.answerable = ctx_types::MicroNats(f.answerable.get() + 2_000_000);
        (f.shape, f.shape_of_one) = (f.shape % 3, f.shape_of_one % 3);
    });
    problem.groups.iter_mut().flatten().for_each(|i| i.shape %= 2);
    problem
}

fn shape(problem: &Problem, group: Option<usize>) -> Option<(u32, Vec<u32>)> {
    let winner = solve(problem).winner?;
    let frame = &problem.frames[winner.frame];
    let items = winner.selection.iter().zip(&problem.groups).enumerate().filter(|(g, _)| group.is_none_or(|of| of == *g));
    Some((if winner.totals.reads < 2 { frame.shape_of_one } else { frame.shape }, items.map(|(_, (&i, g))| g[i].shape).collect()))
}

fn told(problem: &Problem, found: &Solution) -> Vec<Flip> {
    found.winner.as_ref().map_or_else(Vec::new, |winner| flips(problem, winner))
}

fn group_of(change: Change) -> Option<usize> {
    if let Change::Evidence { group, .. } = change { Some(group) } else { None }
}

#[test]
fn a_flip_flips_and_less_does_not() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    // Evidence, amounts and scores are whole numbers after a change too: now and then one rounds across the border.
    let (mut checked, mut wrong) = (0usize, Vec::new());
    for seed in 0..1_200 {
        let problem = instance(seed);
        let found = solve(&problem);
        // Scores are rounded: a choice that hangs by a few units flips by rounding alone.
        if found.winner.as_ref().zip(found.runner_up.as_ref()).is_none_or(|(w, r)| (w.value.score - r.value.score).get() < 10) {
            continue;
        }
        for flip in told(&problem, &found).iter().filter(|f| f.size_ppm() >= 1_000) {
            let group = group_of(flip.change);
            let now = shape(&problem, group);
            let after = shape(&changed(&problem, flip.change, flip.factor_ppm), group);
            // Amounts are whole numbers: what a factor makes of a small one may round back.
            let beyond = outward(flip.factor_ppm, 2_000);
            let further = shape(&changed(&problem, flip.change, beyond), group);
            checked += 4;
            if after == now && further == now {
                wrong.push(format!("seed {seed}: {flip:?} does not flip {now:?}"));
            }
            for part in [300u64, 900, 980] {
                let less = 1_000_000i64 + (flip.factor_ppm as i64 - 1_000_000) * part as i64 / 1_000;
                if shape(&changed(&problem, flip.change, less as u64), group) != now {
                    wrong.push(format!("seed {seed}: {flip:?} flips at {less} already"));
                }
            }
            *seen.entry(name(flip.change)).or_default() += 1;
        }
    }
    assert!(wrong.len() * 100 <= checked, "{} of {checked}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    for kind in ["weight", "input price", "output price", "latency", "evidence"] {
        assert!(seen.get(kind).is_some_and(|n| *n >= 5), "{kind} is hardly tested: {seen:?}");
    }
}

fn outward(factor: u64, by: u64) -> u64 {
    if factor >= 1_000_000 { factor + by } else { factor.saturating_sub(by) }
}

fn name(change: Change) -> &'static str {
    match change {
        Change::Weight(_) => "weight",
        Change::InputPrice(_) => "input price",
        Change::OutputPrice(_) => "output price",
        Change::CallLatency(_) => "latency",
        Change::Evidence { .. } => "evidence",
    }
}

#[test]
fn what_is_not_listed_does_not_flip() {
    for seed in 0..300 {
        let problem = instance(seed);
        let found = solve(&problem);
        if found.winner.is_none() {
            continue;
        }
        let now = shape(&problem, None);
        let close = |p: &Problem| {
            let found = solve(p);
            found.winner.as_ref().zip(found.runner_up.as_ref()).is_some_and(|(w, r)| (w.value.score - r.value.score).get() < 10)
        };
        let listed = told(&problem, &found);
        for weight in 0..8 {
            let change = Change::Weight(weight);
            let listed = listed.iter().find(|f| f.change == change).map(|f| f.size_ppm());
            for factor in [0u64, 500_000, 900_000, 990_000, 1_010_000, 1_100_000, 2_000_000, 9_000_000] {
                // Where evidence or brevity turns to count the other way, flips are not looked for.
                let turned = |p: &Problem| {
                    p.frames.iter().map(|f| (score::evidence_helps(f, &p.weights), score::brevity_helps(f, &p.weights))).collect::<Vec<_>>()
                };
                if turned(&changed(&problem, change, factor)) != turned(&problem) || close(&changed(&problem, change, factor)) {
                    continue;
                }
                if listed.is_none_or(|size| factor.abs_diff(1_000_000) + 2_000 < size) {
                    assert_eq!(shape(&changed(&problem, change, factor), None), now, "seed {seed}: weight {weight} × {factor}");
                }
            }
        }
    }
}
