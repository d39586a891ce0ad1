//! A retriever of your own, registered by name beside the embedded one: what it describes becomes part of the catalog,
//! what it cannot do is never planned.

#![allow(clippy::print_stdout)]

use async_trait::async_trait;
use ctx_contracts::{ExecMetrics, Metered, PluginError, RetrieveRequest, Retriever};
use ctx_runtime::{Config, Runtime};
use ctx_types::catalog::{AccessCapability, SourceState};
use ctx_types::passage::Locator;
use ctx_types::{
    AccessPath, ByteRange, Certainty, Estimated, Goal, Hit, Micros, Passage, Probe, Sensitivity, SourceEntry, SourceKind, SourceName,
    Tokens,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const NOTES: [&str; 3] = [
    "The staging cluster is restarted every night at 03:15 by the job nightly-restart.",
    "Invoices are sent on the first working day of a month.",
    "The office door code changes every quarter.",
];

/// Notes held in memory, found by the words they share with the question.
struct Notes {
    source: SourceName,
}

#[async_trait]
impl Retriever for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    async fn describe(&self) -> Result<BTreeMap<SourceName, SourceEntry>, PluginError> {
        let tokens: u64 = NOTES.iter().map(|note| note.split_whitespace().count() as u64 * 2).sum();
        let latency = |us| Estimated::new(Micros(us), Micros(us), Micros(us), Certainty::Configured, "a scan of three notes");
        let entry = SourceEntry {
            kind: SourceKind::Files,
            state: SourceState::Ready,
            documents: NOTES.len() as u64,
            passages: NOTES.len() as u64,
            bytes: NOTES.iter().map(|note| note.len() as u64).sum(),
            tokens: Tokens(tokens),
            passage_tokens: [20, 25, 30, 30],
            vocabulary: 40,
            languages: BTreeMap::from([("en".to_owned(), NOTES.len() as u64)]),
            embedding: None,
            sensitivity: Sensitivity::Internal,
            sensitive_values: BTreeMap::new(),
            readable_by: BTreeSet::new(),
            fingerprint: ctx_types::id::sha256_hex(NOTES.concat().as_bytes()),
            generation: 1,
            tables: Vec::new(),
            access: vec![AccessCapability { path: AccessPath::Bm25, latency_p50: latency(50), latency_p90: latency(90) }],
        };
        Ok(BTreeMap::from([(self.source.clone(), entry)]))
    }

    async fn probe(&self, _goal: &str, _sources: &[SourceName]) -> Result<Probe, PluginError> {
        Ok(Probe::default())
    }

    async fn retrieve(&self, request: &RetrieveRequest) -> Result<Metered<Vec<Hit>>, PluginError> {
        let words: BTreeSet<String> = request.query.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
        let shared =
            |note: &str| note.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 3 && words.contains(*w)).count();
        let mut scored: Vec<(usize, usize)> =
            NOTES.iter().enumerate().map(|(at, note)| (shared(note), at)).filter(|(score, _)| *score > 0).collect();
        scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        let hits: Vec<Hit> = scored
            .iter()
            .take(request.k as usize)
            .enumerate()
            .map(|(rank, (score, at))| Hit {
                passage: self.passage(*at),
                score: *score as f64 * 4.0,
                rank: rank as u32 + 1,
                path: AccessPath::Bm25,
                exact: false,
            })
            .collect();
        Ok(Metered { metrics: ExecMetrics { rows: Some(hits.len() as u64), ..ExecMetrics::default() }, value: hits })
    }
}

impl Notes {
    fn passage(&self, at: usize) -> Passage {
        let text = NOTES[at].to_owned();
        let line = at as u32 + 1;
        Passage {
            id: format!("note-{at}"),
            locator: Locator {
                source: self.source.clone(),
                path: "notes".to_owned(),
                bytes: ByteRange { start: 0, end: text.len() as u64 },
                line_start: line,
                line_end: line,
                section: String::new(),
                also_at: Vec::new(),
            },
            title: format!("note {line}"),
            fingerprint: ctx_types::id::sha256_hex(text.as_bytes()),
            tokens: text.split_whitespace().count() as u32 * 2,
            text,
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let source = SourceName::new("notes")?;
    let mut registry = ctx_embedded::registry()?;
    let served = source.clone();
    registry.retriever("notes", "this example", move |_| Ok(Arc::new(Notes { source: served.clone() }) as Arc<dyn Retriever>))?;
    let taken = registry.retriever("notes", "another crate", |_| unreachable!("never constructed")).err();
    println!("a second plugin of this name: {}", taken.map(|e| e.to_string()).unwrap_or_default());

    let mut config = Config::default();
    config.store = Some(std::env::temp_dir().join("ctxrt-custom-plugin"));
    config.runtime.plugins.retriever = vec!["local".to_owned(), "notes".to_owned()];
    let runtime = Runtime::from_config(config, &registry).await?;

    let report = runtime.run(&Goal::new("When is the staging cluster restarted?").with_source(source)).await?;
    println!("{:?}: {}", report.outcome.status, report.outcome.answer);
    anyhow::ensure!(report.context.iter().any(|item| item.passage.text.contains("03:15")), "the note reaches the context");
    Ok(())
}
