//! Plugin contracts: object-safe traits, one file each. No runtime, no client, almost no dependencies: a plugin author
//! compiles in a blink.
//!
//! Plugins are called *before* planning, to describe themselves and to be probed, and *after* it, to be run; never in
//! between. Whatever a plugin describes becomes a catalog entry; what no plugin describes is never planned.
//!
//! Rules every implementation keeps (the conformance suites of `ctx-testkit` check them):
//! - dropping the future cancels the work and stops the spend;
//! - errors are [`PluginError`]s with a kind, never panics, and never hold a secret;
//! - text from users and sources is data, never a grammar, never code;
//! - every operator returns its [`ExecMetrics`].
//!
//! ```
//! use ctx_contracts::{ErrorKind, PluginError};
//!
//! let error = PluginError::new(ErrorKind::RateLimited, "calling model local", "the endpoint answered 429");
//! assert!(error.retryable());
//! ```

mod clock;
mod compressor;
mod embedder;
mod error;
mod journal;
mod knowledge;
mod metrics;
mod model;
mod policy;
mod reasoner;
mod reranker;
mod retriever;
mod router;
mod scheduler;
mod session;
mod source;
mod store;
mod token_counter;
mod tool;
mod trace_sink;
mod verifier;

pub use clock::Clock;
pub use compressor::{CompressRequest, Compressed, Compressor};
pub use embedder::Embedder;
pub use error::{ErrorKind, PluginError, Taken};
pub use journal::{Admit, Durability, Fold, Journal, Recorded};
pub use knowledge::{Fact, Knowledge};
pub use metrics::{ExecMetrics, Metered};
pub use model::{FinishReason, Message, Model, ModelRequest, ModelResponse, Role};
pub use policy::{Decision, ModelFacts, Policy, PolicyFacts, PolicyQuestion, SourceFacts};
pub use reasoner::{Answer, ContextPassage, ModelAccess, ReasonRequest, Reasoner};
pub use reranker::{RerankRequest, Reranker};
pub use retriever::{RetrieveRequest, Retriever};
pub use router::{Endpoint, Router};
pub use scheduler::Scheduler;
pub use session::{SessionStore, Turn};
pub use source::{Source, SourceDocument};
pub use store::{Freshness, IndexEvent, IndexOptions, IndexReport, SkippedFile, Store};
pub use token_counter::TokenCounter;
pub use tool::{ToolCall, ToolExecutor, ToolResult};
pub use trace_sink::TraceSink;
pub use verifier::{Verifier, VerifyRequest};
