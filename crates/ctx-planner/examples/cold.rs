//! Cold planning: intent to schedule, one source, more than a thousand candidates. Prints nanosecond quantiles.

use ctx_cost::statistics::Statistics;
use ctx_planner::{Inputs, Planner, Settings};
use ctx_testkit::catalogs::{catalog, files, local_model, probe, remote_model, source_probe};
use ctx_types::{Constraints, Goal};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let planner = Planner::builder().build();
    let (limits, statistics, settings) =
        (Constraints::default(), Statistics::default(), Settings { verification_default: true, ..Settings::default() });
    for (name, catalog) in [
        ("extractive only", catalog(&[("docs", files(5_000))], &[])),
        ("two models", catalog(&[("docs", files(5_000))], &[("local", local_model()), ("premium", remote_model())])),
        ("three sources", catalog(&[("docs", files(5_000)), ("logs", files(900)), ("runbooks", files(109))], &[("local", local_model())])),
    ] {
        let said = || source_probe(&[("plan", 40), ("infeas", 3), ("decid", 25)], &[]);
        let probe = probe(&[("docs", said()), ("logs", said()), ("runbooks", said())]);
        let goal = Goal::new("How does the planner decide that a plan is infeasible?");
        let inputs = Inputs {
            goal: &goal,
            limits: &limits,
            catalog: &catalog,
            probe: &probe,
            statistics: &statistics,
            denials: &[],
            settings: &settings,
            versions: None,
        };
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
            "{name}: candidates {} p50 {} ns p99 {} ns; {} score {}\n  runner-up {:?}\n",
            plan.candidates, nanos[1_000], nanos[1_980], plan.best[0].shape, plan.score.total, plan.margin
        );
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes())?;
    }
    Ok(())
}
