//! Tables from the command line: numbers with their SQL, refusals with their reason, a person's own SQL.

mod world;

use world::World;

const ORDERS: &str = include_str!("../../../examples/tables/orders.csv");
const QUESTION: &str = "How many orders were shipped in 2024?";

fn orders() -> World {
    let world = World::new();
    world.write("orders.csv", ORDERS);
    world
}

#[test]
fn a_number_comes_with_its_rows_and_its_sql() {
    let world = orders();
    let done = world.run(&["run", QUESTION, "--source", "orders:table=orders.csv"]);
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    assert!(done.out.starts_with("7 [1]\n"), "{}", done.out);
    assert!(done.out.contains("Sources:\n[1] orders.csv:3-10  SELECT count(*) FROM \"orders\""), "{}", done.out);
    assert!(!done.err.contains("sentences quoted"), "{}", done.err);
    // The SQL that is shown is SQL that a person can run.
    let sql = done.out.split_once("[1] orders.csv:3-10  ").expect("cited").1.trim().to_owned();
    let again = world.run(&["sql", &sql, "--source", "orders:table=orders.csv"]);
    assert!(again.code == 0 && again.out.contains('7'), "{sql}\n{}\n{}", again.out, again.err);
}

#[test]
fn explain_shows_the_query_its_estimates_and_what_else_there_was() {
    let world = orders();
    world.write("docs/a.md", "# Orders\n\nOrders are shipped within a week.\n");
    let line = ["explain", QUESTION, "--source", "orders:table=orders.csv", "--source", "docs=docs", "--verbose"];
    let done = world.run(&line);
    assert_eq!(done.code, 0, "{}", done.err);
    for wanted in
        ["Table Query on orders", "SELECT count(*) FROM \"orders\"", "Answer computed", "Verify recomputed", "extractive cannot aggregate"]
    {
        assert!(done.out.contains(wanted), "{wanted} is not shown:\n{}", done.out);
    }
    let (_, value) = world.json(&[&line[..], &["--json"]].concat());
    let leg = value["plan"]["root"]["children"][0]["children"][0]["children"][0].clone();
    let estimate = &leg["estimate"];
    assert!(leg["title"] == "Table Query on orders" && estimate["latency_us"].is_u64(), "{leg}");
    assert!(estimate["evidence_ppm"].as_u64() > Some(500_000), "{leg}");
    assert_eq!(estimate["passages"], 1, "{leg}");
}

#[test]
fn an_ambiguous_question_says_between_what_and_exits_as_abstained() {
    let world = World::new();
    world.write("products.csv", "product,list_price,unit_price\nhinge,10,7\nbolt,4,3\nlatch,9,8\n");
    let line = ["run", "What is the average price?", "--source", "products:table=products.csv"];
    let done = world.run(&line);
    assert_eq!((done.code, done.out.as_str()), (4, ""), "{}", done.err);
    assert!(done.err.contains("list_price") && done.err.contains("unit_price"), "{}", done.err);
    let (code, value) = world.json(&[&line[..], &["--json"]].concat());
    assert_eq!((code, value["status"].as_str()), (4, Some("abstained")), "{value}");
    let explained = world.run(&["explain", "What is the average price?", "--source", "products:table=products.csv"]);
    assert!(explained.code == 0 && explained.out.contains("about equally"), "{}\n{}", explained.out, explained.err);
}

#[test]
fn own_sql_is_one_select_over_the_tables_and_nothing_else() {
    let world = orders();
    let sql = |text: &str| world.run(&["sql", text, "--source", "orders:table=orders.csv"]);
    let done = sql("SELECT city, sum(amount) AS total FROM orders GROUP BY city ORDER BY total DESC");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("Leeds") && done.out.contains("1883.85"), "{}", done.out);
    for text in [
        "DELETE FROM orders",
        "DROP TABLE orders; SELECT 1",
        "COPY orders TO 'out.csv'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "ATTACH '/etc/passwd' AS x",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "WITH x AS (SELECT 1) DELETE FROM orders",
        "EXPLAIN ANALYZE INSERT INTO orders VALUES (1)",
    ] {
        let done = sql(text);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{text}: {}", done.err);
    }
    assert!(!world.path().join("out.csv").exists());
    assert!(sql("SELECT count(*) FROM orders").out.contains("12"));
    let (code, value) = world.json(&["sql", "SELECT max(items) AS most FROM orders", "--source", "orders:table=orders.csv", "--json"]);
    assert_eq!((code, &value["rows"][0][0], &value["columns"][0]), (0, &"12".into(), &"most".into()), "{value}");
    assert_eq!(world.run(&["sql", "SELECT 1"]).code, 2, "no source is named");
}

#[test]
fn a_file_of_separated_values_needs_no_kind() {
    let world = World::new();
    world.write("bom.csv", b"\xef\xbb\xbfid,name\r\n1,a\r\n");
    let done = world.run(&["sql", "select id from bom", "--source", "bom.csv"]);
    assert!(done.code == 0 && done.out.contains('1'), "{}\n{}", done.out, done.err);
    world.write("o.csv", "order,item\nORD-204417,saw\nORD-204418,axe\n");
    let found = world.run(&["search", "ORD-204417", "--source", "o.csv", "--path", "identifier"]);
    assert!(found.code == 0 && found.out.contains("saw"), "the text is searched as before: {}\n{}", found.out, found.err);
}

#[test]
fn a_confidential_table_leaves_hashes_in_the_trace() {
    let world = orders();
    let (code, run) = world.json(&["run", QUESTION, "--source", "orders:table:confidential=orders.csv", "--json"]);
    assert_eq!((code, run["status"].as_str()), (0, Some("completed")), "{run}");
    let (_, trace) = world.json(&["trace", "show", run["trace"].as_str().expect("id"), "--json"]);
    let text = trace.to_string();
    assert!(!text.contains("SELECT count") && !text.contains(QUESTION), "{text}");
}

#[test]
fn a_choice_is_computed_as_a_choice_or_refused() {
    let world = orders();
    let ask = |goal: &str| world.run(&["run", goal, "--source", "orders:table=orders.csv"]);
    let done = ask("How many orders were shipped in 2023 or 2024?");
    assert!(done.code == 0 && done.out.starts_with("8 [1]\n"), "{}\n{}", done.out, done.err);
    let done = ask("How many orders have an amount below 100 or above 500?");
    assert!(done.code == 0 && done.out.contains(" OR "), "{}\n{}", done.out, done.err);
    let done = ask("How many orders were shipped in 2023 and 2024?");
    assert!(done.code == 4 && done.err.contains("is in 2023") && done.err.contains("is in 2024"), "{}\n{}", done.out, done.err);
    let done = ask("How many orders are from Leeds or with more than 5 items?");
    assert!(done.code == 4 && done.err.contains("either") && done.err.contains("\"Leeds\""), "{}\n{}", done.out, done.err);
    let done = ask("How many items did Brio order?");
    assert!(done.code == 4 && done.err.contains("total of `items`"), "{}\n{}", done.out, done.err);
    let done = ask("What is the median amount?");
    assert!(done.code == 4 && done.err.contains("median"), "{}\n{}", done.out, done.err);
}

#[test]
fn what_is_said_is_computed_or_refused_with_a_reason() {
    let world = orders();
    let ask = |goal: &str| world.run(&["run", goal, "--source", "orders:table=orders.csv"]);
    for (goal, value) in [
        ("Which has more orders, Leeds or Porto?", "Leeds [1]\n"),
        ("What is the highest amount in Leeds or Turin?", "640.10 [1]\n"),
        ("How many orders have 3 or more items?", "8 [1]\n"),
        ("total number of items in Leeds", "27 [1]\n"),
        ("How many customers are there?", "5 [1]\n"),
        ("How many orders were shipped in May or June 2024?", "1 [1]\n"),
    ] {
        let done = ask(goal);
        assert!(done.code == 0 && done.out.starts_with(value), "{goal}: {}\n{}", done.out, done.err);
    }
    for (goal, reason) in [
        ("Which customer spent the most?", "not explained: spent"),
        ("Which city has the fewest items?", "the least total of `items`"),
        ("top 3 cities by amount", "the 3 greatest total of `amount`"),
        ("How many orders are from Leeds or Atlantis?", "\"Atlantis\""),
    ] {
        let done = ask(goal);
        assert!(done.code == 4 && done.out.is_empty() && done.err.contains(reason), "{goal}: {}\n{}", done.out, done.err);
    }
}

#[test]
fn a_broken_file_that_was_never_indexed_is_the_users_to_correct() {
    let world = World::new();
    world.write("bad.jsonl", "{\"id\": 1}\n{\"id\": \n");
    world.write("bad.parquet", "no parquet at all");
    for (file, place) in [("bad.jsonl", "bad.jsonl, line 2"), ("bad.parquet", "bad.parquet")] {
        let source = format!("j:table={file}");
        for line in [["run", "How many rows are there?", "--source", &source], ["sql", "SELECT 1", "--source", &source]] {
            let done = world.run(&line);
            assert_eq!((done.code, done.out.as_str()), (2, ""), "{line:?}: {}", done.err);
            assert!(done.err.contains(place) && !done.err.contains("indexed before"), "{line:?}: {}", done.err);
        }
    }
    // Once something was indexed, a file that broke since is noted, and what there was is asked.
    world.write("good.jsonl", "{\"id\": 1}\n{\"id\": 2}\n");
    let line = ["sql", "SELECT count(*) FROM good", "--source", "g:table=good.jsonl"];
    assert_eq!(world.run(&line).code, 0);
    world.write("good.jsonl", "{\"id\": 1}\n{\n");
    let done = world.run(&line);
    assert!(done.code == 0 && done.err.contains("indexed before") && done.err.contains("line 2"), "{}\n{}", done.out, done.err);
}

#[test]
fn a_name_whose_file_is_another_one_serves_nothing_of_the_first() {
    let world = orders();
    assert_eq!(world.run(&["run", QUESTION, "--source", "t:table=orders.csv"]).code, 0);
    world.write("other.csv", "order id,shipped_on\n1,2024-01-02\n");
    let done = world.run(&["run", QUESTION, "--source", "t:table=other.csv", "--no-index"]);
    assert!(done.code != 0 && done.out.is_empty(), "{}\n{}", done.out, done.err);
    let shown = world.run(&["sources", "--source", "t:table=other.csv"]);
    assert!(shown.err.contains("unavailable") && shown.err.contains("orders.csv") && shown.err.contains("other.csv"), "{}", shown.err);
    let done = world.run(&["sql", "SELECT count(*) FROM other", "--source", "t:table=other.csv"]);
    assert!(done.code == 0 && done.out.contains('1'), "a look for changes loads what stands there: {}\n{}", done.out, done.err);
}
