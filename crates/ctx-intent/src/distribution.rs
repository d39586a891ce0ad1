//! Shares to integers: a distribution in parts per million that sums to one exactly.
//!
//! Not a place for estimates: what goes in was estimated elsewhere.

use ctx_types::Ppm;
use ctx_types::intent::Distribution;

const WHOLE: u64 = 1_000_000;

/// Non-negative weights, in the order of `values`, as a distribution over all of them. Largest remainder rounding, ties to
/// the first value; equal shares where no weight is positive and finite.
pub fn from_weights<T: Copy>(values: &[T], weights: &[f64]) -> Distribution<T> {
    assert_eq!(values.len(), weights.len(), "one weight per value");
    let usable = |weight: f64| if weight.is_finite() && weight > 0.0 { weight } else { 0.0 };
    let total: f64 = weights.iter().map(|weight| usable(*weight)).sum();
    let exact: Vec<f64> = weights
        .iter()
        .map(|weight| if total > 0.0 { usable(*weight) / total * WHOLE as f64 } else { WHOLE as f64 / values.len() as f64 })
        .collect();
    let mut parts: Vec<u64> = exact.iter().map(|share| share.floor() as u64).collect();
    let missing = WHOLE.saturating_sub(parts.iter().sum()) as usize;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| (exact[*b] - exact[*b].floor()).total_cmp(&(exact[*a] - exact[*a].floor())).then(a.cmp(b)));
    for index in order.into_iter().cycle().take(if values.is_empty() { 0 } else { missing }) {
        parts[index] += 1;
    }
    trim_excess(&mut parts);
    Distribution(values.iter().copied().zip(parts.into_iter().map(|part| Ppm(part as u32))).collect())
}

/// Floating-point sums may exceed the whole by a part; the largest share gives it back.
fn trim_excess(parts: &mut [u64]) {
    let excess = parts.iter().sum::<u64>().saturating_sub(WHOLE);
    if let Some(largest) = parts.iter_mut().max_by_key(|part| **part) {
        *largest -= excess.min(*largest);
    }
}

/// Probabilities of a multinomial logistic model. `exp` from `libm`: the same bits on every platform.
pub(crate) fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| libm::exp(logit - top)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(weights: &[f64]) -> Vec<u32> {
        let values: Vec<usize> = (0..weights.len()).collect();
        from_weights(&values, weights).0.into_iter().map(|(_, part)| part.0).collect()
    }

    #[test]
    fn thirds_sum_to_one() {
        assert_eq!(parts(&[1.0, 1.0, 1.0]), [333_334, 333_333, 333_333]);
        assert_eq!(parts(&[0.0, f64::NAN]), [500_000, 500_000]);
        assert_eq!(parts(&[0.0, 2.0]), [0, 1_000_000]);
    }

    proptest::proptest! {
        #[test]
        fn any_weights_sum_to_one(weights in proptest::collection::vec(-1.0f64..1e9, 1..12)) {
            proptest::prop_assert_eq!(parts(&weights).iter().sum::<u32>(), 1_000_000);
        }
    }
}
