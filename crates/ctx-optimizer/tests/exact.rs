//! The search against enumeration: ten thousand random and adversarial problems of up to ten thousand assignments.

mod support;

use ctx_optimizer::search::Through;
use ctx_optimizer::{Problem, brute_force, solve};
use ctx_types::{Constraints, NanoUsd, Objective, Tokens};
use support::{KINDS, Kind, Random, problem, shuffled};

/// Mostly small, every sixteenth large: enumeration stays within seconds.
fn instance(seed: u64) -> (Random, Kind, Problem) {
    let mut random = Random(seed);
    let kind = KINDS[seed as usize % KINDS.len()];
    let most = if seed.is_multiple_of(16) { 10_000 } else { 400 };
    let problem = problem(&mut random, kind, most);
    (random, kind, problem)
}

#[test]
fn the_winner_is_the_optimum_of_enumeration() {
    let (mut feasible, mut stopped) = (0, 0);
    for seed in 0..10_000 {
        let (_, kind, problem) = instance(seed);
        let (found, oracle) = (solve(&problem), brute_force(&problem));
        assert_eq!(found.winner.as_ref().map(|w| w.value), oracle.as_ref().map(|o| o.value), "seed {seed}, {kind:?}");
        match &found.winner {
            Some(winner) => {
                feasible += 1;
                stopped += u32::from(found.stopped_by.is_some());
                assert_eq!(found.stopped_by.is_none(), found.bound == winner.value, "seed {seed}");
            }
            None => assert!(found.diagnosis.is_some(), "seed {seed}"),
        }
    }
    assert!((2_000..9_900).contains(&feasible), "{feasible} of 10,000 are feasible: the generator is one-sided");
    // Where neither evidence nor brevity has a direction, little is dominated, and the largest instances meet a limit.
    assert!(stopped < 100, "{stopped} searches are not proven");
}

#[test]
fn the_order_of_the_input_changes_no_value() {
    for seed in 0..1_000 {
        let (mut random, kind, problem) = instance(seed);
        let turned = shuffled(&mut random, &problem);
        let value = |p: &Problem| solve(p).winner.map(|w| w.value);
        assert_eq!(value(&problem), value(&turned), "seed {seed}, {kind:?}");
    }
}

#[test]
fn more_room_is_never_worse() {
    for seed in 0..1_000 {
        let (mut random, _, mut tight) = instance(seed);
        tight.objective = Objective::Weighted;
        let mut free = tight.clone();
        let more = |v: i64| v + v / 2 + 1;
        free.limits.max_cost = tight.limits.max_cost.map(|v| NanoUsd(more(v.get())));
        free.limits.max_tokens = tight.limits.max_tokens.map(|v| Tokens(v.get() * 2));
        if random.chance(50) {
            free.limits = Constraints::default();
        }
        let value = |p: &Problem| solve(p).winner.map(|w| w.value);
        assert!(value(&tight) <= value(&free), "seed {seed}");
    }
}

#[test]
fn every_alternative_has_one_fate_and_the_value_through_it_is_exact() {
    for seed in 0..1_500 {
        let (_, kind, problem) = instance(seed);
        let found = solve(&problem);
        for (g, group) in problem.groups.iter().enumerate() {
            for item in group {
                let mut forced = problem.clone();
                forced.groups[g] = vec![*item];
                let oracle = || brute_force(&forced).map(|c| c.value);
                match found.through.get(&item.id) {
                    Some(Through::Feasible(value)) => assert_eq!(Some(*value), oracle(), "seed {seed}, {kind:?}"),
                    Some(Through::Infeasible(_)) => assert_eq!(None, oracle(), "seed {seed}, {kind:?}"),
                    Some(Through::Dominated(by)) => {
                        let mut other = problem.clone();
                        other.groups[g].retain(|i| i.id == *by);
                        assert!(oracle() <= brute_force(&other).map(|c| c.value), "seed {seed}, {kind:?}");
                    }
                    None => panic!("seed {seed}: {:?} has no fate", item.id),
                }
            }
        }
        for frame in &problem.frames {
            let forced = Problem { frames: vec![frame.clone()], ..problem.clone() };
            match found.through.get(&frame.alternatives[0]) {
                Some(Through::Feasible(value)) => assert_eq!(Some(*value), brute_force(&forced).map(|c| c.value), "seed {seed}, {kind:?}"),
                Some(Through::Infeasible(_)) => assert!(brute_force(&forced).is_none(), "seed {seed}"),
                other => panic!("seed {seed}: a frame's alternative ends as {other:?}"),
            }
        }
    }
}

#[test]
fn the_frontier_is_what_no_plan_beats_in_accuracy_cost_and_latency() {
    use ctx_optimizer::{Totals, constraints::Usage, score};
    for seed in 0..600 {
        let mut random = Random(seed);
        let problem = problem(&mut random, KINDS[seed as usize % KINDS.len()], 150);
        let mut points = Vec::new();
        let mut selection = vec![0usize; problem.groups.len()];
        'all: loop {
            let totals = selection.iter().zip(&problem.groups).fold(Totals::default(), |t, (&i, g)| t.with(&g[i]));
            for frame in &problem.frames {
                let terms = score::terms(frame, &totals);
                if Usage::of(frame, &totals, terms.accuracy).violations(&problem.limits) == 0 {
                    points.push((-(terms.accuracy * 1e6).round() as i64, terms.cost.get(), terms.latency.get()));
                }
            }
            let Some(at) = (0..selection.len()).rev().find(|&g| selection[g] + 1 < problem.groups[g].len()) else { break 'all };
            selection[at] += 1;
            selection[at + 1..].fill(0);
        }
        let beaten = |p: &(i64, i64, u64)| points.iter().any(|q| q != p && q.0 <= p.0 && q.1 <= p.1 && q.2 <= p.2);
        let mut oracle: Vec<_> = points.iter().copied().filter(|p| !beaten(p)).collect();
        oracle.sort_unstable();
        oracle.dedup();
        let mut found: Vec<_> = solve(&problem)
            .frontier
            .iter()
            .map(|c| {
                let terms = score::terms(&problem.frames[c.frame], &c.totals);
                (-(terms.accuracy * 1e6).round() as i64, terms.cost.get(), terms.latency.get())
            })
            .collect();
        found.sort_unstable();
        if oracle.len() <= ctx_types::plan::FRONTIER_MAX {
            assert_eq!(found, oracle, "seed {seed}");
        } else {
            assert!(found.iter().all(|p| oracle.contains(p)), "seed {seed}");
        }
    }
}

#[test]
fn the_runner_up_is_the_best_of_another_shape() {
    for seed in 0..1_000 {
        let (_, kind, mut problem) = instance(seed);
        // Frames of one shape, so that shapes are more than one plan each.
        problem.frames.iter_mut().for_each(|f| (f.shape, f.shape_of_one) = (f.shape % 2, f.shape_of_one % 2));
        // One item a source: what is dominated is not the runner-up, and nothing is.
        problem.groups.iter_mut().for_each(|g| g.truncate(1));
        let found = solve(&problem);
        let Some(winner) = &found.winner else { continue };
        let shape = |frame: usize, selection: &[usize], reads: u8| {
            let f = &problem.frames[frame];
            (
                if reads < 2 { f.shape_of_one } else { f.shape },
                selection.iter().zip(&problem.groups).map(|(&i, g)| g[i].shape).collect::<Vec<_>>(),
            )
        };
        let mine = shape(winner.frame, &winner.selection, winner.totals.reads);
        let mut best = None;
        for (f, frame) in problem.frames.iter().enumerate() {
            let mut selection = vec![0usize; problem.groups.len()];
            loop {
                let single = Problem {
                    groups: selection.iter().zip(&problem.groups).map(|(&i, g)| vec![g[i]]).collect(),
                    frames: vec![frame.clone()],
                    ..problem.clone()
                };
                if let Some(c) = brute_force(&single)
                    && shape(f, &selection, c.totals.reads) != mine
                {
                    best = best.max(Some(c.value));
                }
                let Some(at) = (0..selection.len()).rev().find(|&g| selection[g] + 1 < problem.groups[g].len()) else { break };
                selection[at] += 1;
                selection[at + 1..].fill(0);
            }
        }
        assert_eq!(found.runner_up.map(|r| r.value), best, "seed {seed}, {kind:?}");
    }
}

#[test]
fn a_limit_that_stops_the_labels_leaves_a_bound_above_the_optimum() {
    let (mut stopped, mut proven) = (0, 0);
    for seed in 0..400 {
        let (_, _, mut problem) = instance(seed * 16);
        problem.labels_max = 3;
        let (found, oracle) = (solve(&problem), brute_force(&problem));
        let (Some(winner), Some(oracle)) = (found.winner, oracle) else { continue };
        assert!(winner.value <= oracle.value && oracle.value <= found.bound, "seed {seed}");
        match found.stopped_by {
            Some(limit) => {
                stopped += 1;
                assert_eq!(limit, "labels_max = 3");
            }
            None => {
                proven += 1;
                assert_eq!(winner.value, oracle.value, "seed {seed}");
            }
        }
    }
    assert!(stopped > 20 && proven > 20, "{stopped} stopped, {proven} proven");
}

#[test]
fn nothing_to_choose_from_is_an_answer() {
    let empty = Problem {
        groups: Vec::new(),
        frames: Vec::new(),
        weights: ctx_types::Weights::default(),
        objective: Objective::Weighted,
        limits: Constraints::default(),
        labels_max: 10,
    };
    let found = solve(&empty);
    assert!(found.winner.is_none() && found.diagnosis.is_some());
    let same = (500_000, 0, 100, 0, true);
    let twins = Problem {
        groups: vec![vec![support::item(1, same), support::item(2, same)]],
        frames: vec![support::frame(3, (0, 0, 0, 0, 500, 0)), support::frame(4, (0, 0, 0, 0, 500, 0))],
        ..empty
    };
    let winner = solve(&twins).winner.expect("nothing forbids it");
    assert_eq!((winner.frame, winner.selection), (0, vec![0]), "ties go to the lowest ordinals");
}
