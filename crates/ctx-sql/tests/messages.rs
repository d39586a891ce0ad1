//! What people read when a statement is wrong: the line, the caret, what was expected, the nearest word.

use ctx_sql::{Statements, parse};
use expect_test::{Expect, expect};

fn check(script: &str, expected: Expect) {
    let shown: Vec<String> =
        Statements::new(script).filter_map(Result::err).map(|error| error.render(Some("a.sql"), script, 100)).collect();
    expected.assert_eq(&format!("{}\n", shown.join("\n\n")));
}

#[test]
fn a_misspelt_clause_names_the_nearest() {
    check(
        "SHOW SOURCES;\n\tANSWER 'Почему?' FORM docs",
        expect![[r#"
            error: expected FROM, HINT, USING, WITH or the end of the statement, found `FORM`
             --> a.sql:2:19
              |
            2 |     ANSWER 'Почему?' FORM docs
              |                      ^^^^ did you mean FROM?
        "#]],
    );
}

#[test]
fn a_misspelt_statement_key_option_and_value() {
    check(
        "EXPLIAN ANSWER 'x'",
        expect![[r#"
            error: expected ANALYZE, ANSWER, CREATE, DROP, EXPLAIN, INDEX, REFRESH, RESET, SET, SHOW or SIMULATE, found `EXPLIAN`
             --> a.sql:1:1
              |
            1 | EXPLIAN ANSWER 'x'
              | ^^^^^^^ did you mean EXPLAIN?
        "#]],
    );
    check(
        "ANSWER 'x' WITH (max_cots_usd = 1)",
        expect![[r#"
            error: there is no limit "max_cots_usd"
             --> a.sql:1:18
              |
            1 | ANSWER 'x' WITH (max_cots_usd = 1)
              |                  ^^^^^^^^^^^^ did you mean max_cost_usd?
        "#]],
    );
    check(
        "ANSWER 'x' WITH (acc = 1)",
        expect![[r#"
            error: there is no limit "acc"
             --> a.sql:1:18
              |
            1 | ANSWER 'x' WITH (acc = 1)
              |                  ^^^ acc belongs into USING (…)
        "#]],
    );
    check(
        "EXPLAIN (VERBOS) ANSWER 'x'",
        expect![[r#"
            error: there is no option of EXPLAIN "VERBOS"
             --> a.sql:1:10
              |
            1 | EXPLAIN (VERBOS) ANSWER 'x'
              |          ^^^^^^ did you mean VERBOSE?
        "#]],
    );
    check(
        "EXPLAIN (FORMAT jsn) ANSWER 'x'",
        expect![[r#"
            error: there is no format "jsn"
             --> a.sql:1:17
              |
            1 | EXPLAIN (FORMAT jsn) ANSWER 'x'
              |                 ^^^ did you mean json?
        "#]],
    );
    check(
        "ANSWER 'x' WITH (sensitivity = secret)",
        expect![[r#"
            error: sensitivity: expected one of public, internal, confidential, restricted; found secret
             --> a.sql:1:32
              |
            1 | ANSWER 'x' WITH (sensitivity = secret)
              |                                ^^^^^^
        "#]],
    );
    check(
        "SET tming = on",
        expect![[r#"
            error: there is no setting "tming"
             --> a.sql:1:5
              |
            1 | SET tming = on
              |     ^^^^^ did you mean timing?
        "#]],
    );
}

#[test]
fn a_missing_piece_says_what_is_missing() {
    check(
        "ANSWER",
        expect![[r#"
            error: expected a goal in single quotes, found the end of the script
             --> a.sql:1:7
              |
            1 | ANSWER
              |       ^
        "#]],
    );
    check(
        "ANSWER why",
        expect![[r#"
            error: expected a goal in single quotes, found `why`
             --> a.sql:1:8
              |
            1 | ANSWER why
              |        ^^^
              |
              = help: write the goal in single quotes, '' for a quote inside, or between $$ and $$
        "#]],
    );
    check(
        "ANSWER 'x' FROM;",
        expect![[r#"
            error: expected the name of a source, found the end of the statement
             --> a.sql:1:16
              |
            1 | ANSWER 'x' FROM;
              |                ^
        "#]],
    );
    check(
        "ANSWER 'x' FROM WITH (max_calls = 1)",
        expect![[r#"
            error: expected the name of a source, found `WITH`
             --> a.sql:1:17
              |
            1 | ANSWER 'x' FROM WITH (max_calls = 1)
              |                 ^^^^
              |
              = help: WITH begins a clause; a name that reads like it needs double quotes: "WITH"
        "#]],
    );
    check(
        "ANSWER 'x' WITH (max_calls)",
        expect![[r#"
            error: expected `=`, found `)`
             --> a.sql:1:27
              |
            1 | ANSWER 'x' WITH (max_calls)
              |                           ^
        "#]],
    );
    check(
        "ANSWER 'x' WITH (max_calls = 1",
        expect![[r#"
            error: expected `)` or `,`, found the end of the script
             --> a.sql:1:31
              |
            1 | ANSWER 'x' WITH (max_calls = 1
              |                               ^
        "#]],
    );
}

#[test]
fn quotes_that_do_not_close_point_at_their_beginning() {
    check(
        "SHOW ALL;\nANSWER 'why\nFROM docs;\n",
        expect![[r#"
            error: this text has no end
             --> a.sql:2:8
              |
            2 | ANSWER 'why
              |        ^ close it with '; write '' for a quote inside
        "#]],
    );
    check(
        "SHOW ALL /* why",
        expect![[r#"
            error: this comment has no end
             --> a.sql:1:10
              |
            1 | SHOW ALL /* why
              |          ^^ close it with */; comments nest
        "#]],
    );
    check(
        "ANSWER \u{2018}why\u{2019}",
        expect![[r#"
            error: '‘' means nothing here
             --> a.sql:1:8
              |
            1 | ANSWER ‘why’
              |        ^ a typographic quote: write '
        "#]],
    );
    check(
        "ANSWER E'a\\n'",
        expect![[r#"
            error: expected a goal in single quotes, found `E`
             --> a.sql:1:8
              |
            1 | ANSWER E'a\n'
              |        ^ texts have no prefix: a backslash is a backslash
        "#]],
    );
}

#[test]
fn values_out_of_range_say_the_range() {
    check(
        "ANSWER 'x' WITH (min_accuracy = 1.5)",
        expect![[r#"
            error: min_accuracy: expected a share between 0 and 1, found 1.5
             --> a.sql:1:33
              |
            1 | ANSWER 'x' WITH (min_accuracy = 1.5)
              |                                 ^^^
        "#]],
    );
    check(
        "ANSWER 'x' WITH (max_latency_seconds = 90s)",
        expect![[r#"
            error: "90s" is not a number
             --> a.sql:1:40
              |
            1 | ANSWER 'x' WITH (max_latency_seconds = 90s)
              |                                        ^^^
              |
              = help: numbers have no unit; a name that begins with a digit needs double quotes
        "#]],
    );
    check(
        "SET max_cost_usd = -1",
        expect![[r#"
            error: max_cost_usd: expected a number of at least 0, found -1
             --> a.sql:1:20
              |
            1 | SET max_cost_usd = -1
              |                    ^^
        "#]],
    );
    check(
        "ANSWER 'x' WITH (max_calls = 1, max_calls = 2)",
        expect![[r#"
            error: max_calls stands twice
             --> a.sql:1:33
              |
            1 | ANSWER 'x' WITH (max_calls = 1, max_calls = 2)
              |                                 ^^^^^^^^^
        "#]],
    );
    check(
        "ANSWER 'x' FROM a FROM b",
        expect![[r#"
            error: FROM stands twice
             --> a.sql:1:19
              |
            1 | ANSWER 'x' FROM a FROM b
              |                   ^^^^ put both into one clause
        "#]],
    );
}

#[test]
fn hostile_scripts_do_not_reach_the_terminal() {
    let script = "ANSWER 'x' \u{202e}\u{1b}[2J FROM";
    let shown = parse(script).expect_err("wrong").render(None, script, 80);
    assert!(!shown.contains(['\u{202e}', '\u{1b}']), "{shown:?}");
}
