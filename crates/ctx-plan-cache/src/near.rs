//! When two requests ask the same in other words: the condition under which a stored answer may be proposed at all.
//!
//! Strict on purpose. Words are either *framing* (articles, forms of "to be" and "to do", politeness: a fixed English list) or
//! everything else. Everything else must be the same words in the same order: things, numbers, identifiers, question words,
//! negations, comparisons, prepositions, times. So must all of a request that is not its words (tenant, roles, constraints,
//! weights, sources, configuration) and what the words are analysed to mean. Only framing and the plural `s` may differ, and by
//! how much is the distance: a distance is never a reason to take one thing for another.
//!
//! That the same words in another frame have the same answer is proven beside, answer by answer: see [`crate::results`].

use crate::key::{KeyInput, PlanKey, write_count, write_text};
use crate::template::fnv;
use ctx_types::{Intent, Ppm};

/// What the words of such a key begin with.
const ANSWER: u8 = 2;
/// Of so many requests one is worked on whatever is proven.
const SAMPLED: u64 = 16;
/// Words that say how something is asked and not what. No question words, no negation, no preposition, no modal but those of
/// politeness, no past: what differs in them asks for something else.
const FRAMING: [&str; 26] = [
    "a", "an", "the", "is", "are", "am", "be", "being", "do", "does", "get", "gets", "there", "please", "kindly", "can", "could", "would",
    "you", "tell", "me", "explain", "describe", "hi", "hello", "hey",
];
/// A framing word weighs so much of any other.
const FRAMING_WEIGHT: u32 = 1;
const OTHER_WEIGHT: u32 = 4;
/// Distances begin here: nothing in other words is taken for the same unproven.
const LEAST: Ppm = Ppm(crate::template::EXACT_RADIUS.0 + 1);

/// What a request shares with those that ask the same in other words, and how it is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearKey {
    pub(crate) family: PlanKey,
    pub(crate) framing: Vec<String>,
    others: u32,
    pub(crate) sampled: bool,
}

impl NearKey {
    /// Of a request whose words were analysed.
    pub fn of(input: &KeyInput<'_>, intent: &Intent) -> NearKey {
        let words = words(&input.goal.text);
        let (framing, others): (Vec<String>, Vec<String>) =
            words.into_iter().partition(|word| intent.language == "en" && FRAMING.contains(&word.as_str()));
        let family = PlanKey::written(input, |out| write(out, intent, input.goal.text.contains('?'), &others));
        NearKey {
            family,
            framing,
            others: u32::try_from(others.len()).unwrap_or(u32::MAX),
            sampled: fnv(&input.goal.text).is_multiple_of(SAMPLED),
        }
    }

    /// How differently two requests of one family are put: the share of their words, by weight, that only one of them has.
    pub(crate) fn distance(&self, framing: &[String]) -> Ppm {
        let mut rest: Vec<&String> = framing.iter().collect();
        let mut common = 0_u32;
        for word in &self.framing {
            if let Some(at) = rest.iter().position(|other| *other == word) {
                rest.swap_remove(at);
                common += 1;
            }
        }
        let count = |words: usize| u32::try_from(words).unwrap_or(u32::MAX / 8);
        let all = OTHER_WEIGHT.saturating_mul(self.others) + FRAMING_WEIGHT * count(self.framing.len().max(framing.len()));
        let shared = OTHER_WEIGHT.saturating_mul(self.others) + FRAMING_WEIGHT * common;
        Ppm::from_share(1.0 - f64::from(shared) / f64::from(all.max(1))).max(LEAST)
    }
}

/// Everything that must agree of what the words mean. Destructured without `..`: a new facet does not compile until it is part
/// of it, or said not to be.
fn write(out: &mut Vec<u8>, intent: &Intent, question: bool, others: &[String]) {
    let Intent {
        answer,
        evidence,
        // Numbers that follow from the words; what they decide is the plan, and an answer is not compared by its plan.
        sources: _,
        hardness_milli: _,
        risk: _,
        content_words: _,
        entities,
        sensitivity,
        sensitive_spans,
        sensitive_topics,
        time,
        language,
        negated,
        operands,
        bucket: _,
        model,
    } = intent;
    out.push(ANSWER);
    out.push(u8::from(question));
    write_text(out, answer.top().map(|(v, _)| v.as_str()).unwrap_or_default());
    write_text(out, evidence.top().map(|(v, _)| v.as_str()).unwrap_or_default());
    write_count(out, entities.len());
    for entity in entities {
        write_text(out, entity.kind.as_str());
        write_text(out, &entity.text);
    }
    write_text(out, &sensitivity.to_string());
    write_count(out, sensitive_spans.len());
    sensitive_spans.iter().for_each(|span| write_text(out, &span.detector));
    write_count(out, sensitive_topics.len());
    sensitive_topics.iter().for_each(|topic| write_text(out, topic));
    write_text(out, time.as_ref().map_or("", |scope| &scope.text));
    write_text(out, language);
    out.push(u8::from(*negated));
    write_count(out, operands.len());
    operands.iter().for_each(|operand| write_text(out, operand));
    write_text(out, model);
    write_count(out, others.len());
    others.iter().for_each(|word| write_text(out, word));
}

/// Words as they are compared: without sentence marks at their ends, plain lower-case ones without the plural `s`. Anything else
/// (a capital inside, a digit, a sign) stands as it is written. A question word with a shortened "is" is two words.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (at, written) in text.split_whitespace().enumerate() {
        let word = written.trim_end_matches(['.', ',', ';', ':', '!', '?']);
        let word = if at == 0 { without_capital(word) } else { word.to_owned() };
        match word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")) {
            Some(asked @ ("what" | "how" | "who" | "where" | "when" | "why")) => out.extend([asked.to_owned(), "is".to_owned()]),
            _ if word.is_empty() => out.push(written.to_owned()),
            _ => out.push(singular(word)),
        }
    }
    out
}

/// The first word of a sentence is written with a capital, unless it is a name: then the rest tells nothing, and a name in
/// lower case is another word.
fn without_capital(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) if first.is_ascii_uppercase() && letters.clone().all(|c| c.is_ascii_lowercase() || c == '\'' || c == '’') => {
            let lower: String = first.to_ascii_lowercase().to_string() + letters.as_str();
            // A name would be taken for its lower-case word: only words that begin questions and requests are.
            if BEGINNINGS.contains(&lower.trim_end_matches("'s").trim_end_matches("’s")) || FRAMING.contains(&lower.as_str()) {
                lower
            } else {
                word.to_owned()
            }
        }
        _ => word.to_owned(),
    }
}

/// Words that begin questions and requests.
const BEGINNINGS: [&str; 20] = [
    "what", "how", "who", "whose", "where", "when", "why", "which", "show", "list", "give", "find", "name", "in", "for", "on", "with",
    "did", "was", "were",
];

/// Harman's S-stemmer (1991): plural and third person only.
fn singular(word: String) -> String {
    let plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
    if word.len() < 4 || !plain || FRAMING.contains(&word.as_str()) {
        return word;
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| !stem.ends_with(['e', 'a'])) {
        return format!("{stem}y");
    }
    if let Some(stem) = word.strip_suffix("es").filter(|stem| !stem.ends_with(['a', 'e', 'o'])) {
        return format!("{stem}e");
    }
    word.strip_suffix('s').filter(|stem| !stem.ends_with(['u', 's'])).map_or_else(|| word.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_plurals_differ_and_nothing_else_does() {
        let same = |a: &str, b: &str| {
            let rest = |text: &str| words(text).into_iter().filter(|w| !FRAMING.contains(&w.as_str())).collect::<Vec<_>>();
            rest(a) == rest(b)
        };
        let asked = "How is an infeasible plan reported?";
        for other in [
            "how are infeasible plans reported",
            "Please explain how an infeasible plan is reported?",
            "How's the infeasible plan reported?",
        ] {
            assert!(same(asked, other), "{other}");
        }
        for (a, b) in [
            (asked, "How is a feasible plan reported?"),
            (asked, "Why is an infeasible plan reported?"),
            (asked, "How was an infeasible plan reported?"),
            (asked, "How is an infeasible plan not reported?"),
            (asked, "How is an infeasible Plan reported?"),
            ("What failed in build 4711?", "What failed in build 4712?"),
            ("How does the ledger affect the cache?", "How does the cache affect the ledger?"),
            ("What's the limit before 5 pm?", "What's the limit after 5 pm?"),
            ("How is X-1 set?", "How is X1 set?"),
            ("Turkey imports?", "turkey imports?"),
        ] {
            assert!(!same(a, b), "{a} beside {b}");
        }
    }

    #[test]
    fn plurals_lose_their_s_and_other_words_keep_it() {
        for (word, stem) in
            [("plans", "plan"), ("queries", "query"), ("caches", "cache"), ("status", "status"), ("class", "class"), ("is", "is")]
        {
            assert_eq!(singular(word.to_owned()), stem);
        }
        assert_eq!(singular("E0502s".to_owned()), "E0502s");
    }
}
