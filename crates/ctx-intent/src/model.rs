//! The coefficients that turn features into probabilities: three multinomial logistic heads over one feature vector.
//!
//! Trained by `scripts/train.py`, which says on what and how well (`model/intent.json`); stored as eight-bit integers
//! with one scale per class. The same features always give the same parts per million.

use crate::distribution::{from_weights, softmax};
use crate::features::FEATURES;
use crate::hardness::Hardness;
use ctx_types::intent::{AnswerShape, Distribution, EvidenceShape};
use ctx_types::{SourceKind, content_id};
use std::sync::LazyLock;

/// First bytes of a coefficient file: name and version.
const MAGIC: &[u8; 8] = b"ctxint01";

/// Why coefficients were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Not a coefficient file of this version.
    #[error("reading intent coefficients: they do not begin with {:?}; train them with scripts/train.py", MAGIC.escape_ascii().to_string())]
    Magic,
    /// Too short or too long for this build's features.
    #[error(
        "reading intent coefficients: {found} bytes where this build's features need {expected}; train them anew with scripts/train.py"
    )]
    Length {
        /// Bytes expected.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// A scale or bias is not a finite number.
    #[error("reading intent coefficients: the {what} of class {class} is not finite; train them anew with scripts/train.py")]
    NotFinite {
        /// Scale or bias.
        what: &'static str,
        /// Index of the class over all heads.
        class: usize,
    },
}

/// Coefficients of the three facets.
#[derive(Debug, Clone)]
pub struct IntentModel {
    weights: Vec<i8>,
    scales: Vec<f64>,
    biases: Vec<f64>,
    hardness: &'static Hardness,
    digest: String,
}

/// The three facets' probabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facets {
    /// Which kind of source can hold the evidence.
    pub sources: Distribution<SourceKind>,
    /// Form of the answer.
    pub answer: Distribution<AnswerShape>,
    /// Where the evidence lies.
    pub evidence: Distribution<EvidenceShape>,
}

const SOURCES: usize = SourceKind::ALL.len();
const ANSWERS: usize = AnswerShape::ALL.len();
const EVIDENCE: usize = EvidenceShape::ALL.len();
const CLASSES: usize = SOURCES + ANSWERS + EVIDENCE;

static EMBEDDED: LazyLock<IntentModel> = LazyLock::new(|| {
    IntentModel::from_bytes(include_bytes!("../model/intent.bin")).expect("a test reads the same file that is compiled in")
});

impl IntentModel {
    /// The coefficients shipped with this build.
    pub fn embedded() -> &'static IntentModel {
        &EMBEDDED
    }

    /// Coefficients from a file's bytes: magic, a scale and a bias per class (little-endian f32), then a signed byte per
    /// feature and class.
    pub fn from_bytes(bytes: &[u8]) -> Result<IntentModel, ModelError> {
        let expected = MAGIC.len() + 8 * CLASSES + FEATURES * CLASSES;
        if !bytes.starts_with(MAGIC) {
            return Err(ModelError::Magic);
        }
        if bytes.len() != expected {
            return Err(ModelError::Length { expected, found: bytes.len() });
        }
        let floats = |from: usize| -> Vec<f64> {
            bytes[from..from + 4 * CLASSES]
                .chunks_exact(4)
                .map(|four| f64::from(f32::from_le_bytes([four[0], four[1], four[2], four[3]])))
                .collect()
        };
        let scales = floats(MAGIC.len());
        let biases = floats(MAGIC.len() + 4 * CLASSES);
        for (what, values) in [("scale", &scales), ("bias", &biases)] {
            if let Some(class) = values.iter().position(|value| !value.is_finite()) {
                return Err(ModelError::NotFinite { what, class });
            }
        }
        let weights = bytes[MAGIC.len() + 8 * CLASSES..].iter().map(|byte| byte.cast_signed()).collect();
        let hardness = Hardness::embedded();
        Ok(IntentModel { weights, scales, biases, digest: digest(&[bytes, hardness.bytes()].concat()), hardness })
    }

    /// How hard a goal is, from the same features.
    pub fn hardness(&self) -> &Hardness {
        self.hardness
    }

    /// Digest of the coefficients: part of what an intent depends on.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Probabilities of the facets for a feature vector.
    pub fn predict(&self, features: &[(usize, f64)]) -> Facets {
        let mut sums = [0.0; CLASSES];
        for (index, value) in features {
            let row = &self.weights[index * CLASSES..(index + 1) * CLASSES];
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += value * f64::from(*weight);
            }
        }
        let logits: Vec<f64> = (0..CLASSES).map(|class| self.biases[class] + self.scales[class] * sums[class]).collect();
        let (sources, rest) = logits.split_at(SOURCES);
        let (answer, evidence) = rest.split_at(ANSWERS);
        Facets {
            sources: from_weights(&SourceKind::ALL, &softmax(sources)),
            answer: from_weights(AnswerShape::ALL, &softmax(answer)),
            evidence: from_weights(EvidenceShape::ALL, &softmax(evidence)),
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    content_id("intentmodel", &text).map_or_else(|_| String::new(), |id| id.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_coefficients_are_refused() {
        let good = include_bytes!("../model/intent.bin");
        assert!(IntentModel::from_bytes(good).is_ok());
        assert_eq!(IntentModel::from_bytes(b"{}").map(|_| ()), Err(ModelError::Magic));
        assert!(matches!(IntentModel::from_bytes(&good[..100]), Err(ModelError::Length { .. })));
        let mut bad = good.to_vec();
        bad[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(matches!(IntentModel::from_bytes(&bad), Err(ModelError::NotFinite { what: "scale", class: 0 })));
    }
}
