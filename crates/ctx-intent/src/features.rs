//! Features of the linear model: typed detectors first, hashed words and word pairs behind them.
//!
//! The numbering is part of the coefficients' format: adding a detector means training anew.

use crate::action::Order;
use crate::cues::{CUES, Cue, Match, has};
use crate::identifiers::{Identifier, IdentifierKind};
use crate::words::{READ_BYTES_MAX, Word, read_ranges};

/// Buckets of hashed words and pairs.
pub(crate) const HASHED: usize = 4096;
/// Numbered detectors.
pub const DETECTORS: usize = 128;
/// Length of a feature vector.
pub const FEATURES: usize = DETECTORS + HASHED;
/// Words hashed, from both ends of the goal.
const HASHED_WORDS_MAX: usize = 64;

/// What the detectors found, gathered once.
pub(crate) struct Evidence<'a> {
    /// The goal.
    pub(crate) text: &'a str,
    /// Its words.
    pub(crate) words: &'a [Word],
    /// Phrases found.
    pub(crate) matches: &'a [Match],
    /// Names found.
    pub(crate) names: &'a [Identifier<'a>],
    /// How it speaks about actions.
    pub(crate) order: Order,
    /// Whether time words occur, and whether one depends on now.
    pub(crate) time: (bool, bool),
    /// Operands of a comparison.
    pub(crate) operands: usize,
    /// Its language.
    pub(crate) language: &'static str,
}

/// A sparse vector: index and value, indices ascending within the detectors, then within the hashed part, without doubles.
pub(crate) fn features(evidence: &Evidence<'_>) -> Vec<(usize, f64)> {
    let mut found = Vec::with_capacity(96);
    detectors(evidence, &mut found);
    hashed(evidence.text, evidence.words, &mut found);
    found
}

const LANGUAGES: [&str; 9] = ["en", "de", "fr", "es", "ru", "zh", "ja", "ko", "und"];

/// Fixed offsets of the detector groups.
const OPENING: usize = CUES;
const SINGLE: usize = 2 * CUES;
const NAMES: usize = SINGLE + 16;
const SHAPE: usize = NAMES + 16;

fn detectors(evidence: &Evidence<'_>, found: &mut Vec<(usize, f64)>) {
    let mut set = [false; DETECTORS];
    for found in evidence.matches {
        set[found.cue as usize] = true;
        if found.word == 0 {
            set[OPENING + found.cue as usize] = true;
        }
    }
    for (at, flag) in flags(evidence).into_iter().enumerate() {
        set[SINGLE + at] = flag;
    }
    for name in evidence.names {
        set[NAMES + name.kind as usize] = true;
    }
    for (at, flag) in shape(evidence).into_iter().enumerate() {
        set[SHAPE + at] = flag;
    }
    found.extend(set.iter().enumerate().filter(|(_, flag)| **flag).map(|(at, _)| (at, 1.0)));
}

fn flags(evidence: &Evidence<'_>) -> [bool; 16] {
    let (order, words) = (evidence.order, evidence.words);
    let certain = evidence.names.iter().filter(|name| name.kind.is_certain()).count();
    let file = evidence.names.iter().any(|name| crate::entities::is_file(name.text));
    [
        order.imperative,
        order.imperative && order.destroys,
        order.imperative && order.bound,
        order.asked,
        evidence.time.0,
        evidence.time.1,
        evidence.operands >= 2,
        certain == 1,
        certain > 1,
        certain >= 1 && words.len() <= 4,
        file,
        evidence.text.trim_end().ends_with(['?', '？']),
        has(evidence.matches, Cue::Count) && file,
        words.iter().skip(1).any(|word| word.capital),
        words.first().is_some_and(|word| word.capital),
        words.iter().any(|word| word.lower.as_bytes()[0].is_ascii_digit()),
    ]
}

/// Length, punctuation and digits in steps, then the language.
fn shape(evidence: &Evidence<'_>) -> [bool; 24] {
    let mut flags = [false; 24];
    let count = evidence.words.len();
    flags[[2, 5, 9, 15, 25, 50].iter().filter(|bound| count > **bound).count()] = true;
    let read: usize = read_ranges(evidence.text).iter().map(ExactSizeIterator::len).sum::<usize>().clamp(1, READ_BYTES_MAX);
    let share = |is: fn(&u8) -> bool| {
        read_ranges(evidence.text).iter().flat_map(|range| &evidence.text.as_bytes()[range.clone()]).filter(|byte| is(byte)).count() * 100
            / read
    };
    let punctuation = share(u8::is_ascii_punctuation);
    let digits = share(u8::is_ascii_digit);
    flags[7 + [2, 6, 12].iter().filter(|bound| punctuation > **bound).count()] = true;
    flags[11 + [0, 6, 20].iter().filter(|bound| digits > **bound).count()] = true;
    let language = LANGUAGES.iter().position(|language| *language == evidence.language).unwrap_or(LANGUAGES.len() - 1);
    flags[15 + language] = true;
    flags
}

/// Words, their stems, pairs, marks for both ends, and signs; each presence counted once, scaled so that long goals do not
/// shout.
fn hashed(text: &str, words: &[Word], found: &mut Vec<(usize, f64)>) {
    let half = HASHED_WORDS_MAX / 2;
    let picked: Vec<&Word> = if words.len() <= HASHED_WORDS_MAX {
        words.iter().collect()
    } else {
        words[..half].iter().chain(&words[words.len() - half..]).collect()
    };
    let mut buckets = Vec::with_capacity(2 * picked.len() + 2);
    let mut previous = "^";
    for word in &picked {
        buckets.push(bucket(&[word.lower.as_str()]));
        if let Some((cut, _)) = word.lower.char_indices().nth(STEM_CHARACTERS) {
            buckets.push(bucket(&["~", &word.lower[..cut]]));
        }
        buckets.push(bucket(&[previous, word.lower.as_str()]));
        previous = &word.lower;
    }
    buckets.push(bucket(&[previous, "$"]));
    signs(text, &mut buckets);
    buckets.sort_unstable();
    buckets.dedup();
    let value = 1.0 / (buckets.len() as f64).sqrt();
    found.extend(buckets.into_iter().map(|bucket| (DETECTORS + bucket, value * HASHED_SCALE)));
}

/// A word's first characters: enough to hold inflected forms together.
const STEM_CHARACTERS: usize = 5;

/// Which ASCII signs occur: logs, code and prose differ in them.
fn signs(text: &str, buckets: &mut Vec<usize>) {
    let mut seen = 0u128;
    for range in read_ranges(text) {
        for byte in text.as_bytes()[range].iter().filter(|byte| byte.is_ascii_punctuation()) {
            seen |= 1 << byte;
        }
    }
    let signs = (0u8..128).filter(|sign| seen & (1 << sign) != 0).map(char::from);
    buckets.extend(signs.map(|sign| bucket(&["sign", sign.encode_utf8(&mut [0; 4])])));
}

/// Weight of the hashed part against a detector: chosen by cross-validation on the training split.
const HASHED_SCALE: f64 = 3.0;

/// FNV-1a over the parts, each digit as `0` so that numbers share a bucket.
fn bucket(parts: &[&str]) -> usize {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in parts {
        for byte in part.bytes().chain(std::iter::once(0xff)) {
            let byte = if byte.is_ascii_digit() { b'0' } else { byte };
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    ((hash ^ (hash >> 29)) as usize) % HASHED
}

/// Every kind of name has a number below sixteen.
const _: () = assert!((IdentifierKind::Camel as usize) < 16 && SHAPE + 24 <= DETECTORS);
