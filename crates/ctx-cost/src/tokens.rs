//! Token counts of tokenizers that nobody here has: a learned combination of exact counts under tokenizers that are here.
//!
//! A provider reports how many tokens its tokenizer saw. From a few such reports (twenty are enough) the count of any text
//! is predicted from its counts under known tokenizers and the blanks that indentation adds, which is where old and new
//! tokenizers differ most. Ridge regression on relative errors: without reports the mean of the known counts holds.
//!
//! The interval comes from the reports left out one at a time; before there are enough of them it is the prior's.

use ctx_types::{Certainty, Estimated, Tokens};

/// Known tokenizers whose counts are combined, in the order of [`TokenProfile::known`].
pub const KNOWN: [&str; 4] = ["o200k", "cl100k", "p50k", "r50k"];
/// Reports from which the learned interval holds.
pub const REPORTS_MIN: usize = 5;
/// Strength of the pull towards the mean of the known counts; the squared relative size of a count is about 1 per report.
/// Chosen on the train texts of `token_counts` among 10⁻⁴, 10⁻³, 10⁻².
const RIDGE: f64 = 1e-3;
/// The same for the blanks, which few texts have: a strong pull would unlearn them. Chosen likewise among 10⁻⁴, 10⁻³, 2·10⁻².
const RIDGE_BLANKS: f64 = 1e-4;
/// Share of a text under an unknown tokenizer before any report: .85 to 1.35 of the known count.
const PRIOR: (f64, f64, f64) = (1.10, 0.85, 1.35);
/// Least half-width of a learned interval, as a share: twenty reports cannot promise less.
const HALF_WIDTH_MIN: f64 = 0.02;
/// Most known tokenizers and the blanks.
const TERMS_MAX: usize = KNOWN.len() + 1;

/// What is counted of a text; sums over texts are profiles of their concatenation, nearly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenProfile {
    /// Counts under known tokenizers; all profiles of one fit hold the same ones.
    pub known: Vec<u32>,
    /// [`indentation_blanks`] of the text.
    pub blanks: u32,
}

/// Blanks of runs that no word takes along: tokenizers without tokens for them spend one on each.
pub fn indentation_blanks(text: &str) -> u32 {
    let (mut total, mut run) = (0_usize, 0_usize);
    for byte in text.bytes().chain([b'\n']) {
        if byte == b' ' {
            run += 1;
            continue;
        }
        // The last blank belongs to the word behind it, and one token holds the rest in tokenizers that know runs.
        let taken = if byte.is_ascii_whitespace() { 1 } else { 2 };
        total += run.saturating_sub(taken);
        run = 0;
    }
    u32::try_from(total).unwrap_or(u32::MAX)
}

/// A fitted combination.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenModel {
    weights: Vec<f64>,
    /// Least and largest ratio of true to predicted among the reports left out.
    ratios: (f64, f64),
    reports: usize,
}

impl TokenModel {
    /// From profiles and the counts that a provider reported. Profiles must hold the same known tokenizers.
    pub fn fit(reports: &[(TokenProfile, u64)]) -> TokenModel {
        let terms = reports.first().map_or(0, |(profile, _)| profile.known.len()).min(KNOWN.len());
        let weights = solved(reports.iter(), terms);
        let left_out = reports.iter().enumerate().map(|(at, (profile, count))| {
            let others = reports.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, report)| report);
            ratio(*count, predicted(&solved(others, terms), profile))
        });
        let ratios = left_out.fold((1.0 - HALF_WIDTH_MIN, 1.0 + HALF_WIDTH_MIN), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
        TokenModel { weights, ratios, reports: reports.len() }
    }

    /// The count of a text, with the interval of texts like those that were reported.
    pub fn estimate(&self, profile: &TokenProfile) -> Estimated<Tokens> {
        let whole = |value: f64| Tokens(value.max(0.0).round() as u64);
        if self.reports < REPORTS_MIN {
            let known = f64::from(profile.known.first().copied().unwrap_or(0));
            let (value, low, high) = PRIOR;
            return Estimated::new(
                whole(known * value),
                whole(known * low),
                Tokens((known * high).ceil() as u64),
                Certainty::Prior,
                "unknown tokenizer × o200k",
            );
        }
        let value = predicted(&self.weights, profile);
        let certainty = Certainty::Measured { n: u32::try_from(self.reports).unwrap_or(u32::MAX) };
        Estimated::new(
            whole(value),
            whole(value * self.ratios.0),
            Tokens((value * self.ratios.1).ceil() as u64),
            certainty,
            "counts under known tokenizers, fitted on reported usage",
        )
    }
}

fn ratio(count: u64, predicted: f64) -> f64 {
    count as f64 / predicted.max(1.0)
}

fn terms_of(profile: &TokenProfile, terms: usize) -> [f64; TERMS_MAX] {
    let mut values = [0.0; TERMS_MAX];
    for (slot, count) in values.iter_mut().zip(profile.known.iter().take(terms)) {
        *slot = f64::from(*count);
    }
    values[terms] = f64::from(profile.blanks);
    values
}

fn predicted(weights: &[f64], profile: &TokenProfile) -> f64 {
    let terms = weights.len().saturating_sub(1);
    terms_of(profile, terms).iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>().max(0.0)
}

/// Weights of the known counts and of the blanks: (AᵀA + λI) w = Aᵀ1 + λ·prior over rows divided by the true count.
fn solved<'a>(reports: impl Iterator<Item = &'a (TokenProfile, u64)>, terms: usize) -> Vec<f64> {
    let size = terms + 1;
    let mut matrix = [[0.0; TERMS_MAX + 1]; TERMS_MAX];
    for (at, row) in matrix.iter_mut().enumerate().take(size) {
        row[at] = if at < terms { RIDGE } else { RIDGE_BLANKS };
        row[size] = if at < terms { RIDGE / terms as f64 } else { 0.0 };
    }
    for (profile, count) in reports.filter(|(_, count)| *count > 0) {
        let values = terms_of(profile, terms).map(|value| value / *count as f64);
        for at in 0..size {
            for other in 0..size {
                matrix[at][other] += values[at] * values[other];
            }
            matrix[at][size] += values[at];
        }
    }
    eliminated(matrix, size)
}

/// Gaussian elimination; the matrix is positive definite, so no pivot is zero.
fn eliminated(mut matrix: [[f64; TERMS_MAX + 1]; TERMS_MAX], size: usize) -> Vec<f64> {
    for pivot in 0..size {
        for row in pivot + 1..size {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            matrix[row].iter_mut().zip(above).skip(pivot).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let mut weights = vec![0.0; size];
    for row in (0..size).rev() {
        let rest: f64 = (row + 1..size).map(|column| matrix[row][column] * weights[column]).sum();
        weights[row] = (matrix[row][size] - rest) / matrix[row][row];
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(known: [u32; 2], blanks: u32) -> TokenProfile {
        TokenProfile { known: known.to_vec(), blanks }
    }

    #[test]
    fn a_tokenizer_that_pays_for_blanks_is_learned_from_a_few_reports() {
        let reports: Vec<(TokenProfile, u64)> =
            (1..=20).map(|i| (profile([100 * i, 103 * i], 7 * (i % 5)), u64::from(110 * i + 7 * (i % 5)))).collect();
        let model = TokenModel::fit(&reports);
        let told = model.estimate(&profile([1_000, 1_030], 300));
        assert!(told.value.get().abs_diff(1_400) <= 14, "{told:?}");
        assert!(told.low < told.value && told.value < told.high && told.certainty == Certainty::Measured { n: 20 });
    }

    #[test]
    fn without_reports_the_prior_holds() {
        let told = TokenModel::fit(&[]).estimate(&profile([1_000, 1_000], 0));
        assert_eq!((told.value, told.low, told.high, told.certainty), (Tokens(1_100), Tokens(850), Tokens(1_350), Certainty::Prior));
    }

    #[test]
    fn odd_reports_neither_divide_by_zero_nor_turn_a_count_negative() {
        let reports = vec![(profile([0, 0], 0), 0), (profile([5, 5], 9), 1), (profile([1, 9], 0), u64::MAX)];
        let reports: Vec<_> = reports.into_iter().chain((0..5).map(|_| (profile([3, 3], 0), 3))).collect();
        let told = TokenModel::fit(&reports).estimate(&profile([7, 7], 1_000));
        assert!(told.low <= told.value && told.value <= told.high);
    }

    #[test]
    fn only_blanks_that_no_word_takes_count() {
        assert_eq!(indentation_blanks("a b  c"), 0);
        assert_eq!(indentation_blanks("a   b"), 1);
        assert_eq!(indentation_blanks("fn f() {\n        x\n}   \n"), 6 + 2);
    }
}
