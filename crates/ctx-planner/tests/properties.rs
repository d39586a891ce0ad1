//! Properties of planning on random catalogs and goals: it never panics, it is deterministic, it ignores the order in which
//! things were registered, its plans keep their limits, and more room never makes the best plan worse.

use ctx_cost::statistics::Statistics;
use ctx_planner::{Inputs, PlanError, Planned, Planner, Settings};
use ctx_testkit::catalogs::{catalog, files, local_model, remote_model, source, without_statistics};
use ctx_types::catalog::{Availability, Catalog, SourceEntry, SourceState};
use ctx_types::goal::{Hint, UncertainLatency};
use ctx_types::plan::Known;
use ctx_types::probe::{IdentifierHits, Probe, SourceProbe, TermFrequency};
use ctx_types::{Constraints, Fate, Goal, Micros, NanoUsd, Objective, Ppm, Sensitivity, Tokens};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that one planning takes.
#[derive(Clone, Debug)]
struct Case {
    goal: Goal,
    limits: Constraints,
    catalog: Catalog,
    probe: Probe,
    settings: Settings,
}

fn with_inputs<T>(case: &Case, act: impl FnOnce(&Inputs<'_>) -> T) -> T {
    let statistics = Statistics::default();
    act(&Inputs {
        goal: &case.goal,
        limits: &case.limits,
        catalog: &case.catalog,
        probe: &case.probe,
        statistics: &statistics,
        denials: &[],
        settings: &case.settings,
        versions: None,
    })
}

fn plan(planner: &Planner, case: &Case) -> Result<Planned, PlanError> {
    with_inputs(case, |inputs| planner.plan(inputs))
}

fn entry() -> impl Strategy<Value = SourceEntry> {
    let passages = prop_oneof![Just(0u64), Just(1), 2..40u64, 40..5_000u64, Just(u64::from(u32::MAX) + 7)];
    (passages, 0..8u8, 0..4u8, any::<bool>()).prop_map(|(passages, state, label, dense)| {
        let mut entry = files(passages.min(1 << 40));
        match state {
            0 => entry.state = SourceState::Empty,
            1 => entry.state = SourceState::Unavailable { reason: "gone".into() },
            2 => entry = without_statistics(entry),
            3 => entry.readable_by = BTreeSet::from(["hr".to_owned()]),
            4 => entry.tokens = Tokens(0),
            _ => {}
        }
        entry.sensitivity =
            [Sensitivity::Public, Sensitivity::Internal, Sensitivity::Confidential, Sensitivity::Restricted][usize::from(label)];
        if !dense {
            entry.embedding = None;
        }
        entry
    })
}

fn catalogs() -> impl Strategy<Value = Catalog> {
    (prop::collection::vec(entry(), 0..3), 0..4u8, 0..6u8).prop_map(|(entries, models, broken)| {
        let named: Vec<(String, SourceEntry)> = entries.into_iter().enumerate().map(|(i, e)| (format!("s{i}"), e)).collect();
        let sources: Vec<(&str, SourceEntry)> = named.iter().map(|(n, e)| (n.as_str(), e.clone())).collect();
        let (mut local, mut remote) = (local_model(), remote_model());
        match broken {
            0 => local.availability = Availability::Unavailable { reason: "no endpoint".into() },
            1 => remote.prices.input = None,
            2 => local.context_window = Some(Tokens(0)),
            3 => remote.context_window = None,
            _ => {}
        }
        let offered: Vec<(&str, _)> = [("local", local), ("premium", remote)].into_iter().take(usize::from(models.min(2))).collect();
        catalog(&sources, &offered)
    })
}

fn limits() -> impl Strategy<Value = Constraints> {
    let some = |values: &'static [u64]| prop::option::weighted(0.25, prop::sample::select(values));
    (
        some(&[0, 1, 1_000_000, 50_000_000, i64::MAX as u64]),
        some(&[0, 1, 500_000, 30_000_000, u64::MAX]),
        some(&[0, 1, 2_000, 100_000, u64::MAX]),
        some(&[0, 1, 700, 3_000, u64::MAX]),
        some(&[0, 100_000, 500_000, 1_000_000]),
        (any::<bool>(), prop::option::of(any::<bool>()), any::<bool>(), prop::option::weighted(0.2, 0..5u32)),
    )
        .prop_map(|(cost, latency, tokens, context, accuracy, (citations, verify, refuse, final_k))| Constraints {
            max_cost: cost.map(|v| NanoUsd(v as i64)),
            max_latency: latency.map(Micros),
            max_tokens: tokens.map(Tokens),
            max_context_tokens: context.map(Tokens),
            min_accuracy: accuracy.map(|v| Ppm(v as u32)),
            require_citations: citations,
            require_verification: verify,
            uncertain_latency: if refuse { UncertainLatency::Refuse } else { UncertainLatency::Allow },
            final_k,
            ..Constraints::default()
        })
}

fn goals() -> impl Strategy<Value = Goal> {
    let text = prop_oneof![
        prop::sample::select(vec![
            "How does the planner decide that a plan is infeasible?",
            "What does CVE-2024-1234 affect in v1.2.3?",
            "How many errors are there in total?",
            "Delete all customer records now.",
            "Compare HNSW with IVF.",
            "Почему упал сервис вчера?",
            "把错误代码 E0502 解释一下",
            "",
            "\u{202e}\u{0}\u{feff}",
        ])
        .prop_map(str::to_owned),
        ".{0,60}",
    ];
    let hint = prop::sample::select(vec!["bm25", "dense", "whole", "rrf", "extractive", "single_shot", "no_verify", "skip", "teleport"]);
    (text, prop::option::weighted(0.15, (hint, any::<bool>())), 0..4u8).prop_map(|(text, hint, objective)| {
        let mut goal = Goal::new(text);
        goal.objective = [Objective::Weighted, Objective::MaxAccuracy, Objective::MinCost, Objective::MinLatency][usize::from(objective)];
        goal.hints.extend(hint.map(|(name, force)| if force { Hint::Force(name.to_owned()) } else { Hint::Forbid(name.to_owned()) }));
        goal
    })
}

fn probes() -> impl Strategy<Value = Probe> {
    let said = (
        prop::collection::vec(prop_oneof![Just(0u64), 1..50u64, Just(u64::MAX)], 0..6),
        prop::option::of(0..9u64),
        prop::option::of(-10_000..10_000i32),
    );
    prop::collection::vec(prop::option::of(said), 3).prop_map(|sources| Probe {
        goal_tokens: Tokens(12),
        sources: sources
            .into_iter()
            .enumerate()
            .filter_map(|(i, said)| {
                let (terms, identifier, centroid) = said?;
                let terms = terms.into_iter().enumerate().map(|(t, passages)| TermFrequency { term: format!("t{t}"), passages }).collect();
                let identifiers = identifier.map(|passages| IdentifierHits { identifier: "e0502".into(), passages }).into_iter().collect();
                Some((source(&format!("s{i}")), SourceProbe { terms, identifiers, centroid_similarity: centroid, table: None, lookups: 7 }))
            })
            .collect::<BTreeMap<_, _>>(),
        ..Probe::default()
    })
}

fn cases() -> impl Strategy<Value = Case> {
    (goals(), limits(), catalogs(), probes(), any::<bool>()).prop_map(|(goal, limits, catalog, probe, verify)| Case {
        goal,
        limits,
        catalog,
        probe,
        settings: Settings { verification_default: verify, ..Settings::default() },
    })
}

fn bytes(result: &Result<Planned, PlanError>) -> String {
    match result {
        Ok(planned) => serde_json::to_string(&(&planned.plan, &planned.graph, &planned.schedule)).expect("plans are JSON"),
        Err(PlanError::Infeasible(infeasible)) => serde_json::to_string(infeasible).expect("answers are JSON"),
        Err(error) => error.to_string(),
    }
}

fn keeps(planned: &Planned, limits: &Constraints) -> Result<(), TestCaseError> {
    let estimate = &planned.plan.estimate;
    prop_assert!(limits.max_cost.is_none_or(|m| estimate.cost_bound <= m));
    prop_assert!(limits.max_tokens.is_none_or(|m| estimate.tokens_bound <= m));
    prop_assert!(limits.max_context_tokens.is_none_or(|m| estimate.context_tokens.high <= m));
    prop_assert!(limits.min_accuracy.is_none_or(|m| estimate.accuracy.value >= m));
    let refused = limits.max_latency.filter(|_| limits.uncertain_latency == UncertainLatency::Refuse);
    prop_assert!(refused.is_none_or(|m| estimate.latency.high <= m));
    for e in [&estimate.evidence, &estimate.accuracy] {
        prop_assert!(e.low <= e.value && e.value <= e.high && e.high <= Ppm::ONE);
    }
    Ok(())
}

/// Every alternative ends in exactly one place, and a score printed for a loser is not above the winner's.
fn fates(planned: &Planned) -> Result<(), TestCaseError> {
    let plan = &planned.plan;
    let mut seen = BTreeSet::new();
    for id in plan.chosen.iter().map(|c| c.alternative.id).chain(plan.rejected.iter().map(|r| r.alternative.id)) {
        prop_assert!(seen.insert(id), "alternative {} has two fates", id.0);
    }
    for rejection in &plan.rejected {
        if let (Fate::Outscored { score, difference }, Objective::Weighted) = (&rejection.fate, plan.goal.objective) {
            prop_assert!(*score <= plan.score.total && difference.get() >= 0, "{:?}", rejection.alternative);
        }
    }
    planned.graph.validate().map_err(|e| TestCaseError::fail(e.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn planning_answers_every_input_the_same_way_twice(case in cases()) {
        let planner = Planner::builder().build();
        let first = plan(&planner, &case);
        prop_assert_eq!(bytes(&first), bytes(&plan(&planner, &case)));
        match &first {
            Ok(planned) => {
                keeps(planned, &case.limits)?;
                fates(planned)?;
            }
            Err(PlanError::Internal(what)) => prop_assert!(false, "{}", what),
            Err(_) => {}
        }
    }

    #[test]
    fn the_order_of_registration_changes_nothing(case in cases(), turn in 0..3usize) {
        let planner = Planner::builder().build();
        let mut turned = case.clone();
        let capabilities = &mut turned.catalog.capabilities;
        for _ in 0..turn {
            capabilities.fuse.rotate_left(1);
            capabilities.layouts.rotate_left(1);
            if !capabilities.strategies.is_empty() {
                capabilities.strategies.rotate_left(1);
            }
        }
        turned.catalog.sources.values_mut().for_each(|e| e.access.rotate_left(turn));
        let shape = |r: &Result<Planned, PlanError>| r.as_ref().map(|p| (p.plan.gist.clone(), p.plan.score)).map_err(ToString::to_string);
        prop_assert_eq!(shape(&plan(&planner, &case)), shape(&plan(&planner, &turned)));
    }

    #[test]
    fn more_room_is_never_worse(case in cases()) {
        let planner = Planner::builder().build();
        let mut free = case.clone();
        free.goal.objective = Objective::Weighted;
        let mut tight = free.clone();
        free.limits.max_cost = None;
        free.limits.max_tokens = None;
        tight.limits.max_tokens = Some(Tokens(5_000));
        if let (Ok(free), Ok(tight)) = (plan(&planner, &free), plan(&planner, &tight)) {
            // An unknown price is allowed without a cost limit only, so that the freer plan may be another one, never a worse one.
            prop_assert!(free.plan.score.total >= tight.plan.score.total, "{} below {}", free.plan.score.total, tight.plan.score.total);
        }
    }

    /// What is made of the winner's own parts is the winner; of other parts, a plan that keeps every limit and is none the better.
    #[test]
    fn known_parts_make_the_best_plan_of_them(case in cases(), kept in any::<u64>()) {
        let planner = Planner::builder().build();
        let Ok(cold) = plan(&planner, &case) else { return Ok(()) };
        let of = |known: &Known| with_inputs(&case, |inputs| planner.plan_of(inputs, known));
        let mut known = Known { stamps: cold.plan.stamps.clone(), ..Known::default() };
        known.add(&cold.plan);
        let own = of(&known).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!((&own.plan.id, own.plan.score, &own.graph), (&cold.plan.id, cold.plan.score, &cold.graph));
        let all = cold.plan.chosen.iter().map(|c| &c.alternative).chain(cold.plan.rejected.iter().map(|r| &r.alternative));
        known.parts = all.filter(|a| kept >> (a.id.0 % 64) & 1 == 1).map(|a| (a.stage.clone(), a.operator.clone())).collect();
        if let Ok(other) = of(&known) {
            keeps(&other, &case.limits)?;
            fates(&other)?;
            prop_assert!(case.goal.objective != Objective::Weighted || other.plan.score.total <= cold.plan.score.total);
        }
    }

    /// Binding with the graph at hand gives what lowering and scheduling the bound plan gives.
    #[test]
    fn a_bound_plan_has_the_graph_that_it_lowers_to(case in cases(), other in goals()) {
        let planner = Planner::builder().build();
        let Ok(cold) = plan(&planner, &case) else { return Ok(()) };
        let bound = planner.bind(&cold, &other, planner.analyze(&other), "0").map_err(|e| TestCaseError::fail(e.to_string()))?;
        let anew = planner.finish(bound.plan.clone()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!((&bound.graph, &bound.schedule), (&anew.graph, &anew.schedule));
    }
}
