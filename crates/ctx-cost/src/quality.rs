//! P(right | evidence, answer shape, answerer class, hardness of the goal): tables with n and provenance, read here and nowhere else.

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
        (Strategy::SingleShot, Some(model)) => model_quality(model, layout, intent.hardness_milli),
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

/// Closed book by size class and hardness, then with the evidence in the context. The interval spans the models of the class that were
/// counted, moved as far as the goal moves their mean.
fn model_quality(model: &ModelEntry, layout: Layout, hardness_milli: i32) -> AnswererQuality {
    let q = coefficients::quality();
    let class = tier(model);
    let tier = &q.tiers[class];
    let easier = libm::exp(f64::from(q.evidence_milli) / 1e3);
    let factor = q.layouts.get(layout.as_str()).copied().map_or(1.0, |ppm| f64::from(ppm) / 1e6);
    let with = |right: f64| Ppm::from_share(odds_times(right, easier) * factor);
    let right = closed_book(tier, hardness_milli);
    let of_class = f64::from(tier.right) / 1e6;
    let moved = |ppm: u32| odds_times(f64::from(ppm) / 1e6, right / (1.0 - right) * (1.0 - of_class) / of_class);
    AnswererQuality {
        right_with: Estimated::new(
            with(right),
            Ppm::from_share(moved(tier.low)).min(with(right)),
            with(moved(tier.high)).max(with(right)),
            Certainty::Prior,
            format!("coefficients/quality.json tier {class} at hardness {}", logits(hardness_milli)),
        ),
        right_without: Ppm(q.right_without_evidence),
        withheld_with: Ppm(q.withheld_with_evidence),
        withheld_without: Ppm(q.withheld_without_evidence),
        dilution: Ppm(q.dilution),
    }
}

/// P(right) of a size class on a goal this hard, without evidence: logistic(ability − slope · hardness).
fn closed_book(tier: &Tier, hardness_milli: i32) -> f64 {
    let hardness = f64::from(hardness_milli) / 1e3;
    let logit = f64::from(tier.ability_milli) / 1e3 - f64::from(tier.slope_milli) / 1e3 * hardness;
    1.0 / (1.0 + libm::exp(-logit))
}

/// The probability whose odds are `factor` times those of `p`.
fn odds_times(p: f64, factor: f64) -> f64 {
    let odds = p / (1.0 - p) * factor;
    odds / (1.0 + odds)
}

/// P(right) of a model whose ability is that of a typical goal: hardness on the scale of a probability.
pub fn easiness(hardness_milli: i32) -> Ppm {
    Ppm::from_share(1.0 / (1.0 + libm::exp(f64::from(hardness_milli) / 1e3)))
}

/// Hardness as EXPLAIN prints it: logits with two decimals, signed.
pub fn logits(hardness_milli: i32) -> String {
    format!("{:+.2}", f64::from(hardness_milli) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_does_worse_on_harder_goals_and_larger_ones_better_on_all() {
        let tiers = &coefficients::quality().tiers;
        for hardness in (-2_000..2_000).step_by(500) {
            let [small, medium, large] = ["small", "medium", "large"].map(|class| closed_book(&tiers[class], hardness));
            assert!(small < medium && medium < large, "{hardness}: {small} {medium} {large}");
            for tier in tiers.values() {
                assert!(closed_book(tier, hardness) > closed_book(tier, hardness + 500), "{hardness}");
            }
        }
        for (class, tier) in tiers {
            let (at_zero, counted) = (closed_book(tier, 0), f64::from(tier.right) / 1e6);
            assert!((at_zero - counted).abs() < 0.03, "{class}: {at_zero} at hardness 0, {counted} over all");
        }
    }

    #[test]
    fn odds_are_multiplied() {
        assert!((odds_times(0.5, 3.0) - 0.75).abs() < 1e-12);
        assert!((odds_times(0.2, 1.0) - 0.2).abs() < 1e-12);
        assert_eq!(logits(-420), "-0.42");
        assert_eq!(logits(0), "+0.00");
    }

    #[test]
    fn parameters_are_read_from_names() {
        assert_eq!(billions("llama-3.1-8b-instruct"), Some(8.0));
        assert_eq!(billions("smollm2-135m"), Some(0.135));
        assert_eq!(billions("gpt-4o"), None);
        assert_eq!(billions(""), None);
    }
}
