//! Languages that change how a word is analyzed, and how one is recognised.
//!
//! Not a list of all languages: one without a stemmer here is [`Language::Undetermined`] and is searched by its words as
//! they are written.

use frostem::Algorithm;
use serde::{Deserialize, Serialize};

use crate::analyze::script::Script;

/// How much of a text is looked at to recognise its language, in bytes: whatlang takes about .1 ms for so much.
const DETECTION_BYTES_MAX: usize = 512;

/// Below this many letters a guess is not used: whatlang mistakes English titles for Latin-script neighbours there.
const DETECTION_LETTERS_MIN: usize = 24;

/// A language with its own stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names are the documentation
pub enum Language {
    /// Too short to tell, mixed, or code: analyzed as English, which titles and identifiers mostly are.
    Undetermined,
    English,
    Russian,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Danish,
    Norwegian,
    Finnish,
    Hungarian,
    Romanian,
    Turkish,
    Greek,
    Arabic,
    /// A known language without a stemmer here: its words are searched as they are written.
    Other,
}

/// One row per language: ISO 639-1, ISO 639-3, whatlang's name, the stemmer, the script it applies to.
struct Row(Language, &'static str, &'static str, whatlang::Lang, Algorithm, Script);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row(Language::English,    "en", "eng", whatlang::Lang::Eng, Algorithm::English,    Script::Latin),
    Row(Language::Russian,    "ru", "rus", whatlang::Lang::Rus, Algorithm::Russian,    Script::Cyrillic),
    Row(Language::German,     "de", "deu", whatlang::Lang::Deu, Algorithm::German,     Script::Latin),
    Row(Language::French,     "fr", "fra", whatlang::Lang::Fra, Algorithm::French,     Script::Latin),
    Row(Language::Spanish,    "es", "spa", whatlang::Lang::Spa, Algorithm::Spanish,    Script::Latin),
    Row(Language::Italian,    "it", "ita", whatlang::Lang::Ita, Algorithm::Italian,    Script::Latin),
    Row(Language::Portuguese, "pt", "por", whatlang::Lang::Por, Algorithm::Portuguese, Script::Latin),
    Row(Language::Dutch,      "nl", "nld", whatlang::Lang::Nld, Algorithm::Dutch,      Script::Latin),
    Row(Language::Swedish,    "sv", "swe", whatlang::Lang::Swe, Algorithm::Swedish,    Script::Latin),
    Row(Language::Danish,     "da", "dan", whatlang::Lang::Dan, Algorithm::Danish,     Script::Latin),
    Row(Language::Norwegian,  "no", "nob", whatlang::Lang::Nob, Algorithm::Norwegian,  Script::Latin),
    Row(Language::Finnish,    "fi", "fin", whatlang::Lang::Fin, Algorithm::Finnish,    Script::Latin),
    Row(Language::Hungarian,  "hu", "hun", whatlang::Lang::Hun, Algorithm::Hungarian,  Script::Latin),
    Row(Language::Romanian,   "ro", "ron", whatlang::Lang::Ron, Algorithm::Romanian,   Script::Latin),
    Row(Language::Turkish,    "tr", "tur", whatlang::Lang::Tur, Algorithm::Turkish,    Script::Latin),
    Row(Language::Greek,      "el", "ell", whatlang::Lang::Ell, Algorithm::Greek,      Script::Greek),
    Row(Language::Arabic,     "ar", "ara", whatlang::Lang::Ara, Algorithm::Arabic,     Script::Arabic),
];

/// Number of languages, [`Language::Undetermined`] and [`Language::Other`] included.
pub(crate) const LANGUAGES: usize = ROWS.len() + 2;

impl Language {
    /// Reads an ISO 639-1 or 639-3 code, with or without a region (`en`, `eng`, `pt-BR`). Empty and `und` are
    /// undetermined, unknown codes are [`Language::Other`].
    pub fn from_code(code: &str) -> Language {
        let primary = code.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        if primary.is_empty() || primary == "und" {
            return Language::Undetermined;
        }
        let row = ROWS.iter().find(|row| row.1 == primary || row.2 == primary);
        row.map_or(Language::Other, |row| row.0)
    }

    /// The ISO 639-1 code; `und` where undetermined, `mis` (uncoded) for [`Language::Other`].
    pub fn code(self) -> &'static str {
        match self {
            Language::Other => "mis",
            language => language.row().map_or("und", |row| row.1),
        }
    }

    pub(crate) fn script(self) -> Script {
        match self {
            Language::Other => Script::Other,
            language => language.row().map_or(Script::Latin, |row| row.5),
        }
    }

    pub(crate) fn algorithm(self) -> Algorithm {
        self.row().map_or(Algorithm::English, |row| row.4)
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn from_index(index: usize) -> Language {
        match index.checked_sub(1) {
            Some(row) if row == ROWS.len() => Language::Other,
            Some(row) => ROWS.get(row).map_or(Language::Undetermined, |row| row.0),
            None => Language::Undetermined,
        }
    }

    fn row(self) -> Option<&'static Row> {
        self.index().checked_sub(1).and_then(|index| ROWS.get(index))
    }
}

/// The language of a document or chunk; undetermined where the text is short or the evidence is weak.
///
/// Looks at the first 512 bytes. Detect once per document and give its chunks that language: short chunks are
/// guessed wrong far more often than whole documents.
pub fn detect(text: &str) -> Language {
    detect_among(text, &[]).unwrap_or(Language::Undetermined)
}

/// The most likely of `allowed` (all known languages when empty), if the evidence is strong.
pub(crate) fn detect_among(text: &str, allowed: &[Language]) -> Option<Language> {
    let sample = prefix_at_boundary(text, DETECTION_BYTES_MAX);
    if sample.chars().filter(|character| character.is_alphabetic()).take(DETECTION_LETTERS_MIN).count() < DETECTION_LETTERS_MIN {
        return None;
    }
    let list: Vec<whatlang::Lang> = ROWS.iter().filter(|row| allowed.is_empty() || allowed.contains(&row.0)).map(|row| row.3).collect();
    let detector = if allowed.is_empty() { whatlang::Detector::new() } else { whatlang::Detector::with_allowlist(list) };
    let info = detector.detect(sample)?;
    if info.is_reliable() {
        return ROWS.iter().find(|row| row.3 == info.lang()).map_or(Some(Language::Other), |row| Some(row.0));
    }
    // Short Russian is easily taken for a neighbour; a guess of one of those is no evidence against it.
    let only = (info.script() == whatlang::Script::Cyrillic).then_some(Language::Russian);
    only.filter(|language| allowed.is_empty() || allowed.contains(language))
}

/// At most `bytes` of `text`, cut between characters.
pub(crate) fn prefix_at_boundary(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_variants() {
        for index in 0..LANGUAGES {
            assert_eq!(Language::from_index(index).index(), index);
        }
    }

    #[test]
    fn codes_of_two_and_three_letters_are_read() {
        assert_eq!(Language::from_code("en"), Language::English);
        assert_eq!(Language::from_code("RUS"), Language::Russian);
        assert_eq!(Language::from_code("pt-BR"), Language::Portuguese);
        assert_eq!(Language::from_code(""), Language::Undetermined);
        assert_eq!(Language::from_code("und"), Language::Undetermined);
        assert_eq!(Language::from_code("pl"), Language::Other);
    }

    #[test]
    fn sentences_are_recognised_and_scraps_are_not() {
        let cases = [
            ("The planner decides which sources to read and how much of them to send.", Language::English),
            ("Планировщик решает, какие источники читать и сколько из них отправить.", Language::Russian),
            ("Der Planer entscheidet, welche Quellen gelesen werden und wie viel davon gesendet wird.", Language::German),
            ("Le planificateur décide quelles sources lire et combien en envoyer au modèle.", Language::French),
            ("El planificador decide qué fuentes leer y cuánto enviar de cada una de ellas.", Language::Spanish),
            ("ok", Language::Undetermined),
            ("", Language::Undetermined),
        ];
        for (text, expected) in cases {
            assert_eq!(detect(text), expected, "{text}");
        }
    }
}
