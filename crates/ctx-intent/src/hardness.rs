//! How hard a goal is for language models, from its words: a linear model over the features that the facets are read from.
//!
//! An item-response model says of a question q and a model m that P(m is right on q) = logistic(ability of m − hardness of q);
//! hardness is linear in the features of q. Fitted by `scripts/hardness.py`, which says on what and how well
//! (`model/hardness.json`). What a model makes of a goal this hard is said in `ctx-cost`; nothing is decided here.

use crate::features::FEATURES;
use std::sync::LazyLock;

/// First bytes of a coefficient file: name and version.
const MAGIC: &[u8; 8] = b"ctxhard1";
/// Ends of what is said, in thousandths of a logit: questions beyond were too few to fit.
const MILLI_MAX: f64 = 3_000.0;

/// A weight per feature, eight bits each, with one scale.
#[derive(Debug)]
pub struct Hardness {
    bytes: &'static [u8],
    weights: Vec<i8>,
    /// Thousandths of a logit per unit.
    scale: f64,
    /// Hardness of a goal without features.
    bias: f64,
}

static EMBEDDED: LazyLock<Hardness> = LazyLock::new(|| {
    Hardness::from_bytes(include_bytes!("../model/hardness.bin")).expect("a test reads the same file that is compiled in")
});

impl Hardness {
    /// The coefficients shipped with this build.
    pub fn embedded() -> &'static Hardness {
        &EMBEDDED
    }

    /// Magic, scale and bias (little-endian f32), then a signed byte per feature; `None`: not such a file.
    fn from_bytes(bytes: &'static [u8]) -> Option<Hardness> {
        let (head, weights) = bytes.strip_prefix(MAGIC)?.split_at_checked(8)?;
        let number = |at: usize| f64::from(f32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        let (scale, bias) = (number(0), number(4));
        let sound = weights.len() == FEATURES && scale.is_finite() && bias.is_finite();
        sound.then(|| Hardness { bytes, weights: weights.iter().map(|byte| byte.cast_signed()).collect(), scale, bias })
    }

    pub(crate) fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// Hardness in thousandths of a logit: 0 is a typical goal over documents, logs and tables.
    pub fn milli(&self, features: &[(usize, f64)]) -> i32 {
        let sum: f64 = features.iter().map(|(index, value)| value * f64::from(self.weights[*index])).sum();
        (self.bias + self.scale * sum).clamp(-MILLI_MAX, MILLI_MAX).round() as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature_vector;

    fn milli(goal: &str) -> i32 {
        Hardness::embedded().milli(&feature_vector(goal))
    }

    #[test]
    fn damaged_coefficients_are_refused() {
        assert!(Hardness::from_bytes(b"").is_none());
        assert!(Hardness::from_bytes(b"ctxhard1\0\0").is_none());
        assert!(Hardness::from_bytes(b"ctxhard1\0\0\x80\x7f\0\0\0\0").is_none(), "a scale that is not finite, no weights");
    }

    #[test]
    fn a_fact_is_easier_than_a_derivation() {
        let easy = milli("Which season comes after winter?");
        let hard =
            milli("A 2.0 kg block slides down a frictionless incline of 30 degrees; calculate its acceleration and the normal force.");
        assert!(hard > easy + 500, "{easy} {hard}");
    }

    #[test]
    fn any_text_has_a_bounded_hardness() {
        for goal in ["", " ", "?", "日本語", "\u{0}", &"integral ".repeat(10_000)] {
            assert!(milli(goal).abs() <= 3_000, "{goal:?}");
        }
    }
}
