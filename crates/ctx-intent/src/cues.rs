//! Typed detectors over words: what a phrase in a goal hints at, in nine languages.
//!
//! A cue is evidence, not a verdict: the linear model weighs all of them together, and no table is searched for a first
//! match. Phrases are data; one binary search per word.

mod phrases;

use crate::filter::Filter;
use crate::words::{Word, is_ideograph};
use std::sync::LazyLock;

/// What a phrase hints at. The order is part of the model's feature numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Cue {
    /// A number over many things: "how many", "average".
    Count,
    /// Every one: "all", "entire".
    Exhaustive,
    /// Two things against each other: "versus", "difference between".
    Compare,
    /// "why", "explain", "how does".
    Explain,
    /// "how do I", "how to".
    HowTo,
    /// "list", "which of", "enumerate".
    List,
    /// "is there", "does it", "whether".
    YesNo,
    /// "not", "without", "except".
    Negation,
    /// Rows and columns: "per", "group by", "top 5".
    Table,
    /// Lines of a log: "stack trace", "warn".
    Log,
    /// Something is broken: "outage", "fails".
    Incident,
    /// Source code: "function", "compile".
    Code,
    /// History: "commit", "regression".
    Git,
    /// Relations: "connected to", "directed by".
    Graph,
    /// Time series: "p99", "cpu usage".
    Metric,
    /// People talking: "meeting", "discussed".
    Conversation,
    /// Pages: "website".
    Web,
    /// A system of record behind an API: "ticket", "calendar".
    Service,
    /// A chain of facts: "whose", "the one who".
    MultiHop,
    /// Everything together: "summarize", "overview".
    Summary,
    /// Retrieves rather than changes: "find", "show".
    Fetch,
    /// An action that can be taken back: "create", "restart".
    Act,
    /// An action that cannot: "delete", "transfer".
    Destroy,
    /// "please", "could you".
    Polite,
    /// The speaker asks how or why something is or was done: a question word.
    Question,
    /// The past: "was", "did".
    Past,
}

/// Number of cues.
pub(crate) const CUES: usize = Cue::Past as usize + 1;

/// A phrase found in a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    /// What it hints at.
    pub(crate) cue: Cue,
    /// Index of its first word.
    pub(crate) word: usize,
    /// Number of words.
    pub(crate) words: usize,
}

/// Every phrase that occurs, by position. Work: one search per word and phrases of at most a few words.
pub(crate) fn cues(words: &[Word]) -> Vec<Match> {
    let mut found = Vec::new();
    for at in 0..words.len() {
        phrases_at(words, at, &mut found);
    }
    found
}

fn phrases_at(words: &[Word], at: usize, found: &mut Vec<Match>) {
    if !FIRST.may_hold(words[at].key) {
        return;
    }
    let first = words[at].lower.as_str();
    let from = INDEX.partition_point(|phrase| phrase.words[0].as_str() < first);
    for phrase in INDEX[from..].iter().take_while(|phrase| phrase.words[0] == first) {
        let length = phrase.words.len();
        let here = words.get(at..at + length);
        if here.is_some_and(|here| here.iter().zip(&phrase.words).all(|(word, part)| word.lower == *part)) {
            found.push(Match { cue: phrase.cue, word: at, words: length });
        }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Phrase {
    words: Vec<String>,
    cue: Cue,
}

static INDEX: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let mut index: Vec<Phrase> = phrases::PHRASES
        .iter()
        .flat_map(|(cue, phrases)| phrases.split('|').map(|phrase| Phrase { words: tokens(phrase), cue: *cue }))
        .filter(|phrase| !phrase.words.is_empty())
        .collect();
    index.sort();
    index.dedup();
    index
});

/// First words of all phrases.
static FIRST: LazyLock<Filter> = LazyLock::new(|| Filter::of(INDEX.iter().map(|phrase| phrase.words[0].as_str())));

/// Cut as [`crate::words::words`] cuts goals.
fn tokens(phrase: &str) -> Vec<String> {
    let mut found: Vec<String> = vec![String::new()];
    for character in phrase.chars() {
        match character {
            ' ' => found.push(String::new()),
            character if is_ideograph(character) => found.extend([character.to_string(), String::new()]),
            character => found.last_mut().expect("never empty: it starts with one token").push(character),
        }
    }
    found.retain(|token| !token.is_empty());
    found
}

/// Whether any match hints at `cue`.
pub(crate) fn has(matches: &[Match], cue: Cue) -> bool {
    matches.iter().any(|found| found.cue == cue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    fn found(text: &str) -> Vec<Cue> {
        cues(&words(text)).into_iter().map(|found| found.cue).collect()
    }

    #[test]
    fn phrases_match_words_not_letters() {
        assert!(found("How many functions").contains(&Cue::Count));
        assert!(!found("the callback").contains(&Cue::Exhaustive));
        assert!(found("wie viele Zeilen").contains(&Cue::Count));
        assert!(found("有多少行").contains(&Cue::Count));
        assert!(found("what is it for").is_empty() || !found("what is it for").contains(&Cue::Negation));
    }
}
