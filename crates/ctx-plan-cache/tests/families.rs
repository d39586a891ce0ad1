//! Decisions shared within a family: templates, semantic matches, pins, and several processes over one store.

#[path = "fixture/mod.rs"]
#[allow(dead_code)]
mod fixture;

use ctx_plan_cache::{
    CUSTOM_PLANS_MIN, CachedPlan, CurrentStamps, KeyInput, Lookup, MissCause, PlanCache, Scope, Settings, Stamps, Template, TemplateKey,
    Verdict,
};
use ctx_types::plan::PlannedAlternative;
use ctx_types::{Alternative, AlternativeId, Constraints, Goal, Operator, Ppm, SourceName, Stage, Tokens};
use fixture::{entry, key, stamp, stamps};
use std::sync::Arc;

const NOW: u64 = 1_700_000_000;
const TENANT: &str = "default";

/// The key of a goal whose evidence is this probable.
fn at(text: &str, evidence: u32) -> TemplateKey {
    let (goal, limits, intent) = (Goal::new(text), Constraints::default(), fixture::intent());
    let sources: Vec<SourceName> = fixture::sources();
    let input = KeyInput { goal: &goal, limits: &limits, sources: &sources, configuration: "0", planner_version: "0.1.0" };
    let (signature, inputs) = (["1".to_owned()], [Ppm(evidence), Ppm(300_000)]);
    TemplateKey::of(&input, &Template { intent: &intent, question: true, signature: &signature, inputs: &inputs, goal_tokens: Tokens(8) })
}

/// A plan with a decision of its own.
fn decided(text: &str, stage: Stage) -> CachedPlan {
    let mut entry = entry(&Goal::new(text), NOW);
    let plan = Arc::make_mut(&mut entry.plan);
    let estimate = plan.rejected[0].estimate.clone().unwrap_or_default();
    let alternative = Alternative { id: AlternativeId(1), stage, operator: Operator::Skip };
    plan.chosen = vec![PlannedAlternative { alternative, estimate }];
    entry.scope = Scope::of_family(&at(text, 0));
    entry
}

fn settled(settings: Settings, snapshot: &Stamps) -> PlanCache {
    let mut cache = PlanCache::new(settings);
    for number in 0..CUSTOM_PLANS_MIN {
        let text = format!("Why did deploy {number} fail?");
        cache.custom(&at(&text, 500_000), &decided(&text, Stage::Fuse), 20, None, &CurrentStamps::of(snapshot));
    }
    cache
}

fn semantic(error: u32) -> Settings {
    Settings { semantic_error: Ppm(error), ..Settings::default() }
}

#[test]
fn the_nearest_decision_within_the_radius_serves_and_no_other() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let mut cache = settled(Settings::default(), &snapshot);
    cache.custom(&at("Why did deploy 9 fail?", 512_000), &decided("Why did deploy 9 fail?", Stage::Rerank), 20, None, &current);
    let stage = |found: Lookup| found.hit().map(|entry| entry.plan.chosen[0].alternative.stage.clone());
    let mut ask = |evidence| stage(cache.lookup_template(&at("Why did deploy 10 fail?", evidence), TENANT, &current, NOW));
    assert_eq!(ask(501_000), Some(Stage::Fuse));
    assert_eq!(ask(509_000), Some(Stage::Rerank), "nearer to the other");
    assert_eq!(ask(488_000), None, "too far");
    assert_eq!(cache.counters().template_hits, 2);
    // What the decision depended on has moved.
    let mut edited = stamps();
    edited[0] = stamp("source docs", "a2");
    let edited = Stamps::from(edited);
    assert!(cache.peek_template(&at("Why did deploy 10 fail?", 501_000), TENANT, &CurrentStamps::of(&edited), NOW).hit().is_none());
}

#[test]
fn a_semantic_match_serves_once_its_distance_is_proven_and_for_its_tenant_only() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let mut cache = settled(semantic(50_000), &snapshot);
    let far = at("Why did deploy 11 fail?", 540_000);
    let unproven = cache.lookup_template(&far, TENANT, &current, NOW);
    assert!(matches!(unproven, Lookup::Miss(MissCause::Unproven { checked: 0, .. })) && unproven.wants_verdict(), "{unproven}");
    for number in 0..200 {
        let text = format!("Why did deploy {number} fail?");
        let verdict = Verdict::of(Ppm(40_000), false, 500_000, Some(500_000));
        cache.custom(&at(&text, 540_000), &decided(&text, Stage::Fuse), 20, Some(&verdict), &current);
    }
    // Its points reach there by now: a goal as far from the nearest of them.
    let served = (0..64)
        .map(|number| at(&format!("Why did deploy x{number} fail?"), 580_000))
        .filter(|key| matches!(cache.peek_template(key, TENANT, &current, NOW), Lookup::Near { .. }))
        .count();
    assert!((50..64).contains(&served), "all but the sample that is always checked: {served}");
    let stranger = (0..64).map(|number| at(&format!("Why did deploy x{number} fail?"), 580_000));
    assert!(stranger.into_iter().all(|key| cache.peek_template(&key, "another", &current, NOW).hit().is_none()));
    // One wrong in ten ends it.
    for number in 0..200 {
        let text = format!("Why did deploy {number} fail?");
        let verdict = Verdict::of(Ppm(40_000), false, 500_000, Some(if number % 10 == 0 { 400_000 } else { 500_000 }));
        cache.custom(&at(&text, 540_000), &decided(&text, Stage::Fuse), 20, Some(&verdict), &current);
    }
    assert!(cache.peek_template(&at("Why did deploy x1 fail?", 580_000), TENANT, &current, NOW).hit().is_none());
}

/// An edited source ends templates and moves no proof: a semantic match is made of the same parts, for the numbers and under the
/// versions of now. What else moves ends it too.
#[test]
fn an_edited_source_leaves_what_plans_are_made_of_and_nothing_that_was_estimated() {
    let before = Stamps::from(stamps());
    let mut cache = settled(semantic(50_000), &before);
    for number in 0..200 {
        let text = format!("Why did deploy {number} fail?");
        let verdict = Verdict::of(Ppm(40_000), false, 500_000, Some(500_000));
        cache.custom(&at(&text, 500_000), &decided(&text, Stage::Fuse), 20, Some(&verdict), &CurrentStamps::of(&before));
    }
    let moved = |object: &str| {
        let mut moved = stamps();
        moved.iter_mut().filter(|stamp| stamp.object.starts_with(object)).for_each(|stamp| stamp.version = "moved".to_owned());
        Stamps::from(moved)
    };
    let asked = (0..64).map(|number| at(&format!("Why did deploy x{number} fail?"), 501_000)).collect::<Vec<_>>();
    let edited = moved("source ");
    let found = asked.iter().map(|key| cache.peek_template(key, TENANT, &CurrentStamps::of(&edited), NOW)).collect::<Vec<_>>();
    let known = found.iter().find_map(|found| if let Lookup::Near { known, .. } = found { Some(known.clone()) } else { None });
    let known = known.expect("some are served");
    assert!(!found.iter().any(|found| matches!(found, Lookup::Hit(_))), "no template serves");
    assert_eq!(known.parts.iter().map(|(stage, _)| stage.clone()).collect::<Vec<_>>(), [Stage::Fuse]);
    assert!(known.stamps.iter().all(|stamp| edited.version(&stamp.object) == Some(&stamp.version)), "{known:?}");
    for object in ["model ", "policy", "capabilities"] {
        let Some(other) = Some(moved(object)).filter(|other| *other != before) else { continue };
        assert!(asked.iter().all(|key| cache.peek_template(key, TENANT, &CurrentStamps::of(&other), NOW).hit().is_none()), "{object}");
    }
    let exact = settled(Settings::default(), &before);
    assert!(asked.iter().all(|key| exact.peek_template(key, TENANT, &CurrentStamps::of(&edited), NOW).hit().is_none()));
}

#[test]
fn exact_matching_never_goes_further_than_a_template() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let cache = settled(Settings::default(), &snapshot);
    assert!(cache.nearest(&at("Why did deploy 11 fail?", 540_000), &current, NOW).is_none());
    assert!(cache.nearest(&at("Why did deploy 11 fail?", 508_000), &current, NOW).is_some());
}

#[test]
fn what_the_cache_learned_about_itself_survives_a_restart() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let cache = settled(Settings::default(), &snapshot);
    let (mut back, report) = PlanCache::from_bytes(&cache.to_bytes(), Settings::default(), NOW);
    assert_eq!(report.dropped, 0, "{:?}", report.reasons);
    assert_eq!(back.bytes(), cache.bytes());
    assert!(back.lookup_template(&at("Why did deploy 11 fail?", 501_000), TENANT, &current, NOW).hit().is_some());
}

#[test]
fn a_pin_forgets_what_was_decided_for_its_scope_and_is_let_go_by_name() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let mut cache = settled(Settings::default(), &snapshot);
    let goal = Goal::new("Why did deploy 3 fail?");
    cache.insert(key(&goal), decided(&goal.text, Stage::Fuse), &current);
    let scope = Scope::of_family(&at("any other", 0));
    assert!(cache.pin("plan_nowhere", NOW).is_err());
    let pinned = cache.pin("plan_0", NOW).expect("one plan has this id");
    assert_eq!(cache.pinned(&scope).map(|pin| pin.gist.clone()), Some(pinned.gist.clone()));
    assert!(cache.peek(&key(&goal), &current, NOW).hit().is_none(), "the next one is planned within the shape");
    assert!(cache.unpin("ffff").is_none() && cache.unpin("").is_none());
    assert_eq!(cache.unpin("gist_0").map(|pin| pin.gist), Some(pinned.gist.clone()));
    assert!(cache.pinned(&scope).is_none());
}

/// Two processes read the store, work, and store one after the other.
#[test]
fn processes_join_what_they_count_plan_and_pin() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let mut first = settled(Settings::default(), &snapshot);
    let mut store = first.to_bytes();
    let (mut second, _) = PlanCache::from_bytes(&store, Settings::default(), NOW);
    first.stored();
    let goal = Goal::new("Explain X");
    first.insert(key(&goal), entry(&goal, NOW), &current);
    assert!(first.lookup(&key(&goal), &current, NOW).hit().is_some());
    store = first.to_bytes();
    first.stored();
    for _ in 0..3 {
        assert!(second.lookup(&key(&goal), &current, NOW).hit().is_none());
    }
    second.join(&store, NOW, "0.1.0");
    assert_eq!((second.counters().hits, second.counters().absent), (1, 3));
    assert!(second.lookup(&key(&goal), &current, NOW).hit().is_some(), "planned by the other process");
    second.pin("plan_0", NOW).expect("known");
    store = second.to_bytes();
    second.stored();
    first.join(&store, NOW, "0.1.0");
    assert_eq!((first.counters().hits, first.pins().count()), (2, 1));
    // Joining again what was joined already adds nothing.
    let bytes = first.to_bytes();
    first.stored();
    first.join(&bytes, NOW, "0.1.0");
    assert_eq!(first.counters().hits, 2);
}
