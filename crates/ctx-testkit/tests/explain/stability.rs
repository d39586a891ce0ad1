//! The same inputs give the same bytes: 200 named goals over five catalogs, explained in every format by two processes with
//! environments of their own.

use ctx_explain::{Decision, ExplainInput, Format, Options, TextOptions, explain, render};
use ctx_planner::PlanError;
use ctx_testkit::plans::World;
use ctx_testkit::{catalogs, traces};
use ctx_types::id::sha256_hex;
use ctx_types::{Catalog, Goal, Probe};
use std::process::{Command, Stdio};

const GOALS: usize = 200;
/// Where a child writes what it saw. Without it, its test has nothing to do.
const OUT: &str = "CTX_EXPLAIN_STABILITY_OUT";

const TEMPLATES: [&str; 14] = [
    "How does {a} decide that {b} is infeasible?",
    "What does {id} mean in {a}?",
    "Why did {a} fail {when}?",
    "Compare {a} with {b}.",
    "List every {a} that mentions {id}.",
    "Is {a} restarted before {b}?",
    "How many {a} were rejected {when}?",
    "Which {a} calls {b}, and where is {id} logged?",
    "error {id}: {a} leaks the {b}",
    "Delete the {a} of {b}.",
    "Where is {a} configured without {b}?",
    "Warum wurde {a} {when} abgebrochen?",
    "{id}",
    "Summarise what {a} says about {b} since {when}.",
];
const NOUNS: [&str; 9] = [
    "the planner",
    "deploy 1423",
    "a plan",
    "billing-api",
    "password reset",
    "the scheduler",
    "retry budget",
    "crates/ctx-cost/src/model.rs",
    "the cache",
];
const IDENTIFIERS: [&str; 6] = ["E0502", "ERR-77", "v1.2.3", "ctx_planner::plan", "CVE-2024-3094", "budgets.max_cost_usd"];
const TIMES: [&str; 4] = ["yesterday", "on 2026-01-02", "last week", "at 03:15"];

/// A goal with the world it is planned in.
struct Named {
    name: String,
    goal: Goal,
    probe: Probe,
    world: World,
}

/// Named goals with the world they are planned in, from a seed that never changes.
fn worlds() -> Vec<Named> {
    let mut state: u64 = 0x0005_DEEC_E66D;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or(0) % below
    };
    let catalogs = catalogs_of_every_kind();
    (0..GOALS)
        .map(|at| {
            let template = TEMPLATES[at % TEMPLATES.len()];
            let id = IDENTIFIERS[next(IDENTIFIERS.len())];
            let filled =
                [("{a}", NOUNS[next(NOUNS.len())]), ("{b}", NOUNS[next(NOUNS.len())]), ("{id}", id), ("{when}", TIMES[next(TIMES.len())])];
            let goal = filled.iter().fold(template.to_owned(), |goal, (slot, word)| goal.replace(slot, word));
            let (name, catalog) = &catalogs[next(catalogs.len())];
            let hits = (next(4) * 3) as u64;
            let probe =
                catalogs::probe(&[("docs", catalogs::source_probe(&[("plan", 40 + hits), ("cach", 7)], &[(&id.to_lowercase(), hits)]))]);
            let probe = if at % 5 == 0 { Probe::default() } else { probe };
            let world = World::of(catalog.clone(), probe.clone(), &goal);
            Named { name: format!("{at:03} {name}"), goal: Goal::new(goal), probe, world }
        })
        .collect()
}

fn catalogs_of_every_kind() -> Vec<(&'static str, Catalog)> {
    let docs = || ("docs", catalogs::files(5_000));
    let logs = || ("logs", catalogs::files(900));
    let all = [("local", catalogs::local_model()), ("premium", catalogs::remote_model())];
    vec![
        ("one", catalogs::catalog(&[docs()], &[])),
        ("two", catalogs::catalog(&[docs(), logs()], &[])),
        ("models", catalogs::catalog(&[docs(), logs()], &all)),
        ("cold", catalogs::catalog(&[("docs", catalogs::without_statistics(catalogs::files(5_000)))], &all)),
        ("small", catalogs::catalog(&[("docs", catalogs::files(12))], &all)),
    ]
}

/// One line per goal and format: name, format, hash of the bytes.
fn explained() -> String {
    let mut out = String::new();
    for Named { name, goal, probe, world } in worlds() {
        let result = world.plan();
        let trace = result.as_ref().ok().map(traces::completed);
        let decision = match &result {
            Ok(planned) => Decision::Planned { plan: &planned.plan, graph: &planned.graph },
            Err(PlanError::Infeasible(infeasible)) => Decision::Infeasible { goal: &goal, infeasible },
            Err(error) => panic!("{name}: {error}"),
        };
        let options = Options { analyze: true, verbose: true, buffers: true, memory: true, ..Options::default() };
        let input =
            ExplainInput { decision, trace: trace.as_ref(), plan_cache: None, planning: None, settings: &[], probe: Some(&probe), options };
        let value = explain(&input);
        for format in Format::ALL {
            let text = render(&value, format, &TextOptions::default());
            out.push_str(&format!("{name} {} {}\n", format.as_str(), sha256_hex(text.as_bytes())));
        }
    }
    out
}

/// What a child process does.
#[test]
fn child_explains_every_goal() {
    if let Some(path) = std::env::var_os(OUT) {
        std::fs::write(path, explained()).expect("the parent's folder is writable");
    }
}

#[test]
fn two_hundred_goals_are_explained_by_the_same_bytes_in_two_clean_processes() {
    let own = std::env::current_exe().expect("a test has an executable");
    let folder = std::env::temp_dir().join(format!("ctx-explain-stability-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let start = |name: &str, environment: &[(&str, &str)]| {
        let out = folder.join(name);
        let child = Command::new(&own)
            .args(["--exact", "stability::child_explains_every_goal", "--test-threads", "1"])
            .env_clear()
            .envs(environment.iter().copied())
            .env(OUT, &out)
            .current_dir(&folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("the executable starts");
        (child, out)
    };
    let children = [
        start("a", &[("TZ", "UTC"), ("LANG", "C")]),
        start("b", &[("TZ", "Asia/Kathmandu"), ("LANG", "de_DE.UTF-8"), ("HOME", "/nowhere"), ("PAD", "x")]),
    ];
    let texts = children.map(|(mut child, out)| {
        assert!(child.wait().expect("it ends").success());
        std::fs::read_to_string(out).expect("it wrote what it saw")
    });
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(texts[0].lines().count(), GOALS * Format::ALL.len());
    let different: Vec<&str> = texts[0].lines().zip(texts[1].lines()).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
    assert!(different.is_empty(), "{} of {}: {different:#?}", different.len(), texts[0].lines().count());
}
