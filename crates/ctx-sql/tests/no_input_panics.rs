//! Whatever is typed, the parser answers, the error can be printed, and completion offers only what parses on.

use ctx_sql::{Names, Problem, SYNOPSES, Statements, complete, parse, typed};
use proptest::prelude::*;
use proptest::sample::select;

/// Statements that hold every token of the language.
const SEEDS: [&str; 8] = [
    "EXPLAIN (ANALYZE, FORMAT JSON, COSTS off) ANSWER 'Why did deploy 1423 fail?' FROM logs, runbooks WITH (max_cost_usd = 0.05, require_citations) USING (acc = 1.0, objective = min_cost, seed = 7) HINT (FORCE bm25, FORBID dense, MODEL 'x', GIST 'g');",
    "SIMULATE ANSWER $tag$…$tag$ FROM docs;",
    "ANALYZE docs; SHOW PLAN CACHE; SHOW STATISTICS FOR model 'x'; SHOW TRACE run_1; SHOW ALL; SHOW max_calls",
    "CREATE SOURCE IF NOT EXISTS docs FROM './docs' WITH (kind = logs, readable_by = 'a, b', refresh = 5);",
    "DROP SOURCE IF EXISTS \"with\", журнал; REFRESH; INDEX a, b PURGE;",
    "SET uncertain_latency TO refuse; RESET ALL; SET seed = -1",
    "/* a /* b */ */ -- c\nEXPLAIN DIFF plan_1 'run_2'",
    "ANSWER 'it''s \\ $$' WITH (max_tokens = 120_000, min_accuracy = .8e0);",
];

fn check(text: &str) {
    for statement in Statements::new(text) {
        match statement {
            Ok(parsed) => drop(parsed.value.to_string()),
            Err(error) => {
                let position = error.position(text);
                assert!(position.line >= 1 && position.column >= 1);
                for columns in [0, 40, 100] {
                    assert!(error.render(Some("x.sql"), text, columns).starts_with("error"), "{text:?}");
                }
            }
        }
    }
    typed(text);
    let names = Names { sources: vec!["docs".into()], models: vec!["m".into()], ..Names::default() };
    for cursor in [0, text.len() / 2, text.len(), text.len() + 9] {
        complete(text, cursor, &names);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_bytes_that_are_text(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_statement_cut_twisted_and_pasted(
        first in select(&SEEDS[..]),
        second in select(&SEEDS[..]),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        noise in select(vec!["", "'", "\"", "$$", "/*", "(", ")", ",", ";", "=", "--", "\0", "\u{202e}", "\t", "\r\n", "長", "e\u{301}", "1e999999", "\\"]),
    ) {
        let boundary = |text: &str, index: prop::sample::Index| {
            let at = index.index(text.len() + 1);
            (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
        };
        let text = format!("{}{noise}{}", &first[..boundary(first, from)], &second[boundary(second, to)..]);
        check(&text);
    }
}

#[test]
fn sizes_that_nobody_types() {
    check(&"(".repeat(10_000));
    check(&"/*".repeat(10_000));
    check(&format!("ANSWER '{}'", "x".repeat(100_000)));
    check(&format!("ANSWER '{}' FORM docs", "long line ".repeat(2_000)));
    check(&format!("{} FORM", "word".repeat(50_000)));
    check(&format!("SET max_tokens = {}", "9".repeat(10_000)));
    check(&"SHOW ALL;".repeat(2_000));
    let large = " ".repeat(ctx_sql::SCRIPT_BYTES_MAX + 1);
    assert!(parse(&large).expect_err("too long").to_string().contains("at most"));
}

#[test]
fn what_completion_offers_parses_further() {
    // Each offered word, put in, moves the error to a later place or away.
    let names = Names {
        sources: vec!["docs".into(), "with".into()],
        models: vec!["m".into()],
        operators: vec!["bm25".into()],
        traces: vec!["run_1".into()],
    };
    for seed in SEEDS {
        for (at, _) in seed.char_indices().filter(|(_, c)| *c == ' ') {
            let before = &seed[..=at];
            let offered = complete(before, before.len(), &names);
            for word in offered.words {
                let text = format!("{}{word} ", &before[..offered.start]);
                for statement in Statements::new(&text) {
                    let Err(error) = statement else { continue };
                    let twice = matches!(error.problem, Problem::Twice(_));
                    assert!(twice || error.at.start >= offered.start + word.len(), "{text:?} offered {word}: {error}");
                }
            }
        }
    }
}

#[test]
fn every_shape_begins_with_its_statement() {
    for synopsis in &SYNOPSES {
        assert!(synopsis.shape.starts_with(synopsis.statement), "{}", synopsis.statement);
    }
}
