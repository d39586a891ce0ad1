//! Token counts are exact whatever is remembered.

use ctx_embedded::O200k;
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
