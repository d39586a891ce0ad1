//! Which estimator gives which number: on outcomes with a law that one factor per key cannot follow the network wins and is used,
//! elsewhere and on few outcomes it is not.

use ctx_cost::neural::{Estimator, Estimators, Examples, Fitted, Group, Mode};
use ctx_cost::statistics::{Field, Observation, OperatorClass, StatKey, Statistics};
use ctx_types::{Bucket, Certainty, Estimated, Micros, Tokens};
use std::collections::BTreeMap;
use std::sync::Arc;

const SHIPPED: i64 = 200_000;

fn key(operator: &str) -> StatKey {
    StatKey::new("default", Field::Latency, OperatorClass::Model, operator, Bucket::Conceptual)
}

/// Noise of some ten percent.
fn noise(run: u64) -> f64 {
    1.0 + ((run.wrapping_mul(2_654_435_761) >> 7) % 201) as f64 / 1000.0 - 0.1
}

/// Outcomes of two tiers over prompts of 100 to 12,000 tokens.
fn outcomes(runs: u64, law: impl Fn(f64) -> f64) -> Vec<Observation> {
    let seen = |run: u64| {
        let load = 100 + run.wrapping_mul(7_919) % 12_000;
        let operator = if run.is_multiple_of(2) { "small" } else { "large" };
        let factor = law(load as f64) * if operator == "large" { 3.0 } else { 1.0 } * noise(run);
        Observation::new(key(operator), format!("run_{run}/answer"), 1_000 + run, SHIPPED, (SHIPPED as f64 * factor) as i64).with_load(load)
    };
    (0..runs).map(seen).collect()
}

/// Short prompts take what is shipped, long ones several times as long.
fn bent(load: f64) -> f64 {
    1.0 + (load / 4_000.0) * (load / 4_000.0)
}

fn fitted(outcomes: &[Observation], seed: u64) -> Fitted {
    Fitted::of(&Examples::default().with(outcomes), "default", seed, 2_000)
}

fn latency(fitted: &Fitted) -> &Group {
    fitted.groups.iter().find(|group| (group.field, group.class) == (Field::Latency, OperatorClass::Model)).expect("a group")
}

fn snapshot(outcomes: &[Observation], mode: Mode) -> Statistics {
    let tenants = BTreeMap::from([("default".to_owned(), fitted(outcomes, 1))]);
    Statistics::default().absorb(outcomes, 2_000).with_estimators(Arc::new(Estimators::new(mode, tenants)))
}

fn shipped() -> Estimated<Micros> {
    Estimated::new(Micros(SHIPPED as u64), Micros(50_000), Micros(900_000), Certainty::Prior, "shipped")
}

#[test]
fn a_bent_law_is_given_to_the_network_and_every_number_says_who_gave_it() {
    let seen = outcomes(400, bent);
    let fitted = fitted(&seen, 1);
    let group = latency(&fitted);
    assert_eq!(group.best, Estimator::Neural, "{group:?}");
    let neural = group.neural.expect("enough outcomes");
    assert!(neural.0 < group.learned.0 && neural.1 < group.learned.1 && group.learned.1 < group.prior.1, "{group:?}");

    let statistics = snapshot(&seen, Mode::Auto);
    let of = |load: u64| statistics.corrected_over(&key("small"), shipped(), Tokens(load));
    let (short, long) = (of(200), of(11_000));
    for (told, load) in [(&short, 200.0), (&long, 11_000.0)] {
        let right = SHIPPED as f64 * bent(load);
        assert!((told.value.0 as f64 / right).ln().abs() < 0.3, "{load}: {told:?}, right {right}");
        assert!(told.low <= told.value && told.value <= told.high && told.is_learned(), "{told:?}");
        assert!(told.provenance.starts_with("statistics latency/model/small, neural ") && told.provenance.ends_with(", shipped 200000"));
        assert_eq!(statistics.uncorrected(&key("small"), told), SHIPPED, "outcomes are compared with what was shipped");
    }
    let held = seen.iter().filter(|one| {
        let told = statistics.corrected_over(&one.key, shipped(), Tokens(one.load));
        told.low.0 as i64 <= one.actual && one.actual <= told.high.0 as i64
    });
    let held = held.count();
    assert!((330..=400).contains(&held), "90 % intervals hold {held} of 400");
    let stranger = statistics.corrected_over(&key("unheard of"), shipped(), Tokens(200));
    assert!(!stranger.provenance.contains("neural"), "of other operators a network knows nothing");
}

#[test]
fn where_statistics_are_as_near_or_outcomes_are_few_the_network_is_not_used() {
    let plain = outcomes(400, |_| 2.0);
    assert_eq!(latency(&fitted(&plain, 1)).best, Estimator::Learned);
    let few = outcomes(40, bent);
    assert_ne!(latency(&fitted(&few, 1)).best, Estimator::Neural);
    let told = snapshot(&few, Mode::Auto).corrected_over(&key("small"), shipped(), Tokens(200));
    assert!(!told.provenance.contains("neural"), "{told:?}");
    assert!(fitted(&[], 1).groups.is_empty());
}

#[test]
fn shipped_estimates_stay_where_corrections_make_them_worse() {
    // Right in the median; now and then a broken call takes a thousand times as long and drags the mean of the logarithms away.
    let seen: Vec<Observation> = outcomes(600, |_| 1.0)
        .into_iter()
        .enumerate()
        .map(|(at, one)| {
            let key = key("small");
            let actual = if at % 8 == 0 { SHIPPED * 900 } else { SHIPPED };
            Observation::new(key, one.outcome, one.at, SHIPPED, actual)
        })
        .collect();
    assert_eq!(latency(&fitted(&seen, 1)).best, Estimator::Prior);
    assert_eq!(snapshot(&seen, Mode::Auto).corrected(&key("small"), shipped()), shipped());
}

#[test]
fn the_mode_neural_uses_whatever_was_trained() {
    let plain = outcomes(400, |_| 2.0);
    let told = snapshot(&plain, Mode::Neural).corrected_over(&key("small"), shipped(), Tokens(2_000));
    assert!(told.provenance.contains("neural"), "{told:?}");
    assert!((350_000..=450_000).contains(&told.value.0), "{told:?}");
}

#[test]
fn the_same_outcomes_in_any_order_give_the_same_fit_and_plans_depend_on_it() {
    let seen = outcomes(200, bent);
    let backwards: Vec<Observation> = seen.iter().rev().cloned().collect();
    assert_eq!(fitted(&seen, 1), fitted(&backwards, 1));
    assert_ne!(fitted(&seen, 1).fingerprint, fitted(&seen, 2).fingerprint);

    let statistics = snapshot(&seen, Mode::Auto);
    let stamps = statistics.stamps_for(&key("small"));
    assert!(stamps[0].object == "statistics default:estimators" && stamps[0].version.starts_with("auto-"), "{stamps:?}");
    assert!(statistics.stamps("default").contains(&stamps[0]));
    let untrained = Statistics::default().with_estimators(Arc::new(Estimators::new(Mode::Auto, BTreeMap::new())));
    assert_eq!(untrained.stamps_for(&key("small"))[0].version, "auto-absent");
    assert_eq!(Statistics::from_json(&statistics.to_json()).expect("own text"), statistics, "a bundle holds the networks too");
    assert!(!statistics.to_json().contains('.'), "integers only");
}
