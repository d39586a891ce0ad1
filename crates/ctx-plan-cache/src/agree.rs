//! Whether two answers say the same: the judgement behind stored answers for other words.
//!
//! Strict: the same text but for white space, case, citation labels and final marks; or the same passages cited, at least one, and
//! the same sequence of everything that carries a fact of its own: numbers, identifiers, yes and no, negations. Two answers that
//! put one fact in different words and cite different passages count as different, which costs a hit and is never wrong.

use ctx_types::{Outcome, Status};
use std::collections::BTreeSet;

/// Words that turn a sentence round.
const TURNS: [&str; 18] = [
    "yes", "no", "not", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot", "except", "only", "unless", "must",
    "always", "before", "after",
];

/// Whether both runs completed and say the same.
pub fn agree(one: &Outcome, other: &Outcome) -> bool {
    let completed = |outcome: &Outcome| outcome.status == Status::Completed && !outcome.answer.trim().is_empty();
    if !completed(one) || !completed(other) {
        return false;
    }
    let (a, b) = (words(&one.answer), words(&other.answer));
    let cited = |outcome: &Outcome| outcome.citations.iter().map(|citation| citation.passage.clone()).collect::<BTreeSet<_>>();
    let evidence = cited(one);
    a == b || (!evidence.is_empty() && evidence == cited(other) && facts(&a) == facts(&b))
}

/// Words of an answer without citation labels, in lower case but where case is part of them.
fn words(answer: &str) -> Vec<String> {
    let plain = without_labels(answer);
    let mut out = Vec::new();
    for word in plain.split_whitespace() {
        let word = word.trim_matches(['.', ',', ';', ':', '!', '?', '"', '(', ')']);
        if !word.is_empty() {
            out.push(if is_sign(word) { word.to_owned() } else { word.to_lowercase() });
        }
    }
    out
}

/// `[1]` and `[2][3]` are labels of passages, which differ from run to run.
fn without_labels(answer: &str) -> String {
    let mut out = String::with_capacity(answer.len());
    let mut rest = answer;
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let label = from[1..].find(']').map(|close| &from[1..=close]).filter(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
        match label.filter(|label| !label.is_empty()) {
            Some(label) => rest = &from[label.len() + 2..],
            None => {
                out.push('[');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// A number, an identifier, a name with a capital inside: what stands for itself.
fn is_sign(word: &str) -> bool {
    word.chars().any(|c| c.is_numeric() || c == '_') || word.chars().skip(1).any(char::is_uppercase)
}

fn facts(words: &[String]) -> Vec<&str> {
    let turns = |word: &str| TURNS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t");
    words.iter().map(String::as_str).filter(|word| is_sign(word) || turns(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::outcome::Spend;
    use ctx_types::passage::{ByteRange, Locator};
    use ctx_types::{Citation, SourceName};

    fn outcome(answer: &str, passages: &[&str]) -> Outcome {
        let locator = Locator {
            source: SourceName::new("docs").expect("a name"),
            path: "a.md".into(),
            bytes: ByteRange { start: 0, end: 1 },
            line_start: 1,
            line_end: 1,
            section: String::new(),
            also_at: Vec::new(),
        };
        let cite = |(at, passage): (usize, &&str)| Citation {
            label: at as u32 + 1,
            passage: (*passage).into(),
            locator: locator.clone(),
            title: String::new(),
            quote: None,
        };
        Outcome {
            status: Status::Completed,
            answer: answer.into(),
            citations: passages.iter().enumerate().map(cite).collect(),
            verdict: None,
            evidence: None,
            spend: Spend::default(),
            plan: None,
            trace: String::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_same_text_or_the_same_facts_from_the_same_passages() {
        let asked = outcome("You have 17 days left [1].", &["p1"]);
        for (answer, passages) in [("you have 17 days  left [2]", ["p7"]), ("17 days are left [1].", ["p1"])] {
            assert!(agree(&asked, &outcome(answer, &passages)), "{answer}");
        }
        for (answer, passages) in [
            ("You have 18 days left [1].", ["p1"]),
            ("17 days are left [1].", ["p2"]),
            ("You do not have 17 days left [1].", ["p1"]),
            ("Days are left [1].", ["p1"]),
            ("17 days are left for userA [1].", ["p1"]),
            ("", ["p1"]),
        ] {
            assert!(!agree(&asked, &outcome(answer, &passages)), "{answer}");
        }
        let failed = Outcome { status: Status::Abstained, ..asked.clone() };
        assert!(!agree(&failed, &asked) && !agree(&failed, &failed.clone()));
        assert!(!agree(&outcome("Some are left.", &[]), &outcome("A few are left.", &[])), "nothing cited: only the text says it");
    }

    #[test]
    fn only_numbers_in_brackets_are_labels() {
        assert_eq!(without_labels("a [1][22] b [x] c [3"), "a  b [x] c [3");
        assert_eq!(words("Yes, [it] is 5.0 (ok)."), ["yes", "[it]", "is", "5.0", "ok"]);
    }
}
