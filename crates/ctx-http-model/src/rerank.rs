//! A reranking model over the common `/rerank` wire: `{model, query, documents, top_n}` in, `{results: [{index,
//! relevance_score}]}` out (Jina, Cohere, vLLM, llama.cpp and Text Embeddings Inference speak it).
//!
//! Scores of such models have no common scale: they order, they are not probabilities.

use crate::{TierSettings, failure};
use async_trait::async_trait;
use ctx_contracts::{ErrorKind, ExecMetrics, Metered, PluginError, RerankRequest, Reranker};
use ctx_types::catalog::{Locality, RerankGain, RerankerEntry};
use ctx_types::{Certainty, Estimated, Hit, Micros, PicoUsd, Ppm, Sensitivity, Tokens};
use serde::Deserialize;
use std::time::{Duration, Instant};

/// Longest wait for one list.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest answer read: indices and scores of a few hundred passages.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Growth of P(evidence within the quota) by a reranking model. A guess, wide: nothing is measured until runs are.
const GAIN: [u32; 3] = [50_000, 0, 200_000];
/// Contexts that it is assumed for: larger ones hold most of the list in any order.
const GAINS_UP_TO: Tokens = Tokens(4_000);
/// A cross-encoder over fifty passages on a small machine, until runs are measured.
const LATENCY: [u64; 3] = [400_000, 50_000, 3_000_000];

/// A reranking model behind an endpoint.
#[derive(Debug)]
pub struct HttpReranker {
    settings: TierSettings,
    depth: u32,
    price: Option<PicoUsd>,
    http: reqwest::Client,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    index: usize,
    #[serde(alias = "score")]
    relevance_score: f64,
}

impl HttpReranker {
    /// A client; nothing is sent yet. `price` is that of a token read.
    pub fn new(settings: TierSettings, depth: u32, price: Option<PicoUsd>) -> Result<HttpReranker, PluginError> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .user_agent(concat!("ctxrt/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| PluginError::new(ErrorKind::Internal, format!("preparing reranker {}", settings.model), e.to_string()))?;
        Ok(HttpReranker { settings, depth, price, http })
    }

    async fn ask(&self, query: &str, hits: &[Hit]) -> Result<Vec<Scored>, PluginError> {
        let name = &self.settings.name;
        let documents: Vec<&str> = hits.iter().map(|h| h.passage.text.as_str()).collect();
        let body = serde_json::json!({ "model": self.settings.model, "query": query, "documents": documents, "top_n": hits.len() });
        let body = self.settings.told(body);
        let mut call = self.http.post(self.settings.url("rerank")).timeout(TIMEOUT).json(&body);
        if let Some(key) = &self.settings.api_key {
            call = call.bearer_auth(key.expose());
        }
        let mut response = call.send().await.map_err(|e| failure::of_transport(name, &e))?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| failure::of_transport(name, &e))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > BODY_BYTES_MAX {
                return Err(failure::of_stream(name, "the answer is endless"));
            }
        }
        if !status.is_success() {
            return Err(failure::of_status(name, status, None, &String::from_utf8_lossy(&bytes)));
        }
        let answer: Answer = serde_json::from_slice(&bytes).map_err(|_| failure::of_stream(name, "it is not a list of results"))?;
        Ok(answer.results)
    }
}

#[async_trait]
impl Reranker for HttpReranker {
    fn describe(&self) -> RerankerEntry {
        let locality = self.settings.locality();
        let [value, low, high] = GAIN.map(Ppm);
        let [p50, fast, p90] = LATENCY.map(Micros);
        RerankerEntry {
            name: self.settings.name.to_string(),
            depth: self.depth,
            gains: vec![RerankGain {
                up_to: GAINS_UP_TO,
                gain: Estimated::new(value, low, high, Certainty::Prior, "reranking models, a guess"),
            }],
            latency: Estimated::new(p50, fast, p90, Certainty::Prior, "a cross-encoder on a small machine, a guess"),
            accepts: self.settings.accepts.unwrap_or(match locality {
                Locality::Local => Sensitivity::Restricted,
                Locality::Remote => Sensitivity::Internal,
            }),
            price: self.price.or((locality == Locality::Local).then_some(PicoUsd(0))),
            locality,
            calls: 1,
        }
    }

    /// Passages that the endpoint leaves out keep their order behind those it names.
    async fn rerank(&self, request: RerankRequest<'_>) -> Result<Metered<Vec<Hit>>, PluginError> {
        let start = Instant::now();
        let mut results = if request.hits.is_empty() { Vec::new() } else { self.ask(request.query, &request.hits).await? };
        results.retain(|r| r.relevance_score.is_finite());
        results.sort_by(|a, b| b.relevance_score.total_cmp(&a.relevance_score).then(a.index.cmp(&b.index)));
        let mut hits: Vec<Option<Hit>> = request.hits.into_iter().map(Some).collect();
        let mut out: Vec<Hit> = Vec::with_capacity(hits.len());
        for result in results {
            let Some(slot) = hits.get_mut(result.index) else {
                return Err(failure::of_stream(&self.settings.name, format!("it names passage {} of {}", result.index, hits.len())));
            };
            out.extend(slot.take().map(|hit| Hit { score: result.relevance_score, ..hit }));
        }
        out.extend(hits.into_iter().flatten());
        out.iter_mut().zip(1..).for_each(|(hit, rank)| hit.rank = rank);
        let elapsed = Micros(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
        Ok(Metered { metrics: ExecMetrics { rows: Some(out.len() as u64), elapsed, ..ExecMetrics::default() }, value: out })
    }
}
