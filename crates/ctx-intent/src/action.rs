//! Does the goal tell us to do something, or does it ask about doing it?
//!
//! "Delete the old index" is an order; "how do I delete …", "why was X deleted", "does it delete …" are not. What this
//! finds are features; the linear model gives the probability, the verb how far the deed can be undone.

use crate::cues::{Cue, Match};
use crate::words::Word;

/// How the goal speaks about actions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// An action verb stands where an imperative does.
    pub(crate) imperative: bool,
    /// That verb cannot be undone.
    pub(crate) destroys: bool,
    /// A thing follows the verb at once ("delete the", "send it", "remove all").
    pub(crate) bound: bool,
    /// An action verb occurs inside a question about it.
    pub(crate) asked: bool,
}

/// Words that may stand between the start of a clause and its imperative.
const BEFORE: &[&str] = &[
    "please",
    "pls",
    "now",
    "then",
    "just",
    "also",
    "immediately",
    "first",
    "next",
    "finally",
    "and",
    "so",
    "ok",
    "okay",
    "hey",
    "hi",
    "go",
    "ahead",
    "bitte",
    "jetzt",
    "dann",
    "und",
    "sofort",
    "maintenant",
    "puis",
    "et",
    "ahora",
    "luego",
    "y",
    "пожалуйста",
    "теперь",
    "затем",
    "и",
    "сейчас",
];
const DETERMINERS: &[&str] = &[
    "the",
    "a",
    "an",
    "this",
    "that",
    "these",
    "those",
    "my",
    "our",
    "your",
    "his",
    "her",
    "their",
    "its",
    "it",
    "them",
    "him",
    "me",
    "us",
    "all",
    "every",
    "each",
    "any",
    "everything",
    "den",
    "die",
    "das",
    "der",
    "alle",
    "meine",
    "meinen",
    "diese",
    "diesen",
    "le",
    "la",
    "les",
    "l",
    "tous",
    "toutes",
    "mon",
    "ma",
    "mes",
    "el",
    "los",
    "las",
    "mi",
    "mis",
    "todos",
    "todas",
    "все",
    "всех",
    "мой",
    "мою",
    "этот",
    "эту",
    "старый",
    "old",
    "no",
    "up",
];

/// Reads the order out of words and cues.
pub(crate) fn order(words: &[Word], matches: &[Match]) -> Order {
    let mut order = Order::default();
    let asks = asks(words, matches);
    for found in matches.iter().filter(|found| matches!(found.cue, Cue::Act | Cue::Destroy)) {
        let placed = placed(words, matches, found);
        order.asked |= asks || !placed;
        if placed && !asks {
            order.imperative = true;
            order.destroys |= found.cue == Cue::Destroy;
            let next = words.get(found.word + found.words);
            order.bound |= next.is_some_and(|next| DETERMINERS.contains(&next.lower.as_str()) && !next.opens_clause);
        }
    }
    order
}

/// A question about how, why or whether. A polite request ("could you delete …") is not one.
fn asks(words: &[Word], matches: &[Match]) -> bool {
    let request = matches.iter().any(|found| found.cue == Cue::Polite && words[found.word].opens_clause);
    let question = |found: &Match| match found.cue {
        Cue::HowTo => true,
        Cue::Question => !request && (is_opening(words, found.word) || !words[found.word].lower.is_ascii()),
        Cue::YesNo => !request && is_opening(words, found.word),
        _ => false,
    };
    matches.iter().any(question)
}

fn is_opening(words: &[Word], at: usize) -> bool {
    words[at].opens_clause || at == 0
}

/// Whether the verb stands where an imperative stands: behind the start of a clause, a polite phrase or another verb's
/// "and"; at the end of a clause in German and in scripts without blanks.
fn placed(words: &[Word], matches: &[Match], verb: &Match) -> bool {
    let polite_end = matches.iter().filter(|found| found.cue == Cue::Polite).map(|found| found.word + found.words);
    let mut at = verb.word;
    let mut opening = words[at].opens_clause;
    while at > 0 && !opening && BEFORE.contains(&words[at - 1].lower.as_str()) {
        at -= 1;
        opening = words[at].opens_clause || matches!(words[at].lower.as_str(), "and" | "und" | "et" | "y" | "и" | "then");
    }
    let requested = polite_end.into_iter().any(|end| end == verb.word || end == at);
    opening || requested || final_verb(words, verb)
}

fn final_verb(words: &[Word], verb: &Match) -> bool {
    let text = words[verb.word].lower.as_str();
    let end = verb.word + verb.words;
    let last = words.get(end).is_none_or(|next| next.opens_clause);
    let ideograph = text.chars().all(crate::words::is_ideograph);
    let infinitive = last && words.len() >= 3 && text.ends_with("en") && !matches!(text, "open" | "when");
    ideograph || infinitive
}

/// P(cannot be undone | the verb is carried out). Guessed: a verb of the table errs one time in ten (deletions that go to
/// a bin, mails that are drafts); an ordinary action still overwrites something now and then.
pub(crate) const IRREVERSIBLE_DESTROY: f64 = 0.9;
/// As above, for actions that can usually be taken back.
pub(crate) const IRREVERSIBLE_ACT: f64 = 0.1;
/// As above, where no action verb of the table occurs.
pub(crate) const IRREVERSIBLE_UNKNOWN: f64 = 0.05;

/// P(cannot be undone | carried out), from the verb.
pub(crate) fn irreversible(order: Order, matches: &[Match]) -> f64 {
    let named = |cue: Cue| matches.iter().any(|found| found.cue == cue);
    match (order.imperative, order.destroys) {
        (true, true) => IRREVERSIBLE_DESTROY,
        (true, false) => IRREVERSIBLE_ACT,
        (false, _) if named(Cue::Destroy) => IRREVERSIBLE_DESTROY / 2.0,
        (false, _) => IRREVERSIBLE_UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cues::cues;
    use crate::words::words;

    fn read(text: &str) -> Order {
        let words = words(text);
        order(&words, &cues(&words))
    }

    #[test]
    fn orders_are_told_from_questions_about_them() {
        for text in [
            "delete the old index",
            "Please remove all users",
            "could you cancel my order",
            "go ahead and drop table users",
            "Stop the server, then wipe the disk",
            "Lösche den alten Index",
            "den alten Index bitte löschen",
            "supprime les fichiers",
            "borra todos los usuarios",
            "Удали старый индекс",
            "请删除旧索引",
            "古いインデックスを削除してください",
            "오래된 색인을 삭제해 주세요",
        ] {
            assert!(read(text).imperative && read(text).destroys, "{text}: {:?}", read(text));
        }
        for text in [
            "how do I delete an index?",
            "why was the index deleted",
            "does compaction remove old segments?",
            "what happens when I drop a table",
            "Wie lösche ich einen Index?",
            "comment supprimer un index",
            "как удалить индекс",
            "如何删除索引",
            "インデックスを削除する方法",
            "색인을 삭제하는 방법",
            "find the delete key",
            "explain how to remove a user",
            "is it safe to wipe the cache",
        ] {
            assert!(!read(text).destroys, "{text}: {:?}", read(text));
        }
    }
}
