//! Tuning a generated collection on which one setting is known to matter: the first passage always answers, so whatever else is
//! sent costs tokens and brings nothing.
#![allow(clippy::unwrap_used)] // a test that cannot be set up has failed

use ctx_eval::{Tuned, TuningOptions, is_train, tune};
use ctx_runtime::Config;
use std::path::Path;

const QUERIES: usize = 20;
const NAMES: [&str; 10] = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "indigo", "juniper"];

/// Every question's words stand in one document, most of them in three more.
fn write(folder: &Path, judged: impl Fn(usize) -> String) {
    let (mut corpus, mut queries, mut judgments) = (String::new(), String::new(), String::new());
    for query in 0..QUERIES {
        let (a, b) = (NAMES[query % 10], NAMES[(query / 10 * 3 + query + 1) % 10]);
        let topic = format!("{a} {b} turbine number {query}");
        let filler = "The log was kept by the crew of the station over many quiet years and nobody read it. ".repeat(6);
        corpus.push_str(&format!(
            "{{\"_id\": \"right-{query}\", \"text\": \"The {topic} was inspected in spring. {topic} runs. {filler}\"}}\n"
        ));
        for other in 0..3 {
            let text = format!("A {a} pump near the {b} gate, unit {other} of line {query}, has no turbine. {filler}");
            corpus.push_str(&format!("{{\"_id\": \"near-{query}-{other}\", \"text\": \"{text}\"}}\n"));
        }
        queries.push_str(&format!("{{\"_id\": \"q{query}\", \"text\": \"when was the {topic} inspected\"}}\n"));
        judgments.push_str(&format!("q{query}\t{}\t1\n", judged(query)));
    }
    std::fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
    std::fs::write(folder.join("queries.jsonl"), queries).unwrap();
    std::fs::write(folder.join("qrels.tsv"), judgments).unwrap();
}

fn right(query: usize) -> String {
    format!("right-{query}")
}

async fn tuned(folder: &Path, seed: u64) -> Tuned {
    let options = TuningOptions { trials: 6, seed, token_usd_per_million: 60.0, ..TuningOptions::default() };
    tune(folder, &Config::default(), &options, &|_| {}, &|_| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_setting_that_matters_is_found_and_the_choice_never_sees_what_judges_it() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), right);
    let found = tuned(dir.path(), 1).await;
    let table = found.table();
    assert!(found.pays(), "{table}");
    assert!(found.test.tuned.tokens < found.test.configured.tokens && found.test.evidence_gain.mean >= 0.0, "{table}");
    let fragment = found.fragment().unwrap();
    assert!(Config::from_yaml("tuned.yaml", &fragment, &[]).is_ok(), "{fragment}");
    let idle = |key: &str| found.settings.iter().find(|setting| setting.key == key).unwrap().idle.clone();
    assert!(idle("costmodel.weights.cost").is_some_and(|why| why.contains("no model is called")), "{table}");
    assert_eq!(idle("retrieval.final_k"), None, "{table}");
    assert!(found.not_tuned.contains_key("parallel workers") && found.not_tuned.contains_key("prompt layout"));
    assert_eq!(found.train.queries + found.test.queries, QUERIES);

    assert_eq!(tuned(dir.path(), 1).await, found, "the same seed");

    // Other right answers of the held-out half: another verdict perhaps, never another choice.
    let other = tempfile::tempdir().unwrap();
    write(other.path(), |query| if is_train(&format!("q{query}")) { right(query) } else { format!("near-{query}-0") });
    let blind = tuned(other.path(), 1).await;
    assert_eq!((&blind.chosen, &blind.train), (&found.chosen, &found.train));
    assert_ne!(blind.test, found.test);
}
