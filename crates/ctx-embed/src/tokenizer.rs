//! `tokenizer.json` to token ids. Two ways with one meaning: the fast WordPiece where the file describes BERT's
//! uncased tokenizer, the `tokenizers` crate for everything else.
//!
//! Special tokens are never recognised in text and never added: what a user types is data.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::memo::Memo;
use crate::wordpiece::WordPiece;

/// The general tokenizer keeps some forty bytes per byte of input: it gets texts in pieces of at most this size.
const PIECE_BYTES_MAX: usize = 1 << 16;
/// What `tokenizers` assumes where the file does not say.
const WORD_CHARS_MAX_DEFAULT: usize = 100;

/// Text to ids; unknown words are left out.
#[derive(Debug)]
pub(crate) enum Tokenizer {
    /// BERT's uncased WordPiece.
    WordPiece(WordPiece),
    /// Anything that the `tokenizers` crate reads.
    General {
        /// Without special tokens, truncation and padding.
        inner: Box<tokenizers::Tokenizer>,
        /// The id that stands for unknown words, if the model has one.
        unknown: Option<u32>,
    },
}

impl Tokenizer {
    /// Reads a `tokenizer.json`; the fast way if it describes one.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, String> {
        match fast(json) {
            Some(wordpiece) => Ok(Self::WordPiece(wordpiece)),
            None => Self::general(json),
        }
    }

    /// Reads a `tokenizer.json` with the `tokenizers` crate, whatever it describes.
    pub(crate) fn general(json: &[u8]) -> Result<Self, String> {
        let mut file: Value = serde_json::from_slice(json).map_err(|error| format!("tokenizer.json: {error}"))?;
        let unknown = unknown_token(&file);
        strip_special(&mut file);
        // `parse`, not the generic `from_bytes`, which would compile all of the crate's deserialisers a second time here.
        let inner = file.to_string().parse::<tokenizers::Tokenizer>();
        let inner = inner.map_err(|error| format!("tokenizer.json: {error}"))?;
        let unknown = unknown.and_then(|token| inner.token_to_id(&token));
        Ok(Self::General { inner: Box::new(inner), unknown })
    }

    /// Every id is below this.
    pub(crate) fn vocabulary_len(&self) -> usize {
        match self {
            Self::WordPiece(wordpiece) => wordpiece.vocabulary_len(),
            Self::General { inner, .. } => inner.get_vocab(true).values().max().map_or(0, |id| *id as usize + 1),
        }
    }

    /// Appends the ids of `text`.
    pub(crate) fn tokenize_into(&self, text: &str, memo: &mut Memo, ids: &mut Vec<u32>) {
        match self {
            Self::WordPiece(wordpiece) => wordpiece.tokenize_into(text, memo, ids),
            Self::General { inner, unknown } => {
                for piece in pieces(text) {
                    // A tokenizer can refuse a text (a model without an unknown token): that text has no known words.
                    if let Ok(encoding) = inner.encode_fast(piece, false) {
                        ids.extend(encoding.get_ids().iter().filter(|id| Some(**id) != *unknown));
                    }
                }
            }
        }
    }
}

/// The part of `tokenizer.json` that decides about the fast way, and its vocabulary.
#[derive(Deserialize)]
struct FastFile {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Normalizer,
    pre_tokenizer: Typed,
    model: Model,
}

#[derive(Deserialize)]
struct AddedToken {
    special: bool,
}

#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

#[derive(Deserialize)]
struct Normalizer {
    r#type: String,
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

#[derive(Deserialize)]
struct Model {
    r#type: String,
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: Option<usize>,
    #[serde(deserialize_with = "pairs")]
    vocab: Vec<(String, u32)>,
}

/// A map in the order of the file: thirty thousand tokens are read at each start, and nothing looks them up here.
fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, u32)>, D::Error> {
    struct Pairs;
    impl<'de> Visitor<'de> for Pairs {
        type Value = Vec<(String, u32)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a map of tokens to ids")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::with_capacity(1 << 15);
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    deserializer.deserialize_map(Pairs)
}

/// The fast tokenizer, if the file describes exactly what it implements.
fn fast(json: &[u8]) -> Option<WordPiece> {
    let FastFile { added_tokens, normalizer, pre_tokenizer, mut model } = serde_json::from_slice(json).ok()?;
    let normalizes = normalizer.r#type == "BertNormalizer"
        && normalizer.clean_text
        && normalizer.handle_chinese_chars
        && normalizer.strip_accents != Some(false)
        && normalizer.lowercase;
    let splits = pre_tokenizer.r#type == "BertPreTokenizer" && added_tokens.iter().all(|token| token.special);
    let spells = model.r#type == "WordPiece"
        && !model.continuing_subword_prefix.is_empty()
        && model.vocab.iter().all(|(token, _)| token.len() <= crate::token_map::TOKEN_BYTES_MAX);
    if !(normalizes && splits && spells) {
        return None;
    }
    model.vocab.retain(|(token, _)| *token != model.unk_token);
    let chars_max = model.max_input_chars_per_word.unwrap_or(WORD_CHARS_MAX_DEFAULT);
    Some(WordPiece::new(&model.vocab, &model.continuing_subword_prefix, chars_max))
}

/// By name (WordPiece, BPE, WordLevel) or by number (Unigram).
fn unknown_token(file: &Value) -> Option<String> {
    let model = file.get("model")?;
    if let Some(token) = model.get("unk_token").and_then(Value::as_str) {
        return Some(token.to_owned());
    }
    let id = usize::try_from(model.get("unk_id")?.as_u64()?).ok()?;
    Some(model.get("vocab")?.get(id)?.get(0)?.as_str()?.to_owned())
}

fn strip_special(file: &mut Value) {
    let Some(file) = file.as_object_mut() else { return };
    for key in ["truncation", "padding", "post_processor"] {
        file.insert(key.to_owned(), Value::Null);
    }
    if let Some(added) = file.get_mut("added_tokens").and_then(Value::as_array_mut) {
        added.retain(|token| token.get("special").and_then(Value::as_bool) != Some(true));
    }
}

/// Cuts after the last blank within the limit, or at the limit where there is none.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let limit = rest.floor_char_boundary(PIECE_BYTES_MAX);
        let blank = rest[..limit].rfind(char::is_whitespace).filter(|at| *at > 0);
        let cut = if limit == rest.len() { limit } else { blank.unwrap_or(limit) };
        let (piece, after) = rest.split_at(cut);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use proptest::prelude::*;

    use super::*;
    use crate::model::EMBEDDED_TOKENIZER;

    /// The fast and the general tokenizer, read once.
    fn both() -> &'static (Tokenizer, Tokenizer) {
        static BOTH: OnceLock<(Tokenizer, Tokenizer)> = OnceLock::new();
        BOTH.get_or_init(|| {
            let fast = Tokenizer::from_json(EMBEDDED_TOKENIZER).expect("the embedded tokenizer");
            assert!(matches!(fast, Tokenizer::WordPiece(_)), "the embedded tokenizer takes the fast way");
            (fast, Tokenizer::general(EMBEDDED_TOKENIZER).expect("the embedded tokenizer"))
        })
    }

    fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
        let (mut ids, mut again) = (Vec::new(), Vec::new());
        tokenizer.tokenize_into(text, &mut Memo::default(), &mut ids);
        let mut memo = Memo::new();
        for _ in 0..2 {
            again.clear();
            tokenizer.tokenize_into(text, &mut memo, &mut again);
            assert_eq!(again, ids, "remembered otherwise than spelled: {text:?}");
        }
        ids
    }

    #[test]
    fn ids_equal_the_tokenizers_crate_on_awkward_texts() {
        let (fast, general) = both();
        let long = "a".repeat(100);
        let too_long = "a".repeat(101);
        let texts = [
            "",
            " ",
            "Hello, World!",
            "unaffable snake_case camelCase CVE-2024-1234 E0502 v1.2.3",
            "naïve café ÀÉÎ",
            "[CLS] [UNK] [SEP] [MASK] [unused5] ##ing",
            "日本語 テスト 한국어 中文abc",
            "Привет, мир! Ёлка",
            "İstanbul ẞ ß ǅ ﬁ",
            "\0a\u{0}b\u{b}c\u{c}d\u{85}e\u{a0}f\u{2028}g\u{200b}h\u{feff}i\u{fffd}j",
            "e\u{301}\u{316} \u{301}",
            "👩‍👩‍👧 🎉a🎉",
            "“quoted” – dash… ¿qué? §1 €5 ™ ± ≤ $ ^ ` ~",
            "\u{1100}\u{1161}\u{11a8} 각",
            "हिन्दी ไทย עִבְרִית العَرَبِيَّة",
            "a\u{302e}\u{1}\u{316}b",
            "\u{f900}\u{2f800}\u{20000}",
            "x\u{e000}y\u{10ffff}z",
            &long,
            &too_long,
        ];
        for text in texts {
            assert_eq!(ids(fast, text), ids(general, text), "{text:?}");
        }
    }

    #[test]
    fn every_character_gives_equal_ids_alone_and_inside_a_word() {
        let (fast, general) = both();
        let all: Vec<char> = ('\0'..='\u{2ffff}').chain('\u{e0000}'..='\u{e01ff}').collect();
        for chunk in all.chunks(4096) {
            let text: String = chunk.iter().flat_map(|c| ['a', *c, 'b', ' ', *c, ' ']).collect();
            assert_eq!(ids(fast, &text), ids(general, &text), "from {:?}", chunk[0]);
        }
    }

    #[test]
    fn special_tokens_typed_in_a_text_are_plain_text() {
        let (fast, _) = both();
        let special = [0_u32, 100, 101, 102, 103];
        assert!(ids(fast, "[PAD] [UNK] [CLS] [SEP] [MASK]").iter().all(|id| !special.contains(id)));
    }

    #[test]
    fn pieces_lose_nothing_and_are_bounded() {
        let text = format!("{} {}", "é".repeat(PIECE_BYTES_MAX), "word ".repeat(PIECE_BYTES_MAX));
        let parts: Vec<&str> = pieces(&text).collect();
        assert_eq!(parts.concat(), text);
        assert!(parts.iter().all(|part| part.len() <= PIECE_BYTES_MAX && !part.is_empty()));
    }

    proptest! {
        #[test]
        fn ids_equal_the_tokenizers_crate(
            text in prop_oneof![
                "\\PC{0,60}",
                any::<String>(),
                "([a-zA-Z]{1,12}|[0-9.]{1,5}|[àéüñßØœÅ]{1,4}|[\u{300}-\u{330}\u{302a}-\u{302f}]|[一-丏]| |[-_,;:()\\[\\]'\"])*",
            ],
        ) {
            let (fast, general) = both();
            prop_assert_eq!(ids(fast, &text), ids(general, &text));
        }
    }
}
