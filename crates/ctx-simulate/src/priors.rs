//! Constants that stand in where nothing was measured. Each with unit and provenance.

use ctx_types::Micros;

/// Share of a call's variance in log space that all calls of one model in one run have in common. Guess: half.
pub const SHARED_VARIANCE: f64 = 0.5;
/// Its square root, and that of the rest: weights of the shared and the own residual.
pub(crate) const RESIDUAL_WEIGHTS: (f64, f64) = (std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2);

/// P(one attempt at reading a source breaks). Guess: a segment that a merge removes between planning and reading.
pub const STORE_BREAKS: f64 = 1e-4;
/// P(one attempt at a model or tool call breaks in a way worth retrying: overload, time-out, dropped connection). Guess, from
/// providers' published availability of 99.5 to 99.9 %.
pub const REMOTE_BREAKS: f64 = 5e-3;

/// Wait before a local read is repeated; the scheduler's first wait.
pub const STORE_WAIT: Micros = Micros(5_000);
/// Wait before a call is repeated; between the scheduler's first and second wait.
pub const REMOTE_WAIT: Micros = Micros(750_000);

/// P(a rejected answer that is produced anew differs from the rejected one). Guess: at low temperature half repeat.
pub const RETRY_DIFFERS: f64 = 0.5;

/// Median latency of a read without an estimate. Prior: BM25 over thousands of passages takes about a millisecond.
pub const STORE_LATENCY: Micros = Micros(1_000);
/// Median latency of a call without an estimate. Prior: a few seconds for a few hundred output tokens.
pub const REMOTE_LATENCY: Micros = Micros(5_000_000);
/// Median latency of a computation without an estimate.
pub const CPU_LATENCY: Micros = Micros(200);
/// Output tokens of a call without an estimate.
pub const OUTPUT_TOKENS: u64 = 300;

/// Factor between point and either end of a 90 % interval where nothing is known: ten.
pub const UNKNOWN_FACTOR: f64 = 10.0;
/// Least such factor for a prior that states no width of its own: two.
pub const PRIOR_FACTOR: f64 = 2.0;

/// P(right | evidence) and P(a wrong answer is caught) without an estimate: even, from .05 to .95.
pub const UNKNOWN_SHARE: (f64, f64, f64) = (0.5, 0.05, 0.95);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_the_residuals_keep_their_variance() {
        let (shared, own) = RESIDUAL_WEIGHTS;
        assert!((shared * shared - SHARED_VARIANCE).abs() < 1e-12 && (shared * shared + own * own - 1.0).abs() < 1e-12);
    }
}
