//! Two tiers on `routellm_outcomes`: the share of strong calls that keeps 95 % of the strong model's accuracy, from text alone; a
//! threshold fixed on calibration; a bound on lost accuracy.

use super::outcomes::Outcomes;
use crate::data::is_train;
use crate::figure::Figure;
use ctx_learn::calibration::bootstrap;
use ctx_learn::kernel::{Item, KernelWeights};
use ctx_learn::right::{RightModel, RightOptions, Row, shuffle};
use ctx_learn::routing::{
    Applied, RiskBound, Routed, apply, controlled_threshold, curve, gap_recovered, random_share_keeping, share_keeping, threshold_keeping,
};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SPLITS: u64 = 20;
const CALIBRATION_ROWS: usize = 1_500;
const KEPT: f64 = 0.95;
/// Seeds of the splits that figures are stated on; others were looked at when the kernel's weights were set.
const FIRST_SEED: u64 = 20_261_130;
const RESPLITS: usize = 1_000;
const BOUND: f64 = 0.02;

/// Figures of MMLU.
pub fn mmlu(set: &Outcomes, items: &[Item]) -> anyhow::Result<(Vec<Figure>, Value)> {
    let groups = set.groups();
    let mut splits = Vec::new();
    for seed in FIRST_SEED..FIRST_SEED + SPLITS {
        let mut order: Vec<usize> = (0..items.len()).collect();
        shuffle(&mut order, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
        splits.push(split(set, items, &groups, &order[..CALIBRATION_ROWS], &order[CALIBRATION_ROWS..])?);
        eprintln!("split {seed}: {:.3}", splits.last().map_or(f64::NAN, |s| s.own));
    }
    let mean = |of: fn(&Split) -> f64| splits.iter().map(of).sum::<f64>() / splits.len() as f64;
    let error = |of: fn(&Split) -> f64| {
        let m = mean(of);
        (splits.iter().map(|s| (of(s) - m) * (of(s) - m)).sum::<f64>() / (splits.len() as f64 - 1.0)).sqrt()
    };
    let how = format!(
        "MMLU, {} dev questions, {CALIBRATION_ROWS} calibration rows, mean of {SPLITS} splits (seeds from {FIRST_SEED}); standard deviation over splits {:.1}",
        items.len(),
        100.0 * error(|s| s.own)
    );
    let baselines = format!(
        "random {:.1}, hashed-text ridge {:.1}, subject given {:.1}, oracle {:.1}",
        100.0 * mean(|s| s.random),
        100.0 * mean(|s| s.plain),
        100.0 * mean(|s| s.subject),
        100.0 * mean(|s| s.oracle)
    );
    let figures = vec![
        Figure::new("strong calls that keep 95 % of the strong model's accuracy", 100.0 * mean(|s| s.own), "%", how)
            .at_most(39.0)
            .beside(baselines),
        Figure::new(
            "the same with the threshold fixed on calibration: strong calls",
            100.0 * mean(|s| s.fixed.share),
            "%",
            format!(
                "keeps {:.2} % of the strong model's accuracy on average (standard deviation over splits {:.2})",
                100.0 * mean(|s| s.kept),
                100.0 * error(|s| s.kept)
            ),
        ),
        Figure::new(
            "share of the gap between the models recovered, mean over all shares of calls",
            mean(|s| s.recovered),
            "",
            format!("standard deviation over splits {:.3}", error(|s| s.recovered)),
        )
        .beside("random 0.5"),
    ];
    let points: Vec<Value> = (0..=20).map(|at| json!({"strong_share": f64::from(at) / 20.0, "accuracy": splits.iter().map(|s| s.curve[at as usize]).sum::<f64>() / splits.len() as f64})).collect();
    Ok((figures, json!({"curve": points, "strong_share_per_split": splits.iter().map(|s| s.own).collect::<Vec<_>>()})))
}

struct Split {
    own: f64,
    plain: f64,
    subject: f64,
    random: f64,
    oracle: f64,
    fixed: Applied,
    kept: f64,
    recovered: f64,
    curve: Vec<f64>,
}

fn split(set: &Outcomes, items: &[Item], groups: &[u32], calibration: &[usize], test: &[usize]) -> anyhow::Result<Split> {
    let rows = set.rows(items, groups, calibration);
    let model = RightModel::fit(&rows, 2, &RightOptions::default())?;
    let own = routed(set, test, |at| gain(&model.score(&items[at])));
    let seen: Vec<Routed> = calibration.iter().zip(model.unseen()).map(|(at, scores)| outcome(set, *at, gain(scores))).collect();
    let words = KernelWeights { chars: 0.0, meaning: 0.0, form: 0.0, ..KernelWeights::default() };
    let without_groups: Vec<Row<'_>> = rows.iter().map(|row| Row { group: None, ..*row }).collect();
    let plain = RightModel::fit(&without_groups, 2, &RightOptions { weights: words, ridge: 3.0, folds: 0, ..RightOptions::default() })?;
    let subject = subject_gains(set, groups, calibration);
    let fixed = apply(&own, threshold_keeping(&seen, KEPT));
    let strong = own.iter().map(|row| row.strong).sum::<f64>() / own.len() as f64;
    let whole = curve(&own);
    Ok(Split {
        own: share_keeping(&own, KEPT),
        plain: share_keeping(&routed(set, test, |at| gain(&plain.score(&items[at]))), KEPT),
        subject: share_keeping(&routed(set, test, |at| subject(groups[at])), KEPT),
        random: random_share_keeping(&own, KEPT),
        oracle: share_keeping(&own.iter().map(|row| Routed { score: row.strong - row.weak, ..*row }).collect::<Vec<_>>(), KEPT),
        fixed,
        kept: fixed.accuracy / strong,
        recovered: gap_recovered(&own),
        curve: (0..=20).map(|at| whole[at * (whole.len() - 1) / 20]).collect(),
    })
}

fn gain(scores: &[f64]) -> f64 {
    scores[1] - scores[0]
}

fn outcome(set: &Outcomes, at: usize, score: f64) -> Routed {
    let of = |m: usize| set.questions[at].outcomes[m].unwrap_or(0.0);
    Routed { score, weak: of(0), strong: of(1) }
}

fn routed(set: &Outcomes, of: &[usize], score: impl Fn(usize) -> f64) -> Vec<Routed> {
    of.iter().map(|at| outcome(set, *at, score(*at))).collect()
}

/// Mean gain per subject: what a router knows that is given the subject.
fn subject_gains(set: &Outcomes, groups: &[u32], calibration: &[usize]) -> impl Fn(u32) -> f64 {
    const PRIOR: f64 = 20.0;
    let gains: Vec<(u32, f64)> =
        calibration.iter().map(|at| (groups[*at], outcome(set, *at, 0.0))).map(|(g, o)| (g, o.strong - o.weak)).collect();
    let overall = gains.iter().map(|(_, gain)| gain).sum::<f64>() / gains.len().max(1) as f64;
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (group, gain) in gains {
        let (sum, n) = sums.entry(group).or_default();
        (*sum, *n) = (*sum + gain, *n + 1.0);
    }
    move |group| sums.get(&group).map_or(overall, |(sum, n)| (sum + PRIOR * overall) / (n + PRIOR))
}

/// Figures of GSM8K: grade-school arithmetic, where the weak model's failures are hard to foresee.
pub fn gsm8k(set: &Outcomes, items: &[Item]) -> anyhow::Result<Vec<Figure>> {
    let groups = vec![0; items.len()];
    let all: Vec<usize> = (0..items.len()).collect();
    let options = RightOptions { group_share: 0.0, folds: 10, ridge: 2.0, ..RightOptions::default() };
    let model = RightModel::fit(&set.rows(items, &groups, &all), 2, &options)?;
    let rows: Vec<Routed> = all.iter().zip(model.unseen()).map(|(at, scores)| outcome(set, *at, gain(scores))).collect();
    let (train, test): (Vec<usize>, Vec<usize>) = all.into_iter().partition(|at| is_train(&set.questions[*at].id));
    let fitted = RightModel::fit(&set.rows(items, &groups, &train), 2, &RightOptions { folds: 0, ..options })?;
    let on_test = routed(set, &test, |at| gain(&fitted.score(&items[at])));
    let mut out = Vec::new();
    for (name, rows) in [("ten-fold over all dev", rows), ("train to test", on_test)] {
        let draw = |drawn: &[usize]| drawn.iter().map(|at| rows[*at]).collect::<Vec<_>>();
        let recovered = gap_recovered(&rows);
        let mut values = Vec::new();
        let interval = bootstrap(rows.len(), 2_000, 0.95, FIRST_SEED, |drawn| {
            let value = gap_recovered(&draw(drawn));
            values.push(value);
            value
        });
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let deviation = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64).sqrt();
        let share = share_keeping(&rows, KEPT);
        let shares = bootstrap(rows.len(), 2_000, 0.95, FIRST_SEED, |drawn| share_keeping(&draw(drawn), KEPT));
        let how = format!(
            "n = {}; recovered {recovered:.3}, 95 % interval {:.3} to {:.3}; strong calls that keep 95 %: {:.1} % ({:.1} to {:.1})",
            rows.len(),
            interval.0,
            interval.1,
            100.0 * share,
            100.0 * shares.0,
            100.0 * shares.1
        );
        let figure = Figure::new(
            format!("GSM8K, {name}: standard errors by which the gap recovered exceeds random"),
            (recovered - 0.5) / deviation,
            "",
            how,
        );
        out.push(figure.at_least(2.0).beside(format!("random keeps 95 % with {:.1} %", 100.0 * random_share_keeping(&rows, KEPT))));
    }
    Ok(out)
}

/// A threshold with a promise: fitted on train; test is split anew a thousand times into calibration and goals to come.
pub fn controlled(set: &Outcomes, items: &[Item]) -> anyhow::Result<Vec<Figure>> {
    let groups = set.groups();
    let (train, test): (Vec<usize>, Vec<usize>) = (0..items.len()).partition(|at| is_train(&set.questions[*at].id));
    let model = RightModel::fit(&set.rows(items, &groups, &train), 2, &RightOptions { folds: 0, ..RightOptions::default() })?;
    let mut rows = routed(set, &test, |at| gain(&model.score(&items[at])));
    let half = rows.len() / 2;
    let bound = RiskBound { loss_max: BOUND, error: 0.05, horizon: Some(rows.len() - half) };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(FIRST_SEED);
    let (mut broken, mut naive_broken, mut share, mut loss) = (0u32, 0u32, 0.0, 0.0);
    for _ in 0..RESPLITS {
        shuffle(&mut rows, &mut rng);
        let (calibration, rest) = rows.split_at(half);
        let applied = apply(rest, controlled_threshold(calibration, bound));
        broken += u32::from(applied.loss > BOUND);
        share += applied.share / RESPLITS as f64;
        loss += applied.loss / RESPLITS as f64;
        let strong = calibration.iter().map(|row| row.strong).sum::<f64>() / half as f64;
        naive_broken += u32::from(apply(rest, threshold_keeping(calibration, (strong - BOUND) / strong)).loss > BOUND);
    }
    let percent = |n: u32| 100.0 * f64::from(n) / RESPLITS as f64;
    let how = format!(
        "MMLU test, {half} rows to set the threshold, {} to hold it, {RESPLITS} resplits, seed {FIRST_SEED}; strong calls {:.1} % on average, loss {loss:.4}",
        rows.len() - half,
        100.0 * share
    );
    Ok(vec![
        Figure::new("resplits in which accuracy falls by more than .02", percent(broken), "%", how)
            .at_most(5.0)
            .beside(format!("threshold without a margin: {:.1} %", percent(naive_broken))),
    ])
}
