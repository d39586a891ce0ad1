//! Trying a plan close to the best now and then, with a known probability.
//!
//! The contenders come from planning: each is feasible for the goal, so no rule, limit or policy is crossed. Which of them is run
//! is drawn by Thompson's probabilities, held below the configured share and regret; those that are less likely than the floor are not
//! drawn at all. Probabilities are whole parts per million before anything is drawn, so what the trace holds is what was drawn with.
//!
//! Off unless `learning.explore` is set. Explanations and quotes never draw: they show the best plan.

use crate::RuntimeError;
use crate::config::LearningConfig;
use crate::prepare::{Choice, Decided, Mode, Request, inputs};
use crate::runtime::Inner;
use ctx_learn::bandit::{self, Arm};
use ctx_plan_cache::Bypass;
use ctx_planner::Contender;
use ctx_types::exploration::{Exploration, ExploredArm};
use ctx_types::id::sha256_hex;
use ctx_types::{Ppm, Score};

impl Inner {
    /// Quotes show what the best plan costs, and recorded runs come out the same again: neither explores.
    fn explores(&self, mode: Mode) -> bool {
        self.config.learning.explore > Ppm(0) && matches!(mode, Mode::Run | Mode::Analyze | Mode::Explain)
    }

    /// One of the plans close to the best, planned anew: a cached plan is always the best. `None`: nothing is explored, because
    /// exploration is off or a shape is pinned for such goals.
    pub(crate) async fn choose_among(&self, request: &Request<'_>, mode: Mode) -> Result<Option<Decided>, RuntimeError> {
        if !self.explores(mode) {
            return Ok(None);
        }
        let probe = self.probe(request).await;
        if self.is_held(request, &probe) {
            return Ok(None);
        }
        let told = self.bypassed(Bypass::Exploration, mode);
        let drawn_by = seed(request.goal.seed, &request.goal.text, &self.run_id("explore"));
        let mut exploration = None;
        let planned = self.planner.plan_among(&inputs(request, &probe), &mut |contenders| {
            let explored = explore(contenders, &self.config.learning, drawn_by, mode.leaves_traces());
            exploration.insert(explored).chosen
        });
        Ok(Some(Decided { choice: Choice::of(planned)?, probe, told, scope: None, exploration }))
    }
}

/// What is drawn, and by which chances.
pub(crate) fn explore(contenders: &[Contender], settings: &LearningConfig, seed: u64, drawing: bool) -> Exploration {
    let propensities = propensities(contenders, settings);
    let chosen = if drawing { drawn(&propensities, seed) } else { 0 };
    let arm = |(contender, propensity): (&Contender, &Ppm)| ExploredArm {
        gist: contender.gist.clone(),
        shape: contender.shape.clone(),
        propensity: *propensity,
        score: contender.score,
        accuracy: contender.accuracy,
        cost: contender.cost,
        latency: contender.latency,
    };
    Exploration { seed, chosen, arms: contenders.iter().zip(&propensities).map(arm).collect() }
}

/// One of the contenders by its probability.
fn drawn(propensities: &[Ppm], seed: u64) -> usize {
    let shares: Vec<f64> = propensities.iter().map(|p| p.share()).collect();
    bandit::draw(&shares, seed).unwrap_or(0)
}

/// The seed of one draw: of a request that brings its own, fixed by seed and words; else by what tells this run from others.
pub(crate) fn seed(given: Option<u64>, goal: &str, run: &str) -> u64 {
    let text = given.map_or_else(|| run.to_owned(), |seed| format!("{seed}/{goal}"));
    u64::from_str_radix(&sha256_hex(text.as_bytes())[..16], 16).unwrap_or(0)
}

/// Probability of each contender in whole parts per million; the first, which is the best, gets what the others leave.
fn propensities(contenders: &[Contender], settings: &LearningConfig) -> Vec<Ppm> {
    let mut out = vec![Ppm(0); contenders.len()];
    let Some(best) = contenders.first() else { return out };
    let near: Vec<usize> =
        (0..contenders.len()).filter(|at| best.score - contenders[*at].score <= Score(settings.within.get().into())).collect();
    let unit = |score: Score| score.real();
    let arms: Vec<Arm> =
        near.iter().map(|at| Arm { mean: unit(contenders[*at].score), deviation: unit(contenders[*at].deviation) }).collect();
    let bounds = bandit::Exploration { share_max: settings.explore.share(), regret_max: settings.within.share() };
    let drawn: Vec<Ppm> = bandit::propensities(&arms, bounds).into_iter().map(|p| Ppm((p * 1e6).floor() as u32)).collect();
    for (at, p) in near.iter().zip(drawn).skip(1).filter(|(_, p)| p.get() > 0) {
        out[*at] = p;
    }
    above_floor(&mut out, settings.floor);
    out[0] = Ppm(Ppm::ONE.get() - out.iter().skip(1).map(|p| p.get()).sum::<u32>());
    out
}

/// Drops the least likely of the others until none is below the floor; those that stay share what it had.
fn above_floor(out: &mut [Ppm], floor: Ppm) {
    loop {
        let Some(least) = (1..out.len()).filter(|at| out[*at].get() > 0).min_by_key(|at| out[*at]) else { return };
        if out[least] >= floor {
            return;
        }
        let freed = std::mem::replace(&mut out[least], Ppm(0));
        let rest: u64 = out.iter().skip(1).map(|p| u64::from(p.get())).sum();
        for p in out.iter_mut().skip(1).filter(|_| rest > 0) {
            let share = u64::from(freed.get()) * u64::from(p.get()) / rest;
            *p = Ppm(p.get() + u32::try_from(share).unwrap_or(0));
        }
    }
}

/// What a run says that ran something else than the best plan.
pub(crate) fn ran(exploration: &Exploration) -> Option<String> {
    let (best, arm) = (exploration.arms.first()?, exploration.arms.get(exploration.chosen)?);
    let lost = best.score - arm.score;
    exploration.left_the_best().then(|| {
        format!(
            "explored `{}`, drawn with probability {} (seed {}); the best plan `{}` is expected to score {lost} more",
            arm.shape, arm.propensity, exploration.seed, best.shape
        )
    })
}

/// What EXPLAIN says of a goal whose runs may explore.
pub(crate) fn would(exploration: &Exploration) -> String {
    let others: Vec<String> = exploration
        .arms
        .iter()
        .skip(1)
        .filter(|arm| arm.propensity.get() > 0)
        .map(|arm| format!("`{}` {}", arm.shape, arm.propensity))
        .collect();
    if others.is_empty() {
        return "exploration is on, and no other plan is close enough to be tried".to_owned();
    }
    format!("exploration: a run takes this plan with probability {}, else {}", exploration.arms[0].propensity, others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::{ContentId, Micros, NanoUsd};

    fn contender(name: &str, score: i64, deviation: i64) -> Contender {
        Contender {
            gist: ContentId(format!("gist_{name}")),
            shape: name.to_owned(),
            score: Score(score),
            deviation: Score(deviation),
            accuracy: Ppm(500_000),
            cost: NanoUsd(0),
            latency: Micros(0),
        }
    }

    fn settings(explore: u32, within: u32, floor: u32) -> LearningConfig {
        LearningConfig { explore: Ppm(explore), within: Ppm(within), floor: Ppm(floor), shadow: false }
    }

    fn four() -> Vec<Contender> {
        vec![
            contender("best", 600_000, 50_000),
            contender("close", 580_000, 80_000),
            contender("certain", 590_000, 1_000),
            contender("far", 300_000, 200_000),
        ]
    }

    #[test]
    fn propensities_sum_to_one_and_keep_share_distance_and_floor() {
        for (explore, within, floor) in [(200_000, 50_000, 0), (50_000, 50_000, 10_000), (10_000, 1_000_000, 4_000), (0, 50_000, 0)] {
            let p = propensities(&four(), &settings(explore, within, floor));
            assert_eq!(p.iter().map(|p| p.get()).sum::<u32>(), 1_000_000);
            assert!(1_000_000 - p[0].get() <= explore, "{p:?}");
            assert!(p.iter().skip(1).all(|p| p.get() == 0 || p.get() >= floor), "{p:?}");
            if within < 300_000 {
                assert_eq!(p[3], Ppm(0), "too far from the best");
            }
        }
        assert_eq!(propensities(&[], &settings(1, 1, 1)), Vec::<Ppm>::new());
        assert_eq!(propensities(&four()[..1], &settings(500_000, 500_000, 0)), [Ppm::ONE]);
    }

    #[test]
    fn what_is_written_is_how_often_it_is_drawn() {
        let settings = settings(300_000, 50_000, 10_000);
        let n = 40_000;
        let p = propensities(&four(), &settings);
        let mut counts = vec![0u32; 4];
        (0..n).for_each(|run| counts[drawn(&p, seed(None, "why", &format!("run {run}")))] += 1);
        let explored = explore(&four(), &settings, 3, true);
        assert_eq!(explored.propensity(), p[explored.chosen], "what is drawn with is what is written");
        let written: Vec<f64> = explored.arms.iter().map(|arm| arm.propensity.share()).collect();
        assert!(counts[1] > 0 && counts[2] > 0, "{counts:?}");
        for (p, count) in written.iter().zip(counts) {
            let (frequency, error) = (f64::from(count) / f64::from(n), (p * (1.0 - p) / f64::from(n)).sqrt());
            assert!((frequency - p).abs() <= 4.0 * error + 1e-9, "{frequency} drawn, {p} written");
        }
    }

    #[test]
    fn nothing_is_drawn_for_an_explanation_and_a_seed_draws_the_same() {
        let settings = settings(1_000_000, 1_000_000, 0);
        assert_eq!(explore(&four(), &settings, 7, false).chosen, 0);
        let given = |goal: &str| explore(&four(), &settings, seed(Some(9), goal, "other"), true).chosen;
        assert_eq!(given("why"), given("why"));
        assert!((0..50).any(|n| given(&format!("why {n}")) != given("why")), "one seed draws differently for other goals");
    }
}
