//! Observations of a run: estimates of its nodes beside what happened.
//!
//! What is *not* taken from a trace: accuracy (feedback and gold labels only, [`Observation::labelled`]); the latency of a
//! node that was retried, cancelled or failed (that is its failure rate); anything whose usage the provider did not report.

use super::key::{Field, OperatorClass, SizeClass, StatKey};
use super::observation::Observation;
use super::{Quantity, Statistics};
use crate::calls;
use ctx_types::catalog::TokenizerFamily;
use ctx_types::trace::{NodeStatus, NodeTrace};
use ctx_types::{AccessPath, Bucket, Catalog, Certainty, Estimated, Micros, ModelName, SourceName, Strategy, Tokens, Trace};

/// Shorter prompts say little: what a wire adds per message weighs too much.
const RATIO_TOLD_FROM: Tokens = Tokens(100);

/// Shorter answers come in one piece and say nothing of the time per token.
const PER_TOKEN_TOLD_FROM: Tokens = Tokens(4);

/// What a trace does not say itself.
#[derive(Clone, Copy, Debug)]
pub struct TraceContext<'a> {
    /// Bucket of the goal.
    pub bucket: Bucket,
    /// What was planned with: sizes of sources, expected output lengths of models.
    pub catalog: &'a Catalog,
    /// Statistics that the plan was made with: their corrections are taken back before comparing.
    pub statistics: &'a Statistics,
    /// When the run ended, seconds since the Unix epoch.
    pub at: u64,
}

/// Every comparison that a run allows.
pub fn from_trace(trace: &Trace, context: &TraceContext<'_>) -> Vec<Observation> {
    let reader = Reader { trace, context };
    let mut observations: Vec<Observation> = trace.nodes.iter().flat_map(|node| reader.node(node)).collect();
    observations.extend(trace.nodes.iter().filter_map(|node| reader.merged_latency(node)));
    observations.extend(reader.output_tokens());
    observations.extend(trace.nodes.iter().filter_map(|node| reader.token_ratio(node)));
    observations.extend(reader.verdict());
    observations
}

struct Reader<'a> {
    trace: &'a Trace,
    context: &'a TraceContext<'a>,
}

impl Reader<'_> {
    fn node(&self, node: &NodeTrace) -> Vec<Observation> {
        let Some(key) = self.key_of(node) else { return Vec::new() };
        let started = !matches!(node.status, NodeStatus::NotRun | NodeStatus::Cancelled);
        let failed = node.attempts > 1 || matches!(node.status, NodeStatus::Failed | NodeStatus::Degraded);
        let mut observations = Vec::new();
        if started && !matches!(key.class, OperatorClass::Step) && !is_merge(node) {
            let outcome = if failed { 1_000_000 } else { 0 };
            observations.push(Observation::new(key.of(Field::Failure), self.outcome(node), self.context.at, 0, outcome));
        }
        if node.status == NodeStatus::Done {
            observations.extend(self.actuals(node, &key, failed));
        }
        observations
    }

    /// Fields of a node that finished.
    fn actuals(&self, node: &NodeTrace, key: &StatKey, retried: bool) -> Vec<Observation> {
        if key.class == OperatorClass::Model && node.estimate.call.is_some() {
            return self.call(node, key, retried);
        }
        let (estimate, actual) = (&node.estimate, &node.actual);
        let elapsed = Micros(node.end.0.saturating_sub(node.start.0));
        let undisturbed = !retried && !is_merge(node);
        [
            self.compare(node, key, Field::Latency, estimate.latency.as_ref(), Some(elapsed).filter(|_| undisturbed)),
            self.compare(node, key, Field::Hits, estimate.hits.as_ref(), actual.hits),
            self.compare(node, key, Field::Tokens, estimate.tokens.as_ref(), actual.tokens),
            self.compare(node, key, Field::Cost, estimate.cost.as_ref(), actual.cost),
            self.compare(node, key, Field::Evidence, estimate.evidence.as_ref(), actual.evidence),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// A call against its parts. Residuals are relative to what was expected before anything was learned.
    fn call(&self, node: &NodeTrace, key: &StatKey, retried: bool) -> Vec<Observation> {
        let entry = key.operator.as_deref().and_then(|name| ModelName::new(name).ok());
        let entry = entry.and_then(|name| self.context.catalog.models.get(&name));
        let (Some(parts), Some(entry)) = (&node.estimate.call, entry) else { return Vec::new() };
        let observe = |field: Field, estimate: i64, actual: i64| {
            Observation::new(key.of(field), self.outcome(node), self.context.at, estimate, actual)
        };
        let loaded = |seen: Observation| seen.with_load(parts.input.get());
        let (tokens, cost) = calls::priors(entry, parts.input);
        let mut seen = Vec::new();
        if let Some(actual) = node.actual.tokens {
            let shown = parts.tokens.as_ref().or(node.estimate.tokens.as_ref());
            seen.push(covered(loaded(observe(Field::Tokens, tokens.to_unit(), actual.to_unit())), shown, actual));
        }
        if let (Some(actual), Some(cost)) = (node.actual.cost, cost) {
            let shown = parts.cost.as_ref().or(node.estimate.cost.as_ref());
            seen.push(covered(loaded(observe(Field::Cost, cost.to_unit(), actual.to_unit())), shown, actual));
        }
        if retried {
            return seen;
        }
        let elapsed = Micros(node.end.0.saturating_sub(node.start.0));
        let timing = node.actual.call;
        let latency = loaded(observe(Field::Latency, calls::prior_latency(entry).to_unit(), elapsed.to_unit()));
        seen.push(covered(latency, node.estimate.latency.as_ref(), elapsed));
        let Some(timing) = timing else { return seen };
        seen.push(covered(
            observe(Field::OutputTokens, entry.output_tokens.value.to_unit(), timing.output.to_unit()),
            Some(&parts.output),
            timing.output,
        ));
        if let Some(first) = timing.first_token.filter(|_| timing.output >= PER_TOKEN_TOLD_FROM) {
            let per_token = Micros(timing.elapsed.0.saturating_sub(first.0) / timing.output.get());
            seen.push(covered(
                loaded(observe(Field::FirstToken, entry.first_token.value.to_unit(), first.to_unit())),
                Some(&parts.first_token),
                first,
            ));
            seen.push(covered(
                loaded(observe(Field::PerToken, entry.per_token.value.to_unit(), per_token.to_unit())),
                Some(&parts.per_token),
                per_token,
            ));
        }
        seen
    }

    fn compare<T: Quantity>(
        &self,
        node: &NodeTrace,
        key: &StatKey,
        field: Field,
        estimate: Option<&Estimated<T>>,
        actual: Option<T>,
    ) -> Option<Observation> {
        let (estimate, actual) = (estimate?, actual?);
        let known = matches!(estimate.certainty, Certainty::Measured { .. } | Certainty::Prior);
        let key = key.of(field);
        let base = self.context.statistics.uncorrected(&key, estimate);
        let covered = estimate.low <= actual && actual <= estimate.high;
        let observation = || Observation::new(key, self.outcome(node), self.context.at, base, actual.to_unit()).with_coverage(covered);
        known.then(observation)
    }

    /// Latency of a source read by several legs: from the first leg's start to the merge's end, against the slowest leg's
    /// estimate and the merge's.
    fn merged_latency(&self, node: &NodeTrace) -> Option<Observation> {
        let source = node.node.strip_prefix("fuse.")?;
        let legs: Vec<&NodeTrace> = self.legs(source).collect();
        let undisturbed = legs.iter().all(|leg| leg.status == NodeStatus::Done && leg.attempts <= 1);
        if !undisturbed || legs.is_empty() || node.status != NodeStatus::Done {
            return None;
        }
        let key = self.key_of(node)?.of(Field::Latency);
        let estimates = legs.iter().map(|leg| {
            let leg_key = self.key_of(leg)?.of(Field::Latency);
            Some(self.context.statistics.uncorrected(&leg_key, leg.estimate.latency.as_ref()?))
        });
        let slowest = estimates.collect::<Option<Vec<i64>>>()?.into_iter().max()?;
        let merge = node.estimate.latency.as_ref().map_or(0, |latency| latency.value.to_unit());
        let start = legs.iter().map(|leg| leg.start).min()?;
        let elapsed = Micros(node.end.0.saturating_sub(start.0));
        Some(Observation::new(key, self.outcome(node), self.context.at, slowest.saturating_add(merge), elapsed.to_unit()))
    }

    /// Output length, where one undisturbed call of one model made all of it and the provider reported it.
    fn output_tokens(&self) -> Option<Observation> {
        let spend = &self.trace.outcome.spend;
        let told = |node: &NodeTrace| node.estimate.call.is_some() && node.actual.call.is_some();
        let done = self.trace.nodes.iter().filter(|node| node.operator.starts_with("answer ") && node.status == NodeStatus::Done);
        let mut answers = done.filter(|node| !told(node));
        let node = answers.next().filter(|node| node.attempts <= 1)?;
        if answers.next().is_some() || spend.calls != 1 || spend.tokens.output.0 == 0 {
            return None;
        }
        let key = self.key_of(node).filter(|key| key.class == OperatorClass::Model)?.of(Field::OutputTokens);
        let model = ModelName::new(key.operator.as_deref()?).ok()?;
        let prior = &self.context.catalog.models.get(&model)?.output_tokens;
        let (outcome, actual) = (self.outcome(node), spend.tokens.output.to_unit());
        Some(Observation::new(key, outcome, self.context.at, prior.value.to_unit(), actual))
    }

    /// Real tokens per o200k token, where a model of unknown tokenizer reported what one prompt counts.
    fn token_ratio(&self, node: &NodeTrace) -> Option<Observation> {
        let prompt = node.actual.prompt.filter(|prompt| node.status == NodeStatus::Done && prompt.counted >= RATIO_TOLD_FROM)?;
        let key = self.key_of(node).filter(|key| key.class == OperatorClass::Model)?.of(Field::TokenRatio);
        let model = ModelName::new(key.operator.as_deref()?).ok()?;
        let TokenizerFamily::Other { multiplier_milli } = &self.context.catalog.models.get(&model)?.tokenizer else { return None };
        let ratio = prompt.reported.get().checked_mul(1_000)? / prompt.counted.get();
        Some(Observation::new(key, self.outcome(node), self.context.at, multiplier_milli.value.to_unit(), i64::try_from(ratio).ok()?))
    }

    fn verdict(&self) -> Option<Observation> {
        let verdict = self.trace.outcome.verdict.as_ref()?;
        let key = StatKey::verifier(&self.trace.tenant, Field::Verdict, &verdict.verifier, self.context.bucket);
        let actual = if verdict.passed { 1_000_000 } else { 0 };
        Some(Observation::new(key, format!("{}/verdict", self.trace.id), self.context.at, 0, actual))
    }

    fn legs<'b>(&'b self, source: &'b str) -> impl Iterator<Item = &'b NodeTrace> + 'b {
        self.trace.nodes.iter().filter(move |node| access_of(&node.node).is_some_and(|(name, _)| name == source))
    }

    /// The key's field is a placeholder; callers choose theirs.
    fn key_of(&self, node: &NodeTrace) -> Option<StatKey> {
        let (tenant, bucket) = (self.trace.tenant.as_str(), self.context.bucket);
        if let Some((source, path)) = access_of(&node.node).or_else(|| self.merge_of(node)) {
            return Some(StatKey::access(tenant, Field::Latency, path, bucket, self.size_of(source)));
        }
        let words: Vec<&str> = node.operator.split_whitespace().collect();
        match words.as_slice() {
            ["answer", strategy] => Strategy::from_name(strategy).map(|s| StatKey::strategy(tenant, Field::Latency, s, bucket)),
            ["answer", _, model] => ModelName::new(*model).ok().map(|model| StatKey::model(tenant, Field::Latency, &model, bucket)),
            ["verify", verifier] => Some(StatKey::verifier(tenant, Field::Latency, verifier, bucket)),
            ["fuse" | "rerank", name] | ["compress", name, _] => {
                Some(StatKey::new(tenant, Field::Latency, OperatorClass::Step, name, bucket))
            }
            ["pack", ..] => Some(StatKey::new(tenant, Field::Latency, OperatorClass::Step, "pack", bucket)),
            _ => None,
        }
    }

    /// The access path that a merge of one source's legs completes.
    fn merge_of<'b>(&self, node: &'b NodeTrace) -> Option<(&'b str, AccessPath)> {
        let source = node.node.strip_prefix("fuse.")?;
        let method = node.operator.rsplit_once(": ").map_or("", |(_, method)| method);
        let path = if method.starts_with("linear") {
            AccessPath::HybridLinear
        } else if method.starts_with("rrf") {
            AccessPath::HybridRrf
        } else {
            self.legs(source).filter_map(|leg| access_of(&leg.node)).map(|(_, path)| path).find(|path| *path != AccessPath::Identifier)?
        };
        Some((source, path))
    }

    fn size_of(&self, source: &str) -> SizeClass {
        let entry = SourceName::new(source).ok().and_then(|name| self.context.catalog.sources.get(&name));
        SizeClass::of(entry.map_or(0, |entry| entry.passages))
    }

    fn outcome(&self, node: &NodeTrace) -> String {
        format!("{}/{}", self.trace.id, node.node)
    }
}

fn covered<T: Quantity>(observation: Observation, shown: Option<&Estimated<T>>, actual: T) -> Observation {
    match shown {
        Some(shown) => observation.with_coverage(shown.low <= actual && actual <= shown.high),
        None => observation,
    }
}

fn is_merge(node: &NodeTrace) -> bool {
    node.node.starts_with("fuse.")
}

/// Source and path of `access.SOURCE.PATH`; a source's name may hold dots.
fn access_of(node: &str) -> Option<(&str, AccessPath)> {
    let (source, path) = node.strip_prefix("access.")?.rsplit_once('.')?;
    AccessPath::from_name(path).map(|path| (source, path))
}
