//! What two requests may differ in and still share a decision, and when a shared decision is as good as one's own.
//!
//! A template key has two parts. The **family** holds what must agree exactly: everything of a request but its words, and in
//! their place what the words mean (likeliest shapes, types of what is named, order and number of operands, negation, time
//! words, language) and what the sources hold of it (identifiers, columns). The **point** holds the numbers that planning
//! reads: shares of shapes and kinds of source, P(evidence) by path and depth. The nearest known point of a family proposes
//! its decision: within [`EXACT_RADIUS`] as a template, further away only as a [semantic](crate::semantic) match. Literals are
//! bound when the plan is used.

use crate::cause::MissCause;
use crate::key::{KeyInput, PlanKey, canonical_text, write_count, write_text};
use ctx_types::{Intent, Ppm, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the words of a template key begin with.
const TEMPLATE: u8 = 1;
/// No number that planning reads may differ by more for a template to serve: as much as a score may differ for a hit not to be
/// false.
pub const EXACT_RADIUS: Ppm = Ppm(10_000);
/// Requests that are planned on their own before a template is used: as many as PostgreSQL makes custom plans.
pub const CUSTOM_PLANS_MIN: u32 = 5;
/// Families whose custom plans are remembered.
const FAMILIES_MAX: usize = 4_096;
/// Of so many goals one is checked by planning anew, however proven its family is.
const SAMPLED: u64 = 16;

/// What stands for the words of a request.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// The analysed goal.
    pub intent: &'a Intent,
    /// Whether the goal is put as a question.
    pub question: bool,
    /// What must agree of what the sources say about the goal; made by the planner, which knows what it reads.
    pub signature: &'a [String],
    /// The numbers that planning reads, in an order that the signature fixes.
    pub inputs: &'a [Ppm],
    /// Tokens of the goal's text.
    pub goal_tokens: Tokens,
}

/// Family and point of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateKey {
    pub(crate) family: PlanKey,
    pub(crate) point: Vec<Ppm>,
    pub(crate) goal_tokens: Tokens,
    pub(crate) sampled: bool,
}

impl TemplateKey {
    /// The key that this request shares with others that mean the same kind of thing.
    pub fn of(input: &KeyInput<'_>, template: &Template<'_>) -> TemplateKey {
        TemplateKey {
            family: PlanKey::written(input, |out| template.write(out)),
            point: template.inputs.to_vec(),
            goal_tokens: template.goal_tokens,
            sampled: fnv(&canonical_text(&input.goal.text)).is_multiple_of(SAMPLED),
        }
    }

    /// Whether two requests are of one family.
    pub fn same_family(&self, other: &TemplateKey) -> bool {
        self.family == other.family
    }

    /// Largest difference of any number that planning reads. None: more than `most`.
    pub(crate) fn distance(&self, point: &[Ppm], most: Ppm) -> Option<Ppm> {
        if point.len() != self.point.len() {
            return None;
        }
        let mut largest = 0;
        for (a, b) in self.point.iter().zip(point) {
            largest = a.0.abs_diff(b.0).max(largest);
            if largest > most.0 {
                return None;
            }
        }
        Some(Ppm(largest))
    }
}

/// Fowler–Noll–Vo, 1a.
pub(crate) fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Template<'_> {
    /// Destructured without `..`: a new facet does not compile until it is part of the key, or said not to be.
    fn write(&self, out: &mut Vec<u8>) {
        let Template { intent, question, signature, inputs, goal_tokens } = self;
        let Intent {
            answer,
            evidence,
            // Their shares are among the inputs.
            sources: _,
            entities,
            // Whether it is high is in the signature.
            risk: _,
            sensitivity,
            sensitive_spans,
            sensitive_topics,
            time,
            language,
            negated,
            operands,
            content_words: _,
            // Among the numbers, where a model may answer: nothing else reads it.
            hardness_milli: _,
            bucket,
            model,
        } = intent;
        out.push(TEMPLATE);
        out.push(u8::from(*question));
        write_text(out, answer.top().map(|(v, _)| v.as_str()).unwrap_or_default());
        write_text(out, evidence.top().map(|(v, _)| v.as_str()).unwrap_or_default());
        write_count(out, entities.len());
        entities.iter().for_each(|entity| write_text(out, entity.kind.as_str()));
        write_text(out, &sensitivity.to_string());
        write_count(out, sensitive_spans.len());
        sensitive_spans.iter().for_each(|span| write_text(out, &span.detector));
        out.push(u8::from(!sensitive_topics.is_empty()));
        match time {
            None => out.push(0),
            Some(scope) if scope.relative => {
                out.push(1);
                write_text(out, &scope.text.to_lowercase());
            }
            Some(_) => out.push(2),
        }
        write_text(out, language);
        out.push(u8::from(*negated));
        write_count(out, operands.len());
        write_text(out, bucket.as_str());
        write_text(out, model);
        write_count(out, signature.len());
        signature.iter().for_each(|source| write_text(out, source));
        write_count(out, inputs.len());
        out.push(octave(goal_tokens.get()));
    }
}

/// The power of two below a count.
fn octave(count: u64) -> u8 {
    u8::try_from(count.checked_ilog2().map_or(0, |log| log + 1)).unwrap_or(u8::MAX)
}

/// How a proposed decision did against planning the same goal anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How far the proposal's point was.
    pub distance: Ppm,
    /// Whether it was the best of several known decisions for the goal's own numbers, and not the only one.
    pub chosen: bool,
    /// Score of the cold plan less that of the proposed decision for this goal.
    pub loss: i64,
    /// The proposal breaks a constraint, or is more than a hundredth of the cold score below it.
    pub wrong: bool,
}

impl Verdict {
    /// Of scores: the cold plan's, and that of the proposed decision for the same goal; none if it breaks a constraint.
    pub fn of(distance: Ppm, chosen: bool, cold: i64, proposed: Option<i64>) -> Verdict {
        let loss = proposed.map_or(cold.abs(), |proposed| cold.saturating_sub(proposed)).max(0);
        let wrong = proposed.is_none() || i128::from(loss) * 100 > i128::from(cold).abs();
        Verdict { distance, chosen, loss, wrong }
    }
}

/// Custom plans of one family, in the score's unit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Family {
    made: u32,
    planning: i64,
    judged: u32,
    loss: i64,
    wrong: u32,
    used: u64,
}

/// Custom plans by the hash of their family; the longest unused is forgotten.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Families {
    #[serde(with = "crate::hashed")]
    by_key: BTreeMap<u128, Family>,
    uses: u64,
}

impl Families {
    pub(crate) fn add(&mut self, key: u128, planning: i64, verdict: Option<&Verdict>) {
        self.uses += 1;
        let family = self.by_key.entry(key).or_default();
        family.made = family.made.saturating_add(1);
        family.planning = family.planning.saturating_add(planning);
        if let Some(verdict) = verdict.filter(|verdict| verdict.distance <= EXACT_RADIUS) {
            family.judged = family.judged.saturating_add(1);
            family.loss = family.loss.saturating_add(verdict.loss);
            family.wrong = family.wrong.saturating_add(u32::from(verdict.wrong));
        }
        family.used = self.uses;
        if self.by_key.len() > FAMILIES_MAX
            && let Some(oldest) = self.by_key.iter().min_by_key(|(_, family)| family.used).map(|(key, _)| *key)
        {
            self.by_key.remove(&oldest);
        }
    }

    /// Why a family's templates are not used: too few custom plans; one decision was wrong for a goal that is as good as equal;
    /// or what they lose on average is more than planning costs.
    pub(crate) fn objection(&self, key: u128) -> Option<MissCause> {
        let family = self.by_key.get(&key).copied().unwrap_or_default();
        if family.made < CUSTOM_PLANS_MIN {
            return Some(MissCause::Custom { made: family.made });
        }
        let generic = i128::from(family.loss) * i128::from(family.made);
        let custom = i128::from(family.planning) * i128::from(family.judged);
        (family.wrong > 0 || generic > custom).then_some(MissCause::Worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(loss: i64) -> Verdict {
        Verdict::of(Ppm(10_000), false, 500_000, Some(500_000 - loss))
    }

    #[test]
    fn a_template_is_used_after_five_custom_plans_and_while_it_loses_no_more_than_planning_costs() {
        let mut families = Families::default();
        for made in 0..CUSTOM_PLANS_MIN {
            assert_eq!(families.objection(7), Some(MissCause::Custom { made }));
            families.add(7, 20, (made > 0).then(|| verdict(20)).as_ref());
        }
        assert_eq!(families.objection(7), None, "as much as planning costs");
        families.add(7, 20, Some(&verdict(26)));
        assert_eq!(families.objection(7), Some(MissCause::Worse));
    }

    #[test]
    fn a_wrong_decision_near_by_ends_a_family() {
        let mut families = Families::default();
        (0..1_000).for_each(|_| families.add(7, 1_000_000, Some(&verdict(0))));
        families.add(7, 1_000_000, Some(&Verdict { distance: Ppm(200_000), ..verdict(6_000) }));
        assert_eq!(families.objection(7), None, "further away it says nothing about templates");
        families.add(7, 1_000_000, Some(&verdict(6_000)));
        assert_eq!(families.objection(7), Some(MissCause::Worse));
    }

    #[test]
    fn wrong_is_a_hundredth_of_the_score_or_a_broken_constraint() {
        assert!(!Verdict::of(Ppm(0), false, 500_000, Some(495_000)).wrong);
        assert!(Verdict::of(Ppm(0), false, 500_000, Some(494_999)).wrong);
        assert!(Verdict::of(Ppm(0), false, -500_000, Some(-505_001)).wrong);
        assert!(Verdict::of(Ppm(0), false, 0, None).wrong);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut families = Families::default();
        (0..10_000).for_each(|key| families.add(key, 0, None));
        assert_eq!(families.by_key.len(), FAMILIES_MAX);
        assert_eq!(families.objection(0), Some(MissCause::Custom { made: 0 }));
    }
}
