//! Words of a text, stemmed for matching: lower-case, function words dropped, CJK as overlapping pairs.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::{BTreeMap, BTreeSet};

/// Words that carry no content, English; other languages keep theirs (their IDF is low anyway).
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does", "each", "for",
    "from", "get", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "may", "me", "might", "must", "my", "of", "on",
    "or", "our", "s", "shall", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will",
    "with", "would", "you", "your",
];

/// Words that turn a statement around.
const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "nor", "cannot", "without", "neither", "nothing", "n't", "fail", "fails", "failed", "unable", "не",
    "нет", "nicht", "kein", "keine", "pas", "jamais", "sin", "nunca",
];

/// Stems words of one language.
pub(crate) struct Stems {
    stemmer: Option<Stemmer>,
}

impl Stems {
    /// For an ISO 639-1 code; unknown languages are matched as they stand, `und` as English.
    pub(crate) fn new(language: &str) -> Stems {
        let algorithm = match language {
            "en" | "und" | "" => Some(Algorithm::English),
            "ru" => Some(Algorithm::Russian),
            "de" => Some(Algorithm::German),
            "fr" => Some(Algorithm::French),
            "es" => Some(Algorithm::Spanish),
            "it" => Some(Algorithm::Italian),
            "pt" => Some(Algorithm::Portuguese),
            "nl" => Some(Algorithm::Dutch),
            "sv" => Some(Algorithm::Swedish),
            _ => None,
        };
        Stems { stemmer: algorithm.map(Stemmer::create) }
    }

    /// Content words in order, stemmed.
    pub(crate) fn content(&self, text: &str) -> Vec<String> {
        raw_words(text).into_iter().filter(|w| FUNCTION_WORDS.binary_search(&w.as_str()).is_err()).map(|w| self.stem(&w)).collect()
    }

    fn stem(&self, word: &str) -> String {
        match &self.stemmer {
            Some(stemmer) if !word.bytes().any(|b| b.is_ascii_digit()) => stemmer.stem(word).into_owned(),
            _ => word.to_owned(),
        }
    }
}

/// Scripts that write no blanks between words or sentences.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// Lower-case words; runs of CJK become overlapping pairs.
pub(crate) fn raw_words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut word, mut run) = (String::new(), Vec::<char>::new());
    let flush_run = |run: &mut Vec<char>, out: &mut Vec<String>| {
        match run.len() {
            0 => {}
            1 => out.push(run[0].to_string()),
            _ => out.extend(run.windows(2).map(|w| w.iter().collect())),
        }
        run.clear();
    };
    for c in text.chars() {
        if is_cjk(c) {
            if !word.is_empty() {
                out.push(std::mem::take(&mut word));
            }
            run.push(c);
            continue;
        }
        flush_run(&mut run, &mut out);
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else if !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
    flush_run(&mut run, &mut out);
    out
}

/// Whether a text negates.
pub(crate) fn negates(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("n't") || raw_words(&lower).iter().any(|w| NEGATIONS.contains(&w.as_str()))
}

/// Numbers of a text: digits with inner points and commas.
pub(crate) fn numbers(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut number = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let inner = matches!(c, '.' | ',') && !number.is_empty() && chars.peek().is_some_and(char::is_ascii_digit);
        if c.is_ascii_digit() || (inner && c == '.') {
            number.push(c);
        } else if !inner && !number.is_empty() {
            out.push(std::mem::take(&mut number));
        }
    }
    if !number.is_empty() {
        out.push(number);
    }
    out
}

/// Inverse document frequencies over a handful of texts.
pub(crate) struct Idf {
    frequency: BTreeMap<String, u32>,
    texts: u32,
}

impl Idf {
    /// Counts each stem once per text.
    pub(crate) fn over(texts: &[Vec<String>]) -> Idf {
        let mut frequency: BTreeMap<String, u32> = BTreeMap::new();
        for text in texts {
            let mut once: Vec<&String> = text.iter().collect();
            once.sort_unstable();
            once.dedup();
            once.into_iter().for_each(|w| *frequency.entry(w.clone()).or_insert(0) += 1);
        }
        Idf { frequency, texts: texts.len() as u32 }
    }

    /// ln(1 + (N − df + ½)/(df + ½)).
    pub(crate) fn of(&self, stem: &str) -> f64 {
        let df = f64::from(self.frequency.get(stem).copied().unwrap_or(0));
        libm::log(1.0 + (f64::from(self.texts) - df + 0.5) / (df + 0.5))
    }

    /// Share of the mass of what is asked that these words hold; each stem counts once.
    pub(crate) fn coverage(&self, asked: &[String], words: &[String]) -> f64 {
        let asked: BTreeSet<&String> = asked.iter().collect();
        let all: f64 = asked.iter().map(|stem| self.of(stem)).sum();
        let held: f64 = asked.iter().filter(|stem| words.contains(stem)).map(|stem| self.of(stem)).sum();
        if all > 0.0 { held / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_sorted_so_that_search_finds_them() {
        assert!(FUNCTION_WORDS.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn words_of_several_scripts() {
        assert_eq!(raw_words("Use Postgres存储数据!"), ["use", "postgres", "存储", "储数", "数据"]);
        assert_eq!(Stems::new("en").content("How are plans decided?"), ["plan", "decid"]);
        assert_eq!(numbers("v1.2, 1,000 and 7."), ["1.2", "1000", "7"]);
        assert!(negates("It doesn't work") && !negates("It works"));
    }
}
