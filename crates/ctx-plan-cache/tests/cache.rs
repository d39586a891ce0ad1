//! The cache as its user sees it: hits, misses by cause, the bound, persistence, and peeking without a trace.

#[path = "fixture/mod.rs"]
#[allow(dead_code)]
mod fixture;

use ctx_plan_cache::{Bypass, CurrentStamps, Inserted, Lookup, MissCause, PlanCache, Settings, Stamps};
use ctx_types::{Constraints, Goal, Sensitivity};
use fixture::{entry, key, stamp, stamps};
use proptest::prelude::*;

const NOW: u64 = 1_700_000_000;

fn goal(text: &str) -> Goal {
    Goal::new(text)
}

fn filled(text: &str) -> (PlanCache, Stamps) {
    let mut cache = PlanCache::new(Settings::default());
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    assert!(cache.lookup(&key(&goal(text)), &current, NOW).hit().is_none());
    assert_eq!(cache.insert(key(&goal(text)), entry(&goal(text), NOW), &current), Inserted::Admitted { evicted: 0 });
    (cache, snapshot)
}

fn cause(lookup: Lookup) -> MissCause {
    match lookup {
        Lookup::Miss(cause) => cause,
        hit => panic!("{hit} where a miss was expected"),
    }
}

#[test]
fn the_second_time_is_a_hit_and_is_counted_with_what_it_saved() {
    let (mut cache, snapshot) = filled("Explain X");
    let found = cache.lookup(&key(&goal("Explain X")), &CurrentStamps::of(&snapshot), NOW + 5);
    assert_eq!(found.to_string(), "hit (literal)");
    let counters = cache.counters();
    assert_eq!((counters.hits, counters.absent, counters.saved.0, counters.hit_rate_milli()), (1, 1, 700, Some(500)));
}

#[test]
fn an_edited_source_is_a_miss_that_names_it_and_spares_plans_that_did_not_read_it() {
    let (mut cache, snapshot) = filled("Explain X");
    let mut edited = stamps();
    edited[0] = stamp("source docs", "a2");
    edited.push(stamp("source wiki", "w9"));
    let edited = Stamps::from(edited);
    let peeked = cause(cache.peek(&key(&goal("Explain X")), &CurrentStamps::of(&edited), NOW));
    let found = cause(cache.lookup(&key(&goal("Explain X")), &CurrentStamps::of(&edited), NOW));
    assert_eq!(peeked, found);
    assert_eq!(found.to_string(), "source docs changed");
    assert_eq!(cache.counters().stale.get("source docs"), Some(&1));
    assert_eq!(cache.len(), 0, "an entry that can never be hit again is dropped");

    let (mut cache, _) = filled("Explain X");
    let unrelated = Stamps::from(stamps().into_iter().chain([stamp("source wiki", "w10")]).collect::<Vec<_>>());
    assert!(cache.lookup(&key(&goal("Explain X")), &CurrentStamps::of(&unrelated), NOW).hit().is_some());
    assert!(cache.lookup(&key(&goal("Explain X")), &CurrentStamps::of(&snapshot), NOW).hit().is_some());
}

#[test]
fn an_entry_lives_as_long_as_configured_and_not_longer_under_a_wrong_clock() {
    let (mut cache, snapshot) = filled("Explain X");
    let current = CurrentStamps::of(&snapshot);
    let look = |cache: &PlanCache, now| cache.peek(&key(&goal("Explain X")), &current, now);
    assert!(look(&cache, NOW + 3599).hit().is_some());
    assert!(look(&cache, NOW - 60).hit().is_some(), "a clock set back a little");
    assert!(matches!(cause(look(&cache, NOW - 86_400)), MissCause::Expired { .. }));
    assert!(matches!(cause(look(&cache, u64::MAX)), MissCause::Expired { .. }));
    let expired = cause(cache.lookup(&key(&goal("Explain X")), &current, NOW + 3600));
    assert_eq!(expired, MissCause::Expired { age_seconds: 3600, ttl_seconds: 3600 });
    assert_eq!((cache.counters().expired, cache.len()), (1, 0));
}

#[test]
fn peeking_leaves_no_trace() {
    let (cache, snapshot) = filled("Explain X");
    let before = (cache.counters().clone(), cache.to_bytes(), cache.rows(NOW));
    for text in ["Explain X", "Explain Y"] {
        let _ = cache.peek(&key(&goal(text)), &CurrentStamps::of(&snapshot), NOW + 9999);
    }
    assert_eq!(before, (cache.counters().clone(), cache.to_bytes(), cache.rows(NOW)));
}

#[test]
fn switched_off_or_bypassed_it_neither_answers_nor_remembers() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let mut off = PlanCache::new(Settings { enabled: false, ..Settings::default() });
    assert!(matches!(off.insert(key(&goal("x")), entry(&goal("x"), NOW), &current), Inserted::Refused(_)));
    assert_eq!(cause(off.lookup(&key(&goal("x")), &current, NOW)), MissCause::Disabled);

    let talk = Goal { conversation: Some("c1".to_owned()), ..goal("and the second one?") };
    assert_eq!(Bypass::demanded_by(&talk), Some(Bypass::Conversation));
    let mut cache = PlanCache::new(Settings::default());
    assert_eq!(cache.bypass(Bypass::Conversation).to_string(), "bypassed (conversation)");
    assert!(matches!(cache.insert(key(&talk), entry(&talk, NOW), &current), Inserted::Refused(_)));
    assert_eq!((cache.len(), cache.counters().bypassed.get("conversation")), (0, Some(&1)));
}

#[test]
fn a_plan_made_while_its_source_changed_is_not_kept() {
    let mut cache = PlanCache::new(Settings::default());
    let moved = Stamps::from(stamps().into_iter().skip(1).collect::<Vec<_>>());
    let result = cache.insert(key(&goal("x")), entry(&goal("x"), NOW), &CurrentStamps::of(&moved));
    assert!(matches!(result, Inserted::Refused(_)), "{result:?}");
}

#[test]
fn a_goal_that_differs_in_outer_blanks_hits_and_is_told_from_the_words_it_was_made_for() {
    let (mut cache, snapshot) = filled("Explain X");
    let spaced = goal(" Explain X\n");
    let found = cache.lookup(&key(&spaced), &CurrentStamps::of(&snapshot), NOW);
    let entry = found.hit().expect("outer white space is not part of the key");
    assert!(!entry.made_for(&spaced) && entry.made_for(&goal("Explain X")));
}

#[test]
fn what_is_asked_often_survives_a_flood_of_single_questions() {
    let snapshot = Stamps::from(stamps());
    let current = CurrentStamps::of(&snapshot);
    let one = {
        let (cache, _) = filled("size");
        cache.bytes()
    };
    let mut cache = PlanCache::new(Settings { bytes_max: one * 12, ..Settings::default() });
    let ask = |cache: &mut PlanCache, text: &str| {
        let hit = cache.lookup(&key(&goal(text)), &current, NOW).hit().is_some();
        if !hit {
            let _ = cache.insert(key(&goal(text)), entry(&goal(text), NOW), &current);
        }
        hit
    };
    for _ in 0..6 {
        (0..8).for_each(|i| {
            ask(&mut cache, &format!("often {i}"));
        });
    }
    (0..300).for_each(|i| {
        ask(&mut cache, &format!("once {i:03}"));
    });
    let kept = (0..8).filter(|i| ask(&mut cache, &format!("often {i}"))).count();
    assert_eq!(kept, 8, "{:?}", cache.counters());
    assert!(cache.counters().evicted > 0 || cache.counters().refused > 0);
}

#[test]
fn persisted_entries_come_back_in_order_and_damage_is_reported() {
    let (mut cache, snapshot) = filled("first");
    let current = CurrentStamps::of(&snapshot);
    for text in ["second", "third"] {
        cache.insert(key(&goal(text)), entry(&goal(text), NOW), &current);
    }
    let secret = Goal {
        constraints: Constraints { sensitivity: Some(Sensitivity::Confidential), ..Constraints::default() },
        ..goal("salary of Ann")
    };
    cache.insert(key(&secret), entry(&secret, NOW), &current);
    let bytes = cache.to_bytes();
    assert!(!String::from_utf8_lossy(&bytes).contains("salary of Ann"), "confidential words must not reach the disk");

    let (back, report) = PlanCache::from_bytes(&bytes, Settings::default(), NOW + 1);
    assert_eq!((report.loaded, report.dropped), (3, 0));
    assert!(back.peek(&key(&goal("second")), &current, NOW + 1).hit().is_some());
    assert_eq!(back.to_bytes(), bytes);
    assert_eq!(PlanCache::from_bytes(&bytes, Settings::default(), NOW + 3600).1.expired, 3);

    let (torn, report) = PlanCache::from_bytes(&bytes[..bytes.len() - 7], Settings::default(), NOW);
    assert_eq!((torn.len(), report.dropped), (2, 1));
    let mut flipped = bytes.clone();
    let middle = bytes.len() / 2;
    flipped[middle] ^= 1;
    let (partial, report) = PlanCache::from_bytes(&flipped, Settings::default(), NOW);
    assert_eq!((partial.len(), report.dropped), (2, 1), "{report:?}");
    assert!(report.reasons[0].contains("checksum"), "{report:?}");
    let (empty, report) = PlanCache::from_bytes(b"SQLite format 3", Settings::default(), NOW);
    assert!(empty.is_empty() && report.reasons[0].contains("not a plan cache"));
}

#[test]
fn clearing_says_how_many_and_rows_withhold_confidential_words() {
    let (mut cache, snapshot) = filled("Explain X");
    let secret =
        Goal { constraints: Constraints { sensitivity: Some(Sensitivity::Restricted), ..Constraints::default() }, ..goal("key 4711") };
    cache.insert(key(&secret), entry(&secret, NOW), &CurrentStamps::of(&snapshot));
    let rows = cache.rows(NOW + 2);
    assert_eq!((rows[0].goal.as_str(), rows[1].goal.as_str(), rows[1].age_seconds), ("(restricted)", "Explain X", 2));
    assert_eq!(cache.clear(), 2);
    assert_eq!((cache.len(), cache.bytes()), (0, 0));
}

proptest! {
    // Each case serialises dozens of plans; a few cases reach every branch.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_byte_bound_holds_and_what_is_held_is_found(
        steps in prop::collection::vec((0u8..40, any::<bool>()), 1..60), room in 1usize..12
    ) {
        let one = { let (cache, _) = filled("g 00"); cache.bytes() };
        let settings = Settings { bytes_max: one * room * 8 / 7, ..Settings::default() };
        let mut cache = PlanCache::new(settings);
        let snapshot = Stamps::from(stamps());
        let current = CurrentStamps::of(&snapshot);
        for (id, insert) in steps {
            let goal = goal(&format!("g {id:02}"));
            let known = cache.peek(&key(&goal), &current, NOW).hit().is_some();
            prop_assert_eq!(cache.lookup(&key(&goal), &current, NOW).hit().is_some(), known);
            if insert {
                let admitted = matches!(cache.insert(key(&goal), entry(&goal, NOW), &current), Inserted::Admitted { .. });
                let held = cache.peek(&key(&goal), &current, NOW).hit().is_some();
                prop_assert_eq!(admitted, held);
            }
            prop_assert!(cache.bytes() <= settings.bytes_max);
            prop_assert_eq!(cache.bytes(), cache.rows(NOW).iter().map(|row| row.bytes).sum::<usize>());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), magic in any::<bool>()) {
        let mut input = if magic { [b"ctxrt-plan-cache".as_slice(), &2u32.to_le_bytes()].concat() } else { Vec::new() };
        input.extend(bytes);
        let (cache, report) = PlanCache::from_bytes(&input, Settings::default(), NOW);
        prop_assert_eq!(cache.len(), report.loaded);
    }
}
