//! A retriever over passages in memory: BM25 stands for word overlap, dense for the share of common words.

use super::lock;
use crate::catalogs;
use async_trait::async_trait;
use ctx_contracts::{ExecMetrics, Metered, PluginError, RetrieveRequest, Retriever};
use ctx_types::id::sha256_hex;
use ctx_types::passage::{ByteRange, Locator};
use ctx_types::probe::{IdentifierHits, SourceProbe, TermFrequency};
use ctx_types::{AccessPath, Hit, Micros, Passage, Probe, SourceEntry, SourceName, Tokens};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[derive(Default)]
struct Faults {
    /// Failures still to come, by path.
    failing: Vec<(AccessPath, u32, PluginError)>,
    slow: Vec<(AccessPath, Duration)>,
    describe: Option<PluginError>,
}

/// Serves sources made of (path, text).
#[derive(Default)]
pub struct FakeRetriever {
    entries: Mutex<BTreeMap<SourceName, SourceEntry>>,
    passages: BTreeMap<SourceName, Vec<Passage>>,
    faults: Mutex<Faults>,
    requests: Mutex<Vec<RetrieveRequest>>,
    probes: AtomicU32,
}

impl FakeRetriever {
    /// Adds a source of these (path, text) passages, described like an indexed folder.
    pub fn with_source(mut self, name: &str, texts: &[(&str, &str)]) -> Self {
        let source = catalogs::source(name);
        let passages: Vec<Passage> = texts.iter().map(|(path, text)| passage(&source, path, text)).collect();
        let mut entry = catalogs::files(passages.len() as u64);
        entry.tokens = passages.iter().map(|p| Tokens(u64::from(p.tokens))).sum();
        entry.fingerprint = sha256_hex(texts.iter().map(|(p, t)| format!("{p}\n{t}\n")).collect::<String>().as_bytes());
        lock(&self.entries).insert(source.clone(), entry);
        self.passages.insert(source, passages);
        self
    }

    /// Changes how a source is described.
    pub fn edit_entry(&self, name: &str, change: impl FnOnce(&mut SourceEntry)) {
        change(lock(&self.entries).get_mut(&catalogs::source(name)).expect("a source of this fake"));
    }

    /// The next `times` retrievals by this path fail.
    pub fn fail(&self, path: AccessPath, times: u32, error: PluginError) {
        lock(&self.faults).failing.push((path, times, error));
    }

    /// Retrievals by this path take so long.
    pub fn slow(&self, path: AccessPath, latency: Duration) {
        lock(&self.faults).slow.push((path, latency));
    }

    /// It cannot describe itself.
    pub fn fail_describe(&self, error: PluginError) {
        lock(&self.faults).describe = Some(error);
    }

    /// Every retrieval so far.
    pub fn requests(&self) -> Vec<RetrieveRequest> {
        lock(&self.requests).clone()
    }

    /// Probes so far.
    pub fn probes(&self) -> u32 {
        self.probes.load(Ordering::SeqCst)
    }

    fn fault(&self, path: AccessPath) -> Option<PluginError> {
        let mut faults = lock(&self.faults);
        let (_, left, error) = faults.failing.iter_mut().find(|(p, left, _)| *p == path && *left > 0)?;
        *left -= 1;
        Some(error.clone())
    }
}

fn passage(source: &SourceName, path: &str, text: &str) -> Passage {
    let bytes = ByteRange { start: 0, end: text.len() as u64 };
    let locator = Locator {
        source: source.clone(),
        path: path.to_owned(),
        bytes,
        line_start: 1,
        line_end: u32::try_from(text.lines().count().max(1)).unwrap_or(1),
        section: String::new(),
        also_at: Vec::new(),
    };
    let tokens = u32::try_from(text.split_whitespace().count() * 4 / 3 + 1).unwrap_or(u32::MAX);
    Passage {
        id: format!("{source}/{path}"),
        locator,
        title: path.to_owned(),
        text: text.to_owned(),
        fingerprint: sha256_hex(text.as_bytes()),
        tokens,
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).map(str::to_lowercase).collect()
}

fn score(path: AccessPath, query: &str, passage: &Passage) -> Option<(f64, bool)> {
    let (asked, held) = (words(query), words(&passage.text));
    let common = asked.intersection(&held).count() as f64;
    let identifiers = query.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
    let exact = identifiers.filter(|w| w.chars().any(|c| c.is_ascii_digit()) && w.len() > 2).any(|w| passage.text.contains(w));
    match path {
        AccessPath::Identifier => exact.then_some((1.0, true)),
        AccessPath::Bm25 => (common > 0.0).then_some((common * 2.0, exact)),
        AccessPath::Dense => Some((common / (asked.len() + held.len()).max(1) as f64 * 2.0, exact)),
        AccessPath::Whole => Some((0.0, exact)),
        AccessPath::HybridLinear | AccessPath::HybridRrf | AccessPath::Table => None,
    }
}

#[async_trait]
impl Retriever for FakeRetriever {
    fn name(&self) -> &str {
        "fake"
    }

    async fn describe(&self) -> Result<BTreeMap<SourceName, SourceEntry>, PluginError> {
        match lock(&self.faults).describe.clone() {
            Some(error) => Err(error),
            None => Ok(lock(&self.entries).clone()),
        }
    }

    async fn probe(&self, goal: &str, sources: &[SourceName]) -> Result<Probe, PluginError> {
        self.probes.fetch_add(1, Ordering::SeqCst);
        let mut probe = Probe { goal_tokens: Tokens(words(goal).len() as u64 + 2), ..Probe::default() };
        for name in sources {
            let Some(passages) = self.passages.get(name) else { continue };
            let holding = |word: &str| passages.iter().filter(|p| words(&p.text).contains(word)).count() as u64;
            let literal = passages.iter().filter(|p| score(AccessPath::Identifier, goal, p).is_some()).count() as u64;
            let terms: Vec<TermFrequency> = words(goal).into_iter().map(|term| TermFrequency { passages: holding(&term), term }).collect();
            let lookups = u32::try_from(terms.len()).unwrap_or(u32::MAX);
            let identifiers = if literal > 0 { vec![IdentifierHits { identifier: "fake".into(), passages: literal }] } else { Vec::new() };
            probe.sources.insert(name.clone(), SourceProbe { terms, identifiers, centroid_similarity: Some(4_000), table: None, lookups });
        }
        Ok(probe)
    }

    async fn retrieve(&self, request: &RetrieveRequest) -> Result<Metered<Vec<Hit>>, PluginError> {
        lock(&self.requests).push(request.clone());
        let latency = lock(&self.faults).slow.iter().find(|(path, _)| *path == request.path).map(|(_, latency)| *latency);
        if let Some(latency) = latency {
            tokio::time::sleep(latency).await;
        }
        if let Some(error) = self.fault(request.path) {
            return Err(error);
        }
        let passages = self.passages.get(&request.source).map(Vec::as_slice).unwrap_or_default();
        let mut found: Vec<(f64, bool, &Passage)> =
            passages.iter().filter_map(|p| score(request.path, &request.query, p).map(|(score, exact)| (score, exact, p))).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.id.cmp(&b.2.id)));
        found.truncate(usize::try_from(request.k).unwrap_or(usize::MAX));
        let hits: Vec<Hit> = found
            .into_iter()
            .zip(1u32..)
            .map(|((score, exact, passage), rank)| Hit { passage: passage.clone(), score, rank, path: request.path, exact })
            .collect();
        let bytes = hits.iter().map(|hit| hit.passage.text.len() as u64).sum();
        let metrics = ExecMetrics {
            rows: Some(hits.len() as u64),
            bytes: Some(bytes),
            chunks: Some(passages.len() as u64),
            cache_hits: None,
            elapsed: Micros(10),
        };
        Ok(Metered { value: hits, metrics })
    }
}
