//! Models over HTTP: any OpenAI-compatible endpoint (llama.cpp, vLLM, Ollama, a LiteLLM proxy, hosted ones).
//!
//! [`OpenAiCompatible`] streams, so that the time to the first token is measured; it reports usage as the provider does and
//! says *unknown* where the provider says nothing. Keys come from the environment through the caller and reach neither an
//! error nor a log. Dropping a call aborts the request.

mod client;
mod decimal;
mod discovery;
mod failure;
mod prices;
mod rerank;
mod sse;
mod tier;
mod wire;

pub use client::OpenAiCompatible;
pub use decimal::{Written, pico_dollars};
pub use prices::{Listed, PriceMap, PriceMapError, built_in};
pub use rerank::HttpReranker;
pub use tier::{Secret, TierSettings};
