//! P(right | goal text, model), for several models at once: kernel ridge on their outcomes, calibrated on predictions for texts
//! that the fit had not seen.
//!
//! Outcomes of one call are noisy: a model is right or wrong. Where training rows name a group (a subject, a category, a bucket),
//! part of each target is the group's mean, which says the same with less noise. Groups are never needed to predict.

use crate::calibration::Platt;
use crate::kernel::{Item, KernelSpace, KernelWeights};
use crate::linear::{Cholesky, NotPositiveDefinite, dot};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A training row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The goal.
    pub item: &'a Item,
    /// Per model, how right it was (0 to 1); `None` if it was not asked.
    pub outcomes: &'a [Option<f64>],
    /// Which rows are of a kind, if known.
    pub group: Option<u32>,
}

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RightOptions {
    /// Kernel.
    pub weights: KernelWeights,
    /// Ridge.
    pub ridge: f64,
    /// Share of a target that is its group's mean.
    pub group_share: f64,
    /// Rows' worth of the overall mean in a group's mean.
    pub group_prior: f64,
    /// Parts for the cross-fitted predictions that calibration learns from; below 2 nothing is calibrated.
    pub folds: usize,
    /// Of the assignment to parts.
    pub seed: u64,
}

impl Default for RightOptions {
    fn default() -> RightOptions {
        RightOptions { weights: KernelWeights::default(), ridge: 4.0, group_share: 0.65, group_prior: 20.0, folds: 5, seed: 1 }
    }
}

/// A fitted model of several models.
#[derive(Clone, Debug)]
pub struct RightModel {
    space: KernelSpace,
    solution: Solution,
    calibrators: Vec<Option<Platt>>,
    unseen: Vec<Vec<f64>>,
}

/// Per model a mean and one coefficient per training row.
#[derive(Clone, Debug)]
struct Solution {
    means: Vec<f64>,
    duals: Vec<Vec<f64>>,
}

impl RightModel {
    /// Fits on rows that all have as many outcomes as there are models.
    ///
    /// # Errors
    /// [`NotPositiveDefinite`] where the kernel is not, which a positive ridge and finite inputs exclude.
    pub fn fit(rows: &[Row<'_>], models: usize, options: &RightOptions) -> Result<RightModel, NotPositiveDefinite> {
        let items: Vec<&Item> = rows.iter().map(|row| row.item).collect();
        let space = KernelSpace::fit(&items, options.weights);
        let gram: Vec<Vec<f64>> = items.iter().map(|item| space.row(item)).collect();
        let unseen = cross_fitted(&gram, rows, models, options)?;
        let calibrators = (0..models)
            .map(|model| {
                let pairs = rows.iter().zip(&unseen).filter_map(|(row, scores)| Some((*scores.get(model)?, row.outcomes[model]?)));
                let pairs: Vec<(f64, f64)> = pairs.collect();
                (!pairs.is_empty()).then(|| Platt::fit(&pairs))
            })
            .collect();
        let whole: Vec<usize> = (0..rows.len()).collect();
        Ok(RightModel { solution: Solution::fit(&gram, rows, &whole, models, options)?, space, calibrators, unseen })
    }

    /// What the fit says of each training row without having seen it; empty where nothing was cross-fitted.
    pub fn unseen(&self) -> &[Vec<f64>] {
        &self.unseen
    }

    /// Per model, an uncalibrated score on the scale of outcomes.
    pub fn score(&self, item: &Item) -> Vec<f64> {
        self.solution.score(&self.space.row(item))
    }

    /// Per model, the calibrated probability of a score.
    pub fn calibrated(&self, scores: &[f64]) -> Vec<f64> {
        let of = |(score, platt): (&f64, &Option<Platt>)| platt.as_ref().map_or(score.clamp(0.0, 1.0), |platt| platt.probability(*score));
        scores.iter().zip(&self.calibrators).map(of).collect()
    }

    /// Per model, P(right).
    pub fn probability(&self, item: &Item) -> Vec<f64> {
        self.calibrated(&self.score(item))
    }
}

impl Solution {
    /// Of the rows `of`, by the likeness of all rows.
    fn fit(
        gram: &[Vec<f64>],
        rows: &[Row<'_>],
        of: &[usize],
        models: usize,
        options: &RightOptions,
    ) -> Result<Solution, NotPositiveDefinite> {
        let n = of.len();
        let mut matrix = Vec::with_capacity(n * n);
        for (at, row) in of.iter().enumerate() {
            matrix.extend(of.iter().map(|other| gram[*row][*other]));
            matrix[at * n + at] += options.ridge;
        }
        let factor = Cholesky::new(n, matrix)?;
        let rows: Vec<Row<'_>> = of.iter().map(|at| rows[*at]).collect();
        let targets = targets(&rows, models, options);
        let means: Vec<f64> = targets.iter().map(|column| column.iter().sum::<f64>() / n.max(1) as f64).collect();
        let centred = |(column, mean): (&Vec<f64>, &f64)| column.iter().map(|t| t - mean).collect::<Vec<f64>>();
        let duals = targets.iter().zip(&means).map(|pair| factor.solve(centred(pair))).collect();
        Ok(Solution { means, duals })
    }

    fn score(&self, likeness: &[f64]) -> Vec<f64> {
        self.means.iter().zip(&self.duals).map(|(mean, dual)| mean + dot(likeness, dual)).collect()
    }
}

/// Scores of every row by a fit on the other parts' outcomes. Texts of all rows shape the space; outcomes of a row's own part
/// do not enter its score.
fn cross_fitted(gram: &[Vec<f64>], rows: &[Row<'_>], models: usize, options: &RightOptions) -> Result<Vec<Vec<f64>>, NotPositiveDefinite> {
    if options.folds < 2 || rows.len() < 2 * options.folds {
        return Ok(vec![Vec::new(); rows.len()]);
    }
    let parts = parts(rows.len(), options.folds, options.seed);
    let mut scores = vec![Vec::new(); rows.len()];
    for part in 0..options.folds {
        let seen: Vec<usize> = (0..rows.len()).filter(|at| parts[*at] != part).collect();
        let solution = Solution::fit(gram, rows, &seen, models, options)?;
        for at in (0..rows.len()).filter(|at| parts[*at] == part) {
            let likeness: Vec<f64> = seen.iter().map(|other| gram[at][*other]).collect();
            scores[at] = solution.score(&likeness);
        }
    }
    Ok(scores)
}

/// A seeded assignment to parts of equal size.
pub(crate) fn parts(n: usize, folds: usize, seed: u64) -> Vec<usize> {
    let mut out: Vec<usize> = (0..n).map(|at| at % folds).collect();
    shuffle(&mut out, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
    out
}

/// Fisher and Yates.
pub fn shuffle<T>(items: &mut [T], rng: &mut Xoshiro256PlusPlus) {
    for at in (1..items.len()).rev() {
        let other = (u128::from(rng.next_u64()) * (at as u128 + 1)) >> 64;
        items.swap(at, other as usize);
    }
}

/// Per model a column: outcomes mixed with their group's mean. Of a model that was not asked, what its mean and the row's other
/// outcomes suggest.
fn targets(rows: &[Row<'_>], models: usize, options: &RightOptions) -> Vec<Vec<f64>> {
    let column_mean: Vec<f64> = (0..models).map(|m| mean(rows.iter().filter_map(|row| row.outcomes[m]))).collect();
    let shift: Vec<f64> =
        rows.iter().map(|row| mean(row.outcomes.iter().zip(&column_mean).filter_map(|(o, mean)| o.map(|o| o - mean)))).collect();
    (0..models)
        .map(|m| {
            let filled: Vec<f64> =
                rows.iter().zip(&shift).map(|(row, s)| row.outcomes[m].unwrap_or((column_mean[m] + s).clamp(0.0, 1.0))).collect();
            smoothed(rows, &filled, column_mean[m], options)
        })
        .collect()
}

fn smoothed(rows: &[Row<'_>], column: &[f64], overall: f64, options: &RightOptions) -> Vec<f64> {
    let mut groups: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (row, value) in rows.iter().zip(column) {
        if let Some(group) = row.group {
            let (sum, n) = groups.entry(group).or_default();
            (*sum, *n) = (*sum + value, *n + 1.0);
        }
    }
    let of = |(row, value): (&Row<'_>, &f64)| match row.group.and_then(|group| groups.get(&group)) {
        Some((sum, n)) => {
            let mean = (sum + options.group_prior * overall) / (n + options.group_prior);
            (1.0 - options.group_share) * value + options.group_share * mean
        }
        None => *value,
    };
    rows.iter().zip(column).map(of).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    if n > 0.0 { sum / n } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two models: one knows capitals and no sums, the other the reverse.
    fn sample(n: usize) -> (Vec<Item>, Vec<Vec<Option<f64>>>) {
        let places = ["France", "Spain", "Chile", "Kenya", "Japan", "Norway", "Peru", "Italy"];
        let of = |at: usize| {
            if at.is_multiple_of(2) {
                let text = format!("What is the capital city of {}?", places[at / 2 % places.len()]);
                (Item::new(&text, vec![]), vec![Some(1.0), Some(0.0)])
            } else {
                (
                    Item::new(&format!("Compute {} + {} * {}", at, at * 7 % 13, at * 3 % 11), vec![]),
                    vec![Some(0.0), if at % 4 == 1 { Some(1.0) } else { None }],
                )
            }
        };
        (0..n).map(of).unzip()
    }

    #[test]
    fn each_model_is_told_to_be_right_where_it_was() {
        let (items, outcomes) = sample(80);
        let rows: Vec<Row<'_>> = items.iter().zip(&outcomes).map(|(item, outcomes)| Row { item, outcomes, group: None }).collect();
        let model = RightModel::fit(&rows, 2, &RightOptions::default()).expect("fits");
        let capital = model.probability(&Item::new("What is the capital city of Ghana?", vec![]));
        let sum = model.probability(&Item::new("Compute 12 + 9 * 5", vec![]));
        assert!(capital[0] > 0.8 && capital[1] < 0.3, "{capital:?}");
        assert!(sum[0] < 0.3 && sum[1] > 0.7, "{sum:?}");
        assert_eq!(model.unseen().len(), 80);
    }

    #[test]
    fn a_fit_is_reproducible() {
        let (items, outcomes) = sample(40);
        let rows: Vec<Row<'_>> = items.iter().zip(&outcomes).map(|(item, outcomes)| Row { item, outcomes, group: Some(0) }).collect();
        let fit = || RightModel::fit(&rows, 2, &RightOptions::default()).expect("fits").probability(&items[3]);
        assert_eq!(fit(), fit());
    }

    #[test]
    fn group_means_replace_noise() {
        let (items, _) = sample(40);
        let outcomes: Vec<Vec<Option<f64>>> = (0..40).map(|at| vec![Some(f64::from(u8::from(at % 4 < 2)))]).collect();
        let rows: Vec<Row<'_>> = items.iter().zip(&outcomes).map(|(item, outcomes)| Row { item, outcomes, group: Some(7) }).collect();
        let options = RightOptions { group_share: 1.0, ..RightOptions::default() };
        assert!(targets(&rows, 1, &options)[0].iter().all(|t| (t - 0.5).abs() < 1e-12));
    }
}
