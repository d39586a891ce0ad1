//! The golden plans under `plans/`. `REWRITE=1` writes what the stages print now; review the difference before committing it.

use ctx_testkit::catalogs;
use ctx_testkit::plans::World;
use std::path::{Path, PathBuf};

const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");

#[test]
fn plans_are_as_reviewed() {
    let mut unstable = Vec::new();
    datadriven::walk(PLANS, |file| {
        let mut world = World::default();
        let name = file.filename.clone();
        file.run(|case| {
            let printed = world.run(case);
            if case.directive == "plan" && case.args.contains_key("shape") {
                unstable.extend(world.flips().into_iter().map(|flip| format!("{name}: {flip}")));
            }
            printed
        });
    });
    assert!(unstable.is_empty(), "a golden flips when one weight moves by one per cent:\n{}", unstable.join("\n"));
}

#[test]
fn every_rule_has_a_golden_in_which_it_prunes() {
    let frame_rules = || ctx_candidates::rules::FRAME_RULES.iter().chain(ctx_candidates::rules::REFINE_RULES);
    let names = ctx_candidates::rules::RULES.iter().map(|r| r.name).chain(frame_rules().map(|r| r.name));
    let missing: Vec<&str> = names
        .filter(|name| {
            let text = std::fs::read_to_string(Path::new(PLANS).join("rules").join(format!("{name}.plan"))).unwrap_or_default();
            let printed = text.split("\n\n").filter(|part| part.starts_with(&format!("rule {name}\n")));
            !printed.into_iter().any(|part| part.contains("\n  because "))
        })
        .collect();
    assert!(missing.is_empty(), "plans/rules/ has no file where these rules prune: {missing:?}");
}

#[test]
fn no_golden_holds_an_error_that_its_name_does_not_announce() {
    let mut files: Vec<PathBuf> = vec![PLANS.into()];
    let mut wrong = Vec::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).expect("plans/ is readable").map(|e| e.expect("an entry").path()));
        } else if !path.to_string_lossy().contains("refused") && std::fs::read_to_string(&path).expect("a text file").contains("\nerror: ")
        {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_default_explanation_of_one_source_fits_a_terminal() {
    const LINES: usize = 24;
    const COLUMNS: usize = 100;
    let catalog = catalogs::catalog(&[("docs", catalogs::files(5_000))], &[]);
    let said = || catalogs::source_probe(&[("plan", 900), ("infeas", 14)], &[("e0502", 3)]);
    for goal in [
        "How does the planner decide that a plan is infeasible?",
        "What does E0502 mean?",
        "Compare HNSW with IVF.",
        &"very long ".repeat(300),
    ] {
        let Ok(planned) = World::of(catalog.clone(), catalogs::probe(&[("docs", said())]), goal).plan() else { continue };
        let input = ctx_explain::ExplainInput {
            decision: ctx_explain::Decision::Planned { plan: &planned.plan, graph: &planned.graph },
            trace: None,
            plan_cache: Some("miss: first time this goal is seen"),
            planning: Some(ctx_types::Micros(870)),
            settings: &[],
            probe: None,
            options: ctx_explain::Options::default(),
        };
        let text = ctx_explain::text(&ctx_explain::explain(&input), &ctx_explain::TextOptions { width: COLUMNS });
        assert!(text.lines().count() <= LINES, "{} lines:\n{text}", text.lines().count());
        assert!(text.lines().all(|l| ctx_explain::escape::width(l) <= COLUMNS), "{text}");
    }
}
