//! The golden plans under `plans/`. `REWRITE=1` writes what the stages print now; review the difference before committing it.

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
    let names = ctx_candidates::rules::RULES.iter().map(|r| r.name).chain(ctx_candidates::rules::FRAME_RULES.iter().map(|r| r.name));
    let missing: Vec<&str> = names
        .filter(|name| {
            let text = std::fs::read_to_string(Path::new(PLANS).join("rules").join(format!("{name}.plan"))).unwrap_or_default();
            !(text.contains(&format!("rule {name}\n")) && text.contains("  because "))
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
        } else if !path.to_string_lossy().contains("refused") && std::fs::read_to_string(&path).expect("a text file").contains("\nerror: ") {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
