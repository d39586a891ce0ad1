//! The language of a text, from a bounded prefix: by script, then by common words, then by letter triples.
//!
//! Says `und` rather than guess: a wrong language stems a text's words away from the question's.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// No language could be told.
pub const UNKNOWN: &str = "und";

/// Bytes looked at.
const PREFIX_BYTES: usize = 600;
/// Letters needed before triples are trusted.
const LETTERS_MIN: usize = 60;
/// Common words needed, and how many times the runner-up's, before they decide alone.
const COMMON_WORDS_MIN: u32 = 3;
const COMMON_WORDS_LEAD: u32 = 2;

/// Longest of them in bytes.
const COMMON_WORD_BYTES_MAX: usize = 8;
/// So many of one language's are enough; looked at every few words.
const COMMON_WORDS_ENOUGH: u32 = 12;
const WORDS_PER_LOOK: usize = 8;

/// The commonest words that few other languages share; sorted by word within a language.
const COMMON: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "and", "are", "as", "be", "by", "for", "from", "if", "is", "it", "not", "of", "or", "that", "the", "this", "to", "was", "were",
            "which", "with",
        ],
    ),
    (
        "de",
        &[
            "auf", "aus", "bei", "das", "dem", "den", "der", "ein", "eine", "für", "ich", "ist", "mit", "nicht", "oder", "sich", "sie",
            "und", "von", "werden", "wird", "zu",
        ],
    ),
    (
        "fr",
        &[
            "au", "aux", "avec", "ce", "cette", "dans", "des", "du", "elle", "est", "et", "il", "le", "les", "nous", "ou", "par", "pas",
            "pour", "qui", "sont", "sur", "une", "vous",
        ],
    ),
    (
        "es",
        &[
            "como", "con", "del", "el", "en", "es", "está", "la", "las", "los", "más", "no", "para", "pero", "por", "que", "se", "son",
            "su", "sus", "una", "y",
        ],
    ),
    (
        "it",
        &[
            "alla", "anche", "che", "con", "dei", "del", "della", "di", "gli", "il", "nel", "nella", "non", "per", "più", "questo", "sono",
            "una", "è",
        ],
    ),
    (
        "pt",
        &[
            "ao", "com", "como", "da", "das", "do", "dos", "em", "mais", "muito", "na", "no", "não", "os", "para", "pela", "pelo", "por",
            "que", "são", "uma", "é",
        ],
    ),
    (
        "nl",
        &[
            "aan", "bij", "dat", "de", "deze", "door", "een", "en", "het", "is", "met", "naar", "niet", "ook", "op", "te", "van", "voor",
            "wordt", "zijn",
        ],
    ),
];

/// ISO 639-1 code of `text`, or [`UNKNOWN`].
pub fn detect(text: &str) -> &'static str {
    let prefix = &text[..text.floor_char_boundary(PREFIX_BYTES.min(text.len()))];
    if prefix.is_ascii() {
        return by_common_words(prefix).unwrap_or_else(|| by_triples(prefix));
    }
    let count = Scripts::of(prefix);
    if let Some(language) = count.decides() {
        return language;
    }
    if count.latin > count.other
        && let Some(language) = by_common_words(prefix)
    {
        return language;
    }
    by_triples(prefix)
}

/// ISO 639-1 code of a whole document: its start, or else its middle (a start may be badges, headers or imports).
pub fn detect_document(text: &str) -> &'static str {
    match detect(text) {
        UNKNOWN if text.len() > 2 * PREFIX_BYTES => detect(&text[text.floor_char_boundary(text.len() / 2)..]),
        found => found,
    }
}

/// Letters by script.
#[derive(Default)]
struct Scripts {
    latin: usize,
    han: usize,
    kana: usize,
    hangul: usize,
    other: usize,
}

impl Scripts {
    fn of(text: &str) -> Self {
        let mut count = Self::default();
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            match u32::from(c) {
                0..=0x24F | 0x1E00..=0x1EFF => count.latin += 1,
                0x3040..=0x30FF | 0x31F0..=0x31FF => count.kana += 1,
                0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => count.han += 1,
                0xAC00..=0xD7AF | 0x1100..=0x11FF | 0x3130..=0x318F => count.hangul += 1,
                _ => count.other += 1,
            }
        }
        count
    }

    /// Chinese, Japanese and Korean are told by their letters, however few; a Han letter weighs like a short word.
    fn decides(&self) -> Option<&'static str> {
        let wide = self.han + self.kana + self.hangul;
        if wide * 3 <= self.latin + self.other {
            return None;
        }
        Some(if self.kana * 10 >= wide {
            "ja"
        } else if self.hangul * 2 >= wide {
            "ko"
        } else {
            "zh"
        })
    }
}

fn by_common_words(text: &str) -> Option<&'static str> {
    let mut counts = [0_u32; COMMON.len()];
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty() && w.len() <= COMMON_WORD_BYTES_MAX);
    for (seen, word) in words.enumerate() {
        let lower;
        let word = if word.bytes().any(|b| b.is_ascii_uppercase()) {
            lower = word.to_lowercase();
            lower.as_str()
        } else {
            word
        };
        if let Ok(idx) = LANGUAGES_OF.binary_search_by(|(known, _)| (*known).cmp(word)) {
            for (language, count) in counts.iter_mut().enumerate() {
                *count += u32::from(LANGUAGES_OF[idx].1 >> language & 1);
            }
        }
        if seen % WORDS_PER_LOOK == 0 && counts.iter().any(|count| *count >= COMMON_WORDS_ENOUGH) {
            break;
        }
    }
    let best = (0..COMMON.len()).max_by_key(|idx| (counts[*idx], std::cmp::Reverse(*idx)))?;
    let second = (0..COMMON.len()).filter(|idx| *idx != best).map(|idx| counts[idx]).max().unwrap_or(0);
    (counts[best] >= COMMON_WORDS_MIN && counts[best] >= second * COMMON_WORDS_LEAD).then_some(COMMON[best].0)
}

/// Every common word with a bit for each language that has it, sorted.
static LANGUAGES_OF: LazyLock<Vec<(&'static str, u8)>> = LazyLock::new(|| {
    let mut languages = BTreeMap::new();
    for (language, (_, words)) in COMMON.iter().enumerate() {
        for word in *words {
            *languages.entry(*word).or_insert(0) |= 1 << language;
        }
    }
    languages.into_iter().collect()
});

fn by_triples(text: &str) -> &'static str {
    if text.chars().filter(|c| c.is_alphabetic()).take(LETTERS_MIN).count() < LETTERS_MIN {
        return UNKNOWN;
    }
    match whatlang::detect(text) {
        Some(info) if info.is_reliable() => two_letters(info.lang().code()),
        _ => UNKNOWN,
    }
}

/// ISO 639-3, as the detector has it, to ISO 639-1.
fn two_letters(code: &str) -> &'static str {
    const CODES: &[(&str, &str)] = &[
        ("afr", "af"),
        ("aka", "ak"),
        ("amh", "am"),
        ("ara", "ar"),
        ("aze", "az"),
        ("bel", "be"),
        ("ben", "bn"),
        ("bul", "bg"),
        ("cat", "ca"),
        ("ces", "cs"),
        ("cmn", "zh"),
        ("cym", "cy"),
        ("dan", "da"),
        ("deu", "de"),
        ("ell", "el"),
        ("eng", "en"),
        ("epo", "eo"),
        ("est", "et"),
        ("fin", "fi"),
        ("fra", "fr"),
        ("guj", "gu"),
        ("heb", "he"),
        ("hin", "hi"),
        ("hrv", "hr"),
        ("hun", "hu"),
        ("hye", "hy"),
        ("ind", "id"),
        ("ita", "it"),
        ("jav", "jv"),
        ("jpn", "ja"),
        ("kan", "kn"),
        ("kat", "ka"),
        ("khm", "km"),
        ("kor", "ko"),
        ("lat", "la"),
        ("lav", "lv"),
        ("lit", "lt"),
        ("mal", "ml"),
        ("mar", "mr"),
        ("mkd", "mk"),
        ("mya", "my"),
        ("nep", "ne"),
        ("nld", "nl"),
        ("nob", "nb"),
        ("ori", "or"),
        ("pan", "pa"),
        ("pes", "fa"),
        ("pol", "pl"),
        ("por", "pt"),
        ("ron", "ro"),
        ("rus", "ru"),
        ("sin", "si"),
        ("slk", "sk"),
        ("slv", "sl"),
        ("sna", "sn"),
        ("spa", "es"),
        ("srp", "sr"),
        ("swe", "sv"),
        ("tam", "ta"),
        ("tel", "te"),
        ("tgl", "tl"),
        ("tha", "th"),
        ("tuk", "tk"),
        ("tur", "tr"),
        ("ukr", "uk"),
        ("urd", "ur"),
        ("uzb", "uz"),
        ("vie", "vi"),
        ("yid", "yi"),
        ("zul", "zu"),
    ];
    CODES.binary_search_by(|(three, _)| (*three).cmp(code)).map_or(UNKNOWN, |idx| CODES[idx].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_cover_the_detector() {
        assert!(COMMON.len() <= 8 && COMMON.iter().all(|(_, words)| words.is_sorted()));
        assert!(LANGUAGES_OF.iter().all(|(word, _)| word.len() <= COMMON_WORD_BYTES_MAX));
        let missing: Vec<&str> = whatlang::Lang::all().iter().map(|l| l.code()).filter(|c| two_letters(c) == UNKNOWN).collect();
        assert!(missing.is_empty(), "{missing:?} have no two-letter code");
    }

    #[test]
    fn languages_that_are_stemmed_are_told_apart() {
        for (text, language) in [
            ("How does the planner decide that a plan is infeasible for the given constraints?", "en"),
            ("Der Planer wird mit den Grenzen verglichen und das Ergebnis ist nicht zulässig.", "de"),
            ("Le planificateur décide dans la plupart des cas avec les contraintes qui sont données.", "fr"),
            ("El planificador decide por las restricciones que se han dado para el plan y no para los otros.", "es"),
            ("Планировщик решает, что план невыполним, если ограничение нарушено, и сообщает об этом пользователю.", "ru"),
            ("計画が実行不可能な場合", "ja"),
            ("如果约束不满足，计划不可行", "zh"),
            ("제약 조건을 만족하지 않으면", "ko"),
        ] {
            assert_eq!(detect(text), language, "{text}");
        }
    }

    #[test]
    fn tiny_and_wordless_texts_are_unknown() {
        for text in ["", "ok", "1,2,3", "fn main() {}", "0xdeadbeef", "E0502"] {
            assert_eq!(detect(text), UNKNOWN, "{text:?}");
        }
    }
}
