//! Calibration of P(right): expected calibration error over 15 bins of equal mass, and Brier score beside per-category means.

use super::outcomes::Outcomes;
use crate::data::is_train;
use crate::figure::Figure;
use ctx_learn::calibration::{bootstrap, brier, calibration_error};
use ctx_learn::kernel::Item;
use ctx_learn::right::{RightModel, RightOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const BINS: usize = 15;
const DRAWS: usize = 300;
const SEED: u64 = 20_261_130;
/// Rows' worth of a model's overall mean in its mean of a category.
const CATEGORY_PRIOR: f64 = 5.0;

/// (P, outcome) per test question and model, by the fit and by category means.
struct Judged {
    fitted: Vec<Vec<(f64, f64)>>,
    means: Vec<Vec<(f64, f64)>>,
    by_model: Vec<Vec<(f64, f64)>>,
}

/// Figures of one set.
pub fn figures(name: &str, set: &Outcomes, items: &[Item]) -> anyhow::Result<(Vec<Figure>, Value)> {
    let groups = set.groups();
    let (train, test): (Vec<usize>, Vec<usize>) = (0..items.len()).partition(|at| is_train(&set.questions[*at].id));
    let rows = set.rows(items, &groups, &train);
    let model = RightModel::fit(&rows, set.models.len(), &RightOptions::default())?;
    let judged = judge(set, items, &train, &test, &model);
    let pooled = |of: &[Vec<(f64, f64)>], drawn: &[usize]| drawn.iter().flat_map(|at| of[*at].iter().copied()).collect::<Vec<_>>();
    let all: Vec<usize> = (0..test.len()).collect();
    let how = format!("test {} questions × {} models (train {}), seed {SEED}", test.len(), set.models.len(), train.len());
    let error = calibration_error(&pooled(&judged.fitted, &all), BINS, SEED);
    let interval = bootstrap(test.len(), DRAWS, 0.95, SEED, |drawn| calibration_error(&pooled(&judged.fitted, drawn), BINS, SEED).debiased);
    let means_error = calibration_error(&pooled(&judged.means, &all), BINS, SEED);
    let (own, baseline) = (brier(&pooled(&judged.fitted, &all)), brier(&pooled(&judged.means, &all)));
    let gain =
        bootstrap(test.len(), DRAWS, 0.95, SEED, |drawn| brier(&pooled(&judged.means, drawn)) - brier(&pooled(&judged.fitted, drawn)));
    let per_model: BTreeMap<&str, f64> = set
        .models
        .iter()
        .zip(&judged.by_model)
        .map(|(model, pairs)| (model.as_str(), calibration_error(pairs, BINS, SEED).debiased))
        .collect();
    let worst = per_model.values().copied().fold(0.0, f64::max);
    let mean = per_model.values().sum::<f64>() / per_model.len().max(1) as f64;
    let figures = vec![
        Figure::new(
            format!("{name}: ECE of P(right), 15 equal-mass bins, debiased"),
            error.debiased,
            "",
            format!("{how}; 95 % bootstrap over questions {:.4} to {:.4}; plain {:.4}", interval.0, interval.1, error.plain),
        )
        .at_most(0.03)
        .beside(format!("category means {:.4}", means_error.debiased)),
        Figure::new(
            format!("{name}: the same of each model alone, largest"),
            worst,
            "",
            format!("mean {mean:.4}; each model apart, n = {}", test.len()),
        ),
        Figure::new(
            format!("{name}: Brier of category means less Brier of the fit"),
            gain.0,
            "",
            format!("{how}; lower end of the 95 % interval ({:.4} to {:.4})", gain.0, gain.1),
        )
        .at_least(0.0)
        .beside(format!("Brier {own:.4} beside {baseline:.4}")),
    ];
    Ok((figures, json!({"per_model_ece": per_model})))
}

fn judge(set: &Outcomes, items: &[Item], train: &[usize], test: &[usize], model: &RightModel) -> Judged {
    let means = category_means(set, train);
    let mut judged = Judged { fitted: Vec::new(), means: Vec::new(), by_model: vec![Vec::new(); set.models.len()] };
    for at in test {
        let question = &set.questions[*at];
        let probability = model.probability(&items[*at]);
        let (mut fitted, mut by_mean) = (Vec::new(), Vec::new());
        for (m, outcome) in question.outcomes.iter().enumerate() {
            let Some(outcome) = outcome else { continue };
            fitted.push((probability[m], *outcome));
            by_mean.push((means(&question.group, m), *outcome));
            judged.by_model[m].push((probability[m], *outcome));
        }
        judged.fitted.push(fitted);
        judged.means.push(by_mean);
    }
    judged
}

/// Mean of each model in each category on train, drawn a little to the model's overall mean.
fn category_means(set: &Outcomes, train: &[usize]) -> impl Fn(&str, usize) -> f64 {
    let mut sums: BTreeMap<(String, usize), (f64, f64)> = BTreeMap::new();
    for at in train {
        let question = &set.questions[*at];
        for (m, outcome) in question.outcomes.iter().enumerate() {
            let Some(outcome) = outcome else { continue };
            for group in [question.group.clone(), String::new()] {
                let (sum, n) = sums.entry((group, m)).or_default();
                (*sum, *n) = (*sum + outcome, *n + 1.0);
            }
        }
    }
    move |group, m| {
        let (all, of_all) = sums.get(&(String::new(), m)).copied().unwrap_or((0.0, 1.0));
        let (sum, n) = sums.get(&(group.to_owned(), m)).copied().unwrap_or((0.0, 0.0));
        (sum + CATEGORY_PRIOR * all / of_all) / (n + CATEGORY_PRIOR)
    }
}
