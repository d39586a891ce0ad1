//! Cold planning: intent to schedule, one source, more than a thousand candidates. Prints nanosecond quantiles: with shipped
//! estimates, with statistics of every operator, and with a network for every operator.

use ctx_cost::neural::{Estimators, Examples, Fitted, Mode};
use ctx_cost::statistics::{Field, Observation, OperatorClass, SizeClass, StatKey, Statistics};
use ctx_planner::{Inputs, Planner, Settings};
use ctx_testkit::catalogs::{catalog, files, local_model, probe, remote_model, source_probe};
use ctx_types::{AccessPath, Bucket, Constraints, FuseMethod, Goal};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let planner = Planner::builder().build();
    let (limits, settings) = (Constraints::default(), Settings { verification_default: true, ..Settings::default() });
    let outcomes = outcomes();
    let learned = Statistics::default().absorb(&outcomes, NOW);
    let fitted = Fitted::of(&Examples::default().with(&outcomes), "default", 1, NOW);
    let estimators = Arc::new(Estimators::new(Mode::Neural, BTreeMap::from([("default".to_owned(), fitted)])));
    let neural = learned.clone().with_estimators(estimators);
    let estimated = [("prior", Statistics::default()), ("learned", learned), ("neural", neural)];
    for ((name, catalog), (by, statistics)) in [
        ("extractive only", catalog(&[("docs", files(5_000))], &[])),
        ("two models", catalog(&[("docs", files(5_000))], &[("local", local_model()), ("premium", remote_model())])),
        ("three sources", catalog(&[("docs", files(5_000)), ("logs", files(900)), ("runbooks", files(109))], &[("local", local_model())])),
    ]
    .iter()
    .flat_map(|catalog| estimated.iter().map(move |statistics| (catalog, statistics)))
    {
        let said = || source_probe(&[("plan", 40), ("infeas", 3), ("decid", 25)], &[]);
        let probe = probe(&[("docs", said()), ("logs", said()), ("runbooks", said())]);
        let goal = Goal::new("How does the planner decide that a plan is infeasible?");
        let inputs =
            Inputs { goal: &goal, limits: &limits, catalog, probe: &probe, statistics, denials: &[], settings: &settings, versions: None };
        let mut nanos = Vec::new();
        let mut last = None;
        for _ in 0..2_000 {
            let start = Instant::now();
            last = Some(planner.plan(&inputs)?);
            nanos.push(start.elapsed().as_nanos());
        }
        nanos.sort_unstable();
        let plan = last.ok_or("nothing was planned")?.plan;
        let line = format!(
            "{name}, {by}: candidates {} p50 {} ns p99 {} ns; {} score {}\n  runner-up {:?}\n",
            plan.candidates, nanos[1_000], nanos[1_980], plan.best[0].shape, plan.score.total, plan.margin
        );
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes())?;
    }
    Ok(())
}

/// Time of the last outcome.
const NOW: u64 = 1_700_000_000;

/// A hundred outcomes of everything that planning reads a time, tokens or money of.
fn outcomes() -> Vec<Observation> {
    let model = [Field::Latency, Field::FirstToken, Field::PerToken, Field::Tokens, Field::OutputTokens, Field::Cost];
    let paths = AccessPath::ALL.iter().flat_map(|path| {
        [SizeClass::Small, SizeClass::Medium].map(|size| StatKey::access("default", Field::Latency, *path, Bucket::Conceptual, size))
    });
    let of = |field: Field, class: OperatorClass, name: &str| StatKey::new("default", field, class, name, Bucket::Conceptual);
    let calls = ["local", "premium"].into_iter().flat_map(|name| model.map(|field| of(field, OperatorClass::Model, name)));
    let steps =
        FuseMethod::ALL.iter().map(|method| method.as_str()).chain(["pack"]).map(|name| of(Field::Latency, OperatorClass::Step, name));
    let others = [of(Field::Latency, OperatorClass::Strategy, "extractive"), of(Field::Latency, OperatorClass::Verifier, "support")];
    let keys: Vec<StatKey> = paths.chain(calls).chain(steps).chain(others).collect();
    let seen = |(at, key): (usize, &StatKey)| {
        let key = key.clone();
        (0..100i64).map(move |run| {
            let load = 200 + run.unsigned_abs() * 97 % 8_000;
            let actual = 1_000 + load as i64 + run * 7_919 % 700;
            Observation::new(key.clone(), format!("run {run}/{at}"), NOW - 100 + run.unsigned_abs(), 1_000, actual).with_load(load)
        })
    };
    keys.iter().enumerate().flat_map(seen).collect()
}
