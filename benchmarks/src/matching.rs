//! Shared decisions over a stream of requests: how many are served, how often wrongly, and what that loses.
//!
//! A stream goes through the cache as the runtime takes it: literal, template, semantic; what none serves is planned, and where
//! the cache asks for it, the nearest decision is judged beside. Everything that is served is planned cold too, apart from the
//! cache, to see whether it was wrong. The sources are made up (`templates::probe`); the texts are real.

use crate::figure::Figure;
use crate::planning::Scene;
use crate::templates::{Bench, CHANGES, NOW, REGRET_MOST, cached, empty, probe, shared};
use ctx_plan_cache::{ABSENT_VERSION, CurrentStamps, Lookup, PlanCache, PlanKey, Settings, Stamps};
use ctx_planner::Planner;
use ctx_types::plan::Stamp;
use ctx_types::{Goal, PicoUsd, Plan, Ppm};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use std::sync::Arc;

/// Shares of wrong matches that users may allow.
const ALLOWED: [u32; 3] = [50_000, 20_000, 10_000];
/// Requests of the replay.
const REPLAYED: usize = 20_000;
/// A matcher that proves nothing takes every decision within this distance.
const FIXED: Ppm = Ppm(100_000);

/// What a stream came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Tally {
    requests: u64,
    literal: u64,
    template: u64,
    semantic: u64,
    wrong_template: u64,
    wrong_semantic: u64,
    /// Served although a field that must agree does not.
    across: u64,
    regret: f64,
    checks: u64,
}

impl Tally {
    fn served(&self) -> u64 {
        self.literal + self.template + self.semantic
    }

    fn hit_rate(&self) -> f64 {
        self.served() as f64 / self.requests.max(1) as f64
    }

    fn wrong_share(&self) -> f64 {
        self.wrong_semantic as f64 / self.semantic.max(1) as f64
    }
}

/// How a request may be served.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// As the runtime does, with this share of wrong semantic matches; zero: none are made.
    Proven(u32),
    /// Every decision of the family within [`FIXED`], unproven.
    Fixed,
}

struct Stream<'a, 'b> {
    bench: &'a Bench<'b>,
    cache: PlanCache,
    rule: Rule,
    tally: Tally,
}

impl<'a, 'b> Stream<'a, 'b> {
    fn new(bench: &'a Bench<'b>, rule: Rule) -> Stream<'a, 'b> {
        let settings = |error| Settings { semantic_error: Ppm(error), ..empty().settings() };
        let cache = match rule {
            Rule::Proven(error) => PlanCache::new(settings(error)),
            Rule::Fixed => PlanCache::new(settings(1)),
        };
        Stream { bench, cache, rule, tally: Tally::default() }
    }

    /// One request. `foreign`: everything that stands was made for something else, so nothing may serve; it leaves nothing.
    fn take(&mut self, scene: &Scene, stamps: &Stamps, goal: &Goal, foreign: bool) {
        let bench = self.bench;
        let current = CurrentStamps::of(stamps);
        self.tally.requests += 1;
        let words = PlanKey::literal(&bench.key_input(goal));
        let literal = self.cache.lookup(&words, &current, NOW).hit().map(|entry| entry.plan.clone());
        let (said, intent) = probe(&bench.planner, goal);
        let key = bench.key(scene, goal, &said, &intent);
        let tenant = &goal.principal.tenant;
        let nearest = self.cache.nearest(&key, &current, NOW);
        let found = match (self.rule, &nearest) {
            (Rule::Fixed, Some(near)) if near.distance <= FIXED => Lookup::Hit(near.entry.clone()),
            (Rule::Fixed, _) => Lookup::Miss(ctx_plan_cache::MissCause::Absent),
            _ => self.cache.lookup_template(&key, tenant, &current, NOW),
        };
        let Some(cold) = bench.cold(scene, goal, &said) else { return };
        let made = match &found {
            Lookup::Near { known, .. } => bench.made_of(scene, known, goal, &said).map(Arc::new),
            found => found.hit().map(|entry| entry.plan.clone()),
        };
        let served = literal.clone().or(made);
        let Some(served) = served else {
            if foreign {
                return;
            }
            let judge = |near: &ctx_plan_cache::Proposal| {
                let proposed = match &near.known {
                    None => bench.score_as(scene, &near.entry.plan, goal, &said, &cold.plan),
                    Some(known) => Some(bench.made_of(scene, known, goal, &said)?.score.total.0),
                };
                Some(near.verdict(cold.plan.score.total.0, proposed))
            };
            let verdict = nearest.as_ref().filter(|_| found.wants_verdict()).and_then(judge);
            self.tally.checks += u64::from(verdict.is_some());
            let entry = cached(cold, said.goal_tokens);
            self.cache.custom(&key, &entry, goal.weights.cost_of_time(entry.planning), verdict.as_ref(), &current);
            self.cache.insert(words, entry, &current);
            return;
        };
        let regret = match &found {
            Lookup::Near { .. } if literal.is_none() => bench.behind(served.score.total.0, &cold.plan),
            _ => bench.regret(scene, &served, goal, &said, &cold.plan),
        };
        let wrong = u64::from(regret > REGRET_MOST);
        self.tally.regret += regret;
        // What a plan that is served depends on stands; where a decision serves as it is, so does what it was made for.
        let outdated = |stamp: &Stamp| stamps.version(&stamp.object).unwrap_or(ABSENT_VERSION) != stamp.version;
        let by = found.hit().filter(|_| literal.is_none()).map_or(&served.goal, |entry| &entry.plan.goal);
        let made_anew = matches!(found, Lookup::Near { .. }) && literal.is_none();
        let across =
            (foreign && !made_anew) || served.stamps.iter().any(outdated) || by.principal != goal.principal || by.weights != goal.weights;
        self.tally.across += u64::from(across);
        if literal.is_none() && self.rule != Rule::Fixed {
            // As the runtime does: asked in these words again, it is a literal hit.
            let own = match &found {
                Lookup::Near { .. } => Plan::clone(&served),
                _ => bench.bound(&served, goal, intent),
            };
            self.cache.insert(words, shared(own, said.goal_tokens), &current);
        }
        match (literal.is_some(), &found) {
            (true, _) => self.tally.literal += 1,
            (false, Lookup::Near { .. }) => {
                self.tally.semantic += 1;
                self.tally.wrong_semantic += wrong;
            }
            (false, _) if self.rule == Rule::Fixed => {
                self.tally.semantic += 1;
                self.tally.wrong_semantic += wrong;
            }
            (false, _) => {
                self.tally.template += 1;
                self.tally.wrong_template += wrong;
            }
        }
    }

    /// Mean regret of everything that was asked: what is planned anew loses nothing.
    fn mean_regret(&self) -> f64 {
        self.tally.regret / self.tally.requests.max(1) as f64
    }
}

/// The rows: adversarial pairs, paraphrases, and a replay by Zipf's law.
pub fn rows(goals: &[Goal], paraphrases: &[Goal], pairs: usize, seed: u64) -> (Vec<Figure>, serde_json::Value) {
    let scene = Scene::default();
    let mut bench = Bench { scene: &scene, planner: Planner::builder().build(), random: StdRng::seed_from_u64(seed) };
    let (mut figures, mut details) = (Vec::new(), serde_json::Map::new());
    let mut keep = |name: String, tally: &Tally| drop(details.insert(name, serde_json::json!(tally)));
    let all = pair_list(&mut bench, goals, pairs);
    for allowed in ALLOWED {
        let tally = adversarial(&bench, &all, Rule::Proven(allowed));
        let name = format!("share of false semantic hits on pairs, at most {}", Ppm(allowed));
        let how = format!(
            "{} requests of {} pairs; {} semantic hits, {} false; {} checks",
            tally.requests,
            all.len(),
            tally.semantic,
            tally.wrong_semantic,
            tally.checks
        );
        figures.push(Figure::new(name, tally.wrong_share(), "", how).at_most(f64::from(allowed) / 1e6));
        figures.push(
            Figure::new(
                format!("hits across exact fields on pairs, {}", Ppm(allowed)),
                tally.across as f64,
                "",
                "tenant, role, weights, prices, edited source",
            )
            .at_most(0.0),
        );
        keep(format!("pairs {allowed}"), &tally);
    }
    let mut shuffled = paraphrases.to_vec();
    shuffled.shuffle(&mut bench.random);
    let rules = [("exact only", Rule::Proven(0)), ("fixed distance .1", Rule::Fixed)];
    let rules = rules.into_iter().chain(ALLOWED.map(|allowed| ("semantic", Rule::Proven(allowed))));
    for (name, rule) in rules {
        let mut stream = Stream::new(&bench, rule);
        let stamps = scene.stamps();
        shuffled.iter().for_each(|goal| stream.take(&scene, &stamps, goal, false));
        let tally = stream.tally;
        let name = match rule {
            Rule::Proven(allowed) if allowed > 0 => format!("hit rate on paraphrases, {name} at {}", Ppm(allowed)),
            _ => format!("hit rate on paraphrases, {name}"),
        };
        let wrong = tally.wrong_template + tally.wrong_semantic;
        let how = format!(
            "{} texts in drawn order; {} template, {} semantic hits, {wrong} false ({:.4} of them); mean regret {:.5}; {} checks",
            tally.requests,
            tally.template,
            tally.semantic,
            wrong as f64 / tally.served().max(1) as f64,
            stream.mean_regret(),
            tally.checks
        );
        keep(name.clone(), &tally);
        figures.push(Figure::new(name, tally.hit_rate(), "", how));
    }
    let questions = requests(&mut bench, goals);
    let varied = requests(&mut bench, &shuffled);
    let replays = [
        ("exact", Rule::Proven(0), &questions, goals.len()),
        ("semantic at 0.05", Rule::Proven(ALLOWED[0]), &questions, goals.len()),
        ("paraphrases, exact", Rule::Proven(0), &varied, shuffled.len()),
        ("paraphrases, semantic at 0.05", Rule::Proven(ALLOWED[0]), &varied, shuffled.len()),
    ];
    for (name, rule, asked, texts) in replays {
        let stream = replay(&bench, asked, rule);
        let (tally, regret) = (stream.tally, stream.mean_regret());
        let how = format!(
            "{REPLAYED} requests by Zipf's law over {texts} texts in four variants, the source edited or a price changed every 2,000"
        );
        let parts = format!(
            "literal {:.3}, template {:.3}, semantic {:.3}; {} false of {}",
            tally.literal as f64 / tally.requests as f64,
            tally.template as f64 / tally.requests as f64,
            tally.semantic as f64 / tally.requests as f64,
            tally.wrong_template + tally.wrong_semantic,
            tally.served()
        );
        keep(format!("replay {name}"), &tally);
        figures
            .push(Figure::new(format!("hit rate of the replay, {name}"), tally.hit_rate(), "", how.clone()).at_least(0.70).beside(parts));
        figures.push(Figure::new(format!("plan regret of the replay, {name}, share of the cold score"), regret, "", how).at_most(0.01));
    }
    (figures, serde_json::json!({ "seed": seed, "tallies": details }))
}

fn pair_list<'g>(bench: &mut Bench<'_>, goals: &'g [Goal], pairs: usize) -> Vec<(&'g Goal, Goal, &'static str)> {
    let made = (0..pairs).filter_map(|round| {
        let goal = &goals[round % goals.len()];
        let change = CHANGES[(round / goals.len() + round) % CHANGES.len()];
        Some((goal, bench.changed(goal, change)?, change))
    });
    made.collect()
}

fn adversarial(bench: &Bench<'_>, pairs: &[(&Goal, Goal, &'static str)], rule: Rule) -> Tally {
    let stamps = bench.scene.stamps();
    let mut stream = Stream::new(bench, rule);
    let mut other_scene = Scene::default();
    for (round, (goal, other, change)) in pairs.iter().enumerate() {
        stream.take(bench.scene, &stamps, goal, false);
        other_scene.catalog = bench.scene.catalog.clone();
        match *change {
            "prices" => {
                if let Some(model) = other_scene.catalog.models.values_mut().last() {
                    model.prices.output = Some(PicoUsd(1_000_000 + round as i64));
                }
            }
            "edited source" => {
                other_scene.catalog.sources.values_mut().for_each(|entry| entry.fingerprint = format!("edited {round}"));
            }
            _ => {
                stream.take(bench.scene, &stamps, other, false);
                continue;
            }
        }
        stream.take(&other_scene, &other_scene.stamps(), other, true);
    }
    stream.tally
}

/// Requests drawn by Zipf's law over goals, three in four with a drawn number in them.
fn requests(bench: &mut Bench<'_>, goals: &[Goal]) -> Vec<Goal> {
    let cumulated: Vec<f64> = (1..=goals.len())
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        })
        .collect();
    let draw = |_| {
        let drawn = bench.random.random_range(0.0..cumulated[cumulated.len() - 1]);
        let goal = &goals[cumulated.partition_point(|sum| *sum < drawn).min(goals.len() - 1)];
        let variant = bench.random.random_range(0..4);
        if variant == 0 { goal.clone() } else { Goal::new(format!("{} ({})", goal.text, 2_000 + variant)) }
    };
    (0..REPLAYED).map(draw).collect()
}

fn replay<'a, 'b>(bench: &'a Bench<'b>, asked: &[Goal], rule: Rule) -> Stream<'a, 'b> {
    let mut scene = Scene::default();
    let mut stamps = scene.stamps();
    let mut stream = Stream::new(bench, rule);
    for (at, goal) in asked.iter().enumerate() {
        if at % 4_000 == 1_999 {
            scene.catalog.sources.values_mut().for_each(|entry| entry.fingerprint = format!("edited {at}"));
            stamps = scene.stamps();
        }
        if at % 4_000 == 3_999
            && let Some(model) = scene.catalog.models.values_mut().last()
        {
            model.prices.output = Some(PicoUsd(1_000_000 + at as i64));
            stamps = scene.stamps();
        }
        stream.take(&scene, &stamps, goal, false);
    }
    stream
}
