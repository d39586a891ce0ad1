//! Stored answers: given for the same request over the same content, and for nothing else.

#[path = "fixture/mod.rs"]
#[allow(dead_code)]
mod fixture;

use ctx_plan_cache::{CurrentStamps, FoundResult, ResultSettings, Results, Stamps, StoredResult};
use ctx_types::{Goal, NanoUsd};
use fixture::{key, stamp, stamps};

const NOW: u64 = 1_700_000_000;

fn on() -> ResultSettings {
    ResultSettings { enabled: true, ..ResultSettings::default() }
}

fn result(answer: &str) -> StoredResult {
    fixture::result(answer, NOW)
}

fn stored(results: &Results, goal: &Goal, snapshot: &Stamps, now: u64) -> Option<String> {
    match results.look(&key(goal), &CurrentStamps::of(snapshot), now) {
        FoundResult::Stored(result) => Some(result.outcome.answer.clone()),
        _ => None,
    }
}

#[test]
fn an_answer_is_given_again_to_the_same_request_over_the_same_content_only() {
    let (mut results, snapshot) = (Results::new(on()), Stamps::from(stamps()));
    let goal = Goal::new("How much leave do I have left?");
    results.insert(key(&goal), None, &stamps(), result("17 days"));
    assert_eq!(stored(&results, &goal, &snapshot, NOW + 5).as_deref(), Some("17 days"));
    let mut other = goal.clone();
    other.principal.tenant = "another".to_owned();
    let mut role = goal.clone();
    role.principal.roles.insert("hr".to_owned());
    let mut longer = goal.clone();
    longer.constraints.max_output_tokens = Some(ctx_types::Tokens(4_000));
    for stranger in [other, role, longer, Goal::new("How much leave do I have left now?")] {
        assert_eq!(stored(&results, &stranger, &snapshot, NOW + 5), None, "{stranger:?}");
    }
    assert_eq!(stored(&results, &goal, &snapshot, NOW + 3_600), None, "outlived");
    let moved = |object: &str| {
        let mut all: Vec<_> = stamps().into_iter().filter(|stamp| stamp.object != object).collect();
        all.push(stamp(object, "edited"));
        Stamps::from(all)
    };
    for object in ["source docs", "model local", "policy"] {
        assert!(matches!(results.look(&key(&goal), &CurrentStamps::of(&moved(object)), NOW), FoundResult::Stale(m) if m.object == object));
    }
    let learned = moved("statistics latency/access/bm25/3");
    assert_eq!(stored(&results, &goal, &learned, NOW).as_deref(), Some("17 days"), "estimates are no content");
}

#[test]
fn switched_off_nothing_is_kept_and_what_is_kept_is_bounded_counted_and_comes_back() {
    let snapshot = Stamps::from(stamps());
    let mut off = Results::new(ResultSettings::default());
    off.insert(key(&Goal::new("x")), None, &stamps(), result("x"));
    assert!(off.is_empty());
    let mut results = Results::new(ResultSettings { bytes_max: 16_000, ..on() });
    for number in 0..100 {
        results.insert(key(&Goal::new(format!("goal {number}"))), None, &stamps(), result("x"));
    }
    assert!(!results.is_empty() && results.len() < 30, "{}", results.len());
    let last = Goal::new("goal 99");
    results.given(&key(&last));
    results.missed();
    let back = Results::from_bytes(&results.to_bytes(), on(), NOW);
    assert_eq!((back.len(), back.counters()), (results.len(), results.counters()));
    assert_eq!((back.counters().hits, back.counters().saved_cost), (1, NanoUsd(1_200)));
    assert_eq!(stored(&back, &last, &snapshot, NOW).as_deref(), Some("x"));
    assert!(Results::from_bytes(b"{", on(), NOW).is_empty());
    assert_eq!(results.clear(), back.len());
}
