//! A small collection end to end: every path ranks, the planner runs, run files are readable, the same twice is the same.
#![allow(clippy::unwrap_used)] // a test that cannot be set up has failed

use ctx_eval::{Options, Report, evaluate};
use std::path::Path;

const TOPICS: [(&str, &str, &str); 6] = [
    (
        "bread",
        "Sourdough rises slowly because wild yeast ferments the flour at room temperature.",
        "why does sourdough take so long to rise",
    ),
    ("tides", "The moon's gravity pulls the ocean and makes high and low tides twice a day.", "what causes the tides of the ocean"),
    ("bees", "Honey bees dance to tell other foragers where nectar can be found.", "how do bees tell others where nectar is"),
    ("locks", "A mutex guards shared memory so that two threads never write at once.", "how do threads avoid writing at once"),
    ("rust", "Iron oxidises in moist air and turns into a brittle red layer.", "why does iron turn red and brittle"),
    ("glass", "Glass is melted sand that cools without forming crystals.", "what is glass made from"),
];

fn write(folder: &Path) {
    let mut corpus = String::new();
    let (mut queries, mut judgments) = (String::new(), "query-id\tcorpus-id\tscore\n".to_owned());
    for (id, text, query) in TOPICS {
        corpus.push_str(&format!("{{\"_id\": \"{id}\", \"title\": \"About {id}\", \"text\": \"{text}\"}}\n"));
        queries.push_str(&format!("{{\"_id\": \"q-{id}\", \"text\": \"{query}\"}}\n"));
        judgments.push_str(&format!("q-{id}\t{id}\t1\n"));
    }
    std::fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
    std::fs::write(folder.join("queries.jsonl"), queries).unwrap();
    std::fs::write(folder.join("qrels.tsv"), judgments).unwrap();
}

async fn run(folder: &Path, options: &Options) -> Report {
    evaluate(folder, options, &|_| {}, &|_, _| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_path_and_the_planner_are_judged() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let out = tempfile::tempdir().unwrap();
    let options = Options { run_out: Some(out.path().to_owned()), ..Options::default() };
    let report = run(dir.path(), &options).await;
    assert_eq!((report.documents, report.queries, report.passages), (6, 6, 6));
    let systems: Vec<&str> = report.rows.iter().map(|row| row.system.as_str()).collect();
    assert_eq!(systems, ["bm25", "dense", "hybrid_linear", "hybrid_rrf", "planner", "random_path"]);
    for row in &report.rows {
        assert!(row.ndcg_10 > 0.8, "{} ranks a toy collection at {}", row.system, row.ndcg_10);
        assert!(row.tokens_sent > 0.0 && row.evidence_sent > 0.5, "{}", row.system);
        assert_eq!(row.ndcg_10_minus_bm25.n, 6);
    }
    assert_eq!(report.planner.paths.values().sum::<usize>(), 6);
    assert!(report.table().contains("planner chose:"));
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["rows"][0]["system"], "bm25");

    let file = std::fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with(".bm25.run"))
        .unwrap();
    let first = std::fs::read_to_string(file).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(first, "q-bread Q0 bread 1 1.000000 ctxrt-bm25");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rankings_and_intervals_are_the_same_twice() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let measured = |mut report: Report| {
        for row in &mut report.rows {
            (row.latency_p50_us, row.latency_p99_us) = (0, 0);
        }
        report
    };
    let options = Options { queries_max: Some(4), ..Options::default() };
    assert_eq!(measured(run(dir.path(), &options).await), measured(run(dir.path(), &options).await));
}
