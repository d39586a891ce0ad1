//! The only way from a strategy to a model: reserve the call's bound, write it down, call, settle.
//!
//! A call that would break a budget is not made. A tier that may not see the run's data is refused here too, whoever
//! asked. Missing usage is charged at our own count and marked; statistics never see it. A call that fails is charged what the
//! provider says that it took, and its bound where nobody says.

use super::Context;
use super::node::layout_of;
use crate::ledger::book::Intent;
use crate::ledger::{Actual, Bound, Reservation, Tag, incomplete};
use crate::prompts::Call;
use async_trait::async_trait;
use ctx_contracts::{ErrorKind, FinishReason, ModelAccess, ModelRequest, ModelResponse, PluginError, Taken};
use ctx_cost::statistics::{Field, StatKey};
use ctx_types::catalog::TokenizerFamily;
use ctx_types::estimate::TokenClasses;
use ctx_types::id::sha256_hex;
use ctx_types::trace::{CallEnd, CallTiming, PromptCount};
use ctx_types::{Bucket, Estimated, Layout, ModelEntry, ModelName, NanoUsd, Sensitivity, Tokens};
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens a wire adds per message (role, separators): the largest of the known chat formats, rounded up.
const MESSAGE_OVERHEAD: u64 = 8;

/// What one node's calls were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) sent: Vec<String>,
    pub(crate) model: Option<String>,
    pub(crate) cost: NanoUsd,
    pub(crate) tokens: Tokens,
    pub(crate) made: u32,
    /// Counts of the last prompt whose usage was reported.
    pub(crate) prompt: Option<PromptCount>,
    /// How the last call went whose usage was reported.
    pub(crate) timing: Option<CallTiming>,
    /// Calls whose usage nobody reported, those in flight too: then the tokens are our own.
    pub(crate) unreported: u32,
    /// Calls whose cost is not known exactly.
    pub(crate) uncosted: u32,
}

/// Models behind the run's ledger, for one node.
pub(crate) struct Ledgered {
    context: Arc<Context>,
    purpose: &'static str,
    calls: Mutex<Calls>,
}

impl Ledgered {
    /// `purpose` says what the calls are for, in the ledger.
    pub(crate) fn new(context: Arc<Context>, purpose: &'static str) -> Ledgered {
        Ledgered { context, purpose, calls: Mutex::default() }
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

    /// Real tokens per o200k token of a model whose tokenizer is unknown: what its reports taught, else the prior.
    fn multiplier(&self, model: &ModelName, prior: &Estimated<u32>) -> Estimated<u32> {
        let prepared = &self.context.prepared;
        let bucket = prepared.planned().map_or(Bucket::Unknown, |planned| planned.plan.intent.bucket);
        let key = StatKey::model(&prepared.goal.principal.tenant, Field::TokenRatio, model, bucket);
        prepared.statistics.corrected(&key, prior.clone())
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
            TokenizerFamily::Other { multiplier_milli } => {
                let learned = self.multiplier(&request.model, multiplier_milli);
                let bound = count("o200k").and_then(|tokens| ctx_cost::model::trusted_bound(&learned, Tokens(tokens)));
                bound.map_or_else(bytes, Tokens::get)
            }
        })
    }

    /// Fewest input tokens that the messages can be, where a counter says so.
    fn input_least(&self, entry: &ModelEntry, request: &ModelRequest) -> Option<Tokens> {
        let (family, low_milli) = match &entry.tokenizer {
            TokenizerFamily::O200k => ("o200k", 1_000),
            TokenizerFamily::Cl100k => ("cl100k", 1_000),
            TokenizerFamily::Other { multiplier_milli } => ("o200k", u64::from(self.multiplier(&request.model, multiplier_milli).low)),
        };
        Some(Tokens(self.counted(family, request)?.get() * low_milli / 1_000))
    }

    /// Tokens of the messages' texts under a family that somebody here counts.
    fn counted(&self, family: &str, request: &ModelRequest) -> Option<Tokens> {
        let counter = self.context.inner.parts.counters.get(family)?;
        Some(Tokens(request.messages.iter().map(|message| u64::from(counter.count(&message.content))).sum()))
    }

    /// Remembers what was sent, where a provider's cache has a price. Of what may not leave hashes alone, nothing is kept.
    fn remember(&self, entry: &ModelEntry, request: &ModelRequest, response: &ModelResponse, bound: Tokens) {
        let context = &self.context;
        if entry.prices.cached_saving(Tokens::ZERO).is_none() || context.sensitivity >= Sensitivity::Confidential {
            return;
        }
        let reported = response.usage.as_ref();
        let call = Call {
            tenant: &context.prepared.goal.principal.tenant,
            model: &request.model,
            layout: context.prepared.planned().map_or(Layout::ContextFirst, |planned| layout_of(planned)),
            messages: &request.messages,
            tokens: reported.map_or(bound, TokenClasses::prompt),
            cached: reported.map(|usage| usage.cached_input),
        };
        context.inner.prompts.sent(&call, context.inner.now());
    }

    /// Sets the bound aside and writes the call down, before it is made.
    async fn open(&self, entry: &ModelEntry, request: &ModelRequest, bound: Bound) -> Result<Opened, PluginError> {
        let doing = || format!("calling model {}", request.model);
        let tag = Tag { purpose: self.purpose, model: request.model.to_string(), unpriced: !entry.prices.known() };
        let uncosted = incomplete(tag.unpriced, true, bound.cost);
        let mut reservation = self.context.ledger.reserve(tag.clone(), bound).await.map_err(|refusal| {
            PluginError::new(refusal.kind(), doing(), refusal.to_string()).with_hint("raise the limit or ask for less")
        })?;
        let intent = self.context.book.intend(&tag, bound).await?;
        reservation.made();
        self.record(|calls| {
            calls.sent.push(sent_hash(request));
            calls.unreported += 1;
            calls.uncosted += u32::from(uncosted);
        });
        Ok(Opened { reservation, intent, tag, bound })
    }

    /// What the call took is known as far as it ever will be.
    async fn close(&self, opened: Opened, actual: Actual) {
        let Opened { reservation, intent, tag, bound } = opened;
        reservation.settle(actual);
        intent.settle(&actual).await;
        let held = incomplete(tag.unpriced, true, bound.cost);
        let known = actual.is_costed(&tag, bound);
        self.record(|calls| {
            calls.cost += actual.cost;
            calls.tokens += actual.tokens.total();
            calls.unreported -= u32::from(!actual.estimated);
            calls.uncosted -= u32::from(held && known);
        });
    }

    fn answered(&self, request: &ModelRequest, response: &ModelResponse) {
        self.context.cut.fetch_or(response.finish == FinishReason::Length, std::sync::atomic::Ordering::Relaxed);
        if let Some(doubt) = &response.doubt {
            let told = format!("model {} contradicts itself in its usage and is charged by the dearest reading: {doubt}", request.model);
            self.context.doubts.lock().unwrap_or_else(PoisonError::into_inner).insert(told);
        }
        let counted = self.counted("o200k", request);
        self.record(|calls| {
            calls.made += 1;
            calls.model = Some(response.model.clone());
            calls.timing = response.usage.map(|usage| CallTiming {
                first_token: response.first_token,
                elapsed: response.elapsed,
                output: usage.output + usage.reasoning,
            });
            calls.prompt = response.usage.zip(counted).map(|(usage, counted)| PromptCount {
                counted,
                reported: usage.prompt(),
                cached: usage.cached_input,
            });
        });
    }
}

/// A call that is set aside and written down.
struct Opened {
    reservation: Reservation,
    intent: Intent,
    tag: Tag,
    bound: Bound,
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
        let model = self.context.inner.parts.models.get(&request.model).cloned();
        let model = model
            .ok_or_else(|| PluginError::new(ErrorKind::Internal, format!("calling model {}", request.model), "no plugin serves it"))?;
        let input = self.input_bound(&entry, &request);
        let bound = Bound { cost: entry.prices.bound(input, request.max_output).ceil_nano(), tokens: input + request.max_output };
        let opened = self.open(&entry, &request, bound).await?;
        match model.complete(&request).await {
            Ok(response) => {
                self.close(opened, actual(&entry, &response, input)).await;
                self.answered(&request, &response);
                self.remember(&entry, &request, &response, input);
                match dropped(&response, self.input_least(&entry, &request)) {
                    Some(cause) => Err(truncated(&request, &response, cause)),
                    None => Ok(response),
                }
            }
            Err(error) => {
                let bill = |usage: &TokenClasses| entry.prices.bill(usage).half_even_nano();
                self.close(opened, failed(&error, bound, bill)).await;
                Err(error)
            }
        }
    }
}

fn truncated(request: &ModelRequest, response: &ModelResponse, cause: String) -> PluginError {
    let seen = response.usage.map_or(Taken::Unknown, |usage| Taken::Reported(Box::new(usage)));
    PluginError::new(ErrorKind::ContextOverflow, format!("calling model {}", request.model), cause)
        .with_hint("set context_window of the tier to what the server serves, or raise the server's window (num_ctx, n_ctx)")
        .having_taken(seen)
}

/// What a failed call is charged: what the provider says, and where it says nothing, all that was set aside.
pub(super) fn failed(error: &PluginError, bound: Bound, bill: impl Fn(&TokenClasses) -> NanoUsd) -> Actual {
    match &error.taken {
        Taken::NotSent => Actual::nothing(CallEnd::NotSent),
        Taken::Nothing => Actual::nothing(CallEnd::Refused),
        Taken::Reported(usage) => Actual { cost: bill(usage), tokens: **usage, estimated: false, end: CallEnd::Failed },
        Taken::Unknown => Actual::at_bound(bound, CallEnd::Failed),
    }
}

/// Prompts below this are too short to tell a dropped part from a different tokenizer.
const DROP_TOLD_FROM: Tokens = Tokens(400);
/// Share of the fewest possible tokens from which a report is believed: counts of the same text differ by a few percent.
const REPORT_LEAST_PERCENT: u64 = 90;

/// Whether the server saw less than was sent: some servers cut a long prompt silently and answer the rest. Such an answer was
/// made without its evidence.
fn dropped(response: &ModelResponse, least: Option<Tokens>) -> Option<String> {
    let (usage, least) = (response.usage?, least?);
    let seen = usage.prompt();
    let short = least >= DROP_TOLD_FROM && seen > Tokens::ZERO && seen.get() * 100 < least.get() * REPORT_LEAST_PERCENT;
    short.then(|| format!("truncated by the server: it reports {seen} input tokens, at least {least} were sent"))
}

/// Hash of what is sent, role by role, with everything that shapes the answer.
pub(crate) fn sent_hash(request: &ModelRequest) -> String {
    let seed = request.seed.map_or_else(String::new, |seed| seed.to_string());
    let mut text = format!("{}\n{} {} {seed}\n", request.model, request.max_output, request.temperature_milli);
    for message in &request.messages {
        text.push_str(&format!("{:?} {}\n{}\n", message.role, message.content.len(), message.content));
    }
    format!("sha256:{}", sha256_hex(text.as_bytes()))
}

/// What to charge: the provider's report, or our count where there is none.
fn actual(entry: &ModelEntry, response: &ModelResponse, input: Tokens) -> Actual {
    let ours = || TokenClasses { input, output: Tokens(response.text.len() as u64), ..TokenClasses::default() };
    let tokens = response.usage.unwrap_or_else(ours);
    Actual {
        cost: entry.prices.bill(&tokens).half_even_nano(),
        tokens,
        estimated: response.usage.is_none() || response.doubt.is_some(),
        end: CallEnd::Answered,
    }
}
