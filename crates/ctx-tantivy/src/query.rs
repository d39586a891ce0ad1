//! From what a user typed to weighted groups of terms. There is no syntax: every character is text.

use std::collections::BTreeMap;

use crate::analyze::{Analyzer, TERM_BYTES_MAX, Terms, normalize};
use crate::language::{Language, detect_among, prefix_at_boundary};

/// Longer queries are cut here; a question is a hundred times shorter. Reported as `bytes_dropped`.
pub const QUERY_BYTES_MAX: usize = 16_384;

/// Distinct words scored per query; the rarest are kept. Reported as `words_dropped`.
pub const QUERY_WORDS_MAX: usize = 256;

/// A language with a smaller share of the passages is not tried when the query's own language is unclear.
const SHARE_MIN: f64 = 0.05;

/// Languages tried together when the query's own is unclear.
const LANGUAGES_MAX: usize = 6;

/// One word of a query: its forms are alternatives, of which a passage is scored for the best one only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWord {
    /// The word's terms, one per stemmer that was tried; sorted, distinct.
    pub forms: Vec<String>,
    /// How often the query says it.
    pub occurrences: u32,
    /// A single character of a script without spaces: stands for all terms that begin with it.
    pub is_prefix: bool,
}

/// A query after analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryAnalysis {
    /// Distinct words, in the order of their first occurrence.
    pub words: Vec<QueryWord>,
    /// The languages whose stemmers were tried.
    pub languages: Vec<Language>,
    /// Bytes beyond [`QUERY_BYTES_MAX`].
    pub bytes_dropped: usize,
}

/// Analyzes `query` for sources that hold `languages` (passages by language).
///
/// One source language: that one. Several: the query's own if it can be told, else all common ones together. Stop words
/// go only if every language tried is English and a word remains.
pub fn analyze_query(query: &str, languages: &BTreeMap<Language, u32>) -> QueryAnalysis {
    let kept = whole_words(query);
    let languages = languages_to_try(kept, languages);
    let normal = normalize(kept);
    let mut words = words_in(&normal, &languages);
    if words.is_empty() {
        words = words_in(&normal, &[Language::Other]);
    }
    QueryAnalysis { words, languages, bytes_dropped: query.len() - kept.len() }
}

/// At most [`QUERY_BYTES_MAX`] bytes, cut at a blank where one is near: half a word is not a word of the query.
fn whole_words(query: &str) -> &str {
    let kept = prefix_at_boundary(query, QUERY_BYTES_MAX);
    if kept.len() == query.len() {
        return query;
    }
    let near = kept.floor_char_boundary(QUERY_BYTES_MAX - TERM_BYTES_MAX);
    kept[near..].rfind(char::is_whitespace).map_or(kept, |blank| &kept[..near + blank])
}

/// Undetermined passages are stemmed as English, so their queries are English.
fn languages_to_try(query: &str, languages: &BTreeMap<Language, u32>) -> Vec<Language> {
    let mut counts: BTreeMap<Language, u32> = BTreeMap::new();
    for (language, count) in languages {
        let language = if *language == Language::Undetermined { Language::English } else { *language };
        *counts.entry(language).or_insert(0) += count;
    }
    if counts.len() < 2 {
        return vec![counts.keys().next().copied().unwrap_or(Language::English)];
    }
    let present: Vec<Language> = counts.keys().copied().collect();
    if let Some(language) = detect_among(query, &present) {
        return vec![language];
    }
    let total: u32 = counts.values().sum();
    let mut common: Vec<(u32, Language)> = counts.into_iter().map(|(language, count)| (count, language)).collect();
    common.sort_by_key(|(count, language)| (std::cmp::Reverse(*count), *language));
    common.retain(|(count, _)| f64::from(*count) >= SHARE_MIN * f64::from(total));
    common.truncate(LANGUAGES_MAX);
    common.into_iter().map(|(_, language)| language).collect()
}

/// Terms at the same place in the text are forms of one word.
fn words_in(normal: &str, languages: &[Language]) -> Vec<QueryWord> {
    let mut analyzer = Analyzer::new();
    let mut by_slot: BTreeMap<usize, QueryWord> = BTreeMap::new();
    let mut term = String::new();
    for language in languages {
        let mut terms = Terms::of_query(normal, *language);
        while let Some(position) = terms.next(&mut analyzer, &mut term) {
            let word =
                by_slot.entry(position.slot).or_insert_with(|| QueryWord { forms: Vec::new(), occurrences: 1, is_prefix: position.prefix });
            if let Err(at) = word.forms.binary_search(&term) {
                word.forms.insert(at, term.clone());
            }
        }
    }
    distinct(by_slot.into_values())
}

fn distinct(words: impl Iterator<Item = QueryWord>) -> Vec<QueryWord> {
    let mut kept: Vec<QueryWord> = Vec::new();
    let mut seen: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for word in words {
        match seen.get(&word.forms) {
            Some(at) => kept[*at].occurrences += 1,
            None => {
                seen.insert(word.forms.clone(), kept.len());
                kept.push(word);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(query: &str, languages: &[(Language, u32)]) -> Vec<Vec<String>> {
        let counts = languages.iter().copied().collect();
        analyze_query(query, &counts).words.into_iter().map(|word| word.forms).collect()
    }

    #[test]
    fn one_language_gives_one_form() {
        assert_eq!(forms("the running systems", &[(Language::English, 3)]), [["run"], ["system"]]);
        assert_eq!(forms("running", &[]), [["run"]]);
    }

    #[test]
    fn unclear_language_gives_a_union() {
        let both = [(Language::English, 5), (Language::German, 5)];
        assert_eq!(forms("running Häuser", &both), [vec!["run", "running"], vec!["haus", "hauser"]]);
        assert!(forms("in", &both).concat().contains(&"in".to_owned()));
    }

    #[test]
    fn a_rare_language_is_tried_only_when_the_query_speaks_it() {
        let mostly = [(Language::English, 99), (Language::French, 1)];
        assert_eq!(forms("running", &mostly), [["run"]]);
        let french = "Quels documents décrivent les animaux et les chevaux de la ferme ?";
        assert!(forms(french, &mostly).contains(&vec!["cheval".to_owned()]));
    }

    #[test]
    fn stop_words_are_searched_as_written_when_nothing_else_would() {
        assert_eq!(forms("to be", &[(Language::English, 1)]), [["to"], ["be"]]);
    }

    #[test]
    fn repeated_words_are_counted_not_repeated() {
        let analysis = analyze_query("cache the cache", &BTreeMap::new());
        assert_eq!((analysis.words.len(), analysis.words[0].occurrences), (1, 2));
    }

    #[test]
    fn symbols_are_no_words_and_long_queries_are_cut() {
        assert!(forms("<<< \"\" : \\ 🚀", &[]).is_empty());
        let long = "слово ".repeat(20_000);
        let analysis = analyze_query(&long, &BTreeMap::new());
        assert_eq!(analysis.words.len(), 1);
        assert!(analysis.bytes_dropped > 100_000);
    }
}
