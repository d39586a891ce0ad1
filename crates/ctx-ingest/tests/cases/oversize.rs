//! Lines without end: minified code, one-line JSON, emoji runs. Bounded passages, nothing lost, linear time.

use super::*;
use proptest::prelude::*;

fn joined(document: &Document) -> String {
    document.passages.iter().map(|p| p.passage.text.as_str()).collect()
}

#[test]
fn one_line_of_json_minified_code_and_emoji_are_cut_within_bounds() {
    let json = format!("[{}]", vec![r#"{"name": "a", "value": 12}"#; 1200].join(","));
    let minified = "var a=1;".repeat(300 * 1024 / 8);
    let emoji = "👩‍👩‍👧".repeat(100 * 1024 / 18);
    for (name, content) in [("one.json", &json), ("min.js", &minified), ("emoji.txt", &emoji)] {
        let document = ingest_one(name, content.as_bytes(), &options(220, 512));
        assert!(document.passages.len() > 3, "{name}");
        assert_bounded(&document, 512);
        assert_eq!(&joined(&document), content, "{name}");
    }
}

#[test]
fn a_run_of_emoji_is_cut_between_graphemes() {
    let document = ingest_one("emoji.txt", "👩‍👩‍👧".repeat(2000).as_bytes(), &options(220, 512));
    assert!(document.passages.iter().all(|p| p.passage.text.len() % "👩‍👩‍👧".len() == 0));
}

#[test]
fn fifty_megabytes_without_a_line_end_are_streamed() {
    let content = "The planner compares plans by cost, and the cheapest wins. ".repeat(50 * 1024 * 1024 / 59);
    let dir = folder(&[("big.txt", content.as_bytes())]);
    let found = walk(dir.path(), &WalkOptions::default()).expect("exists");
    let (mut bytes, mut count) = (0, 0_u64);
    let head = ctx_ingest::ingest_file_streaming(&found.root, &found.entries[0], &options(220, 512), &Words, &mut |piece| {
        assert!(piece.passage.tokens <= 512 && piece.passage.locator.line_end == 1);
        bytes += piece.passage.text.len();
        count += 1;
        Ok(())
    });
    let head = head.expect("cut");
    assert_eq!((head.passages, head.stamp.size), (count, content.len() as u64));
    assert!(content.len() - bytes < 64, "only blanks at the very end may be missing");
}

#[test]
fn a_grapheme_longer_than_a_passage_is_cut_between_characters() {
    let zalgo = format!("a{}", "\u{301}".repeat(20_000));
    let document = ingest_one("zalgo.txt", zalgo.as_bytes(), &options(10, 16));
    assert_bounded(&document, 16);
    assert_eq!(joined(&document), zalgo);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a file holds and however small the bound: bounded, disjoint, faithful to the bytes, complete.
    #[test]
    fn passages_are_faithful_to_the_file(
        parts in proptest::collection::vec(prop_oneof![
            "[a-z ]{0,80}", "(# |## |- |> |```|---|\\| )[a-z]{0,9}", "[語é👩]{0,40}", Just(String::new()), "[a-z]{90,300}",
            Just("fn f() { let x = [1, 2]; }".to_owned()), Just("Title\n=====".to_owned()), "    [a-z]{1,9}"
        ], 0..40),
        extension in prop_oneof![Just("md"), Just("txt"), Just("rst"), Just("log"), Just("rs"), Just("py")],
        crlf: bool, target in 4_u32..60, above in 12_u32..60,
    ) {
        let content = parts.join(if crlf { "\r\n" } else { "\n" });
        let document = ingest_one(&format!("f.{extension}"), content.as_bytes(), &options(target, target + above));
        assert_bounded(&document, target + above);
        assert_faithful(&document, content.as_bytes());
    }
}
