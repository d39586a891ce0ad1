//! From words to an [`Intent`]: detectors, features, probabilities, and what follows from them.

use crate::action::{self, Order};
use crate::bucket::bucket;
use crate::cues::{Cue, Match, cues, has};
use crate::entities::{entities, names};
use crate::features::{Evidence, features};
use crate::identifiers::Identifier;
use crate::times::{TimeMention, times};
use crate::words::{Word, words};
use crate::{IntentModel, language, operands, sensitive};
use ctx_types::intent::{AnswerShape, Bucket, Entity, Intent, SensitiveSpan, TimeScope};
use ctx_types::{Ppm, Sensitivity};

/// The intent of a goal: a pure function of its text and the coefficients. Work is linear in the text; of a long goal the
/// detectors read both ends, only the search for sensitive values reads all of it.
pub fn analyze(goal: &str, model: &IntentModel) -> Intent {
    let read = Reading::of(goal);
    let features = features(&read.evidence(goal));
    let facets = model.predict(&features);
    let spans = sensitive::scan(goal);
    let risk = risk(facets.answer.of(AnswerShape::Action), read.order, &read.matches);
    let mut intent = Intent {
        answer: facets.answer,
        evidence: facets.evidence,
        sources: facets.sources,
        entities: entities(goal, &read.words, &read.names, &read.times)
            .into_iter()
            .filter(|entity| !inside_value(entity, &spans))
            .collect(),
        risk,
        sensitivity: spans.iter().map(|span| span.raises_to).fold(Sensitivity::Internal, Sensitivity::max),
        sensitive_spans: spans,
        sensitive_topics: sensitive::topics(&read.words),
        time: time_scope(goal, &read.times),
        language: read.language.to_owned(),
        negated: has(&read.matches, Cue::Negation),
        operands: read.operands,
        content_words: content_words(&read.words),
        hardness_milli: model.hardness().milli(&features),
        bucket: Bucket::Unknown,
        model: model.digest().to_owned(),
    };
    intent.bucket = bucket(&intent, &read.matches);
    intent
}

/// A part of a sensitive value is no name to look up, and must not be printed as one.
fn inside_value(entity: &Entity, spans: &[SensitiveSpan]) -> bool {
    spans.iter().any(|span| span.raises_to > Sensitivity::Internal && span.start < entity.end && entity.start < span.end)
}

/// The feature vector of a goal: what the training script learns from.
pub fn feature_vector(goal: &str) -> Vec<(usize, f64)> {
    features(&Reading::of(goal).evidence(goal))
}

/// What the detectors found.
struct Reading<'a> {
    words: Vec<Word>,
    matches: Vec<Match>,
    names: Vec<Identifier<'a>>,
    times: Vec<TimeMention>,
    order: Order,
    operands: Vec<String>,
    language: &'static str,
}

impl<'a> Reading<'a> {
    fn of(goal: &'a str) -> Reading<'a> {
        let words = words(goal);
        let matches = cues(&words);
        let language = language::detect(goal, &words);
        Reading {
            names: names(goal),
            times: times(goal, &words, language),
            order: action::order(&words, &matches),
            operands: operands::operands(goal, &words, &matches),
            language,
            words,
            matches,
        }
    }

    fn evidence<'b>(&'b self, goal: &'b str) -> Evidence<'b> {
        Evidence {
            text: goal,
            words: &self.words,
            matches: &self.matches,
            names: &self.names,
            order: self.order,
            time: (!self.times.is_empty(), self.times.iter().any(|time| time.relative)),
            operands: self.operands.len(),
            language: self.language,
        }
    }
}

/// P(action) × P(cannot be undone | verb): reading about a deed is low, whatever the verb.
fn risk(action: Ppm, order: Order, matches: &[Match]) -> Ppm {
    action.and(Ppm::from_share(action::irreversible(order, matches)))
}

/// From the first time word to the last where they stand together ("from Monday to Friday"), else the first; one that
/// depends on now is preferred.
fn time_scope(goal: &str, times: &[TimeMention]) -> Option<TimeScope> {
    let first = times.iter().find(|time| time.relative).or_else(|| times.first())?;
    let last = times
        .iter()
        .filter(|time| time.range.start >= first.range.end)
        .take_while(|time| time.range.start - first.range.end <= TIME_GAP_BYTES_MAX)
        .last();
    let range = first.range.start..last.map_or(first.range.end, |last| last.range.end);
    let relative = first.relative || last.is_some_and(|last| last.relative);
    Some(TimeScope { text: goal[range].to_owned(), relative })
}

/// Time words further apart belong to different windows.
const TIME_GAP_BYTES_MAX: usize = 24;

fn content_words(words: &[Word]) -> u32 {
    u32::try_from(words.iter().filter(|word| !language::is_function_word(word)).count()).unwrap_or(u32::MAX)
}
