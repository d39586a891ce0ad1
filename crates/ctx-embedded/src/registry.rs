//! Names of the embedded default in a registry, and the short way to a runtime over it.

use crate::contracts::{Embedded, stored};
use crate::engine::{Engine, EngineOptions};
use crate::families::KnownTokenizer;
use crate::policy::policy;
use crate::recompute::Recomputed;
use crate::tokens::O200k;
use ctx_contracts::{
    Compressor, ErrorKind, Model, PluginError, Policy, Reasoner, Reranker, Retriever, Store, TokenCounter, TraceSink, Verifier,
};
use ctx_http_model::{HttpReranker, OpenAiCompatible, PriceMap, Secret, TierSettings};
use ctx_local::compress::{Scoring, SentenceCompressor};
use ctx_local::{AnswersQuestion, Citations, Computed, Extractive, FeatureReranker, SingleShot, Support};
use ctx_runtime::config::Tier;
use ctx_runtime::{BuildContext, Config, Contract, Registry, RegistryError, Runtime, RuntimeError};
use ctx_types::catalog::Prices;
use std::sync::Arc;

/// Who registers these names, for messages.
const BY: &str = "ctx-embedded";
/// Where a tier without an address is looked for.
const DEFAULT_BASE_URL: &str = "http://localhost:11434/v1";

/// Passages that a reranking model looks at: a cross-encoder reads every one of them.
const RERANK_DEPTH: u32 = 50;

/// A registry with everything embedded; the store opens in the folder that the configuration names.
pub fn registry() -> Result<Registry, RegistryError> {
    filled(None)
}

/// The same, over an engine that is open already.
pub fn registry_over(engine: Arc<Engine>) -> Result<Registry, RegistryError> {
    filled(Some(engine))
}

/// A runtime over the embedded default, and its engine. `options` hold where the configuration is silent.
pub async fn open(config: Config, options: EngineOptions) -> Result<(Runtime, Arc<Engine>), RuntimeError> {
    if let Some(file) = config.costmodel.prices.as_ref().filter(|_| config.models.is_empty()) {
        // Nobody would read it: a file that is wrong is told all the same.
        PriceMap::load(file).map_err(bad_prices)?;
    }
    let engine = Arc::new(engine(&config, options)?);
    let registry = registry_over(Arc::clone(&engine))?;
    Ok((Runtime::from_config(config, &registry).await?, engine))
}

/// An engine as configured.
pub fn engine(config: &Config, options: EngineOptions) -> Result<Engine, PluginError> {
    let Some(root) = &config.store else {
        let error = PluginError::new(ErrorKind::BadRequest, "opening the store", "no folder is configured");
        return Err(error.with_hint("give --store or CTXRT_STORE"));
    };
    let durability = stored(config.runtime.durability);
    Ok(Engine::open(root.clone(), config.sources.clone(), EngineOptions { durability, ..options }))
}

fn filled(engine: Option<Arc<Engine>>) -> Result<Registry, RegistryError> {
    let mut registry = Registry::new();
    let given = engine.clone();
    registry.store("duckdb", BY, move |context| Ok(Arc::new(embedded(context, &given)?) as Arc<dyn Store>))?;
    let given = engine.clone();
    registry.retriever("local", BY, move |context| Ok(Arc::new(embedded(context, &given)?) as Arc<dyn Retriever>))?;
    let given = engine.clone();
    registry.verifier("recomputed", BY, move |context| Ok(Arc::new(Recomputed::new(embedded(context, &given)?)) as Arc<dyn Verifier>))?;
    registry.trace_sink("store", BY, move |context| Ok(Arc::new(embedded(context, &engine)?) as Arc<dyn TraceSink>))?;
    registry.default_names(Contract::TraceSink, &["store"]);
    registry.policy("builtin", BY, |context| Ok(Arc::new(policy(context.config)?) as Arc<dyn Policy>))?;
    registry.token_counter("o200k", BY, |_| Ok(Arc::new(O200k::new()) as Arc<dyn TokenCounter>))?;
    for name in ["cl100k", "p50k", "r50k"] {
        let unknown = move || PluginError::new(ErrorKind::Internal, "making a token counter", format!("{name} is not part of this build"));
        let counter = move || KnownTokenizer::named(name).ok_or_else(unknown);
        registry.token_counter(name, BY, move |_| Ok(Arc::new(counter()?) as Arc<dyn TokenCounter>))?;
    }
    registry.default_names(Contract::TokenCounter, &["o200k", "cl100k"]);
    registry.model("openai_compatible", BY, |tier, context| {
        let settings = tier_settings(tier, price_table(context)?);
        Ok(Arc::new(OpenAiCompatible::new(settings)?) as Arc<dyn Model>)
    })?;
    registry.reasoner("extractive", BY, |_| Ok(Arc::new(Extractive) as Arc<dyn Reasoner>))?;
    registry.reasoner("single_shot", BY, |_| Ok(Arc::new(SingleShot) as Arc<dyn Reasoner>))?;
    registry.reasoner("computed", BY, |_| Ok(Arc::new(Computed) as Arc<dyn Reasoner>))?;
    registry.default_names(Contract::Reasoner, &["extractive", "single_shot", "computed"]);
    registry.verifier("answers_question", BY, |_| Ok(Arc::new(AnswersQuestion) as Arc<dyn Verifier>))?;
    registry.verifier("support", BY, |_| Ok(Arc::new(Support) as Arc<dyn Verifier>))?;
    registry.verifier("citations", BY, |_| Ok(Arc::new(Citations) as Arc<dyn Verifier>))?;
    registry.default_names(Contract::Verifier, &["answers_question", "support", "citations", "recomputed"]);
    registry.reranker("features", BY, |_| Ok(Arc::new(FeatureReranker) as Arc<dyn Reranker>))?;
    registry.default_names(Contract::Reranker, &["features"]);
    registry.reranking("openai_compatible", BY, |tier, context| {
        let price = tier.price.as_ref().and_then(|price| price.input);
        Ok(Arc::new(HttpReranker::new(tier_settings(tier, price_table(context)?), RERANK_DEPTH, price)?) as Arc<dyn Reranker>)
    })?;
    for scoring in Scoring::ALL {
        registry.compressor(scoring.as_str(), BY, move |_| Ok(Arc::new(SentenceCompressor(scoring)) as Arc<dyn Compressor>))?;
    }
    registry.default_names(Contract::Compressor, &Scoring::ALL.map(Scoring::as_str));
    Ok(registry)
}

/// The engine that was given, or the one that the plugins of this runtime share.
fn embedded(context: &BuildContext<'_>, given: &Option<Arc<Engine>>) -> Result<Embedded, PluginError> {
    if let Some(engine) = given {
        return Ok(Embedded::new(Arc::clone(engine)));
    }
    let shared = context.shared.get_or_make(|| {
        let engine = engine(context.config, EngineOptions::default())?;
        Ok::<_, PluginError>(Embedded::new(Arc::new(engine)))
    })?;
    Ok(Embedded::clone(&shared))
}

/// The configured price map, read once for all tiers.
fn price_table(context: &BuildContext<'_>) -> Result<Option<Arc<PriceMap>>, PluginError> {
    let Some(file) = &context.config.costmodel.prices else { return Ok(None) };
    context.shared.get_or_make(|| PriceMap::load(file).map_err(bad_prices)).map(Some)
}

fn bad_prices(error: ctx_http_model::PriceMapError) -> PluginError {
    PluginError::new(ErrorKind::BadRequest, "reading prices", error.to_string())
}

/// A tier as its wire adapter wants it. The key comes from the environment and goes nowhere else.
fn tier_settings(tier: &Tier, table: Option<Arc<PriceMap>>) -> TierSettings {
    let key = tier.api_key_env.as_ref().map(|name| (name, std::env::var(name).ok().filter(|value| !value.trim().is_empty())));
    TierSettings {
        name: tier.name.clone(),
        base_url: tier.base_url.clone().unwrap_or_else(|| DEFAULT_BASE_URL.to_owned()),
        model: tier.model.clone().unwrap_or_default(),
        api_key: key.as_ref().and_then(|(_, value)| value.as_deref()).map(Secret::new),
        missing_key: key.filter(|(_, value)| value.is_none()).map(|(name, _)| name.clone()),
        local: tier.local,
        accepts: tier.accepts,
        good_for: tier.good_for.clone(),
        context_window: tier.context_window.or_else(|| tier.requested_window()),
        max_output: tier.max_output_tokens,
        prices: tier.price.as_ref().map(|price| Prices {
            input: price.input,
            cached_input: price.cached_input,
            cache_write: price.cache_write,
            output: price.output,
            provenance: "configured".to_owned(),
            ..Prices::default()
        }),
        table,
        tokenizer: tier.tokenizer.clone(),
        request: tier.request.clone(),
    }
}
