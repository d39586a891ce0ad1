//! What two requests may differ in and still share a decision, and when a shared decision is as good as one's own.
//!
//! A template key holds everything of a request but its words. In their place stand what the words mean (facets in bins, types
//! of what is named, order and number of operands, negation, time words, language) and what the sources say about them (the
//! probe's signature). Literals are bound when the plan is used. Planning reads words only through these, so requests with one
//! template key are planned from inputs that differ within a bin at most.

use crate::cause::MissCause;
use crate::key::{write_count, write_text};
use ctx_types::{Intent, Ppm, Tokens};
use std::collections::BTreeMap;

/// What the words of a template key begin with.
const TEMPLATE: u8 = 1;
/// Bins of a probability.
const BINS: u32 = 20;
/// Requests that are planned on their own before a template is used: as many as PostgreSQL makes custom plans.
pub const CUSTOM_PLANS_MIN: u32 = 5;
/// Templates whose custom plans are remembered.
const CUSTOMS_MAX: usize = 4_096;

/// What stands for the words of a request.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// The analysed goal.
    pub intent: &'a Intent,
    /// Whether the goal is put as a question.
    pub question: bool,
    /// What each source says about the goal, in bins; made by the planner, which knows what it reads.
    pub signature: &'a [String],
    /// Tokens of the goal's text.
    pub goal_tokens: Tokens,
}

impl Template<'_> {
    /// Destructured without `..`: a new facet does not compile until it is part of the key, or said not to be.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let Template { intent, question, signature, goal_tokens } = self;
        let Intent {
            answer,
            evidence,
            sources,
            entities,
            risk,
            sensitivity,
            sensitive_spans,
            sensitive_topics,
            time,
            language,
            negated,
            operands,
            content_words,
            bucket,
            model,
        } = intent;
        out.push(TEMPLATE);
        out.push(u8::from(*question));
        // The likeliest value too: a bin holds two whose order differs.
        for (top, probabilities) in [
            (answer.top().map(|(v, _)| v.as_str()), answer.0.iter().map(|(_, p)| *p).collect::<Vec<_>>()),
            (evidence.top().map(|(v, _)| v.as_str()), evidence.0.iter().map(|(_, p)| *p).collect()),
            (None, sources.0.iter().map(|(_, p)| *p).collect()),
        ] {
            write_text(out, top.unwrap_or_default());
            write_count(out, probabilities.len());
            out.extend(probabilities.into_iter().map(bin));
        }
        write_count(out, entities.len());
        entities.iter().for_each(|entity| write_text(out, entity.kind.as_str()));
        out.push(bin(*risk));
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
        out.push(octave(u64::from(*content_words)));
        write_text(out, bucket.as_str());
        write_text(out, model);
        write_count(out, signature.len());
        signature.iter().for_each(|source| write_text(out, source));
        out.push(octave(goal_tokens.get()));
    }
}

fn bin(probability: Ppm) -> u8 {
    u8::try_from(probability.bin(BINS)).unwrap_or(u8::MAX)
}

/// The power of two below a count.
fn octave(count: u64) -> u8 {
    u8::try_from(count.checked_ilog2().map_or(0, |log| log + 1)).unwrap_or(u8::MAX)
}

/// Custom plans of one template, in the score's unit.
#[derive(Clone, Copy, Debug, Default)]
struct Custom {
    made: u32,
    loss: i64,
    planning: i64,
    used: u64,
}

/// Custom plans by the hash of their template's key; the longest unused is forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Customs {
    by_key: BTreeMap<u128, Custom>,
    uses: u64,
}

impl Customs {
    pub(crate) fn add(&mut self, key: u128, loss: i64, planning: i64) {
        self.uses += 1;
        let custom = self.by_key.entry(key).or_default();
        custom.made = custom.made.saturating_add(1);
        custom.loss = custom.loss.saturating_add(loss);
        custom.planning = custom.planning.saturating_add(planning);
        custom.used = self.uses;
        if self.by_key.len() > CUSTOMS_MAX
            && let Some(oldest) = self.by_key.iter().min_by_key(|(_, custom)| custom.used).map(|(key, _)| *key)
        {
            self.by_key.remove(&oldest);
        }
    }

    /// Why a template of this loss is not used. Planning anew costs what it cost on average.
    pub(crate) fn objection(&self, key: u128, loss: i64) -> Option<MissCause> {
        let custom = self.by_key.get(&key).copied().unwrap_or_default();
        if custom.made < CUSTOM_PLANS_MIN {
            return Some(MissCause::Custom { made: custom.made });
        }
        let total = i128::from(custom.loss) + i128::from(custom.planning);
        (i128::from(loss) * i128::from(custom.made) > total).then_some(MissCause::Worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_used_after_five_custom_plans_and_while_it_is_as_good() {
        let mut customs = Customs::default();
        for made in 0..CUSTOM_PLANS_MIN {
            assert_eq!(customs.objection(7, -300), Some(MissCause::Custom { made }));
            customs.add(7, -300, 4);
        }
        assert_eq!(customs.objection(7, -300), None);
        assert_eq!(customs.objection(7, -297), None, "within what planning costs");
        assert_eq!(customs.objection(7, -295), Some(MissCause::Worse));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut customs = Customs::default();
        (0..10_000).for_each(|key| customs.add(key, 0, 0));
        assert_eq!(customs.by_key.len(), CUSTOMS_MAX);
        assert_eq!(customs.objection(0, 0), Some(MissCause::Custom { made: 0 }));
    }
}
