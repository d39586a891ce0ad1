//! Cold planning of one source with more than a thousand candidates, and a literal hit of the plan cache.

use criterion::{Criterion, criterion_group, criterion_main};
use ctx_benchmarks::planning::{GOALS, Scene};
use ctx_plan_cache::{CachedPlan, CurrentStamps, EntryKind, KeyInput, PlanCache, PlanKey, Settings};
use ctx_planner::Planner;
use ctx_types::{Goal, Micros, Sensitivity, Tokens};
use std::hint::black_box;
use std::sync::Arc;

fn planning(c: &mut Criterion) {
    let (scene, planner) = (Scene::default(), Planner::builder().build());
    let mut group = c.benchmark_group("cold planning");
    for text in GOALS {
        let goal = Goal::new(text);
        let planned = planner.plan(&scene.kept_inputs(&goal));
        assert!(planned.is_err() || planned.is_ok_and(|planned| planned.plan.candidates >= 1_000));
        group.bench_function(text, |b| b.iter(|| black_box(planner.plan(&scene.kept_inputs(&goal)).ok())));
    }
    group.finish();
}

fn literal_hit(c: &mut Criterion) {
    let (scene, planner) = (Scene::default(), Planner::builder().build());
    let goal = Goal::new(GOALS[0]);
    let sources = [scene.source.clone()];
    let key = || {
        PlanKey::literal(&KeyInput {
            goal: &goal,
            limits: &scene.limits,
            sources: &sources,
            configuration: "0",
            planner_version: Planner::version(),
        })
    };
    let stamps = scene.stamps();
    let current = CurrentStamps::of(&stamps);
    let mut cache = PlanCache::new(Settings::default());
    let plan = planner.plan(&scene.kept_inputs(&goal)).expect("this goal is feasible without limits").plan;
    cache.insert(
        key(),
        CachedPlan {
            kind: EntryKind::Literal,
            plan: Arc::new(plan),
            label: Sensitivity::Public,
            planning: Micros(700),
            planned_at: 1,
            goal_tokens: Tokens(8),
            scope: ctx_plan_cache::Scope::default(),
        },
        &current,
    );
    assert!(cache.lookup(&key(), &current, 2).hit().is_some());
    c.bench_function("plan-cache literal hit", |b| b.iter(|| black_box(cache.lookup(&key(), &current, 2))));
}

criterion_group!(benches, planning, literal_hit);
criterion_main!(benches);
