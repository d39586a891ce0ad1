//! Multiple-choice selection under budgets: label-setting = branch and bound = the integer program = enumeration.

mod support;

use ctx_optimizer::linear::{LinearItem, LinearProblem, LinearSolution, NODES_MAX, branch_and_bound, label_setting};
use ctx_optimizer::milp::{MilpError, solve_linear};
use support::{Random, VALUES, linear};

fn proven(problem: &LinearProblem, found: &LinearSolution) -> Option<i64> {
    assert_eq!(found.stopped_by, None);
    assert_eq!(found.bound, found.value, "a finished search has no gap");
    assert_eq!(found.picks.as_ref().and_then(|p| problem.value_of(p)), found.value, "the picks are worth what is said and fit");
    found.value
}

/// Small instances; every third one has capacities that few selections fit.
fn small(seed: u64) -> LinearProblem {
    let mut random = Random(seed);
    let (groups, items, budgets) = (random.within(1, 6) as usize, random.within(1, 6) as usize, random.within(0, 4) as usize);
    let mut problem = linear(&mut random, groups, items, budgets, VALUES[seed as usize % VALUES.len()]);
    if seed.is_multiple_of(3) {
        problem.capacities.iter_mut().for_each(|c| *c = *c * random.within(10, 90) / 100);
    }
    if seed.is_multiple_of(7) {
        problem.groups.iter_mut().flatten().for_each(|i| i.value -= 600);
    }
    problem
}

#[test]
fn both_searches_equal_enumeration() {
    let mut infeasible = 0;
    for seed in 0..4_000 {
        let problem = small(seed);
        let oracle = problem.brute_force().map(|(value, _)| value);
        infeasible += usize::from(oracle.is_none());
        assert_eq!(proven(&problem, &branch_and_bound(&problem, NODES_MAX)), oracle, "seed {seed}");
        assert_eq!(proven(&problem, &label_setting(&problem, NODES_MAX)), oracle, "seed {seed}");
    }
    assert!((50..3_000).contains(&infeasible), "{infeasible}");
}

#[test]
fn all_three_methods_agree_on_larger_instances() {
    for (seed, values) in VALUES.iter().enumerate().map(|(i, v)| (i as u64 + 77, *v)) {
        for budgets in 1..=2 {
            let problem = linear(&mut Random(seed), 8, 6, budgets, values);
            let tree = proven(&problem, &branch_and_bound(&problem, 1_000_000));
            let labels = proven(&problem, &label_setting(&problem, 1_000_000));
            let program = solve_linear(&problem).ok().and_then(|picks| problem.value_of(&picks));
            assert_eq!((tree, labels), (program, program), "{values:?} with {budgets} budgets");
        }
    }
}

#[test]
fn the_integer_program_agrees_on_small_instances() {
    for seed in 0..250 {
        let problem = small(seed);
        let program = match solve_linear(&problem) {
            Ok(picks) => problem.value_of(&picks),
            Err(MilpError::Infeasible) => None,
            Err(other) => panic!("seed {seed}: {other}"),
        };
        assert_eq!(branch_and_bound(&problem, NODES_MAX).value, program, "seed {seed}");
    }
}

#[test]
fn large_instances_end_with_a_certificate_or_a_gap() {
    for values in VALUES {
        for budgets in [1, 3] {
            let problem = linear(&mut Random(5), 50, 50, budgets, values);
            for found in [branch_and_bound(&problem, NODES_MAX), label_setting(&problem, NODES_MAX)] {
                let (value, bound) = (found.value.expect("half of the weight fits"), found.bound.expect("feasible"));
                assert!(value <= bound && bound - value <= bound / 50, "{values:?}, {budgets} budgets: {value} of {bound}");
                assert_eq!(found.stopped_by.is_none(), value == bound, "a gap is stated with the limit that left it");
                assert!(found.nodes <= NODES_MAX * 60, "{} nodes", found.nodes);
            }
        }
        // One budget is always proven.
        let found = branch_and_bound(&linear(&mut Random(6), 50, 50, 1, values), NODES_MAX);
        assert_eq!(found.stopped_by, None, "{values:?}");
    }
}

#[test]
fn more_capacity_is_never_worse_and_the_order_of_the_input_is_irrelevant() {
    for seed in 0..300 {
        let problem = small(seed);
        let mut roomy = problem.clone();
        roomy.capacities.iter_mut().for_each(|c| *c += 37);
        let value = |p: &LinearProblem| branch_and_bound(p, NODES_MAX).value;
        assert!(value(&problem) <= value(&roomy), "seed {seed}");
        let mut turned = problem.clone();
        turned.groups.reverse();
        turned.groups.iter_mut().for_each(|g| {
            let turn = seed as usize % g.len().max(1);
            g.rotate_left(turn);
        });
        assert_eq!(value(&problem), value(&turned), "seed {seed}");
    }
}

#[test]
fn a_stopped_search_depends_on_the_content_only() {
    let problem = linear(&mut Random(9), 30, 30, 3, support::Values::Free);
    let mut turned = problem.clone();
    turned.groups.reverse();
    turned.groups.iter_mut().for_each(|g| g.reverse());
    for search in [branch_and_bound, label_setting] {
        let (a, b) = (search(&problem, 500), search(&turned, 500));
        assert_eq!((a.value, a.bound, a.nodes, a.stopped_by), (b.value, b.bound, b.nodes, b.stopped_by));
    }
}

#[test]
fn extreme_numbers_neither_overflow_nor_mislead() {
    let item = |value, weight| LinearItem { value, weights: vec![weight] };
    let big = i64::MAX / 8;
    let problem =
        LinearProblem { groups: vec![vec![item(big, 10), item(0, 0)], vec![item(big - 1, 10), item(-big, 0)]], capacities: vec![15] };
    let oracle = problem.brute_force().map(|(v, _)| v);
    assert_eq!(branch_and_bound(&problem, NODES_MAX).value, oracle);
    assert_eq!(label_setting(&problem, NODES_MAX).value, oracle);
    let nothing = LinearProblem { groups: vec![vec![]], capacities: vec![1] };
    assert_eq!(branch_and_bound(&nothing, NODES_MAX).value, None);
    let free = LinearProblem { groups: Vec::new(), capacities: vec![1] };
    assert_eq!((branch_and_bound(&free, NODES_MAX).value, free.brute_force().map(|(v, _)| v)), (Some(0), Some(0)));
}
