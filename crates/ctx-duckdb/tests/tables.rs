//! Tables end to end below the front door: files of rows in, exact values out, nothing but one SELECT ever runs.

use ctx_duckdb::DuckError;
use ctx_duckdb::tables::{Bounds, TableDb, TableWriter};
use ctx_tables::ColumnType;
use ctx_tables::interpret::interpret_rows;
use ctx_tables::query::{Ask, Comparison, End, Filter, Function, Query, Test};
use ctx_tables::rank::Choice;
use std::path::Path;
use std::time::Duration;

fn load(files: &[(&str, &str)]) -> (tempfile::TempDir, TableDb) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("tables.duckdb");
    let mut writer = TableWriter::create(&path).expect("created");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
        let stem = Path::new(name).file_stem().expect("stem").to_string_lossy().into_owned();
        writer.add(&stem, folder.path(), &[(*name).to_owned()]).expect("loaded");
    }
    writer.finish().expect("finished");
    let db = TableDb::open(&path).expect("opened");
    (folder, db)
}

fn values(db: &TableDb, query: Query) -> Vec<String> {
    db.compute(&Choice { table: 0, query, probability: 1.0 }, &Bounds::default()).expect("computed").values()
}

fn own(db: &TableDb, text: &str) -> Result<Vec<Vec<Option<String>>>, DuckError> {
    db.run_own(text, &Bounds::default()).map(|computed| computed.rows)
}

#[test]
fn types_come_from_all_rows_and_nothing_is_rounded() {
    let mut text = String::from("id,amount,code,day\n");
    for id in 0..25_000 {
        text.push_str(&format!("{id},{},{id},2024-01-02\n", id % 7));
    }
    text.push_str("25000,12.75,007,2024-01-02 10:00\n");
    let (_folder, db) = load(&[("big.csv", &text)]);
    let table = &db.tables()[0];
    let types: Vec<ColumnType> = table.columns.iter().map(|column| column.ty).collect();
    assert_eq!(types, [ColumnType::Integer, ColumnType::Decimal { scale: 2 }, ColumnType::Text, ColumnType::Text]);
    let whole: u64 = (0..25_000_u64).map(|id| id % 7).sum();
    let sum = Query { filters: Vec::new(), ask: Ask::Aggregate { function: Function::Sum, column: 1 } };
    assert_eq!(values(&db, sum), [format!("{}.75", whole + 12)]);
    assert!(table.columns[2].notes[0].contains("line 25002: 007"), "{:?}", table.columns[2].notes);
    assert!(table.columns[3].notes[0].contains("1 times (first at line 25002: 2024-01-02 10:00)"), "{:?}", table.columns[3].notes);
    let last = Query { filters: Vec::new(), ask: Ask::Place { column: 3, end: End::Greatest, limit: 1 } };
    assert_eq!(values(&db, last), ["2024-01-02 10:00"]);
}

#[test]
fn ragged_rows_null_tokens_and_big_numbers_are_kept_and_reported() {
    let (_folder, db) = load(&[("r.csv", "a,b\n1,N/A\n2\n3,4,beyond\n99999999999999999999,5\n")]);
    let table = &db.tables()[0];
    assert_eq!(table.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a", "b", "column 3"]);
    assert!(table.notes[0].starts_with("2 rows do not have the header's 2 cells (line 3: 1, line 4: 3)"), "{:?}", table.notes);
    assert_eq!((table.columns[1].ty, table.columns[1].nulls), (ColumnType::Integer, 2));
    assert_eq!(table.columns[1].notes, ["taken as null: 1 × N/A"]);
    let most = Query { filters: Vec::new(), ask: Ask::Aggregate { function: Function::Max, column: 0 } };
    assert_eq!(values(&db, most), ["99999999999999999999"]);
    assert_eq!(own(&db, "SELECT \"column 3\" FROM r WHERE a = 3").expect("runs"), [[Some("beyond".to_owned())]]);
}

#[test]
fn json_lines_and_tabs_are_read_and_columns_join() {
    let people = "{\"id\": 1, \"name\": \"Ada\"}\n{\"id\": 2, \"name\": \"Bo\", \"left\": null}\n";
    let (_folder, db) = load(&[("people.jsonl", people), ("visits.tsv", "person\tday\n1\t2024-01-02\n2\t2024-01-03\n1\t2024-01-04\n")]);
    assert_eq!(db.tables()[1].columns[1].ty, ColumnType::Date);
    let joined = "SELECT name, count(*) FROM visits JOIN people ON person = id GROUP BY name ORDER BY name";
    assert_eq!(own(&db, joined).expect("runs").len(), 2);
    let joins = db.joinable().expect("compared");
    assert!(joins.iter().any(|j| j.from == ("visits".to_owned(), "person".to_owned()) && j.to == ("people".to_owned(), "id".to_owned())));
}

#[test]
fn parquet_is_read_with_its_types() {
    let folder = tempfile::tempdir().expect("folder");
    let out = folder.path().join("t.parquet");
    let connection = duckdb::Connection::open_in_memory().expect("memory");
    let text = format!(
        "COPY (SELECT 1::BIGINT AS id, 1.50::DECIMAL(10,2) AS price, DATE '2024-01-02' AS day, [1,2] AS list) TO '{}'",
        out.display()
    );
    connection.execute_batch(&text).expect("written");
    let path = folder.path().join("tables.duckdb");
    let mut writer = TableWriter::create(&path).expect("created");
    writer.add("t", folder.path(), &["t.parquet".to_owned()]).expect("loaded");
    writer.finish().expect("finished");
    let db = TableDb::open(&path).expect("opened");
    let types: Vec<ColumnType> = db.tables()[0].columns.iter().map(|column| column.ty).collect();
    assert_eq!(types, [ColumnType::Integer, ColumnType::Decimal { scale: 2 }, ColumnType::Date, ColumnType::Text]);
    assert_eq!(own(&db, "SELECT sum(price) FROM t").expect("runs"), [[Some("1.50".to_owned())]]);
}

#[test]
fn only_one_select_over_the_source_runs() {
    let (folder, db) = load(&[("t.csv", "id\n1\n")]);
    let out = folder.path().join("out.csv");
    let copy = format!("COPY t TO '{}'", out.display());
    let file = folder.path().join("t.csv");
    let (read, glob, bare) = (
        format!("SELECT * FROM read_text('{}')", file.display()),
        "SELECT * FROM glob('/*')".to_owned(),
        format!("SELECT * FROM '{}'", file.display()),
    );
    let refused = [
        "DROP TABLE t; SELECT 1",
        &copy,
        "ATTACH '/etc/hostname' AS x",
        &read,
        &glob,
        &bare,
        "INSTALL httpfs; LOAD httpfs",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "PRAGMA database_list; SET enable_external_access=true",
        "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
        "select 1; --\ndelete from t",
        "SELECT nextval('s')",
        "CALL pragma_version()",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM \"ctx catalog\"",
        "SELECT * FROM information_schema.tables",
        "SELECT getenv('HOME')",
        "SELECT 1 WHERE x = AND",
        "",
    ];
    for text in refused {
        match own(&db, text) {
            Err(DuckError::Refused { .. }) => {}
            other => panic!("{text:?} was not refused before it ran: {other:?}"),
        }
    }
    assert!(!out.exists());
    for text in ["/* x */ select 1", "values (1)", "(select 1)", "SELECT 1;;", "WITH x AS (SELECT id FROM t) SELECT max(id) FROM x"] {
        assert_eq!(own(&db, text).unwrap_or_else(|error| panic!("{text:?}: {error}")), [[Some("1".to_owned())]], "{text}");
    }
    // Position and line of the row stand before its cells.
    assert_eq!(own(&db, "from t").expect("allowed"), [["0", "2", "1"].map(|cell| Some(cell.to_owned()))]);
}

#[test]
fn results_are_bounded_in_rows_bytes_and_time() {
    let (_folder, db) = load(&[("t.csv", "id\n1\n")]);
    let many = db.run_own("SELECT * FROM range(5000)", &Bounds::default()).expect("runs");
    assert_eq!((many.rows.len(), many.cut), (1_000, Some("rows")));
    let wide = db.run_own("SELECT repeat('x', 600000) FROM range(3)", &Bounds::default()).expect("runs");
    assert_eq!((wide.rows.len(), wide.cut), (1, Some("bytes")));
    let bounds = Bounds { time: Duration::from_millis(200), ..Bounds::default() };
    let late = db.run_own("SELECT count(*) FROM range(100000000) a, range(100000) b", &bounds);
    assert!(matches!(late, Err(DuckError::OutOfTime { .. })), "{late:?}");
}

/// What is made within one row is bounded before it is made: no interrupt reaches it there.
#[test]
fn what_one_row_makes_is_bounded() {
    let (_folder, db) = load(&[("t.csv", "id,name\n7,a\n")]);
    for text in [
        "SELECT repeat('a', 2000000000)",
        "SELECT length(repeat('a', 1000000000))",
        "SELECT repeat(name, id * 1000000) FROM t",
        "SELECT repeat(repeat('a', 100000), 100000)",
        "SELECT lpad('a', 2000000000, 'b')",
        "SELECT list_sum(list_transform(range(300000000), x -> x * 2))",
        "SELECT len(generate_series(1, 10 * 100000000))",
    ] {
        let refused = own(&db, text);
        assert!(matches!(refused, Err(DuckError::Refused { .. })), "{text}: {refused:?}");
    }
    for (text, expected) in [
        ("SELECT lpad(id::VARCHAR, 3, '0') FROM t", "007"),
        ("SELECT list_sum(range(1, 4))", "6"),
        ("SELECT repeat(name, 3) FROM t", "aaa"),
    ] {
        assert_eq!(own(&db, text).unwrap_or_else(|error| panic!("{text:?}: {error}")), [[Some(expected.to_owned())]], "{text}");
    }
}

#[test]
fn files_without_a_column_are_tables_without_rows() {
    for text in ["\n\n", "\u{feff}", "\u{feff}\n"] {
        let (_folder, db) = load(&[("blank.csv", text), ("t.csv", "id\n1\n")]);
        assert_eq!(values(&db, Query { filters: Vec::new(), ask: Ask::Count }), ["0"], "{text:?}");
        assert_eq!(db.tables()[1].rows, 1);
    }
    let (_folder, db) = load(&[("blank.jsonl", "{}\n{}\n"), ("t.csv", "id\n1\n")]);
    assert_eq!(db.tables()[1].rows, 1);
}

#[test]
fn a_value_with_quotes_is_a_value() {
    let (_folder, db) = load(&[("t.csv", "name,n\n\"O'Neil\"\"); DROP TABLE t; --\",7\n")]);
    let text = db.tables()[0].columns[0].range.clone().expect("range").0;
    let filters = vec![Filter { column: 0, test: Test::In(vec![text]) }];
    assert_eq!(values(&db, Query { filters, ask: Ask::Cells { column: 1 } }), ["7"]);
}

/// Every operation, computed by DuckDB, gives what the reference says.
#[test]
fn sql_means_what_the_reference_says() {
    let text = "city,people,year,day,size\nAyr,10,1999,\"May 2, 2001\",4 m\nBern,20,2001,\"May 9, 2003\",6 m\nAyr,5,2004,\"June 1, 2001\",9 m\nCork,20,2004,,7 m\n";
    let (_folder, db) = load(&[("t.csv", text)]);
    let rows = db.rows(&db.tables()[0]).expect("rows");
    let filters = [
        vec![],
        vec![Filter { column: 0, test: Test::In(vec!["Ayr".to_owned()]) }],
        vec![Filter { column: 0, test: Test::NotIn(vec!["Ayr".to_owned(), "Cork".to_owned()]) }],
        vec![Filter { column: 1, test: Test::Compare(Comparison::AtLeast, "10".to_owned()) }],
        vec![
            Filter { column: 3, test: Test::Month(5) },
            Filter { column: 3, test: Test::Between("20010000".to_owned(), "20019999".to_owned()) },
        ],
        vec![Filter { column: 3, test: Test::MonthDay(601) }],
        vec![Filter { column: 4, test: Test::Compare(Comparison::Less, "6.5".to_owned()) }],
        vec![Filter { column: 3, test: Test::Any(vec![Test::Month(5), Test::Between("20010000".to_owned(), "20019999".to_owned())]) }],
        vec![
            Filter {
                column: 4,
                test: Test::Any(vec![
                    Test::Compare(Comparison::Less, "2".to_owned()),
                    Test::Compare(Comparison::Greater, "6.5".to_owned()),
                ]),
            },
            Filter { column: 1, test: Test::Compare(Comparison::AtLeast, "10".to_owned()) },
        ],
    ];
    let city = |name: &str| Filter { column: 0, test: Test::In(vec![name.to_owned()]) };
    let asks = [
        Ask::Cells { column: 0 },
        Ask::Count,
        Ask::CountDistinct { column: 0 },
        Ask::Aggregate { function: Function::Sum, column: 1 },
        Ask::Aggregate { function: Function::Avg, column: 4 },
        Ask::Aggregate { function: Function::Min, column: 1 },
        Ask::Spread { column: 1 },
        Ask::Spread { column: 3 },
        Ask::Extreme { column: 0, by: 1, end: End::Greatest, limit: 1 },
        Ask::Extreme { column: 2, by: 3, end: End::Least, limit: 2 },
        Ask::Place { column: 0, end: End::Greatest, limit: 2 },
        Ask::Neighbour { column: 1, offset: 1 },
        Ask::Neighbour { column: 1, offset: -1 },
        Ask::Group { column: 0, of: None, end: End::Greatest, limit: 1 },
        Ask::Group { column: 0, of: Some((Function::Sum, 1)), end: End::Least, limit: 2 },
        Ask::Group { column: 0, of: Some((Function::Avg, 1)), end: End::Greatest, limit: 1 },
        Ask::GroupAll { column: 0, of: Some((Function::Sum, 1)) },
        Ask::Difference { column: Some(1), other: vec![city("Bern")] },
        Ask::Difference { column: Some(2), other: vec![city("Bern")] },
        Ask::Difference { column: None, other: vec![city("Bern")] },
        Ask::Better { column: 0, first: vec!["Ayr".to_owned()], second: vec!["Bern".to_owned()], by: Some(1), end: End::Greatest },
        Ask::Better { column: 0, first: vec!["Ayr".to_owned()], second: vec!["Bern".to_owned()], by: None, end: End::Greatest },
        Ask::Better { column: 0, first: vec!["Bern".to_owned()], second: vec!["Cork".to_owned()], by: None, end: End::Greatest },
        Ask::Better { column: 0, first: vec!["Bern".to_owned()], second: vec!["Cork".to_owned()], by: Some(3), end: End::Greatest },
        Ask::Better { column: 0, first: vec!["Ayr".to_owned()], second: vec!["Bern".to_owned()], by: Some(2), end: End::Least },
        Ask::Same { column: 0, shared: 2 },
    ];
    for (filters, ask) in filters.iter().flat_map(|f| asks.iter().map(move |a| (f, a))) {
        let query = Query { filters: filters.clone(), ask: ask.clone() };
        let computed = db.compute(&Choice { table: 0, query: query.clone(), probability: 1.0 }, &Bounds::default());
        let computed = computed.unwrap_or_else(|error| panic!("{query:?}: {error}"));
        let mut got: Vec<String> = computed.values().iter().map(|value| plain(value)).collect();
        let mut want: Vec<String> = interpret_rows(&db.tables()[0], &rows, &query).iter().map(|row| plain(&row[0])).collect();
        got.sort();
        want.sort();
        assert_eq!(got, want, "{query:?}\n{}", computed.sql.text);
    }
}

/// Comparisons of typed dates and times are written with dates, and mean what the keys of days mean.
#[test]
fn dates_are_compared_as_dates() {
    let text = "day,at\n2023-12-31,2023-12-31 23:59:59\n2024-01-01,2024-01-01 00:00:00\n2024-02-29,2024-02-29 10:00:00\n2024-06-30,2024-06-30 00:00:01\n2024-12-31,2024-12-31 12:00:00\n2025-01-01,2025-01-01 08:00:00\n";
    let (_folder, db) = load(&[("t.csv", text)]);
    let table = &db.tables()[0];
    assert_eq!([table.columns[0].ty, table.columns[1].ty], [ColumnType::Date, ColumnType::Timestamp]);
    let rows = db.rows(table).expect("rows");
    let signs = [Comparison::Equal, Comparison::Less, Comparison::AtMost, Comparison::Greater, Comparison::AtLeast];
    let keys = ["20240000", "20249999", "20240200", "20240299", "20240229", "20240630", "20240631", "20250101"];
    let mut tests: Vec<Test> = signs.iter().flat_map(|sign| keys.map(|key| Test::Compare(*sign, key.to_owned()))).collect();
    tests.extend(
        [("20240000", "20249999"), ("20240101", "20240630"), ("20240200", "20240699"), ("20240631", "20250101")]
            .map(|(least, most)| Test::Between(least.to_owned(), most.to_owned())),
    );
    for (column, test) in [0, 1].into_iter().flat_map(|column| tests.iter().map(move |test| (column, test))) {
        let query = Query { filters: vec![Filter { column, test: test.clone() }], ask: Ask::Count };
        let computed = db.compute(&Choice { table: 0, query: query.clone(), probability: 1.0 }, &Bounds::default());
        let computed = computed.unwrap_or_else(|error| panic!("{query:?}: {error}"));
        assert_eq!(vec![computed.values()], interpret_rows(table, &rows, &query), "{query:?}\n{}", computed.sql.inlined());
    }
    let since =
        Query { filters: vec![Filter { column: 0, test: Test::Compare(Comparison::AtLeast, "20240229".to_owned()) }], ask: Ask::Count };
    let shown = ctx_tables::sql::statement(table, &since).inlined();
    assert_eq!(shown, "SELECT count(*) FROM \"t\" WHERE \"day\" >= DATE '2024-02-29'");
    assert_eq!(own(&db, &shown).expect("runs"), [[Some("4".to_owned())]]);
}

#[test]
fn a_reading_that_the_database_does_not_accept_is_known_before_it_runs() {
    let (_folder, db) = load(&[("t.csv", "city,day\nAyr,2024-01-02\nBern,2024-01-03\n")]);
    let choice =
        |function| Choice { table: 0, query: Query { filters: Vec::new(), ask: Ask::Aggregate { function, column: 1 } }, probability: 1.0 };
    assert_eq!(db.accepts(&choice(Function::Max)), Ok(()));
    assert!(db.accepts(&choice(Function::Sum)).is_err_and(|reason| reason.starts_with("Binder Error")));
    assert!(db.compute(&choice(Function::Sum), &Bounds::default()).is_err_and(|error| error.is_of_values()));
}

#[test]
fn sql_over_text_with_numbers_names_the_column_of_the_numbers() {
    let (_folder, db) = load(&[("t.csv", "id,amt\n1,\"1,234.50\"\n2,$5.00\n3,\"12,000\"\n4,17 EUR\n")]);
    for text in ["SELECT sum(amt) FROM t", "SELECT sum(CAST(amt AS DOUBLE)) FROM t"] {
        match own(&db, text) {
            Err(DuckError::Refused { reason }) => assert!(reason.contains("\"amt (as number)\""), "{text}: {reason}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(own(&db, "SELECT sum(\"amt (as number)\") FROM t").expect("runs"), [[Some("13256.50".to_owned())]]);
    for text in ["DROP TABLE t", "COPY t TO 'x.csv'"] {
        assert!(own(&db, text).is_err_and(|error| error.to_string().contains("only a SELECT is accepted")), "{text}");
    }
    assert!(own(&db, "SELECT FROM WHERE").is_err_and(|error| !error.to_string().contains("only a SELECT")));
}

#[test]
fn nul_characters_become_spaces_and_are_reported() {
    let (_folder, db) = load(&[("t.csv", "id,name\n1,a\0b\0\n"), ("j.jsonl", "{\"id\": 1, \"name\": \"c\\u0000d\"}\n")]);
    assert_eq!(own(&db, "SELECT name FROM t").expect("runs"), [[Some("a b ".to_owned())]]);
    assert_eq!(own(&db, "SELECT name FROM j").expect("runs"), [[Some("c d".to_owned())]]);
    assert_eq!(db.tables()[0].notes, ["2 NUL characters in its cells were replaced by spaces"]);
    assert_eq!(db.tables()[1].notes, ["1 NUL characters in its cells were replaced by spaces"]);
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::write(folder.path().join("bad.jsonl"), "{\"id\": 1}\n{\"id\": \n").expect("written");
    std::fs::write(folder.path().join("bad.parquet"), "no parquet at all").expect("written");
    let mut writer = TableWriter::create(&folder.path().join("tables.duckdb")).expect("created");
    for (name, place) in [("bad.jsonl", "bad.jsonl, line 2: "), ("bad.parquet", "bad.parquet: ")] {
        match writer.add("bad", folder.path(), &[name.to_owned()]) {
            Err(error @ DuckError::Read { .. }) => assert!(error.to_string().contains(place), "{error}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// A number in one spelling.
fn plain(text: &str) -> String {
    text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| format!("{number:.6}"))
}

#[test]
fn a_goal_with_two_columns_to_choose_from_is_refused_and_says_between_what() {
    let (_folder, db) = load(&[("products.csv", "product,list_price,unit_price\nhinge,10,7\nbolt,4,3\nlatch,9,8\n")]);
    let parsed = ctx_tables::parse(&db.offered(), "what is the average price?");
    let refusal = parsed.refusal.expect("ambiguous").to_string();
    assert!(refusal.contains("list_price") && refusal.contains("unit_price"), "{refusal}");
}
