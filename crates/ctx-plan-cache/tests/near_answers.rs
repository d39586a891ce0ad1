//! Answers for other words: proposed where everything but the framing agrees, given once proven, never across anything exact.

#[path = "fixture/mod.rs"]
#[allow(dead_code)]
mod fixture;

use ctx_plan_cache::{CurrentStamps, KeyInput, NearKey, PlanKey, ProposedResult, ResultSettings, Results, Stamps, StoredResult};
use ctx_types::{Goal, Ppm};
use fixture::{entry, sources, stamp, stamps};

const NOW: u64 = 1_700_000_000;

fn semantic(error: u32) -> ResultSettings {
    ResultSettings { enabled: true, semantic_error: Ppm(error), ..ResultSettings::default() }
}

fn result(answer: &str) -> StoredResult {
    fixture::result(answer, NOW)
}

/// The intent is the same for all: what keeps requests apart here is their words and who asks.
fn keys(goal: &Goal) -> (PlanKey, NearKey) {
    let sources = sources();
    let input = KeyInput { goal, limits: &goal.constraints, sources: &sources, configuration: "c", planner_version: "1" };
    let mut intent = entry(&Goal::new("x"), NOW).plan.intent.clone();
    intent.language = "en".to_owned();
    (PlanKey::literal(&input), NearKey::of(&input, &intent))
}

fn keep(results: &mut Results, goal: &Goal, answer: &str) {
    let (key, near) = keys(goal);
    results.insert(key, Some(&near), &stamps(), result(answer));
}

fn proposed(results: &Results, goal: &Goal) -> Option<ProposedResult> {
    let (key, near) = keys(goal);
    let snapshot = Stamps::from(stamps());
    results.propose(&near, &key, &goal.principal.tenant, &CurrentStamps::of(&snapshot), NOW + 5)
}

/// A tenant whose proposals were right so many times, at every distance.
fn proven(results: &mut Results, tenant: &str, times: u32) {
    for distance in [40_000, 90_000, 150_000, 250_000] {
        (0..times).for_each(|_| results.judge(tenant, Ppm(distance), true));
    }
}

const ASKED: &str = "How is an infeasible plan reported?";

#[test]
fn the_same_question_in_another_frame_is_proposed_and_given_once_proven() {
    let mut results = Results::new(semantic(50_000));
    keep(&mut results, &Goal::new(ASKED), "It names the limit.");
    let others = [
        "How are infeasible plans reported?",
        "Please tell me how an infeasible plan is reported?",
        "how does an infeasible plan get reported?",
    ];
    let others: Vec<Goal> = others.iter().map(|words| Goal::new(*words)).collect();
    for other in &others[..2] {
        let first = proposed(&results, other).expect("the frame alone differs");
        assert!(!first.proven && first.false_at_most == Ppm::ONE && first.judged == (0, 0), "{first:?}");
        assert_eq!(first.result.outcome.answer, "It names the limit.");
    }
    assert!(proposed(&results, &Goal::new(ASKED)).is_none(), "its own answer is no other's");
    proven(&mut results, "default", 400);
    let given = others[..2].iter().filter(|other| proposed(&results, other).is_some_and(|p| p.proven)).count();
    assert!(given >= 1, "one in sixteen is run beside; not all of these are");
    assert!(proposed(&results, &others[2]).is_none_or(|p| p.distance > Ppm(10_000)));
    // A bound that rises ends it.
    (0..60).for_each(|_| results.judge("default", Ppm(40_000), false));
    (0..60).for_each(|_| results.judge("default", Ppm(150_000), false));
    (0..60).for_each(|_| results.judge("default", Ppm(90_000), false));
    (0..60).for_each(|_| results.judge("default", Ppm(250_000), false));
    assert!(others.iter().all(|other| proposed(&results, other).is_none_or(|p| !p.proven)));
}

#[test]
fn nothing_exact_is_crossed_however_much_is_proven() {
    let pairs = [
        // Numbers, identifiers, times.
        ("What failed in build 4711?", "What failed in build 4712?"),
        ("17*23?", "17*24?"),
        ("What is the status of CVE-2024-1234?", "What is the status of CVE-2024-1243?"),
        ("What are the sales in 2023?", "What are the sales in 2024?"),
        ("Is the limit five seconds?", "Is the limit six seconds?"),
        ("What changed on Monday?", "What changed on Tuesday?"),
        ("Is port 80 open?", "Is port 8.0 open?"),
        // Things.
        ("How do I restart the postgres server?", "How do I restart the mysql server?"),
        ("How does Alice get access?", "How does Bob get access?"),
        ("Is the US site up?", "Is the us site up?"),
        // Operands.
        ("How does the ledger affect the cache?", "How does the cache affect the ledger?"),
        ("Is Rust faster than Go?", "Is Go faster than Rust?"),
        ("How do I move files from staging to production?", "How do I move files from production to staging?"),
        // Negation and turns.
        ("Is the cache enabled?", "Is the cache not enabled?"),
        ("Is the cache enabled?", "Isn't the cache enabled?"),
        ("Can the writer run without a lock?", "Can the writer run with a lock?"),
        ("What happens before the commit?", "What happens after the commit?"),
        ("What is the maximum?", "What is the minimum?"),
        ("Does it include all users?", "Does it include only users?"),
        // What is asked.
        ("How is it done?", "Why is it done?"),
        ("Is it done?", "Was it done?"),
        ("Is it done?", "Should it be done?"),
        ("Delete the index?", "Delete the index"),
        ("How much leave do I have left?", "How much leave does he have left?"),
    ];
    let mut results = Results::new(semantic(200_000));
    proven(&mut results, "default", 4_000);
    for (one, other) in pairs {
        results.clear();
        keep(&mut results, &Goal::new(one), "an answer");
        assert!(proposed(&results, &Goal::new(other)).is_none(), "{one} answers {other}");
        results.clear();
        keep(&mut results, &Goal::new(other), "an answer");
        assert!(proposed(&results, &Goal::new(one)).is_none(), "{other} answers {one}");
    }
}

#[test]
fn who_asks_and_under_which_limits_is_exact_and_content_that_moved_is_gone() {
    let mut results = Results::new(semantic(200_000));
    for tenant in ["default", "b"] {
        proven(&mut results, tenant, 4_000);
    }
    keep(&mut results, &Goal::new("How much leave do I have left?"), "17 days");
    let words = "Please tell me how much leave I have left?";
    assert!(proposed(&results, &Goal::new(words)).is_some());
    let mut tenant = Goal::new(words);
    tenant.principal.tenant = "b".to_owned();
    let mut role = Goal::new(words);
    role.principal.roles.insert("hr".to_owned());
    let mut longer = Goal::new(words);
    longer.constraints.max_output_tokens = Some(ctx_types::Tokens(4_000));
    for stranger in [tenant, role, longer, Goal::new("Show my remaining leave")] {
        assert!(proposed(&results, &stranger).is_none(), "{stranger:?}");
    }
    let (key, near) = keys(&Goal::new(words));
    let edited: Vec<_> = stamps().into_iter().filter(|s| s.object != "source docs").chain([stamp("source docs", "edited")]).collect();
    let edited = Stamps::from(edited);
    assert!(results.propose(&near, &key, "default", &CurrentStamps::of(&edited), NOW).is_none());
    let same = Stamps::from(stamps());
    assert!(results.propose(&near, &key, "default", &CurrentStamps::of(&same), NOW + 3_600).is_none(), "outlived");
}

#[test]
fn what_was_proven_comes_back_and_without_a_delta_there_is_nothing() {
    let mut results = Results::new(semantic(50_000));
    keep(&mut results, &Goal::new(ASKED), "It names the limit.");
    proven(&mut results, "default", 400);
    let back = Results::from_bytes(&results.to_bytes(), semantic(50_000), NOW);
    let other = Goal::new("How are infeasible plans reported?");
    let (then, now) = (proposed(&results, &other).expect("proposed"), proposed(&back, &other).expect("proposed"));
    assert_eq!((then.distance, then.false_at_most, then.judged), (now.distance, now.false_at_most, now.judged));
    assert_eq!(back.counters().semantic_checks, 1_600);
    assert!(proposed(&Results::from_bytes(&results.to_bytes(), semantic(0), NOW), &other).is_none());
    let mut bounded = Results::new(ResultSettings { bytes_max: 16_000, ..semantic(50_000) });
    (0..200).for_each(|number| keep(&mut bounded, &Goal::new(format!("How is plan {number} reported?")), "x"));
    let kept = (0..200).filter(|n| proposed(&bounded, &Goal::new(format!("How does plan {n} get reported?"))).is_some()).count();
    assert!(kept <= bounded.len(), "families of what was pushed out are gone");
}
