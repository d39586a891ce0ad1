//! The JSON Schemas of the persisted formats, generated from the types into `tests/schemas/`. Stale files fail; `REWRITE=1`
//! writes them anew. Real instances of every format are validated against the files, planted damage is refused.

use ctx_planner::Planned;
use ctx_testkit::plans::World;
use ctx_testkit::{catalogs, traces};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/schemas").join(format!("{name}.json"))
}

fn generated() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("plan", schemars::schema_for!(ctx_types::Plan)),
        ("graph", schemars::schema_for!(ctx_graph::ExecutionGraph)),
        ("schedule", schemars::schema_for!(ctx_scheduler::Schedule)),
        ("trace", schemars::schema_for!(ctx_types::Trace)),
        ("explanation", schemars::schema_for!(ctx_explain::Explanation)),
        ("difference", schemars::schema_for!(ctx_explain::diff::Difference)),
        ("simulation", schemars::schema_for!(ctx_simulate::Simulation)),
    ]
}

#[test]
fn schemas_on_disk_are_those_of_the_types() {
    let mut stale = Vec::new();
    for (name, schema) in generated() {
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        if std::env::var_os("REWRITE").is_some() {
            std::fs::write(path(name), &text).expect("tests/schemas is writable");
        }
        if std::fs::read_to_string(path(name)).ok().as_deref() != Some(text.as_str()) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "stale, run with REWRITE=1 and raise the schema version where a reader would break: {stale:?}");
}

/// From the types, so that this test does not depend on the order of tests when files are rewritten.
fn validator(name: &str) -> jsonschema::Validator {
    let (_, schema) = generated().into_iter().find(|(n, _)| *n == name).expect("a known format");
    jsonschema::validator_for(schema.as_value()).expect("a valid schema")
}

fn worlds() -> Vec<Planned> {
    let one = catalogs::catalog(&[("docs", catalogs::files(5_000))], &[]);
    let two = catalogs::catalog(
        &[("docs", catalogs::files(5_000)), ("logs", catalogs::without_statistics(catalogs::files(900)))],
        &[("local", catalogs::local_model()), ("premium", catalogs::remote_model())],
    );
    let goals = ["How is E0502 reported?", "How does the planner decide that a plan is infeasible?"];
    let plans = [one, two].into_iter().flat_map(|catalog| {
        goals.map(|goal| {
            World::of(catalog.clone(), catalogs::probe(&[("docs", catalogs::source_probe(&[("plan", 40)], &[("E0502", 2)]))]), goal)
                .plan()
                .expect("a feasible goal")
        })
    });
    plans.collect()
}

fn explanation(planned: &Planned, verbose: bool) -> Value {
    let trace = traces::completed(planned);
    let input = ctx_explain::ExplainInput {
        decision: ctx_explain::Decision::Planned { plan: &planned.plan, graph: &planned.graph },
        trace: verbose.then_some(&trace),
        plan_cache: Some("miss"),
        planning: Some(ctx_types::Micros(900)),
        settings: &[("retrieval.top_k".to_owned(), "20".to_owned())],
        probe: None,
        options: ctx_explain::Options { verbose, settings: true, memory: verbose, buffers: verbose, ..ctx_explain::Options::default() },
    };
    ctx_explain::json(&ctx_explain::explain(&input))
}

fn difference(planned: &Planned) -> Value {
    let mut other = traces::completed(planned);
    other.nodes.pop();
    other.outcome.spend.cost = ctx_types::NanoUsd(9);
    let sides = [traces::completed(planned), other].map(|trace| ctx_explain::diff::Side::of_trace("run", &trace));
    serde_json::to_value(ctx_explain::diff::diff(&sides[0], &sides[1])).expect("plain data")
}

#[test]
fn what_is_written_is_valid() {
    let value = |v: &dyn erased::Json| v.value();
    for planned in worlds() {
        let quote = ctx_simulate::simulate(&planned.plan, &planned.graph, planned.plan.seed).expect("a valid graph");
        let instances = [
            ("plan", value(&planned.plan)),
            ("graph", value(&planned.graph)),
            ("schedule", value(&planned.schedule)),
            ("trace", value(&traces::completed(&planned))),
            ("simulation", value(&quote)),
            ("explanation", explanation(&planned, false)),
            ("explanation", explanation(&planned, true)),
            ("difference", difference(&planned)),
        ];
        for (name, instance) in instances {
            let errors: Vec<String> = validator(name).iter_errors(&instance).map(|e| format!("{}: {e}", e.instance_path())).collect();
            assert!(errors.is_empty(), "{name}: {errors:#?}");
        }
    }
}

#[test]
fn an_infeasible_answer_is_a_valid_explanation() {
    let world = World::of(
        catalogs::catalog(&[("docs", catalogs::files(10))], &[]),
        ctx_types::Probe::default(),
        "How many errors are there in total?",
    );
    let Err(ctx_planner::PlanError::Infeasible(infeasible)) = world.plan() else { panic!("a sum cannot be quoted") };
    let goal = ctx_types::Goal::new("How many errors are there in total?");
    let input = ctx_explain::ExplainInput {
        decision: ctx_explain::Decision::Infeasible { goal: &goal, infeasible: &infeasible },
        trace: None,
        plan_cache: None,
        planning: None,
        settings: &[],
        probe: None,
        options: ctx_explain::Options::default(),
    };
    assert!(validator("explanation").is_valid(&ctx_explain::json(&ctx_explain::explain(&input))));
}

#[test]
fn damage_is_refused() {
    let planned = worlds().remove(0);
    let mut plan = serde_json::to_value(&planned.plan).expect("a plan is JSON");
    plan["chosen"][0]["alternative"]["id"] = Value::String("seven".into());
    assert!(!validator("plan").is_valid(&plan), "an id that is no number passes");
    let mut graph = serde_json::to_value(&planned.graph).expect("a graph is JSON");
    graph.as_object_mut().expect("an object").remove("edges");
    assert!(!validator("graph").is_valid(&graph), "a graph without edges passes");
    let mut quote =
        serde_json::to_value(ctx_simulate::simulate(&planned.plan, &planned.graph, 1).expect("a valid graph")).expect("a quote is JSON");
    quote["cost"]["mid"] = Value::Null;
    assert!(!validator("simulation").is_valid(&quote), "a cost of null passes");
}

mod erased {
    //! Any serialisable value, so that instances of several types stand in one list.
    pub(super) trait Json {
        fn value(&self) -> serde_json::Value;
    }
    impl<T: serde::Serialize> Json for T {
        fn value(&self) -> serde_json::Value {
            serde_json::to_value(self).expect("persisted formats are JSON")
        }
    }
}
