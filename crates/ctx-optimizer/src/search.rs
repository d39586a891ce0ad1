//! The search: labels once, frames in order of their bounds, the best complete plan through every alternative.

use crate::constraints::Usage;
use crate::infeasible::{Diagnosis, diagnose};
use crate::labels::{Labels, Sense, dominates};
use crate::problem::{Frame, Item, Problem, Totals};
use crate::score::{self, Shares, Value};
use ctx_types::plan::{BEST_PLANS_MAX, FRONTIER_MAX};
use ctx_types::{AlternativeId, Score};
use std::collections::BTreeMap;

/// A complete plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Index of its frame.
    pub frame: usize,
    /// Item index per group.
    pub selection: Vec<usize>,
    /// Its coordinates.
    pub totals: Totals,
    /// Its value.
    pub value: Value,
}

/// What happened to an alternative that the winner does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Through {
    /// Value of the best feasible plan through it.
    Feasible(Value),
    /// Every plan through it breaks a limit; the smallest set of broken limits, as bits.
    Infeasible(u8),
    /// Another item of its group is at least as good in every coordinate.
    Dominated(AlternativeId),
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The winner, if any plan is feasible.
    pub winner: Option<Candidate>,
    /// Best plans, best first, of different frames or selections.
    pub best: Vec<Candidate>,
    /// The best plan of another shape than the winner's.
    pub runner_up: Option<Candidate>,
    /// Pareto set over (accuracy, cost, latency), best value first.
    pub frontier: Vec<Candidate>,
    /// Per alternative: best plan through it.
    pub through: BTreeMap<AlternativeId, Through>,
    /// Upper bound on any feasible plan's value.
    pub bound: Value,
    /// Labels created and plans evaluated.
    pub nodes: u64,
    /// Which limit stopped the search.
    pub stopped_by: Option<String>,
    /// Why nothing is feasible.
    pub diagnosis: Option<Diagnosis>,
}

/// Tie rule: higher value, then fewer calls, fewer tokens, lowest canonical ordinals.
fn better(problem: &Problem, a: (&Value, usize, &Totals), b: (&Value, usize, &Totals)) -> bool {
    let key =
        |(value, frame, totals): (&Value, usize, &Totals)| (*value, std::cmp::Reverse((problem.frames[frame].calls, totals.tokens, frame)));
    key(a) > key(b)
}

struct Evaluated {
    value: Value,
    usage: Usage,
    violations: u8,
    /// Accuracy, cost and latency, each the smaller the better.
    point: (i64, i64, u64),
}

fn evaluate(problem: &Problem, frame: &Frame, totals: &Totals) -> Evaluated {
    evaluate_at(problem, frame, score::answerable(frame), totals, Shares::of(totals))
}

fn evaluate_at(problem: &Problem, frame: &Frame, answerable: f64, totals: &Totals, shares: Shares) -> Evaluated {
    let terms = score::terms_at(frame, answerable, totals, shares);
    let usage = Usage::of(frame, totals, terms.accuracy);
    Evaluated {
        value: score::value_of(&terms, &problem.weights, problem.objective),
        violations: usage.violations(&problem.limits),
        usage,
        point: (-(terms.accuracy * 1e6).round() as i64, terms.cost.get(), terms.latency.get()),
    }
}

/// Items of a group that no other dominates, with who dominates the rest.
fn reduce(group: &[Item], sense: Sense) -> (Vec<usize>, Vec<(usize, usize)>) {
    let totals: Vec<Totals> = group.iter().map(|i| Totals::default().with(i)).collect();
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for i in 0..group.len() {
        let by = (0..group.len())
            .find(|&j| j != i && dominates(&totals[j], &totals[i], sense) && (j < i || !dominates(&totals[i], &totals[j], sense)));
        match by {
            Some(j) => dropped.push((i, j)),
            None => kept.push(i),
        }
    }
    (kept, dropped)
}

fn sense_of(problem: &Problem) -> Sense {
    if problem.frames.iter().all(|f| score::evidence_helps(f, &problem.weights)) { Sense::More } else { Sense::Equal }
}

/// The coordinates nothing can beat: most evidence, least of everything else.
fn ideal(labels: &[crate::labels::Label]) -> Totals {
    labels
        .iter()
        .map(|l| l.totals)
        .reduce(|a, b| Totals {
            evidence: a.evidence.max(b.evidence),
            loss: a.loss.min(b.loss),
            cost: a.cost.min(b.cost),
            tokens: a.tokens.min(b.tokens),
            quota: a.quota.min(b.quota),
            latency_p50: a.latency_p50.min(b.latency_p50),
            latency_p90: a.latency_p90.min(b.latency_p90),
            reads: a.reads.min(b.reads),
        })
        .unwrap_or_default()
}

/// The best feasible plan, proven, with everything EXPLAIN needs.
pub fn solve(problem: &Problem) -> Solution {
    let sense = sense_of(problem);
    let mut through: BTreeMap<AlternativeId, Through> = BTreeMap::new();
    let mut reduced: Vec<Vec<usize>> = Vec::with_capacity(problem.groups.len());
    for group in &problem.groups {
        let (kept, dropped) = reduce(group, sense);
        for (item, by) in dropped {
            through.insert(group[item].id, Through::Dominated(group[dominator(&kept, group, by, item, sense)].id));
        }
        reduced.push(kept);
    }
    let items: Vec<Vec<Item>> = problem.groups.iter().zip(&reduced).map(|(g, kept)| kept.iter().map(|&i| g[i]).collect()).collect();
    let views: Vec<&[Item]> = items.iter().map(Vec::as_slice).collect();
    let labels = Labels::build(&views, sense, problem.labels_max);
    let mut nodes = labels.expanded;

    let mut candidates: Vec<Candidate> = Vec::new();
    let mut usages: Vec<(usize, Usage, u8)> = Vec::new();
    let mut points: Vec<(i64, i64, u64, usize)> = Vec::new();
    let shares: Vec<Shares> = labels.complete().iter().map(|l| Shares::of(&l.totals)).collect();
    for (f, frame) in problem.frames.iter().enumerate() {
        let answerable = score::answerable(frame);
        let mut frame_best: Option<Value> = None;
        let mut frame_violations: Option<u8> = None;
        for (l, label) in labels.complete().iter().enumerate() {
            nodes += 1;
            let evaluated = evaluate_at(problem, frame, answerable, &label.totals, shares[l]);
            if evaluated.violations != 0 {
                usages.push((f, evaluated.usage, evaluated.violations));
                frame_violations = Some(fewer(frame_violations, evaluated.violations));
                continue;
            }
            frame_best = frame_best.max(Some(evaluated.value));
            let (accuracy, cost, latency) = evaluated.point;
            points.push((accuracy, cost, latency, candidates.len()));
            candidates.push(Candidate { frame: f, selection: vec![l], totals: label.totals, value: evaluated.value });
        }
        for id in &frame.alternatives {
            note(&mut through, *id, frame_best, frame_violations);
        }
    }
    through_items(problem, &items, sense, &mut through, &mut nodes);

    let position = |a: &Candidate, b: &Candidate| {
        if better(problem, (&a.value, a.frame, &a.totals), (&b.value, b.frame, &b.totals)) {
            std::cmp::Ordering::Less
        } else {
            std::cmp::Ordering::Greater
        }
    };
    let frontier = pareto(points, &candidates);
    let shape = |c: &Candidate| -> (u32, Vec<u32>) {
        let frame = &problem.frames[c.frame];
        (
            if c.totals.reads < 2 { frame.shape_of_one } else { frame.shape },
            labels.selection(c.selection[0]).iter().zip(&items).map(|(i, g)| g[*i].shape).collect(),
        )
    };
    let first = candidates.iter().min_by(|a, b| position(a, b)).cloned();
    let runner_up = first.and_then(|w| best_of_other_shape(&candidates, &shape(&w), shape, position));
    let keep = candidates.len().min(BEST_PLANS_MAX);
    if candidates.len() > keep && keep > 0 {
        candidates.select_nth_unstable_by(keep - 1, position);
        candidates.truncate(keep);
    }
    candidates.sort_by(position);
    let expand = |mut c: Candidate| {
        c.selection = labels.selection(c.selection[0]).iter().zip(&reduced).map(|(i, kept)| kept[*i]).collect();
        c
    };
    let best: Vec<Candidate> = candidates.into_iter().map(expand).collect();
    let mut frontier: Vec<Candidate> = frontier.into_iter().map(expand).collect();
    frontier.sort_by(position);
    frontier.truncate(FRONTIER_MAX);

    let runner_up = runner_up.map(expand);
    let winner = best.first().cloned();
    let bound = match (&winner, labels.truncated) {
        (Some(w), false) => w.value,
        _ => {
            let top = ideal(labels.complete());
            let lifted = Totals {
                evidence: ctx_types::MicroNats(items.iter().map(|g| g.iter().map(|i| i.evidence.get()).max().unwrap_or(0)).sum()),
                ..top
            };
            problem
                .frames
                .iter()
                .map(|f| score::value(f, &lifted, &problem.weights, problem.objective))
                .max()
                .unwrap_or(Value { primary: i64::MIN, score: Score(i64::MIN) })
        }
    };
    let diagnosis = winner.is_none().then(|| diagnose(&problem.limits, &usages));
    Solution {
        winner,
        best,
        runner_up,
        frontier,
        through,
        bound,
        nodes,
        stopped_by: labels.truncated.then(|| format!("labels_max = {}", problem.labels_max)),
        diagnosis,
    }
}

/// Shapes are compared only for candidates that would improve on the one at hand.
fn best_of_other_shape(
    candidates: &[Candidate],
    winner: &(u32, Vec<u32>),
    shape: impl Fn(&Candidate) -> (u32, Vec<u32>),
    position: impl Fn(&Candidate, &Candidate) -> std::cmp::Ordering,
) -> Option<Candidate> {
    let mut best: Option<&Candidate> = None;
    for candidate in candidates {
        if best.is_none_or(|b| position(candidate, b) == std::cmp::Ordering::Less) && shape(candidate) != *winner {
            best = Some(candidate);
        }
    }
    best.cloned()
}

/// A kept item that dominates `item`; `by` may itself be dominated, its dominator then serves.
fn dominator(kept: &[usize], group: &[Item], by: usize, item: usize, sense: Sense) -> usize {
    if kept.contains(&by) {
        return by;
    }
    let target = Totals::default().with(&group[item]);
    kept.iter().copied().find(|&k| dominates(&Totals::default().with(&group[k]), &target, sense)).unwrap_or(by)
}

fn fewer(known: Option<u8>, violations: u8) -> u8 {
    match known {
        Some(k) if k.count_ones() <= violations.count_ones() => k,
        _ => violations,
    }
}

fn note(through: &mut BTreeMap<AlternativeId, Through>, id: AlternativeId, value: Option<Value>, violations: Option<u8>) {
    let entry = through.entry(id).or_insert(Through::Infeasible(u8::MAX));
    match (value, violations) {
        (Some(new), _) => match entry {
            Through::Feasible(old) if *old >= new => {}
            _ => *entry = Through::Feasible(new),
        },
        (None, Some(set)) => {
            if let Through::Infeasible(old) = entry {
                *old = fewer((*old != u8::MAX).then_some(*old), set);
            }
        }
        (None, None) => {}
    }
}

/// Best complete plan through every item: the item joined with the labels of all other groups, frames in order of their
/// optimistic value so that most are skipped.
fn through_items(problem: &Problem, items: &[Vec<Item>], sense: Sense, through: &mut BTreeMap<AlternativeId, Through>, nodes: &mut u64) {
    for g in 0..items.len() {
        let others: Vec<&[Item]> = items.iter().enumerate().filter(|(i, _)| *i != g).map(|(_, items)| items.as_slice()).collect();
        let rest = Labels::build(&others, sense, problem.labels_max);
        *nodes += rest.expanded;
        let top = ideal(rest.complete());
        for item in &items[g] {
            let optimistic = top.with(item);
            let joined: Vec<(Totals, Shares)> = rest.complete().iter().map(|l| l.totals.with(item)).map(|t| (t, Shares::of(&t))).collect();
            let mut order: Vec<(Value, usize)> = problem
                .frames
                .iter()
                .enumerate()
                .map(|(f, frame)| (score::value(frame, &optimistic, &problem.weights, problem.objective), f))
                .collect();
            order.sort_by(|a, b| b.cmp(a));
            let (mut best, mut violations) = (None, None);
            for (bound, f) in order {
                if sense == Sense::More && best.is_some_and(|b| bound <= b) {
                    break;
                }
                let frame = &problem.frames[f];
                let answerable = score::answerable(frame);
                for (totals, shares) in &joined {
                    *nodes += 1;
                    let evaluated = evaluate_at(problem, frame, answerable, totals, *shares);
                    if evaluated.violations == 0 {
                        best = best.max(Some(evaluated.value));
                    } else {
                        violations = Some(fewer(violations, evaluated.violations));
                    }
                }
            }
            note(through, item.id, best, violations);
        }
    }
}

/// Candidates that no other beats in accuracy, cost and latency at once.
fn pareto(mut points: Vec<(i64, i64, u64, usize)>, candidates: &[Candidate]) -> Vec<Candidate> {
    points.sort_unstable();
    let mut kept: Vec<(i64, i64, u64, usize)> = Vec::new();
    for point in points {
        if !kept.iter().any(|k| k.0 <= point.0 && k.1 <= point.1 && k.2 <= point.2) {
            kept.push(point);
        }
    }
    kept.into_iter().map(|(_, _, _, i)| candidates[i].clone()).collect()
}

/// The oracle: every frame with every selection. For tests and small instances only.
pub fn brute_force(problem: &Problem) -> Option<Candidate> {
    let mut best: Option<Candidate> = None;
    let mut selection = vec![0usize; problem.groups.len()];
    loop {
        let totals = selection.iter().zip(&problem.groups).fold(Totals::default(), |t, (&i, g)| t.with(&g[i]));
        for (f, frame) in problem.frames.iter().enumerate() {
            let evaluated = evaluate(problem, frame, &totals);
            let beats = best.as_ref().is_none_or(|b| better(problem, (&evaluated.value, f, &totals), (&b.value, b.frame, &b.totals)));
            if evaluated.violations == 0 && beats {
                best = Some(Candidate { frame: f, selection: selection.clone(), totals, value: evaluated.value });
            }
        }
        let Some(at) = (0..selection.len()).rev().find(|&g| selection[g] + 1 < problem.groups[g].len()) else { return best };
        selection[at] += 1;
        selection[at + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::{Constraints, MicroNats, Micros, NanoUsd, Objective, PicoUsd, Ppm, Tokens, Weights};
    use proptest::prelude::*;

    fn item(id: u32, (evidence, cost, tokens, latency, reads): (i64, i64, u64, u64, bool)) -> Item {
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
            shape: id,
        }
    }

    fn frame(id: u32, (right, caught, price, latency, budget, calls): (u32, u32, i64, u64, u64, u32)) -> Frame {
        Frame {
            alternatives: vec![AlternativeId(id)],
            shape: id,
            shape_of_one: id,
            right_with: Ppm(right),
            right_without: Ppm(right / 9),
            withheld_with: Ppm(50_000),
            withheld_without: Ppm(300_000),
            dilution: Ppm(20_000),
            catches: Ppm(caught),
            rejects: Ppm(caught / 11),
            answerable: MicroNats(3_000_000),
            fuse_factor: Ppm(900_000),
            fixed_cost: PicoUsd(price * 100),
            context_price: PicoUsd(price),
            cost_bound: PicoUsd(price * (100 + budget as i64)),
            tokens_bound: Tokens(budget + 500),
            calls,
            latency_p50: Micros(latency),
            latency_p90: Micros(latency * 3),
            latency_measured: calls != 2,
            budget: Tokens(budget),
            risk: Ppm(0),
            cache: Ppm(0),
        }
    }

    prop_compose! {
        fn problem()(
            groups in prop::collection::vec(prop::collection::vec((0i64..3_000_000, 0i64..1_000_000, 0u64..3_000, 0u64..90_000, any::<bool>()), 1..6), 1..4),
            frames in prop::collection::vec((0u32..1_000_000, 0u32..1_000_000, 0i64..20_000_000, 0u64..9_000_000, 500u64..9_000, 0u32..4), 1..6),
            max_cost in prop::option::of(0i64..150_000_000),
            max_latency in prop::option::of(0u64..20_000_000),
            min_accuracy in prop::option::of(0u32..900_000),
            vrf in prop::sample::select(vec![0i64, 500_000, 4_000_000]),
            objective in prop::sample::select(vec![Objective::Weighted, Objective::MaxAccuracy, Objective::MinCost, Objective::MinLatency]),
        ) -> Problem {
            let mut id = 0;
            let mut next = || { id += 1; id };
            let groups: Vec<Vec<Item>> = groups.into_iter().map(|g| g.into_iter().map(|i| item(next(), i)).collect()).collect();
            let most: i64 = groups.iter().map(|g: &Vec<Item>| g.iter().map(|i| i.evidence.get()).max().unwrap_or(0)).sum();
            Problem {
                frames: frames.into_iter().map(|f| Frame { answerable: MicroNats(most.max(3_000_000)), ..frame(next(), f) }).collect(),
                groups,
                weights: Weights { vrf, ..Weights::default() },
                objective,
                limits: Constraints {
                    max_cost: max_cost.map(NanoUsd), max_latency: max_latency.map(Micros), min_accuracy: min_accuracy.map(Ppm),
                    ..Constraints::default()
                },
                labels_max: crate::problem::LABELS_MAX,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(800))]

        #[test]
        fn the_winner_is_the_brute_force_optimum(problem in problem()) {
            let (found, oracle) = (solve(&problem), brute_force(&problem));
            prop_assert_eq!(found.winner.as_ref().map(|w| w.value), oracle.map(|o| o.value));
            if let Some(winner) = &found.winner {
                prop_assert_eq!(found.bound, winner.value);
            } else {
                prop_assert!(found.diagnosis.is_some());
            }
        }

        #[test]
        fn every_alternative_has_one_fate(problem in problem()) {
            let found = solve(&problem);
            let ids = problem.groups.iter().flatten().map(|i| i.id).chain(problem.frames.iter().flat_map(|f| f.alternatives.clone()));
            for id in ids {
                prop_assert!(found.through.contains_key(&id), "{:?} has no fate", id);
            }
            if let Some(winner) = &found.winner {
                for through in found.through.values() {
                    if let Through::Feasible(value) = through {
                        prop_assert!(*value <= winner.value);
                    }
                }
            }
        }

        #[test]
        fn the_value_through_an_item_is_exact(problem in problem()) {
            let found = solve(&problem);
            for (g, group) in problem.groups.iter().enumerate() {
                for item in group {
                    let Some(Through::Feasible(value)) = found.through.get(&item.id) else { continue };
                    let mut forced = problem.clone();
                    forced.groups[g] = vec![*item];
                    prop_assert_eq!(Some(*value), brute_force(&forced).map(|c| c.value));
                }
            }
        }

        #[test]
        fn a_relaxation_that_is_said_to_suffice_does(problem in problem()) {
            let Some(diagnosis) = solve(&problem).diagnosis else { return Ok(()) };
            for relaxation in diagnosis.relaxations.iter().filter(|r| r.suffices.is_some()) {
                let mut relaxed = problem.clone();
                match relaxation.constraint.as_str() {
                    "max_cost_usd" => relaxed.limits.max_cost = None,
                    "max_latency_seconds" => relaxed.limits.max_latency = None,
                    "min_accuracy" => relaxed.limits.min_accuracy = None,
                    _ => continue,
                }
                prop_assert!(brute_force(&relaxed).is_some());
            }
        }
    }

    #[test]
    fn equal_candidates_have_finite_scores_and_a_stable_winner() {
        let same = (500_000, 0, 100, 0, true);
        let problem = Problem {
            groups: vec![vec![item(1, same), item(2, same)]],
            frames: vec![frame(3, (0, 0, 0, 0, 500, 0)), frame(4, (0, 0, 0, 0, 500, 0))],
            weights: Weights::default(),
            objective: Objective::Weighted,
            limits: Constraints::default(),
            labels_max: 100,
        };
        let winner = solve(&problem).winner.expect("nothing forbids it");
        assert_eq!((winner.frame, winner.selection.clone()), (0, vec![0]));
    }

    #[test]
    fn no_frame_at_all_is_infeasible_not_a_panic() {
        let problem = Problem {
            groups: Vec::new(),
            frames: Vec::new(),
            weights: Weights::default(),
            objective: Objective::Weighted,
            limits: Constraints::default(),
            labels_max: 10,
        };
        let found = solve(&problem);
        assert!(found.winner.is_none() && found.diagnosis.is_some());
    }

    #[test]
    fn agrees_with_the_integer_program_on_a_linear_problem() {
        use crate::milp::{LinearItem, solve_linear};
        let evidence = [[120_000i64, 400_000, 900_000], [50_000, 300_000, 310_000], [0, 250_000, 600_000]];
        let tokens = [[100u64, 400, 1_200], [50, 350, 900], [0, 200, 700]];
        let groups: Vec<Vec<Item>> = (0..3)
            .map(|g| {
                (0..3)
                    .map(|i| Item {
                        quota: Tokens(tokens[g][i]),
                        loss: MicroNats(0),
                        ..item((g * 3 + i) as u32, (evidence[g][i], 0, tokens[g][i], 0, true))
                    })
                    .collect()
            })
            .collect();
        let linear: Vec<Vec<LinearItem>> =
            (0..3).map(|g| (0..3).map(|i| LinearItem { value: evidence[g][i], weights: vec![tokens[g][i] as i64] }).collect()).collect();
        let weights = Weights { cost: 0, lat: 0, loss: 0, hall: 0, vrf: 0, ..Weights::default() };
        for budget in [300u64, 900, 1_500, 2_000, 4_000] {
            let frames = vec![Frame { dilution: Ppm(0), answerable: MicroNats(9_000_000), ..frame(90, (900_000, 0, 0, 0, budget, 1)) }];
            let problem = Problem {
                groups: groups.clone(),
                frames,
                weights,
                objective: Objective::Weighted,
                limits: Constraints::default(),
                labels_max: 1_000,
            };
            let found = solve(&problem).winner.map(|w| w.totals.evidence.get());
            let program = solve_linear(&linear, &[budget as i64])
                .ok()
                .map(|picks| picks.iter().enumerate().map(|(g, &i)| evidence[g][i]).sum::<i64>());
            assert_eq!(found, program, "budget {budget}");
        }
    }
}
