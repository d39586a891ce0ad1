//! Every exact field is part of the key; nothing that means the same is.

#[path = "fixture/mod.rs"]
#[allow(dead_code)]
mod fixture;

use ctx_plan_cache::{KeyInput, PlanKey, Template, TemplateKey, canonical_text};
use ctx_types::goal::{Hint, UncertainLatency};
use ctx_types::{Constraints, Goal, Micros, ModelName, NanoUsd, Objective, Ppm, Principal, Sensitivity, SourceName, Tokens, Weights};
use fixture::{key, key_over};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn goal(text: &str) -> Goal {
    Goal::new(text)
}

fn with(change: impl FnOnce(&mut Constraints)) -> Goal {
    let mut constraints = Constraints::default();
    change(&mut constraints);
    goal("g").with_constraints(constraints)
}

fn weighing(change: impl FnOnce(&mut Weights)) -> Goal {
    let mut weights = Weights::default();
    change(&mut weights);
    Goal { weights, ..goal("g") }
}

fn asked_by(tenant: &str, roles: &[&str]) -> Goal {
    let roles: BTreeSet<String> = roles.iter().map(|role| (*role).to_owned()).collect();
    Goal { principal: Principal { tenant: tenant.to_owned(), roles }, ..goal("g") }
}

/// One goal per exact field, each differing from `goal("g")` in that field alone.
fn variants() -> Vec<Goal> {
    let model = ModelName::new("local").expect("a plain name");
    vec![
        goal("g"),
        with(|c| c.max_cost = Some(NanoUsd(0))),
        with(|c| c.max_cost = Some(NanoUsd(1))),
        with(|c| c.max_latency = Some(Micros(1))),
        with(|c| c.max_tokens = Some(Tokens(1))),
        with(|c| c.max_calls = Some(1)),
        with(|c| c.max_tool_calls = Some(1)),
        with(|c| c.max_context_tokens = Some(Tokens(1))),
        with(|c| c.max_output_tokens = Some(Tokens(1))),
        with(|c| c.min_accuracy = Some(Ppm(1))),
        with(|c| c.final_k = Some(1)),
        with(|c| c.require_citations = true),
        with(|c| c.require_verification = Some(false)),
        with(|c| c.require_verification = Some(true)),
        with(|c| c.require_approval = true),
        with(|c| c.sensitivity = Some(Sensitivity::Public)),
        with(|c| c.sensitivity = Some(Sensitivity::Confidential)),
        with(|c| c.uncertain_latency = UncertainLatency::Refuse),
        weighing(|w| w.acc += 1),
        weighing(|w| w.cache += 1),
        weighing(|w| w.vrf += 1),
        weighing(|w| w.cost += 1),
        weighing(|w| w.lat += 1),
        weighing(|w| w.risk += 1),
        weighing(|w| w.hall += 1),
        weighing(|w| w.loss += 1),
        weighing(|w| w.cost_scale = NanoUsd(1)),
        weighing(|w| w.latency_scale = Micros(1)),
        Goal { objective: Objective::MinCost, ..goal("g") },
        Goal { objective: Objective::MaxAccuracy, ..goal("g") },
        asked_by("other", &[]),
        asked_by("default", &["hr"]),
        asked_by("default", &["h", "r"]),
        Goal { seed: Some(1), ..goal("g") },
        Goal { conversation: Some("c".to_owned()), ..goal("g") },
        Goal { hints: vec![Hint::Force("bm25".to_owned())], ..goal("g") },
        Goal { hints: vec![Hint::Forbid("bm25".to_owned())], ..goal("g") },
        Goal { hints: vec![Hint::Model(model)], ..goal("g") },
    ]
}

#[test]
fn each_exact_field_makes_another_key() {
    let mut seen = BTreeMap::new();
    for goal in variants() {
        if let Some(other) = seen.insert(key(&goal).digest(), goal.clone()) {
            panic!("one key for two goals:\n{other:?}\n{goal:?}");
        }
    }
}

#[test]
fn configuration_planner_version_and_ceilings_are_part_of_the_key() {
    let goal = goal("g");
    let free = Constraints::default();
    let tight = Constraints { max_calls: Some(3), ..Constraints::default() };
    let of = |configuration, planner_version, limits| {
        PlanKey::literal(&KeyInput { goal: &goal, limits, sources: &[], configuration, planner_version }).digest()
    };
    let digests: BTreeSet<String> =
        [of("a", "1", &free), of("b", "1", &free), of("a", "2", &free), of("1", "a", &free), of("a", "1", &tight)].into();
    assert_eq!(digests.len(), 5);
}

#[test]
fn order_negation_numbers_and_case_change_the_key() {
    let pairs = [
        ("compare A with B", "compare B with A"),
        ("pods that restarted", "pods that not restarted"),
        ("What failed in build 4711?", "What failed in build 4712?"),
        ("17*23?", "17*24?"),
        ("CVE-2024-1234 status", "CVE-2024-1243 status"),
        ("sales in 2023", "sales in 2024"),
        ("Explain X", "explain x"),
        ("Explain X", "Explain  X"),
        ("Explain X", "Explain \u{2169}"),
        ("delete the index", "delete the index?"),
    ];
    for (a, b) in pairs {
        assert_ne!(key(&goal(a)).digest(), key(&goal(b)).digest(), "{a:?} and {b:?} share a key");
    }
}

#[test]
fn what_means_the_same_shares_a_key() {
    let sorted = ["a", "b"].map(|name| SourceName::new(name).expect("a plain name"));
    let swapped = ["b", "a", "b"].map(|name| SourceName::new(name).expect("a plain name"));
    assert_eq!(key_over(&goal("g"), &sorted), key_over(&goal("g"), &swapped));
    assert_ne!(key_over(&goal("g"), &sorted), key_over(&goal("g"), &sorted[..1]));
    assert_eq!(key(&goal("caf\u{e9}")), key(&goal(" cafe\u{301}\n")));
    let two = NanoUsd::from_usd(2.0);
    assert_eq!(key(&with(|c| c.max_cost = two)), key(&with(|c| c.max_cost = Some(NanoUsd(2_000_000_000)))));
}

#[test]
fn a_reused_key_equals_a_fresh_one() {
    let mut reused = key(&goal("a rather long goal that leaves its bytes in the buffer"));
    let short = goal("short");
    let sources = fixture::sources();
    let input = KeyInput {
        goal: &short,
        limits: &short.constraints,
        sources: &sources,
        configuration: "0123456789abcdef",
        planner_version: "0.1.0",
    };
    reused.refill(&input);
    assert_eq!(reused, key(&short));
}

proptest! {
    #[test]
    fn texts_share_a_key_only_if_their_canonical_forms_agree(a in "\\PC{0,24}", b in "\\PC{0,24}") {
        prop_assert_eq!(key(&goal(&a)) == key(&goal(&b)), canonical_text(&a) == canonical_text(&b));
    }

    #[test]
    fn bytes_cannot_move_between_neighbouring_fields(tenant in "[a-c]{0,3}", roles in prop::collection::btree_set("[a-c]{0,3}", 0..3), text in "[a-c]{0,3}") {
        let make = |tenant: &str, roles: &BTreeSet<String>, text: &str| {
            key(&Goal { principal: Principal { tenant: tenant.to_owned(), roles: roles.clone() }, ..goal(text) })
        };
        let shifted = format!("{tenant}{text}");
        prop_assert_eq!(make(&tenant, &roles, &text) == make(&shifted, &roles, ""), text.is_empty());
    }
}

/// A template stands for other words, never for another meaning: every facet that changes what is asked changes the family.
#[test]
fn templates_share_literals_and_nothing_else() {
    let signature = vec!["1".to_owned()];
    let of = |goal: &Goal, intent: &ctx_types::Intent, question: bool, signature: &[String], tokens: u64| {
        let limits = Constraints::default();
        let sources = [SourceName::new("docs").expect("a name")];
        let input = KeyInput { goal, limits: &limits, sources: &sources, configuration: "0", planner_version: "1" };
        let inputs = [Ppm(500_000)];
        TemplateKey::of(&input, &Template { intent, question, signature, inputs: &inputs, goal_tokens: Tokens(tokens) })
    };
    let base = fixture::intent();
    let goal = Goal::new("Why did deploy 1423 fail?");
    let key = of(&goal, &base, true, &signature, 9);
    let others = |other: TemplateKey| !key.same_family(&other);
    assert!(!others(of(&Goal::new("Why did deploy 1424 fail?"), &base, true, &signature, 9)), "other literals, the same kind");
    let with = |change: &dyn Fn(&mut ctx_types::Intent)| {
        let mut intent = base.clone();
        change(&mut intent);
        intent
    };
    let other_kind = ctx_types::intent::Entity {
        kind: ctx_types::intent::EntityKind::Path,
        text: "a/b".to_owned(),
        normal: "a/b".to_owned(),
        start: 0,
        end: 3,
    };
    for (what, intent) in [
        ("negation", with(&|i| i.negated = !i.negated)),
        ("operands", with(&|i| i.operands.push("x".to_owned()))),
        ("entity types", with(&|i| i.entities.push(other_kind.clone()))),
        ("language", with(&|i| i.language = "de".to_owned())),
        ("sensitivity", with(&|i| i.sensitivity = Sensitivity::Restricted)),
        ("topics", with(&|i| i.sensitive_topics.push("password".to_owned()))),
    ] {
        assert!(others(of(&goal, &intent, true, &signature, 9)), "{what}");
    }
    assert!(others(of(&goal, &base, false, &signature, 9)), "imperative");
    assert!(others(of(&goal, &base, true, &["0".to_owned()], 9)), "probe");
    assert!(others(of(&goal, &base, true, &signature, 90)), "length in tokens");
    let mut tenant = goal.clone();
    tenant.principal.tenant = "other".to_owned();
    assert!(others(of(&tenant, &base, true, &signature, 9)), "tenant");
    let mut weighed = goal.clone();
    weighed.weights.cost += 1;
    assert!(others(of(&weighed, &base, true, &signature, 9)), "weights");
}
