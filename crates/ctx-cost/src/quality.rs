//! P(right | evidence, answer shape, answerer class): a table with n and provenance, read here and nowhere else.

use crate::coefficients::{self, Tier};
use ctx_types::intent::AnswerShape;
use ctx_types::{Certainty, Estimated, Intent, Layout, ModelEntry, Ppm, Strategy};

/// How well an answerer does with and without evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswererQuality {
    /// P(right | evidence in the context).
    pub right_with: Estimated<Ppm>,
    /// P(right | no evidence).
    pub right_without: Ppm,
    /// P(withheld | evidence).
    pub withheld_with: Ppm,
    /// P(withheld | no evidence).
    pub withheld_without: Ppm,
    /// Loss of `right_with` per doubling of the context.
    pub dilution: Ppm,
}

/// Of a strategy with its model on goals of this intent.
pub fn answerer(strategy: Strategy, model: Option<&ModelEntry>, layout: Layout, intent: &Intent) -> AnswererQuality {
    match (strategy, model) {
        (Strategy::SingleShot, Some(model)) => model_quality(model, layout),
        (Strategy::Computed, _) => computed(),
        _ => extractive(intent),
    }
}

/// A computed result is right exactly if its reading is: P(evidence) of a table path is P(the reading is right). Withheld
/// only where no row passes, which the reading's calibration leaves out.
fn computed() -> AnswererQuality {
    AnswererQuality {
        right_with: Estimated::exact(Ppm::ONE, "the result of the reading"),
        right_without: Ppm(0),
        withheld_with: Ppm(0),
        withheld_without: Ppm(0),
        dilution: Ppm(0),
    }
}

/// Weighted over the answer shapes' probabilities. The interval spans the collections that were counted: another source may
/// be as far from their mean as they are from each other.
fn extractive(intent: &Intent) -> AnswererQuality {
    let table = &coefficients::quality().extractive;
    let (mut right, mut n) = (0.0, 0.0);
    for (shape, p) in &intent.answer.0 {
        let key = match shape {
            AnswerShape::YesNo => "yes_no",
            other => other.as_str(),
        };
        let Some(counted) = table.right.get(key) else { continue };
        right += p.share() * f64::from(counted.ppm) / 1e6;
        n += p.share() * f64::from(counted.n);
    }
    let counted = n.floor() as u32;
    let certainty = if counted > 0 { Certainty::Measured { n: counted } } else { Certainty::Prior };
    let (low, high) = (f64::from(table.right_low) / 1e6, f64::from(table.right_high) / 1e6);
    AnswererQuality {
        right_with: Estimated::new(
            Ppm::from_share(right),
            Ppm::from_share(right.min(low)),
            Ppm::from_share(right.max(high)),
            certainty,
            "coefficients/quality.json extractive",
        ),
        right_without: Ppm(0),
        withheld_with: Ppm(table.withheld_with_evidence.ppm),
        withheld_without: Ppm(table.withheld_without_evidence.ppm),
        dilution: Ppm(table.dilution),
    }
}

/// Size class of a model from its output price or, for local weights, from the number of parameters in its name.
fn tier(model: &ModelEntry) -> &'static str {
    const SMALL_MAX: i64 = 1_000_000; // $1 per million output tokens, in pico-dollars a token
    const MEDIUM_MAX: i64 = 6_000_000; // $6
    match model.prices.output.map(|p| p.get()) {
        Some(price) if price > MEDIUM_MAX => "large",
        Some(price) if price > SMALL_MAX => "medium",
        Some(price) if price > 0 => "small",
        _ => match billions(&model.model) {
            Some(b) if b > 40.0 => "large",
            Some(b) if b > 9.0 => "medium",
            _ => "small",
        },
    }
}

/// `llama-3.1-8b-instruct` → 8; `smollm2-135m` → 0.135.
fn billions(name: &str) -> Option<f64> {
    let lower = name.to_lowercase();
    lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).find_map(|word| {
        let (digits, unit) = word.split_at(word.len().checked_sub(1)?);
        let number: f64 = digits.parse().ok()?;
        match unit {
            "b" => Some(number),
            "m" => Some(number / 1e3),
            _ => None,
        }
    })
}

fn model_quality(model: &ModelEntry, layout: Layout) -> AnswererQuality {
    let q = coefficients::quality();
    let class = tier(model);
    let Tier { n: _, right, low, high } = q.tiers[class];
    let kept = f64::from(q.error_kept_with_evidence) / 1e6;
    let factor = q.layouts.get(layout.as_str()).copied().map_or(1.0, |ppm| f64::from(ppm) / 1e6);
    let with = |ppm: u32| Ppm::from_share((1.0 - (1.0 - f64::from(ppm) / 1e6) * kept) * factor);
    AnswererQuality {
        right_with: Estimated::new(with(right), Ppm(low), with(high), Certainty::Prior, format!("coefficients/quality.json tier {class}")),
        right_without: Ppm(q.right_without_evidence),
        withheld_with: Ppm(q.withheld_with_evidence),
        withheld_without: Ppm(q.withheld_without_evidence),
        dilution: Ppm(q.dilution),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_from_names() {
        assert_eq!(billions("llama-3.1-8b-instruct"), Some(8.0));
        assert_eq!(billions("smollm2-135m"), Some(0.135));
        assert_eq!(billions("gpt-4o"), None);
        assert_eq!(billions(""), None);
    }
}
