//! Statistics as planning and people see them: merging, coverage, shrinkage, publication, and what a run teaches.

use ctx_cost::statistics::{Field, Label, Observation, OperatorClass, SAMPLE_MAX, SizeClass, StatKey, Statistics, Waiting};
use ctx_types::{AccessPath, Bucket, Certainty, Estimated, Micros, Ppm, Tokens};
use proptest::prelude::*;

const DAY: u64 = 86_400;
const NOW: u64 = 1_700_000_000;

fn key() -> StatKey {
    StatKey::access("default", Field::Latency, AccessPath::Bm25, Bucket::Conceptual, SizeClass::Medium)
}

fn prior() -> Estimated<Micros> {
    Estimated::new(Micros(1_000), Micros(500), Micros(3_000), Certainty::Prior, "shipped")
}

/// Deterministic standard normal draws (splitmix64, Box-Muller).
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn draw(&mut self) -> f64 {
        let (u, v) = (self.uniform().max(1e-12), self.uniform());
        libm::sqrt(-2.0 * libm::log(u)) * libm::cos(std::f64::consts::TAU * v)
    }

    /// A lognormal actual around `median`.
    fn lognormal(&mut self, median: f64, sigma: f64) -> i64 {
        (median * libm::exp(sigma * self.draw())).round() as i64
    }
}

fn lognormal(seed: u64, n: usize, median: f64, sigma: f64, at: u64) -> Vec<Observation> {
    let mut normal = Normal(seed);
    (0..n).map(|i| Observation::new(key(), format!("{seed}/{i}"), at, 1_000, normal.lognormal(median, sigma))).collect()
}

#[test]
fn intervals_hold_nine_times_in_ten() {
    // Averaged over training sets: conformal coverage holds over the draw of both.
    let (mut held, mut shown) = (0u32, 0u32);
    for seed in 0..40 {
        let statistics = Statistics::default().absorb(&lognormal(seed, 200, 1_700.0, 0.6, NOW), NOW);
        let estimate = statistics.corrected(&key(), prior());
        let mut fresh = Normal(seed + 1_000_000);
        for _ in 0..500 {
            let actual = Micros(fresh.lognormal(1_700.0, 0.6) as u64);
            held += u32::from(estimate.low <= actual && actual <= estimate.high);
            shown += 1;
        }
    }
    let coverage = f64::from(held) / f64::from(shown);
    assert!((0.88..=0.92).contains(&coverage), "90 % intervals held {coverage:.3} of {shown}");
}

#[test]
fn a_bias_is_corrected_and_the_correction_can_be_taken_back() {
    let statistics = Statistics::default().absorb(&lognormal(7, 300, 2_000.0, 0.3, NOW), NOW);
    let estimate = statistics.corrected(&key(), prior());
    assert!((1_850..2_100).contains(&estimate.value.0), "{estimate:?}");
    assert_eq!(estimate.certainty, Certainty::Measured { n: 300 });
    assert_eq!(estimate.provenance, "statistics latency/access/bm25/conceptual/medium");
    assert!((999..=1_001).contains(&statistics.uncorrected(&key(), &estimate)));
    assert_eq!(statistics.uncorrected(&key(), &prior()), 1_000, "nothing was corrected");
}

#[test]
fn few_outcomes_move_the_point_a_little_and_widen_the_interval() {
    let five: Vec<Observation> = (0..5).map(|i| Observation::new(key(), format!("{i}"), NOW, 1_000, 10_000)).collect();
    let statistics = Statistics::default().absorb(&five, NOW);
    let estimate = statistics.corrected(&key(), prior());
    assert_eq!(estimate.certainty, Certainty::Measured { n: 5 });
    assert!((5_400..5_800).contains(&estimate.value.0), "three quarters of the way in logarithms: {estimate:?}");
    assert!(estimate.low.0 <= 2_900 && estimate.high.0 >= 10_000, "honestly wide: {estimate:?}");
}

#[test]
fn an_operator_never_seen_borrows_the_bias_of_its_class_but_not_the_certainty() {
    let statistics = Statistics::default().absorb(&lognormal(3, 200, 3_000.0, 0.2, NOW), NOW);
    let other = StatKey::access("default", Field::Latency, AccessPath::Dense, Bucket::Incident, SizeClass::Tiny);
    let estimate = statistics.corrected(&other, prior());
    assert_eq!(estimate.certainty, Certainty::Prior);
    assert!(estimate.value.0 > 2_000 && estimate.low.0 <= 500 && estimate.high.0 >= 3_000, "{estimate:?}");
    let sibling = StatKey { bucket: Some(Bucket::Incident), ..key() };
    assert_eq!(statistics.corrected(&sibling, prior()).certainty, Certainty::Measured { n: 200 });
    let stranger = StatKey { tenant: "other".to_owned(), ..key() };
    assert_eq!(statistics.corrected(&stranger, prior()), prior(), "tenants share nothing");
}

#[test]
fn facts_and_unknowns_are_not_corrected() {
    let statistics = Statistics::default().absorb(&lognormal(3, 200, 3_000.0, 0.2, NOW), NOW);
    for certainty in [Certainty::Configured, Certainty::Unknown] {
        let given = Estimated { certainty, ..prior() };
        assert_eq!(statistics.corrected(&key(), given.clone()), given);
    }
}

#[test]
fn the_epoch_stays_while_nothing_moves_and_moves_when_it_matters() {
    let first = Statistics::default().absorb(&lognormal(1, 200, 1_000.0, 0.3, NOW), NOW);
    let more = first.absorb(&lognormal(2, 30, 1_000.0, 0.3, NOW), NOW);
    assert_eq!(first.epoch("default"), more.epoch("default"));
    assert_eq!(first.stamps("default"), more.stamps("default"));
    let slower = more.absorb(&lognormal(3, 250, 3_000.0, 0.3, NOW), NOW);
    assert_ne!(more.epoch("default"), slower.epoch("default"));
    let four = Statistics::default().absorb(&lognormal(5, 4, 1_000.0, 0.05, NOW), NOW);
    assert_eq!(four.epoch("default"), Statistics::default().epoch("default"), "four outcomes near the estimate say nothing new");
    assert_ne!(four.absorb(&lognormal(6, 1, 1_000.0, 0.05, NOW), NOW).epoch("default"), four.epoch("default"), "the fifth counts");
}

#[test]
fn a_plan_is_stamped_with_what_it_read_and_with_what_was_not_there() {
    let empty = Statistics::default().stamps_for(&key());
    assert_eq!(empty.len(), 4);
    assert!(empty.iter().all(|stamp| stamp.version == "absent"));
    let full = Statistics::default().absorb(&lognormal(1, 200, 1_000.0, 0.3, NOW), NOW);
    let stamps = full.stamps_for(&key());
    assert_eq!(stamps.len(), 1);
    assert_eq!(stamps[0].object, "statistics default:latency/access/bm25/conceptual/medium");
    assert!(full.stamps("default").contains(&stamps[0]) && full.stamps("other").is_empty());
    let few = Statistics::default().absorb(&lognormal(1, 20, 1_000.0, 0.3, NOW), NOW);
    assert_eq!(few.stamps_for(&key()).len(), 4, "too few for an interval: it would be borrowed from a parent");
}

#[test]
fn outcomes_wait_for_a_hundred_of_them_or_a_minute() {
    let fresh = Statistics::default();
    let waiting = |runs: usize| {
        let mut waiting = Waiting::default();
        lognormal(7, runs, 1_000.0, 0.3, NOW).chunks(1).for_each(|run| waiting.add(run, NOW));
        waiting
    };
    assert!(!fresh.is_due(&waiting(0), NOW + 3_600), "nothing waits");
    assert!(!fresh.is_due(&waiting(4), NOW + 59) && fresh.is_due(&waiting(5), NOW) && fresh.is_due(&waiting(1), NOW + 60));
    let absorbed = fresh.absorb(&lognormal(1, 20, 1_000.0, 0.3, NOW), NOW + 50);
    let one = waiting(1);
    assert!(!absorbed.is_due(&one, NOW + 100) && absorbed.is_due(&one, NOW + 110), "a minute since the last absorption");
    let (fewer, enough) = (waiting(29), waiting(30));
    assert!(!absorbed.is_due(&fewer, NOW + 51) && absorbed.is_due(&enough, NOW + 51), "an operator first passes 5, 20, 50, 100");
    let many = fresh.absorb(&lognormal(1, 120, 1_000.0, 0.3, NOW), NOW + 50);
    assert!(!many.is_due(&waiting(99), NOW + 51) && many.is_due(&waiting(100), NOW + 51));
    let gathered = fresh.gather(&lognormal(1, 20, 9_000.0, 0.3, NOW));
    assert_eq!((gathered.epoch("default"), gathered.rows()[0].n), (fresh.epoch("default"), 20), "seen, and not planned with");
}

#[test]
fn old_outcomes_fade() {
    let old = Statistics::default().absorb(&lognormal(1, 100, 8_000.0, 0.1, NOW - 300 * DAY), NOW - 300 * DAY);
    let both = old.absorb(&lognormal(2, 100, 1_000.0, 0.1, NOW), NOW);
    let point = both.corrected(&key(), prior()).value.0;
    assert!(point < 1_100, "three hundred days later the old level still shows: {point}");
}

#[test]
fn rows_are_finite_or_absent_and_json_never_holds_nan() {
    assert!(Statistics::default().rows().is_empty());
    let extremes = [(0, 0), (0, i64::MAX), (i64::MAX, 0), (-5, 3)];
    let odd: Vec<Observation> =
        extremes.iter().enumerate().map(|(i, (e, a))| Observation::new(key(), format!("{i}"), NOW, *e, *a)).collect();
    let rows = Statistics::default().absorb(&odd, 0).rows();
    let text = serde_json::to_string(&rows).expect("rows serialise");
    for bad in ["NaN", "inf", "-0,", "-0.0", "9223372036854775807"] {
        assert!(!text.contains(bad), "{bad} in {text}");
    }
    assert_eq!((rows.len(), rows[0].n, rows[0].interval_low), (4, 4, None));
    assert!(rows[0].q_error_max.is_some_and(|q| q <= 1_000.1));
}

#[test]
fn rows_report_coverage_drift_and_errors() {
    let level = |i: u64| if i < 100 { 1_000 } else { 4_000 };
    let seen: Vec<Observation> = (0..200)
        .map(|i| Observation::new(key(), format!("{i}"), NOW + i, 1_000, level(i) + (i as i64 * 37) % 50).with_coverage(i < 100))
        .collect();
    let rows = Statistics::default().absorb(&seen, NOW + 200).rows();
    let row = &rows[3];
    assert_eq!((row.n, row.n_estimated, row.coverage, row.coverage_n, row.drift), (200, false, Some(0.5), 200, true));
    assert_eq!(row.size, Some("medium"));
    assert!(row.q_error_p95.is_some_and(|q| (3.9..4.2).contains(&q)), "{row:?}");
    assert!(row.mean_absolute_error.is_some_and(|e| (1_400.0..1_600.0).contains(&e)), "{row:?}");
}

#[test]
fn beyond_the_sample_the_count_is_an_estimate_that_says_so() {
    let statistics = Statistics::default().absorb(&lognormal(9, 5_000, 1_000.0, 0.3, NOW), NOW);
    let row = &statistics.rows()[0];
    assert!(row.n_estimated && (4_250..5_750).contains(&row.n), "{row:?}");
    assert!(statistics.to_json().len() < 4 * SAMPLE_MAX * 140, "a key stays bounded");
}

#[test]
fn labels_move_accuracy_within_its_domain() {
    let answerer = StatKey::new("default", Field::Latency, OperatorClass::Model, "local", Bucket::Conceptual);
    let accuracy = answerer.of(Field::Accuracy);
    let wrong: Vec<Observation> =
        (0..60).map(|i| Observation::labelled(&answerer, &format!("run {i}"), NOW, Ppm(900_000), i % 3 == 0, Label::Gold)).collect();
    let statistics = Statistics::default().absorb(&wrong, NOW);
    let prior = Estimated::new(Ppm(900_000), Ppm(500_000), Ppm(990_000), Certainty::Prior, "tier");
    let estimate = statistics.corrected(&accuracy, prior);
    assert!((330_000..480_000).contains(&estimate.value.0), "{estimate:?}");
    assert!(estimate.low < estimate.value && estimate.high.0 < 700_000, "{estimate:?}");
    let sure = Estimated::new(Ppm(100_000), Ppm(0), Ppm(200_000), Certainty::Prior, "tier");
    assert_eq!(statistics.corrected(&accuracy, sure).value, Ppm(0), "bounded below");
}

#[test]
fn a_rate_is_blended_with_its_prior() {
    let verdict = StatKey::verifier("default", Field::Verdict, "citations", Bucket::Conceptual);
    let passed: Vec<Observation> =
        (0..40).map(|i| Observation::new(verdict.clone(), format!("{i}"), NOW, 0, if i < 10 { 1_000_000 } else { 0 })).collect();
    let statistics = Statistics::default().absorb(&passed, NOW);
    let prior = Estimated::new(Ppm(800_000), Ppm(300_000), Ppm(1_000_000), Certainty::Prior, "guess");
    let estimate = statistics.corrected(&verdict, prior);
    assert!((250_000..360_000).contains(&estimate.value.0), "{estimate:?}");
}

#[test]
fn one_absurd_outcome_cannot_carry_a_mean_away() {
    let mut seen = lognormal(4, 99, 1_000.0, 0.1, NOW);
    seen.push(Observation::new(key(), "clock jumped", NOW, 1_000, i64::MAX));
    let estimate = Statistics::default().absorb(&seen, NOW).corrected(&key(), prior());
    assert!(estimate.value.0 < 1_150, "{estimate:?}");
}

#[test]
fn text_round_trips_and_foreign_text_is_refused() {
    let statistics = Statistics::default().absorb(&lognormal(4, 600, 1_000.0, 0.4, NOW), NOW);
    let back = Statistics::from_json(&statistics.to_json()).expect("own text");
    assert_eq!(back, statistics);
    assert!(!statistics.to_json().contains('.'), "integers only");
    for foreign in ["", "{}", "[1,2]", r#"{"schema_version":9}"#] {
        assert!(Statistics::from_json(foreign).is_err(), "{foreign:?} was accepted");
    }
}

#[test]
fn a_snapshot_for_planning_is_small_and_plans_alike() {
    let whole = Statistics::default().absorb(&lognormal(4, 600, 2_500.0, 0.4, NOW), NOW);
    let light = whole.for_planning();
    assert!(light.to_json().len() * 20 < whole.to_json().len());
    assert_eq!(light.corrected(&key(), prior()), whole.corrected(&key(), prior()));
    assert_eq!((light.epoch("default"), light.stamps("default")), (whole.epoch("default"), whole.stamps("default")));
    assert_eq!(light.merge(&whole), whole);
    let touched = light.absorb(&lognormal(5, 3, 90_000.0, 0.1, NOW), NOW);
    assert_eq!(touched.stamps("default"), whole.stamps("default"), "three outcomes do not overrule six hundred");
}

#[test]
fn tokens_and_shares_stay_in_their_domain() {
    let key = key().of(Field::Tokens);
    let seen: Vec<Observation> = (0..60).map(|i| Observation::new(key.clone(), format!("{i}"), NOW, 1_000, 1)).collect();
    let statistics = Statistics::default().absorb(&seen, NOW);
    let zero = Estimated::new(Tokens(0), Tokens(0), Tokens(u64::MAX), Certainty::Prior, "wild");
    let estimate = statistics.corrected(&key, zero);
    assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
}

fn observations() -> impl Strategy<Value = Vec<Observation>> {
    let one = (0u32..900, 0u64..90, 1i64..5_000, 1i64..50_000, 0usize..3).prop_map(|(id, day, estimate, actual, bucket)| {
        let bucket = [Bucket::Conceptual, Bucket::Incident, Bucket::Unknown][bucket];
        let key = StatKey { bucket: Some(bucket), ..key() };
        Observation::new(key, format!("run {id}"), NOW + day * DAY, estimate, actual)
    });
    prop::collection::vec(one, 0..60)
}

fn crowd(seed: u64) -> Vec<Observation> {
    lognormal(seed, 700, 1_000.0, 0.5, NOW)
}

proptest! {
    // Each case hashes thousands of outcomes.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merging_is_commutative_associative_and_idempotent(a in observations(), b in observations(), c in observations(), seed in 0u64..9) {
        let [a, b, c] = [[a, crowd(seed)].concat(), b, [c, crowd(seed + 1)].concat()].map(|seen| Statistics::default().absorb(&seen, NOW + 90 * DAY));
        prop_assert_eq!(a.merge(&b), b.merge(&a));
        prop_assert_eq!(a.merge(&b).merge(&c), a.merge(&b.merge(&c)));
        prop_assert_eq!(a.merge(&a), a.clone());
        prop_assert_eq!(a.merge(&Statistics::default()), a);
    }

    #[test]
    fn the_order_of_outcomes_and_their_repetition_do_not_matter(seen in observations(), cut in 0usize..60, seed in 0u64..9) {
        let seen = [seen, crowd(seed)].concat();
        let mut shuffled = seen.clone();
        let at = cut.min(shuffled.len());
        shuffled.rotate_left(at);
        shuffled.reverse();
        let twice = [shuffled.clone(), seen.clone()].concat();
        let whole = Statistics::default().absorb(&seen, NOW + 90 * DAY);
        prop_assert_eq!(&Statistics::default().absorb(&shuffled, NOW + 90 * DAY), &whole);
        prop_assert_eq!(&Statistics::default().absorb(&twice, NOW + 90 * DAY), &whole);
    }

    #[test]
    fn corrections_are_ordered_and_bounded(seen in observations(), value in 0u64..1_000_000, spread in 0u64..1_000_000) {
        let statistics = Statistics::default().absorb(&seen, NOW + 90 * DAY);
        let prior = Estimated::new(Micros(value), Micros(value.saturating_sub(spread)), Micros(value + spread), Certainty::Prior, "p");
        let estimate = statistics.corrected(&key(), prior);
        prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
        prop_assert!(estimate.high.0 <= (value + spread + 1) * 2_000_000);
    }
}

#[test]
fn what_is_imported_joins_what_is_known_and_says_where_it_came_from() {
    let own = Statistics::default().absorb(&lognormal(1, 10, 1_000.0, 0.2, NOW), NOW);
    let elsewhere = Statistics::default().absorb(&lognormal(2, 60, 4_000.0, 0.2, NOW), NOW);
    let text = elsewhere.to_json();
    let read = Statistics::from_json(&text).expect("own text");
    let both = own.with_imported(&read, "other.json").publish(NOW);
    assert_eq!(both.rows()[0].n, 70);
    let estimate = both.corrected(&key(), prior());
    assert!(estimate.is_learned() && estimate.provenance.ends_with("in part imported"), "{estimate:?}");
    let origins: Vec<(&str, u32, u32)> = both.origins().map(|o| (o.name.as_str(), o.keys, o.outcomes)).collect();
    assert_eq!(origins, [("other.json", 4, 60)]);
    assert_eq!(both.with_imported(&read, "other.json").publish(NOW), both, "the same file twice changes nothing");
    assert_eq!(Statistics::from_json(&both.to_json()).expect("own text"), both);
    let absurd = text.replace(r#""residual":"#, r#""residual":90000000000"#);
    let bounded = Statistics::from_json(&absurd).expect("numbers").publish(NOW).corrected(&key(), prior());
    assert!(bounded.value.0 <= 1_001_000, "{bounded:?}");
}
