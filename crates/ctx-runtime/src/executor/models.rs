//! The only way from a strategy to a model: reserve the call's bound, call, settle.
//!
//! A call that would break a budget is not made. A tier that may not see the run's data is refused here too, whoever
//! asked. Missing usage is charged at our own count and marked; statistics never see it.

use super::Context;
use crate::ledger::{Actual, Bound, Refusal, Reservation};
use async_trait::async_trait;
use ctx_contracts::{ErrorKind, ModelAccess, ModelRequest, ModelResponse, PluginError};
use ctx_types::catalog::TokenizerFamily;
use ctx_types::estimate::TokenClasses;
use ctx_types::id::sha256_hex;
use ctx_types::{ModelEntry, NanoUsd, PicoUsd, Tokens};
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens a wire adds per message (role, separators): the largest of the known chat formats, rounded up.
const MESSAGE_OVERHEAD: u64 = 8;
/// Observations from which an unknown tokenizer's learned ratio is trusted as a bound.
const RATIO_TRUSTED_FROM: u32 = 50;

/// What one node's calls were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) sent: Vec<String>,
    pub(crate) model: Option<String>,
    pub(crate) cost: NanoUsd,
    pub(crate) tokens: Tokens,
    pub(crate) made: u32,
    /// Whether a usage report or a price was missing: then the figures are our own.
    pub(crate) incomplete: bool,
}

/// Models behind the run's ledger, for one node.
pub(crate) struct Ledgered {
    context: Arc<Context>,
    calls: Mutex<Calls>,
}

impl Ledgered {
    pub(crate) fn new(context: Arc<Context>) -> Ledgered {
        Ledgered { context, calls: Mutex::default() }
    }

    pub(crate) fn calls(&self) -> Calls {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record(&self, change: impl FnOnce(&mut Calls)) {
        change(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn entry(&self, request: &ModelRequest) -> Result<&ModelEntry, PluginError> {
        let doing = || format!("calling model {}", request.model);
        let prepared = &self.context.prepared;
        let entry = prepared.catalog.models.get(&request.model);
        let entry = entry.ok_or_else(|| PluginError::new(ErrorKind::Internal, doing(), "no such tier was planned with"))?;
        let denied = prepared.denials.iter().find(|denial| denial.source.is_none() && denial.model.as_ref() == Some(&request.model));
        if let Some(denial) = denied {
            return Err(PluginError::new(ErrorKind::Refused, doing(), format!("policy {}: {}", denial.rule, denial.reason)));
        }
        if entry.accepts < self.context.sensitivity {
            let cause = format!("it accepts up to {}, the run is {}", entry.accepts, self.context.sensitivity);
            return Err(PluginError::new(ErrorKind::Refused, doing(), cause));
        }
        Ok(entry)
    }

    /// Most input tokens that the messages can be.
    fn input_bound(&self, entry: &ModelEntry, request: &ModelRequest) -> Tokens {
        let count = |family: &str| {
            let counter = self.context.inner.parts.counters.get(family)?;
            Some(request.messages.iter().map(|m| u64::from(counter.count(&m.content)) + MESSAGE_OVERHEAD).sum::<u64>())
        };
        let bytes = || request.messages.iter().map(|m| m.content.len() as u64 + MESSAGE_OVERHEAD).sum::<u64>();
        Tokens(match &entry.tokenizer {
            TokenizerFamily::O200k => count("o200k").unwrap_or_else(bytes),
            TokenizerFamily::Cl100k => count("cl100k").unwrap_or_else(bytes),
            TokenizerFamily::Other { multiplier_milli: m } if m.certainty.observations() >= RATIO_TRUSTED_FROM => {
                count("o200k").map_or_else(bytes, |tokens| (tokens * u64::from(m.high)).div_ceil(1_000))
            }
            TokenizerFamily::Other { .. } => bytes(),
        })
    }

    async fn reserve(&self, request: &ModelRequest, bound: Bound) -> Result<Reservation, PluginError> {
        self.context.ledger.reserve(bound).await.map_err(|refusal| {
            let kind = match refusal {
                Refusal::Cost { .. } => ErrorKind::BudgetUsd,
                Refusal::Tokens { .. } => ErrorKind::BudgetTokens,
                Refusal::Calls { .. } => ErrorKind::BudgetCalls,
            };
            PluginError::new(kind, format!("calling model {}", request.model), refusal.to_string())
                .with_hint("raise the limit or ask for less")
        })
    }
}

#[async_trait]
impl ModelAccess for Ledgered {
    async fn complete(&self, mut request: ModelRequest) -> Result<ModelResponse, PluginError> {
        let entry = self.entry(&request)?.clone();
        let limits = &self.context.prepared.limits;
        let caps = [Some(request.max_output), limits.max_output_tokens, entry.max_output];
        request.max_output = caps.into_iter().flatten().filter(|cap| cap.0 > 0).min().unwrap_or(entry.output_tokens.high);
        if let Some(left) = self.context.time_left() {
            request.timeout = request.timeout.min(left);
        }
        let input = self.input_bound(&entry, &request);
        let bound = Bound { cost: cost_bound(&entry, input, request.max_output), tokens: input + request.max_output };
        let reservation = self.reserve(&request, bound).await?;
        let model = self.context.inner.parts.models.get(&request.model).cloned();
        let Some(model) = model else {
            reservation.release();
            return Err(PluginError::new(ErrorKind::Internal, format!("calling model {}", request.model), "no plugin serves it"));
        };
        self.record(|calls| calls.sent.push(hash(&request)));
        match model.complete(&request).await {
            Ok(response) => {
                let actual = actual(&entry, &response, input);
                reservation.settle(actual);
                self.record(|calls| {
                    calls.made += 1;
                    calls.cost += actual.cost;
                    calls.tokens += actual.tokens.total();
                    calls.incomplete |= actual.estimated;
                    calls.model = Some(response.model.clone());
                });
                Ok(response)
            }
            Err(error) => {
                // Refused before any work: nothing to pay. Whatever else happened, the provider may have worked.
                match error.kind {
                    ErrorKind::Unavailable
                    | ErrorKind::RateLimited
                    | ErrorKind::BadRequest
                    | ErrorKind::ContextOverflow
                    | ErrorKind::Unauthorized => {
                        reservation.release();
                    }
                    _ => drop(reservation),
                }
                Err(error)
            }
        }
    }
}

/// Hash of what is sent, role by role.
fn hash(request: &ModelRequest) -> String {
    let mut text = format!("{}\n{}\n", request.model, request.max_output);
    for message in &request.messages {
        text.push_str(&format!("{:?} {}\n{}\n", message.role, message.content.len(), message.content));
    }
    format!("sha256:{}", sha256_hex(text.as_bytes()))
}

fn priced(price: Option<PicoUsd>, tokens: Tokens) -> PicoUsd {
    price.unwrap_or(PicoUsd(0)).times(tokens)
}

/// All input fresh or written to the cache, whichever is dearer, and the whole output cap.
fn cost_bound(entry: &ModelEntry, input: Tokens, output: Tokens) -> NanoUsd {
    let dearest = entry.prices.input.max(entry.prices.cache_write);
    (priced(dearest, input) + priced(entry.prices.output, output)).ceil_nano()
}

/// What to charge: the provider's report, or our count where there is none.
fn actual(entry: &ModelEntry, response: &ModelResponse, input: Tokens) -> Actual {
    let ours = || TokenClasses { input, output: Tokens(response.text.len() as u64), ..TokenClasses::default() };
    let tokens = response.usage.unwrap_or_else(ours);
    let prices = &entry.prices;
    let pico = priced(prices.input, tokens.input)
        + priced(prices.cached_input.or(prices.input), tokens.cached_input)
        + priced(prices.cache_write.or(prices.input), tokens.cache_write)
        + priced(prices.output, tokens.output + tokens.reasoning);
    let unpriced = prices.input.is_none() || prices.output.is_none();
    Actual { cost: pico.half_even_nano(), tokens, estimated: response.usage.is_none() || unpriced }
}
