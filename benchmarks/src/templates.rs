//! Templates of the plan cache: what they cost to look up, and whether a hit is ever false.
//!
//! Goals are the texts of real questions; what a source says about a goal is drawn from the hash of its words, so that goals
//! differ in their probes as they do over a real index. Every hit is judged against planning that very goal cold.

use crate::figure::Figure;
use crate::planning::Scene;
use ctx_eval::metrics::quantile;
use ctx_plan_cache::{
    CUSTOM_PLANS_MIN, CachedPlan, CurrentStamps, EntryKind, KeyInput, Lookup, PlanCache, Scope, Settings, Stamps, Template, TemplateKey,
};
use ctx_planner::{Inputs, PlanError, Planned, Planner};
use ctx_testkit::catalogs;
use ctx_types::goal::Hint;
use ctx_types::id::sha256_hex;
use ctx_types::plan::Known;
use ctx_types::probe::{IdentifierHits, TermFrequency};
use ctx_types::{Goal, Intent, Micros, PicoUsd, Plan, Probe, Sensitivity, SourceProbe, Tokens};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Changes of a goal that are no other wording of it.
pub(crate) const CHANGES: [&str; 10] =
    ["entity", "number", "operand swap", "negation", "imperative", "tenant", "role", "weights", "prices", "edited source"];
/// A hit is false if the plan's score is this far below the cold plan's, as a share of it.
pub(crate) const REGRET_MOST: f64 = 0.01;
/// Now, whenever that is.
pub(crate) const NOW: u64 = 1_800_000_000;

pub(crate) struct Bench<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) planner: Planner,
    pub(crate) random: StdRng,
}

/// What pairs of one change gave.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Tally {
    pairs: u64,
    hits: u64,
    other_choice: u64,
    false_hits: u64,
}

fn hash(text: &str) -> u64 {
    u64::from_str_radix(&sha256_hex(text.as_bytes())[..15], 16).unwrap_or(0)
}

/// What the source says about a goal.
pub(crate) fn probe(planner: &Planner, goal: &Goal) -> (Probe, Intent) {
    let intent = planner.analyze(goal);
    let words = goal.text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
    let frequency = |word: &str| (hash(word) % 71).pow(2);
    let terms = words.map(|word| TermFrequency { term: word.to_lowercase(), passages: frequency(&word.to_lowercase()) }).collect();
    let identifiers =
        intent.identifiers().map(|e| IdentifierHits { identifier: e.normal.clone(), passages: hash(&e.normal) % 4 }).collect();
    let said =
        SourceProbe { terms, identifiers, centroid_similarity: Some((hash(&goal.text) % 3_000) as i32 + 2_500), table: None, lookups: 1 };
    let mut probe = catalogs::probe(&[("docs", said)]);
    probe.goal_tokens = Tokens(goal.text.len() as u64 / 4 + 1);
    (probe, intent)
}

impl Bench<'_> {
    fn inputs<'a>(&'a self, scene: &'a Scene, goal: &'a Goal, probe: &'a Probe) -> Inputs<'a> {
        Inputs { probe, ..scene.inputs(goal) }
    }

    pub(crate) fn key_input<'a>(&'a self, goal: &'a Goal) -> KeyInput<'a> {
        let sources = std::slice::from_ref(&self.scene.source);
        KeyInput { goal, limits: &self.scene.limits, sources, configuration: "", planner_version: Planner::version() }
    }

    pub(crate) fn key(&self, scene: &Scene, goal: &Goal, probe: &Probe, intent: &Intent) -> TemplateKey {
        let said = ctx_planner::signature(&scene.catalog, std::slice::from_ref(&scene.source), probe, intent);
        let question = goal.text.contains('?');
        let (signature, inputs) = (&said.exact, &said.inputs);
        TemplateKey::of(&self.key_input(goal), &Template { intent, question, signature, inputs, goal_tokens: probe.goal_tokens })
    }

    pub(crate) fn cold(&self, scene: &Scene, goal: &Goal, probe: &Probe) -> Option<Planned> {
        match self.planner.plan(&self.inputs(scene, goal, probe)) {
            Ok(planned) => Some(planned),
            Err(PlanError::Infeasible(_)) => None,
            Err(error) => panic!("planning {:?}: {error}", goal.text),
        }
    }

    /// A decision under another goal's words.
    pub(crate) fn bound(&self, template: &Plan, goal: &Goal, intent: Intent) -> Plan {
        let bound = self.planner.finish(template.clone()).and_then(|template| self.planner.bind(&template, goal, intent, ""));
        bound.expect("a decision that was planned before").plan
    }

    /// Score that a decision has for this goal; none if no plan of its shape is possible.
    pub(crate) fn score_as(&self, scene: &Scene, template: &Plan, goal: &Goal, probe: &Probe, cold: &Plan) -> Option<i64> {
        if template.decides_as(cold) {
            return Some(cold.score.total.0);
        }
        let mut pinned = goal.clone();
        pinned.hints.push(Hint::Gist(template.gist.clone()));
        self.cold(scene, &pinned, probe).map(|plan| plan.plan.score.total.0)
    }

    /// The best plan that is made of what is known.
    pub(crate) fn made_of(&self, scene: &Scene, known: &Known, goal: &Goal, probe: &Probe) -> Option<Plan> {
        match self.planner.plan_of(&self.inputs(scene, goal, probe), known) {
            Ok(planned) => Some(planned.plan),
            Err(PlanError::Infeasible(_)) => None,
            Err(error) => panic!("planning {:?}: {error}", goal.text),
        }
    }

    /// How far a decision lies below this goal's cold plan, as a share of the cold score.
    pub(crate) fn regret(&self, scene: &Scene, template: &Plan, goal: &Goal, probe: &Probe, cold: &Plan) -> f64 {
        self.score_as(scene, template, goal, probe, cold).map_or(1.0, |score| self.behind(score, cold))
    }

    /// How far a score lies below the cold plan's, as a share of it.
    pub(crate) fn behind(&self, score: i64, cold: &Plan) -> f64 {
        (cold.score.total.0 - score) as f64 / (cold.score.total.0 as f64).abs().max(1.0)
    }

    pub(crate) fn changed(&mut self, goal: &Goal, change: &str) -> Option<Goal> {
        let mut other = goal.clone();
        let words: Vec<&str> = goal.text.split(' ').collect();
        let numbered = |word: &&str| word.chars().any(|c| c.is_ascii_digit());
        match change {
            "entity" => {
                let names: Vec<usize> = (1..words.len()).filter(|at| words[*at].starts_with(char::is_uppercase)).collect();
                let at = *names.get(self.random.random_range(0..names.len().max(1)))?;
                let mut words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
                words[at] = format!("Q{}", self.random.random_range(0..1_000_000));
                other.text = words.join(" ");
            }
            "number" => {
                let at = words.iter().position(numbered)?;
                let mut words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
                words[at] = self.random.random_range(0..100_000).to_string();
                other.text = words.join(" ");
            }
            "operand swap" => {
                let at = (1..words.len().saturating_sub(1)).find(|at| ["and", "or", "than", "versus"].contains(&words[*at]))?;
                let mut words = words.clone();
                words.swap(at - 1, at + 1);
                other.text = words.join(" ");
            }
            "negation" => {
                other.text = words
                    .iter()
                    .enumerate()
                    .map(|(at, w)| if at == 1 { format!("{w} not") } else { (*w).to_owned() })
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            "imperative" => other.text = format!("Delete {}", goal.text.trim_end_matches('?')),
            "tenant" => other.principal.tenant = "another".to_owned(),
            "role" => drop(other.principal.roles.insert("auditor".to_owned())),
            "weights" => other.weights.cost += self.random.random_range(1..500_000),
            _ => {}
        }
        Some(other)
    }
}

pub(crate) fn cached(planned: Planned, tokens: Tokens) -> CachedPlan {
    shared(planned.plan, tokens)
}

pub(crate) fn shared(plan: Plan, tokens: Tokens) -> CachedPlan {
    CachedPlan {
        kind: EntryKind::Literal,
        plan: Arc::new(plan),
        label: Sensitivity::Public,
        planning: Micros(700),
        planned_at: NOW,
        goal_tokens: tokens,
        scope: Scope::default(),
    }
}

/// Five custom plans: from here on the template serves.
fn settle(cache: &mut PlanCache, key: &TemplateKey, entry: &CachedPlan, stamps: &Stamps) {
    (0..CUSTOM_PLANS_MIN).for_each(|_| cache.custom(key, entry, 0, None, &CurrentStamps::of(stamps)));
}

pub(crate) fn empty() -> PlanCache {
    PlanCache::new(Settings { bytes_max: 1 << 30, ..Settings::default() })
}

/// The rows over these goals.
pub fn rows(goals: &[Goal], pairs: usize, seed: u64) -> (Vec<Figure>, serde_json::Value) {
    let scene = Scene::default();
    let mut bench = Bench { scene: &scene, planner: Planner::builder().build(), random: StdRng::seed_from_u64(seed) };
    let mut figures = times(&bench, goals);
    let tallies = adversarial(&mut bench, goals, pairs);
    let all = tallies.values().fold(Tally::default(), |a, b| Tally {
        pairs: a.pairs + b.pairs,
        hits: a.hits + b.hits,
        other_choice: a.other_choice + b.other_choice,
        false_hits: a.false_hits + b.false_hits,
    });
    let by = tallies.iter().map(|(change, t)| format!("{change} {}/{}", t.false_hits, t.hits)).collect::<Vec<_>>().join(", ");
    let how = format!(
        "{} generated pairs, {} hits, {} with another choice than cold; false/hits by change: {by}",
        all.pairs, all.hits, all.other_choice
    );
    figures.push(Figure::new("false template hits, judged against a cold plan", all.false_hits as f64, "", how).at_most(0.0));
    (figures, serde_json::json!({ "seed": seed, "tallies": tallies }))
}

fn times(bench: &Bench<'_>, goals: &[Goal]) -> Vec<Figure> {
    let stamps = bench.scene.stamps();
    let current = CurrentStamps::of(&stamps);
    let mut cache = empty();
    let mut kept: Vec<(&Goal, Probe)> = Vec::new();
    for goal in goals.iter().take(300) {
        let (probe, intent) = probe(&bench.planner, goal);
        let key = bench.key(bench.scene, goal, &probe, &intent);
        if let Some(planned) = bench.cold(bench.scene, goal, &probe) {
            settle(&mut cache, &key, &cached(planned, probe.goal_tokens), &stamps);
            kept.push((goal, probe));
        }
    }
    // The runtime keeps graph and schedule of the decisions that serve.
    let mut finished: BTreeMap<*const Plan, Planned> = BTreeMap::new();
    let (mut analysing, mut looking, mut binding, mut planning) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..20 {
        for (goal, probe) in &kept {
            let start = Instant::now();
            let intent = bench.planner.analyze(goal);
            let analysed = start.elapsed();
            let key = bench.key(bench.scene, goal, probe, &intent);
            let found = cache.lookup_template(&key, &goal.principal.tenant, &current, NOW);
            let looked = start.elapsed();
            if let Lookup::Hit(entry) = found {
                let template = finished
                    .entry(Arc::as_ptr(&entry.plan))
                    .or_insert_with(|| bench.planner.finish(Plan::clone(&entry.plan)).expect("a plan that was finished before"));
                let start_binding = Instant::now();
                black_box(bench.planner.bind(template, goal, intent, "").ok());
                binding.push(start_binding.elapsed().as_nanos() as u64);
                analysing.push(analysed.as_nanos() as u64);
                looking.push((looked - analysed).as_nanos() as u64);
            }
            if round == 0 {
                let start = Instant::now();
                black_box(bench.cold(bench.scene, goal, probe));
                planning.push(start.elapsed().as_nanos() as u64);
            }
        }
    }
    for list in [&mut analysing, &mut looking, &mut binding, &mut planning] {
        list.sort_unstable();
    }
    let us = |list: &[u64], q: f64| quantile(list, q) as f64 / 1e3;
    let how = format!("{} hits, one thread, one source; signature, key and look-up", looking.len());
    let beside = format!(
        "p50: intent {:.1}, binding with graph and schedule {:.1}, planning cold {:.0} µs",
        us(&analysing, 0.5),
        us(&binding, 0.5),
        us(&planning, 0.5)
    );
    let all = |q: f64| us(&analysing, q) + us(&looking, q) + us(&binding, q);
    vec![
        Figure::new("template hit beyond intent and probe, p50", us(&looking, 0.5), "µs", how.clone()).at_most(10.0).beside(beside),
        Figure::new("template hit beyond intent and probe, p99", us(&looking, 0.99), "µs", how.clone()).at_most(40.0),
        Figure::new("template hit, intent and binding included, p50", all(0.5), "µs", "the probe apart").at_most(150.0),
        Figure::new("template hit, intent and binding included, p99 (sum of the parts' p99)", all(0.99), "µs", "the probe apart")
            .at_most(400.0),
    ]
}

fn adversarial(bench: &mut Bench<'_>, goals: &[Goal], pairs: usize) -> BTreeMap<&'static str, Tally> {
    let stamps = bench.scene.stamps();
    let mut other_scene = Scene::default();
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    for round in 0..pairs {
        let goal = &goals[round % goals.len()];
        let change = CHANGES[(round / goals.len() + round) % CHANGES.len()];
        let Some(other) = bench.changed(goal, change) else { continue };
        let (said, intent) = probe(&bench.planner, goal);
        let Some(planned) = bench.cold(bench.scene, goal, &said) else { continue };
        let key = bench.key(bench.scene, goal, &said, &intent);
        let mut cache = empty();
        settle(&mut cache, &key, &cached(planned, said.goal_tokens), &stamps);
        other_scene.catalog = bench.scene.catalog.clone();
        if change == "prices"
            && let Some(model) = other_scene.catalog.models.values_mut().last()
        {
            model.prices.output = Some(PicoUsd(1_000_000 + round as i64));
        }
        if change == "edited source" {
            other_scene.catalog.sources.values_mut().for_each(|entry| entry.fingerprint = format!("edited {round}"));
        }
        let now = other_scene.stamps();
        let (probed, meant) = probe(&bench.planner, &other);
        let asked = bench.key(&other_scene, &other, &probed, &meant);
        let found = cache.lookup_template(&asked, &other.principal.tenant, &CurrentStamps::of(&now), NOW);
        let tally = tallies.entry(change).or_default();
        tally.pairs += 1;
        let Lookup::Hit(entry) = found else { continue };
        tally.hits += 1;
        let exact = goal.principal == other.principal && goal.weights == other.weights && !matches!(change, "prices" | "edited source");
        let cold = bench.cold(&other_scene, &other, &probed);
        let regret = cold.as_ref().map_or(1.0, |cold| bench.regret(&other_scene, &entry.plan, &other, &probed, &cold.plan));
        tally.other_choice += u64::from(regret != 0.0);
        tally.false_hits += u64::from(!exact || regret > REGRET_MOST);
    }
    tallies
}
