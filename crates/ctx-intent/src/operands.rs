//! Operands of a comparison, in the order of the words: "A versus B", "difference between A and B", "is A faster than B".
//!
//! Their order is part of what is asked, so it is kept; nothing is found where the form is not one of these.

use crate::cues::{Cue, Match, has};
use crate::words::{Word, is_ideograph};

/// Longest operand, in words.
const OPERAND_WORDS_MAX: usize = 8;
/// Most operands of one comparison.
const OPERANDS_MAX: usize = 6;

const BETWEEN: &[&str] = &["between", "zwischen", "entre", "между"];
const AND: &[&str] =
    &["and", "und", "et", "y", "e", "и", "or", "oder", "ou", "или", "with", "mit", "avec", "con", "с", "to", "against", "vs", "versus"];
const VERSUS: &[&str] = &["vs", "versus", "gegenüber"];
const THAN: &[&str] = &["than", "als"];
const STOPS: &[&str] = &[
    "for",
    "when",
    "regarding",
    "concerning",
    "if",
    "while",
    "because",
    "für",
    "pour",
    "para",
    "для",
    "wenn",
    "in",
    "on",
    "at",
    "during",
    "over",
    "by",
    "using",
    "terms",
    "since",
    "before",
    "after",
    "under",
    "como",
];
const STARTS: &[&str] = &[
    "compare",
    "comparing",
    "compared",
    "vergleiche",
    "vergleichen",
    "comparer",
    "compare",
    "comparez",
    "comparar",
    "compara",
    "сравни",
    "сравните",
    "сравнить",
];
const EDGES: &[&str] = &[
    "the",
    "a",
    "an",
    "der",
    "die",
    "das",
    "den",
    "dem",
    "le",
    "la",
    "les",
    "el",
    "los",
    "las",
    "is",
    "are",
    "was",
    "were",
    "do",
    "does",
    "did",
    "ist",
    "est",
    "es",
    "of",
    "what",
    "which",
    "how",
    "why",
    "should",
    "i",
    "use",
    "me",
    "please",
    "both",
    "l",
    "than",
    "different",
    "from",
];

/// The operands, or nothing.
pub(crate) fn operands(text: &str, words: &[Word], matches: &[Match]) -> Vec<String> {
    if !has(matches, Cue::Compare) {
        return Vec::new();
    }
    let forms = [between, starting, versus, than, alternatives];
    forms
        .iter()
        .map(|form| form(text, words))
        .chain(std::iter::once_with(|| ideographic(text)))
        .find(|operands| operands.len() >= 2)
        .unwrap_or_default()
}

fn position(words: &[Word], list: &[&str]) -> Option<usize> {
    words.iter().position(|word| list.contains(&word.lower.as_str()))
}

/// End of the clause that begins at `from`: an operand may be a list, so commas do not end it.
fn clause_end(text: &str, words: &[Word], from: usize) -> usize {
    let ends = |at: usize| {
        let gap = &text[words[at - 1].range.end..words[at].range.start];
        gap.contains(['.', ';', ':', '?', '!', '\n']) || STOPS.contains(&words[at].lower.as_str())
    };
    (from + 1..words.len()).find(|at| ends(*at)).unwrap_or(words.len())
}

/// The stretches of `from..to` between words of `AND` and commas.
fn split(text: &str, words: &[Word], from: usize, to: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut start = from;
    for at in from..=to {
        let comma = at > start && at < to && text[words[at - 1].range.end..words[at].range.start].contains(',');
        let joint = at < to && AND.contains(&words[at].lower.as_str());
        if at == to || joint || comma {
            parts.extend(stretch(text, words, start, at));
            start = if joint { at + 1 } else { at };
        }
    }
    parts.truncate(OPERANDS_MAX);
    parts
}

fn stretch(text: &str, words: &[Word], mut from: usize, mut to: usize) -> Option<String> {
    while from < to && EDGES.contains(&words[from].lower.as_str()) {
        from += 1;
    }
    while from < to && EDGES.contains(&words[to - 1].lower.as_str()) {
        to -= 1;
    }
    (from < to && to - from <= OPERAND_WORDS_MAX).then(|| text[words[from].range.start..words[to - 1].range.end].to_owned())
}

fn between(text: &str, words: &[Word]) -> Vec<String> {
    position(words, BETWEEN).map_or_else(Vec::new, |at| split(text, words, at + 1, clause_end(text, words, at)))
}

fn starting(text: &str, words: &[Word]) -> Vec<String> {
    position(words, STARTS).map_or_else(Vec::new, |at| split(text, words, at + 1, clause_end(text, words, at)))
}

fn versus(text: &str, words: &[Word]) -> Vec<String> {
    let Some(at) = position(words, VERSUS) else { return Vec::new() };
    let start =
        (0..at).rev().take(OPERAND_WORDS_MAX).find(|start| words[*start].opens_clause || EDGES.contains(&words[*start].lower.as_str()));
    split(text, words, start.unwrap_or(0), clause_end(text, words, at))
}

/// "is A (more) faster than B": the words before the comparative, the words behind `than`.
fn than(text: &str, words: &[Word]) -> Vec<String> {
    let Some(at) = position(words, THAN).filter(|at| *at >= 2) else { return Vec::new() };
    let more = usize::from(matches!(words[at.saturating_sub(2)].lower.as_str(), "more" | "less"));
    let end = clause_end(text, words, at);
    let numeric = words.get(at + 1).is_none_or(|word| word.lower.as_bytes()[0].is_ascii_digit());
    let left = stretch(text, words, 0, at - 1 - more);
    let right = stretch(text, words, at + 1, end);
    if numeric { Vec::new() } else { left.into_iter().chain(right).collect() }
}

/// "which is better, A or B".
fn alternatives(text: &str, words: &[Word]) -> Vec<String> {
    let joint = position(words, &["or", "oder", "ou", "или"]);
    let Some(joint) = joint else { return Vec::new() };
    let start = (0..joint).rev().find(|at| words[*at].opens_clause).unwrap_or(0);
    split(text, words, start, clause_end(text, words, joint))
}

/// "A和B的区别", "AとBの違い", "A와 B의 차이".
fn ideographic(text: &str) -> Vec<String> {
    const JOINTS: [char; 6] = ['和', '与', '跟', 'と', '와', '과'];
    const ENDS: [&str; 8] = ["的区别", "的差异", "有什么", "哪个", "の違い", "どちら", "의 차이", "의차이"];
    let Some(joint) = text.find(JOINTS) else { return Vec::new() };
    let behind = joint + text[joint..].chars().next().map_or(0, char::len_utf8);
    let stop = ENDS.iter().filter_map(|end| text[behind..].find(end)).min();
    let left = text[..joint].trim().trim_start_matches("比较").trim_start_matches("对比").trim();
    let left = left.rsplit([' ', '，', '、', '。', ':']).next().unwrap_or(left);
    let right = text[behind..stop.map_or(text.len(), |stop| behind + stop)].trim().trim_end_matches(['?', '？', '。', '.']);
    let short = |operand: &str| !operand.is_empty() && operand.chars().count() <= 40;
    let written = text[..joint].chars().chain(right.chars()).any(is_ideograph) || stop.is_some();
    if written && short(left) && short(right) { vec![left.to_owned(), right.to_owned()] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cues::cues;
    use crate::words::words;

    #[test]
    fn operands_keep_the_order_of_the_words() {
        for (text, expected) in [
            ("Compare BM25 and dense retrieval for short queries", &["BM25", "dense retrieval"][..]),
            ("compare tantivy, DuckDB and SQLite", &["tantivy", "DuckDB", "SQLite"]),
            ("What is the difference between a plan and the schedule?", &["plan", "schedule"]),
            ("postgres vs mysql in 2024", &["postgres", "mysql"]),
            ("Is the dense path faster than BM25?", &["dense path", "BM25"]),
            ("Unterschied zwischen Plan und Graph", &["Plan", "Graph"]),
            ("разница между планом и графом?", &["планом", "графом"]),
            ("快照和备份的区别是什么", &["快照", "备份"]),
            ("計画とグラフの違いは?", &["計画", "グラフ"]),
            ("which is better, Rust or Go?", &["Rust", "Go"]),
            ("more than 5 errors", &[]),
            ("what is a plan and a graph", &[]),
        ] {
            let words = words(text);
            assert_eq!(operands(text, &words, &cues(&words)), expected, "{text}");
        }
    }
}
