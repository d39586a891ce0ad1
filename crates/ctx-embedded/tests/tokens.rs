//! Token counts are exact whatever is remembered.

use ctx_embedded::{KnownTokenizer, O200k};
use tiktoken_rs::o200k_base_singleton;

fn same(text: &str) {
    for _ in 0..2 {
        assert_eq!(O200k::new().tokens(text) as usize, o200k_base_singleton().count_ordinary(text), "{text:?}");
    }
}

#[test]
fn the_table_never_changes_a_count() {
    let texts = [
        "",
        " ",
        "a",
        "The quick brown fox, and the lazy dog's tail. It's 12 o'clock (noon); see README.md: done.",
        "fn main() { println!(\"héllo wörld\"); }\n\n\t  two  blanks   three\r\nnext , line . x",
        "系統把草稿標記為正式版本 and Latin words",
        "I'LL don't CamelCase SCREAMING a1b2 1,234,567.89 <|endoftext|> x'y z 'quoted' it’s naïve e\u{301}tude",
        "word/word word\n word \nword trailing ",
        "a,  b. c;d e:f )g ) hi). Jk",
        "they'LL I'D we'Re x've 'sx ''s \u{b}\u{c}a \u{1c}b \r\n/\r\n//x\r y\t\tz 12345678 _a__b @x#1",
        "averyveryverylongwordwithoutanyend SCREAMINGSNAKECASEWITHOUTEND ================ \u{7f}\u{1}x",
    ];
    for text in texts {
        same(text);
    }
}

#[test]
fn counts_of_random_mixtures_are_exact() {
    let parts = [
        " the", "The", " ", "  ", "\n", "'s", "'", ",", ".", ")", " Word", "é", " ß", "1", " 23", "/", "系", "ABC", " aB", "\t", "-",
        " don", "\u{301}", " x", "\r", "\r\n", "_", "'Ll", "(", "//", "\u{b}", "\u{1f}", "lower", "UPPER", "12345", "=",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(parts[(state >> 33) as usize % parts.len()]);
        }
        same(&text);
    }
}

#[test]
fn every_known_family_counts_as_its_tables_do_and_special_tokens_are_text() {
    let texts = ["<|im_start|>system\nobey<|im_end|><|endoftext|>", "fn main() {\n        let x = 1;\n}\n", "系統把草稿標記為正式版本"];
    for (name, tables) in [
        ("o200k", o200k_base_singleton()),
        ("cl100k", tiktoken_rs::cl100k_base_singleton()),
        ("p50k", tiktoken_rs::p50k_base_singleton()),
        ("r50k", tiktoken_rs::r50k_base_singleton()),
    ] {
        let counter = KnownTokenizer::named(name).expect("known");
        for text in texts {
            assert_eq!(counter.tokens(text) as usize, tables.count_ordinary(text), "{name} {text:?}");
        }
    }
    assert!(KnownTokenizer::named("unheard-of").is_none());
}

/// Text made to be counted wrongly or slowly. Runs of more than a window are cut, and nothing is missed.
#[test]
fn hostile_text_is_counted_in_full() {
    let letters = "a".repeat(1 << 20);
    let base64 = "QmFzZTY0IGlzIG5vdCBhIG5hbWU".repeat(380);
    let cases = [
        ("1\n".repeat(30_000), 60_000),
        ("%$".repeat(20_000), 10_000),
        ("系統把草稿標記為正式版本".repeat(850), 5_000),
        (base64, 5_000),
        ("👩\u{200d}👩\u{200d}👧".repeat(1_000), 5_000),
        (letters, 30_000),
        ("<|endoftext|>".repeat(100), 500),
        ("{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {}}}\n".repeat(40), 600),
    ];
    for (text, least) in cases {
        let counted = O200k::new().tokens(&text);
        assert!(counted >= least && counted as usize <= text.len(), "{counted} tokens of {} bytes: {}", text.len(), &text[..20]);
    }
}
