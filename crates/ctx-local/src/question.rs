//! What kind of thing would answer: a number, a time, a person, a place, a reason, a way, a definition.

/// The kind of answer a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Number,
    Time,
    Person,
    Place,
    Reason,
    Way,
    Definition,
    Anything,
}

/// From the question's words, wherever they stand.
pub(crate) fn wanted(goal: &str) -> Wanted {
    let lower = format!(" {} ", goal.to_lowercase().replace(['?', '!', ',', '.'], " "));
    let has = |words: &[&str]| words.iter().any(|w| lower.contains(&format!(" {w} ")));
    if has(&[
        "how many",
        "how much",
        "what number",
        "how large",
        "how long",
        "how old",
        "what percentage",
        "сколько",
        "wie viele",
        "combien",
        "cuántos",
    ]) {
        Wanted::Number
    } else if has(&["when", "what year", "which year", "what date", "what time", "когда", "wann", "quand", "cuándo"]) {
        Wanted::Time
    } else if has(&["who", "whom", "whose", "which person", "кто", "wer", "qui", "quién"]) {
        Wanted::Person
    } else if has(&["where", "which file", "what path", "где", "wo", "où", "dónde"]) {
        Wanted::Place
    } else if has(&["why", "what causes", "reason", "почему", "warum", "pourquoi", "por qué"]) {
        Wanted::Reason
    } else if has(&["how", "как", "wie", "comment", "cómo"]) {
        Wanted::Way
    } else if has(&["what is", "what are", "what does", "define", "meaning of", "что такое", "was ist", "qu'est-ce", "qué es"]) {
        Wanted::Definition
    } else {
        Wanted::Anything
    }
}

/// Whether a sentence holds such a thing, in 0..=1. `Anything` is neutral.
pub(crate) fn holds(wanted: Wanted, sentence: &str) -> f64 {
    let lower = sentence.to_lowercase();
    let any = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    let yes = match wanted {
        Wanted::Number => {
            sentence.bytes().any(|b| b.is_ascii_digit())
                || any(&[" one ", " two ", " three ", " four ", " five ", " ten ", "dozen", "hundred", "thousand"])
        }
        Wanted::Time => {
            has_year(sentence)
                || sentence.contains(':') && sentence.bytes().any(|b| b.is_ascii_digit())
                || any(&[
                    "january",
                    "february",
                    "march",
                    "april",
                    "june",
                    "july",
                    "august",
                    "september",
                    "october",
                    "november",
                    "december",
                    "yesterday",
                    "today",
                    "every ",
                ])
        }
        Wanted::Person => capitalised_pair(sentence),
        Wanted::Place => any(&[" in ", " at ", " under ", " near ", "/", " below ", " into "]),
        Wanted::Reason => {
            any(&["because", "since ", "due to", "so that", "therefore", "reason", "caused", "causes", "otherwise", "would "])
        }
        Wanted::Way => {
            any(&[" by ", " with ", " uses ", " use ", "first", " then ", " when ", " if ", " must ", " is computed", " calls ", "run "])
        }
        Wanted::Definition => any(&[" is a", " is the", " are ", " means", " is an", ": ", " refers to", " holds "]),
        Wanted::Anything => return 0.5,
    };
    f64::from(u8::from(yes))
}

fn has_year(text: &str) -> bool {
    crate::words::numbers(text).iter().any(|n| n.len() == 4 && matches!(n.as_bytes()[0], b'1' | b'2'))
}

/// Two capitalised words in a row, not at the sentence's start.
fn capitalised_pair(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let capital = |w: &str| w.chars().next().is_some_and(char::is_uppercase);
    words.windows(2).any(|w| capital(w[0]) && capital(w[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_want_things_and_sentences_hold_them() {
        assert_eq!(wanted("How many shards are there?"), Wanted::Number);
        assert_eq!(wanted("Why did deploy 1423 fail?"), Wanted::Reason);
        assert!(holds(Wanted::Number, "There are 12 shards.") > holds(Wanted::Number, "There are shards."));
        assert!(holds(Wanted::Person, "It was written by Ada Lovelace.") > holds(Wanted::Person, "It was written quickly."));
    }
}
