//! A reranking model that is written down, and one that reorders as such a record says. What reranks in this process is a function
//! of the list and is run again.

use super::RecordedRerank;
use super::models::Tape;
use async_trait::async_trait;
use ctx_contracts::{ErrorKind, ExecMetrics, Metered, PluginError, RerankRequest, Reranker};
use ctx_types::Hit;
use ctx_types::catalog::RerankerEntry;
use ctx_types::id::sha256_hex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// These rerankers, those that call a model behind a recorder.
pub(super) fn recorded(rerankers: Vec<Arc<dyn Reranker>>, tape: &Arc<Tape>) -> Vec<Arc<dyn Reranker>> {
    let wrap = |reranker: Arc<dyn Reranker>| -> Arc<dyn Reranker> {
        if reranker.describe().calls == 0 { reranker } else { Arc::new(Recorder { reranker, tape: tape.clone() }) }
    };
    rerankers.into_iter().map(wrap).collect()
}

/// The rerankers that run in this process, and a player for each recorded one that calls a model.
pub(super) fn played(rerankers: Vec<Arc<dyn Reranker>>, known: &[RerankerEntry], recorded: &[RecordedRerank]) -> Vec<Arc<dyn Reranker>> {
    let mut reel: BTreeMap<(String, String), Orders> = BTreeMap::new();
    for list in recorded {
        reel.entry((list.reranker.clone(), list.request.clone())).or_default().extend(list.result.clone());
    }
    let reel = Arc::new(Mutex::new(reel));
    let player = |entry: &RerankerEntry| Arc::new(Player { entry: entry.clone(), reel: reel.clone() }) as Arc<dyn Reranker>;
    let local = rerankers.into_iter().filter(|reranker| reranker.describe().calls == 0);
    local.chain(known.iter().filter(|entry| entry.calls > 0).map(player)).collect()
}

/// Hash of what is sent.
fn request_hash(name: &str, request: &RerankRequest<'_>) -> String {
    let mut text = format!("{name}\n{}\n{}\n", request.query.len(), request.query);
    for hit in &request.hits {
        text.push_str(&format!("{}\n{}\n", hit.passage.text.len(), hit.passage.text));
    }
    format!("sha256:{}", sha256_hex(text.as_bytes()))
}

fn key(hit: &Hit) -> (&str, &str) {
    (hit.passage.locator.source.as_str(), hit.passage.id.as_str())
}

struct Recorder {
    reranker: Arc<dyn Reranker>,
    tape: Arc<Tape>,
}

#[async_trait]
impl Reranker for Recorder {
    fn describe(&self) -> RerankerEntry {
        self.reranker.describe()
    }

    async fn rerank(&self, request: RerankRequest<'_>) -> Result<Metered<Vec<Hit>>, PluginError> {
        let name = self.describe().name;
        let sent = request_hash(&name, &request);
        let given: Vec<Hit> = request.hits.clone();
        let found = self.reranker.rerank(request).await;
        let place = |hit: &Hit| given.iter().position(|g| key(g) == key(hit)).and_then(|at| u32::try_from(at).ok());
        let result = found.as_ref().map(|found| found.value.iter().filter_map(place).collect()).map_err(PluginError::clone);
        self.tape.reranked(RecordedRerank { reranker: name, request: sent, result: Some(result) });
        found
    }
}

type Orders = VecDeque<Result<Vec<u32>, PluginError>>;

struct Player {
    entry: RerankerEntry,
    reel: Arc<Mutex<BTreeMap<(String, String), Orders>>>,
}

#[async_trait]
impl Reranker for Player {
    fn describe(&self) -> RerankerEntry {
        self.entry.clone()
    }

    async fn rerank(&self, request: RerankRequest<'_>) -> Result<Metered<Vec<Hit>>, PluginError> {
        let sent = request_hash(&self.entry.name, &request);
        let recorded = {
            let mut reel = self.reel.lock().unwrap_or_else(PoisonError::into_inner);
            reel.get_mut(&(self.entry.name.clone(), sent.clone())).and_then(VecDeque::pop_front)
        };
        let Some(order) = recorded else {
            let doing = format!("replaying a list of reranker {}", self.entry.name);
            let error = PluginError::new(ErrorKind::Internal, doing, format!("no answer to this request ({sent}) was recorded"));
            return Err(error.with_hint("the sources have changed since the run was recorded"));
        };
        let value: Vec<Hit> = order?
            .iter()
            .zip(1..)
            .filter_map(|(&at, rank)| request.hits.get(usize::try_from(at).ok()?).map(|hit| Hit { rank, ..hit.clone() }))
            .collect();
        Ok(Metered { metrics: ExecMetrics { rows: u64::try_from(value.len()).ok(), ..ExecMetrics::default() }, value })
    }
}
