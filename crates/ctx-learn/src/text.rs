//! What a goal's text says before anybody answers it: hashed word and character n-grams, and a few cues of form.
//!
//! No dictionary and no language model; the same text gives the same numbers on every platform.

/// Characters of a text that are read; the rest of a longer one says little more about how hard it is.
const READ_CHARS_MAX: usize = 8_000;
/// Lengths of character n-grams.
const CHAR_GRAMS: std::ops::RangeInclusive<usize> = 3..=5;
/// Number of cues.
pub const CUES: usize = 15;

/// A sparse vector: hashed term and weight, terms ascending, each once.
pub type Sparse = Vec<(u32, f64)>;

/// Everything that is read from one text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextFeatures {
    /// Words and pairs of neighbouring words, 1 + ln(count).
    pub words: Sparse,
    /// Character n-grams, 1 + ln(count).
    pub chars: Sparse,
    /// Cues of form, not yet scaled.
    pub cues: [f64; CUES],
}

impl TextFeatures {
    /// Reads a text.
    pub fn of(text: &str) -> TextFeatures {
        let end = text.char_indices().nth(READ_CHARS_MAX).map_or(text.len(), |(at, _)| at);
        let text = text[..end].trim();
        let body = text.strip_suffix("Answer:").unwrap_or(text).trim_end();
        let lower = body.to_lowercase();
        TextFeatures { words: words(&lower), chars: chars(&lower), cues: cues(body) }
    }
}

/// FNV-1a, folded to 32 bits: collisions among the few thousand terms of a fit are rare.
fn hash(parts: &[&str]) -> u32 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.bytes().chain(std::iter::once(0))) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (state ^ (state >> 32)) as u32
}

/// Runs of letters and digits, and single other signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            out.push(&text[from..at]);
        }
        if !c.is_whitespace() {
            out.push(&text[at..at + c.len_utf8()]);
        }
    }
    out.extend(start.map(|from| &text[from..]));
    out
}

fn words(text: &str) -> Sparse {
    let tokens = tokens(text);
    let single = tokens.iter().map(|word| hash(&[word]));
    counted(single.chain(tokens.windows(2).map(hash)).collect())
}

fn chars(text: &str) -> Sparse {
    let collapsed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut bounds: Vec<usize> = collapsed.char_indices().map(|(at, _)| at).collect();
    bounds.push(collapsed.len());
    let grams = CHAR_GRAMS.flat_map(|n| bounds.windows(n + 1).map(|w| hash(&[&collapsed[w[0]..w[w.len() - 1]]])).collect::<Vec<_>>());
    counted(grams.collect())
}

fn counted(mut terms: Vec<u32>) -> Sparse {
    terms.sort_unstable();
    let of = |run: &[u32]| (run[0], 1.0 + libm::log(run.len() as f64));
    terms.chunk_by(|a, b| a == b).map(of).collect()
}

/// Form of the text: how long, how numeric, whether it offers options and which.
fn cues(text: &str) -> [f64; CUES] {
    let (question, options) = split_options(text);
    let lower = question.to_lowercase();
    let all = text.to_lowercase();
    let length = question.chars().count().max(1) as f64;
    let share = |wanted: fn(char) -> bool| question.chars().filter(|c| wanted(*c)).count() as f64 / length;
    let lengths: Vec<f64> = options.iter().map(|option| option.chars().count() as f64).collect();
    let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
    let spread = (lengths.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / lengths.len().max(1) as f64).sqrt();
    let numeric = options.iter().filter(|option| opens_with_number(option)).count() as f64 / options.len().max(1) as f64;
    let has_word = |wanted: &[&str]| flag(tokens(&lower).iter().any(|word| wanted.contains(word)));
    let mut long: Vec<&str> = tokens(&all).into_iter().filter(|word| word.chars().count() >= 6).collect();
    long.sort_unstable();
    long.dedup();
    [
        libm::log1p(length),
        libm::log1p(mean),
        share(|c| c.is_ascii_digit()),
        numeric,
        flag(lower.contains("statement 1")),
        flag(question.contains("__")),
        has_word(&["not", "except", "least", "false"]),
        flag(text.contains(['=', '^', '\\'])),
        flag(question.trim_end().ends_with('?')),
        flag(["all of", "none of", "both", "i and ii", "i only"].iter().any(|cue| all.contains(cue))),
        spread / (mean + 1.0),
        flag(question.contains('\n')),
        share(char::is_uppercase),
        libm::log1p(question.split_whitespace().count() as f64),
        long.len() as f64 / 30.0,
    ]
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn opens_with_number(option: &str) -> bool {
    let rest = option.trim_start_matches([' ', '$', '(', '-', '.']);
    rest.starts_with(|c: char| c.is_ascii_digit())
}

/// The question, and the options that follow it as lines "A. …" or "A) …".
fn split_options(text: &str) -> (&str, Vec<&str>) {
    let mut starts = Vec::new();
    let mut expected = b'A';
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bytes = line.as_bytes();
        if bytes.len() > 2 && bytes[0] == expected && matches!(bytes[1], b'.' | b')') && bytes[2] == b' ' {
            starts.push(at);
            expected += 1;
        }
        at += line.len();
    }
    let Some(first) = starts.first().copied() else { return (text, Vec::new()) };
    let ends = starts.iter().skip(1).copied().chain(std::iter::once(text.len()));
    let options = starts.iter().zip(ends).map(|(start, end)| text[start + 3..end].trim()).collect();
    (text[..first].trim_end(), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_from_the_question() {
        let (question, options) = split_options("Which is larger?\nA. 2\nB. 24 apples\nC. none of these");
        assert_eq!(question, "Which is larger?");
        assert_eq!(options, ["2", "24 apples", "none of these"]);
        assert_eq!(split_options("A plain goal"), ("A plain goal", vec![]));
        assert_eq!(split_options("Bees\nB. not first").1.len(), 0, "options begin with A");
    }

    #[test]
    fn terms_are_counted_once_and_ascend() {
        let features = TextFeatures::of("the cat and the dog and the cat");
        assert!(features.words.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let the = features.words.iter().find(|(term, _)| *term == hash(&["the"])).expect("a word of the text");
        assert!((the.1 - (1.0 + libm::log(3.0))).abs() < 1e-12);
        assert_eq!(features.words.len(), 4 + 5, "four words and five different pairs");
    }

    #[test]
    fn case_and_the_prompt_for_an_answer_do_not_count() {
        assert_eq!(TextFeatures::of("What IS it?\nAnswer:").words, TextFeatures::of("what is it?").words);
    }

    #[test]
    fn any_text_is_read() {
        for text in ["", " ", "é", "A. ", "日本語のテキスト", "\u{0}\n\n", "A) a\nB) b"] {
            assert!(TextFeatures::of(text).cues.iter().all(|cue| cue.is_finite()), "{text:?}");
        }
        let long = "wörter ".repeat(5_000);
        assert!(TextFeatures::of(&long).cues[0] <= libm::log1p(READ_CHARS_MAX as f64));
    }
}
