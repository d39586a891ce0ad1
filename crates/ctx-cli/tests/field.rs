//! Configuration, lists of sources, time zones, paths: what went wrong elsewhere.

mod world;

use world::{World, done};

const QUESTION: &str = "When is the staging cluster restarted?";

#[test]
fn a_wrong_configuration_names_key_and_place_and_never_a_value() {
    let world = World::with_docs();
    world.write(
        "ctxrt.yaml",
        "models:\n  tiers:\n  - {name: local, base_url: 'http://localhost:11434/v1/'}\n  - {name: local, base_url: 'http://other'}\n\
         budgets: {max_latency_seconds: 90s, max_tokens: 1e6, max_cost_usd: -1}\nonoff: no\n",
    );
    let mut command = world.command(&["run", QUESTION, "--source", "docs=./docs"]);
    let done = done(command.env("CTX_BUDGETS_MAXCOST", "1").env("CTXRT_BUDGETS__MAX_COST_USD", "abc-secret-value"));
    assert_eq!((done.code, done.out.as_str()), (2, ""), "{}", done.err);
    for wanted in ["CTX_BUDGETS_MAXCOST", "CTXRT_BUDGETS__MAX_COST_USD", "budgets.max_latency_seconds", "ctxrt.yaml:5:", "local", "onoff"] {
        assert!(done.err.contains(wanted), "{wanted} is not named:\n{}", done.err);
    }
    assert!(!done.err.contains("secret-value"), "{}", done.err);
    let (code, value) = world.json(&["stats", "--json"]);
    assert_eq!(code, 2);
    assert!(value["error"]["problems"].as_array().is_some_and(|problems| problems.len() >= 3), "{value}");
}

#[test]
fn a_configuration_gives_sources_budgets_and_shows_them() {
    let world = World::with_docs();
    world.write("settings/mine.yaml", "budgets: {max_cost_usd: 0.25}\nsources: {docs: {path: ../docs}}\n");
    let done = world.run(&["explain", QUESTION, "--settings", "--config", "settings/mine.yaml"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("Setting: budgets.max_cost_usd = 0.25"), "{}", done.out);
    let named = world.run(&["run", QUESTION, "--source", "docs", "--config", "settings/mine.yaml"]);
    assert!(named.code == 0 && named.out.contains("restart.md"), "{}\n{}", named.out, named.err);
}

#[test]
fn a_context_that_takes_no_passage_is_told_from_finding_none() {
    let world = World::with_docs();
    let done = world.run(&["run", QUESTION, "--source", "docs=docs", "--max-context-tokens", "1"]);
    assert!(done.code == 4 && done.err.contains("passages found fits into the context"), "{} {}\n{}", done.code, done.out, done.err);
}

#[test]
fn a_list_of_sources_with_crlf_names_folders_that_exist() {
    let world = World::with_docs();
    world.write("logs/app.log", "2026-03-29 01:30:00 ERROR staging failed\r\n");
    world.write("sources.txt", "./docs\r\n./logs\r\n");
    let done = world.run(&["run", "--sources-from", "sources.txt", "--goal", QUESTION]);
    assert!(done.code == 0 && done.out.contains("03:15"), "{}\n{}", done.out, done.err);
    let (_, value) = world.json(&["sources", "--sources-from", "sources.txt", "--json"]);
    let names: Vec<_> =
        value["sources"].as_array().expect("rows").iter().map(|row| row["name"].as_str().expect("name").to_owned()).collect();
    assert_eq!(names, ["docs", "logs"]);
}

#[test]
fn time_zones_neither_break_nor_change_anything() {
    let world = World::new();
    world.write(
        "logs/app.log",
        "2026-03-29 01:30:00 ERROR a\n2026-03-29 03:30:00 ERROR b\n2026-03-29T00:30:00Z ERROR c\nMar 29 02:15:00 host ERROR d\n",
    );
    let mut codes = Vec::new();
    for zone in ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "Bogus/Zone"] {
        let ran = done(world.command(&["run", "--goal", "errors yesterday", "--source", "logs=./logs"]).env("TZ", zone));
        codes.push(ran.code);
        let listed = done(world.command(&["trace", "list", "--json"]).env("TZ", zone));
        let value = world::document(&listed);
        for trace in value["traces"].as_array().expect("rows") {
            let stamp = trace["started_at"].as_str().expect("stamp");
            let offset = stamp.ends_with('Z') || stamp[10..].contains(['+', '-']);
            assert!(stamp.as_bytes().get(10) == Some(&b'T') && offset, "{stamp} is not RFC 3339 with an offset");
        }
    }
    assert!(codes.windows(2).all(|pair| pair[0] == pair[1]), "{codes:?}");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_a_source_shows_nothing_of_what_it_points_to() {
    let world = World::with_docs();
    let outside = World::new();
    let secret = outside.write("secret.md", "The staging password is tulip-7731-orchid.\n");
    std::os::unix::fs::symlink(&secret, world.path().join("docs/out.md")).expect("linked");
    std::os::unix::fs::symlink(outside.path(), world.path().join("docs/folder")).expect("linked");
    for line in [
        &["run", "What is the staging password?", "--source", "docs=./docs", "--json"][..],
        &["search", "staging password tulip", "--source", "docs=./docs", "--json"],
        &["trace", "show", "--all", "--json"],
    ] {
        let done = world.run(line);
        assert!(!done.out.contains("tulip-7731") && !done.err.contains("tulip-7731"), "{line:?}: {}", done.out);
    }
}

#[test]
fn addresses_and_missing_paths_are_refused_without_content() {
    let world = World::with_docs();
    for source in ["file:///etc/passwd", "docs=file:///etc/passwd", "web=https://example.org", "docs/../../etc/passwd", "../x=./docs"] {
        let done = world.run(&["explain", "x", "--source", source]);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{source}: {}", done.err);
        assert!(!done.err.contains("root:x:"), "{}", done.err);
    }
}

#[test]
fn the_store_is_never_a_source() {
    let world = World::with_docs();
    let line = ["index", "--source", "all=.", "--store", "./inside", "--json"];
    let (_, first) = world.json(&line);
    let (_, second) = world.json(&line);
    assert_eq!(second["sources"][0]["indexed"], 0, "indexing changes what is indexed: {second}");
    assert_eq!(first["sources"][0]["passages"], second["sources"][0]["passages"]);
}

#[test]
fn same_names_of_sources_do_not_collide() {
    let world = World::with_docs();
    world.write("other/docs/more.md", "# More\n\nNothing to see here.\n");
    let (code, value) = world.json(&["index", "--source", "docs", "--source", "other/docs", "--json"]);
    let names: Vec<_> =
        value["sources"].as_array().expect("rows").iter().map(|row| row["source"].as_str().expect("name").to_owned()).collect();
    assert_eq!((code, names), (0, vec!["docs".to_owned(), "docs-2".to_owned()]));
}

#[test]
fn an_edit_and_a_removal_show_at_once() {
    let world = World::with_docs();
    let find = |words: &str| world.json(&["search", words, "--source", "docs=./docs", "--json"]).1["hits"].as_array().expect("hits").len();
    assert!(find("nightly-restart") > 0);
    std::fs::remove_file(world.path().join("docs/restart.md")).expect("removed");
    assert_eq!(find("nightly-restart"), 0);
}

/// Every number of a document, with its path.
fn numbers<'a>(at: &str, value: &'a serde_json::Value, out: &mut Vec<(String, &'a serde_json::Number)>) {
    match value {
        serde_json::Value::Number(number) => out.push((at.to_owned(), number)),
        serde_json::Value::Array(items) => items.iter().for_each(|item| numbers(&format!("{at}[]"), item, out)),
        serde_json::Value::Object(map) => map.iter().for_each(|(key, item)| numbers(&format!("{at}.{key}"), item, out)),
        _ => {}
    }
}

/// Every interval of a document is one: low ≤ middle ≤ high.
fn intervals(at: &str, value: &serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| intervals(at, item)),
        serde_json::Value::Object(map) => {
            let of = |key: &str| map.get(key).and_then(serde_json::Value::as_f64);
            if let (Some(low), Some(high)) = (of("low"), of("high")) {
                let middle = of("mid").or(of("value")).unwrap_or(low);
                assert!(low <= middle && middle <= high, "{at}: {low}, {middle}, {high}");
            }
            map.iter().for_each(|(key, item)| intervals(&format!("{at}.{key}"), item));
        }
        _ => {}
    }
}

#[test]
fn statistics_of_nothing_are_absent_or_priors_and_never_sentinels() {
    let world = World::with_docs();
    let lines: [&[&str]; 4] = [
        &["stats", "--json"],
        &["simulate", "--goal", "x", "--source", "docs=./docs", "--json"],
        &["explain", "--goal", "x", "--source", "docs=./docs", "--json"],
        &["explain", "--goal", "x", "--source", "docs=./docs", "--analyze", "--json"],
    ];
    for line in lines {
        let (_, value) = world.json(line);
        let mut found = Vec::new();
        numbers("", &value, &mut found);
        for (at, number) in found {
            let real = number.as_f64().expect("a number");
            assert!(real.is_finite() && !(real == 0.0 && real.is_sign_negative()), "{line:?}: {at} is {number}");
            let seed = at.ends_with(".seed");
            assert!(seed || (number.as_u64() != Some(u64::MAX) && number.as_i64() != Some(i64::MAX)), "{line:?}: {at} is a sentinel");
        }
        intervals("", &value);
    }
    let (_, stats) = world.json(&["stats", "--json"]);
    assert_eq!(stats["ledger"], serde_json::json!([]), "no call was made");
}

#[test]
fn a_budget_that_tenants_share_is_read_from_the_file_and_shown() {
    let world = World::with_docs();
    world.write("ctxrt.yaml", "tenant_budgets: {acme: {max_cost_usd: 2, per: day}}\nruntime: {durability: sync}\n");
    let done = world.run(&["run", QUESTION, "--source", "docs=./docs", "--tenant", "acme"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let shown = world.run(&["stats"]);
    assert!(shown.err.contains("tenant acme: $0.00 of $2.00 this day"), "{}", shown.err);
    world.write("ctxrt.yaml", "tenant_budgets: {acme: {max_cost_usd: 2, per: week}}\n");
    let wrong = world.run(&["stats"]);
    assert!(wrong.code == 2 && wrong.err.contains("tenant_budgets.acme.per") && wrong.err.contains("hour, day"), "{}", wrong.err);
}
