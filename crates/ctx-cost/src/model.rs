//! The cost model on one screen: one `match` over operator kinds. Calibration and statistics live elsewhere.

use crate::calls;
use crate::evidence::{self, Before};
use crate::quality::{self, AnswererQuality};
use crate::refine;
use crate::statistics::{Field, OperatorClass, SizeClass, StatKey, Statistics};
use ctx_types::catalog::SourceState;
use ctx_types::estimate::AlternativeEstimate;
use ctx_types::{
    AccessPath, Alternative, Catalog, Certainty, Constraints, Estimated, Intent, Layout, Micros, ModelEntry, ModelName, NanoUsd, Operator,
    Ppm, Probe, Settings, SourceEntry, SourceName, Stage, Strategy, Tokens,
};
use std::collections::{BTreeMap, BTreeSet};

/// What estimates are made from; all values.
pub struct CostInputs<'a> {
    /// Whose statistics.
    pub tenant: &'a str,
    /// Constraints in force.
    pub limits: &'a Constraints,
    /// The analysed goal.
    pub intent: &'a Intent,
    /// What exists.
    pub catalog: &'a Catalog,
    /// What the sources said.
    pub probe: &'a Probe,
    /// What was measured.
    pub statistics: &'a Statistics,
    /// Configuration.
    pub settings: &'a Settings,
    /// Upper bound of instructions around context and question.
    pub prompt_overhead: Tokens,
    /// Features per source, computed once.
    pub features: BTreeMap<SourceName, Option<Before>>,
}

/// Latency of merging, packing and layout: measured on 50 passages, two cores (`benchmarks/`, planning suite). Prior.
const CPU_OPERATOR: (u64, u64) = (150, 600);
/// Latency of the extractive answerer per 1,000 context tokens. Prior, corrected by statistics.
const EXTRACTIVE_PER_KTOKEN: (u64, u64) = (400, 1_200);

/// The estimate of one alternative. `context` is the number of context tokens an answerer reads, before the question.
pub fn estimate(inputs: &CostInputs<'_>, alternative: &Alternative, context: Tokens) -> AlternativeEstimate {
    estimate_in(inputs, alternative, context, Layout::ContextFirst)
}

/// The same in a layout: what a provider's cache holds of an answerer's prompt depends on what comes first.
pub fn estimate_in(inputs: &CostInputs<'_>, alternative: &Alternative, context: Tokens, layout: Layout) -> AlternativeEstimate {
    match (&alternative.stage, &alternative.operator) {
        (Stage::Access(source), Operator::Access { path, k, quota }) => access(inputs, source, *path, *k, *quota),
        (_, Operator::Fuse { .. } | Operator::Pack { .. }) => AlternativeEstimate {
            latency: Some(latency(inputs, alternative, CPU_OPERATOR)),
            tokens: matches!(alternative.operator, Operator::Pack { .. })
                .then(|| Estimated::new(context, Tokens(0), context, Certainty::Prior, "expected context")),
            ..AlternativeEstimate::default()
        },
        (_, Operator::Answer { model: Some(model), .. }) => match inputs.catalog.models.get(model) {
            Some(entry) => calls::estimate(inputs, model, entry, context, layout),
            None => AlternativeEstimate::default(),
        },
        (_, Operator::Answer { strategy, model: None }) => AlternativeEstimate {
            cost: Some(Estimated::exact(NanoUsd(0), "no model call")),
            latency: Some(latency(inputs, alternative, per_ktoken(EXTRACTIVE_PER_KTOKEN, context))),
            quality: Some(answerer(inputs, *strategy, None, Layout::ContextFirst).right_with),
            ..AlternativeEstimate::default()
        },
        (_, Operator::Rerank { .. }) => refine::rerank(inputs, alternative, context),
        (_, Operator::Compress { .. }) => refine::compress(inputs, alternative, context),
        (_, Operator::Verify { verifier }) => {
            let entry = inputs.catalog.capabilities.verifiers.iter().find(|v| v.name == *verifier);
            AlternativeEstimate {
                latency: entry.map(|e| e.latency.clone()),
                quality: entry.map(|e| e.catches.clone()),
                ..AlternativeEstimate::default()
            }
        }
        _ => AlternativeEstimate::default(),
    }
}

/// How well an answerer does on such goals: the table, corrected by what people and gold answers said of its answers.
pub fn answerer(inputs: &CostInputs<'_>, strategy: Strategy, model: Option<&ModelName>, layout: Layout) -> AnswererQuality {
    let entry = model.and_then(|name| inputs.catalog.models.get(name));
    let quality = quality::answerer(strategy, entry, layout, inputs.intent);
    let key = match model {
        Some(name) => StatKey::model(inputs.tenant, Field::Accuracy, name, inputs.intent.bucket),
        None => StatKey::strategy(inputs.tenant, Field::Accuracy, strategy, inputs.intent.bucket),
    };
    AnswererQuality { right_with: inputs.statistics.corrected(&key, quality.right_with), ..quality }
}

/// Most tokens of an unknown family per o200k token: the prior's upper end.
pub const UNKNOWN_FAMILY_MOST: f64 = 1.35;

fn per_ktoken((p50, p90): (u64, u64), tokens: Tokens) -> (u64, u64) {
    let k = tokens.get().max(250);
    (p50 * k / 1_000, p90 * k / 1_000)
}

/// Passages of a source that fit: k, the quota and `final_k` bound them, and the source itself does once it was counted.
pub fn expected_passages(inputs: &CostInputs<'_>, entry: &SourceEntry, k: u32, quota: Tokens) -> f64 {
    let mean = mean_passage(entry);
    let most = inputs.limits.final_k.or(inputs.settings.final_k).map_or(f64::MAX, f64::from);
    let held = if entry.state == SourceState::NoStatistics { f64::MAX } else { entry.passages.max(1) as f64 };
    f64::from(k).min(quota.get() as f64 / mean).min(most).min(held)
}

pub(crate) fn mean_passage(entry: &SourceEntry) -> f64 {
    if entry.passages == 0 || entry.tokens.get() == 0 { 200.0 } else { entry.tokens.get() as f64 / entry.passages as f64 }
}

/// Factor for a source whose kind is less likely to hold the answer than the best permitted kind.
fn kind_factor(inputs: &CostInputs<'_>, entry: &SourceEntry) -> f64 {
    let best = inputs
        .features
        .keys()
        .filter_map(|s| inputs.catalog.sources.get(s))
        .map(|e| inputs.intent.sources.of(e.kind))
        .max()
        .unwrap_or(Ppm(0));
    let mine = inputs.intent.sources.of(entry.kind);
    if best.get() == 0 { 1.0 } else { mine.share() / best.share() }
}

/// P(evidence) of reading `read` passages, scaled by the source kind. Of a list that the run has read already its scores say
/// it, between the first passage alone and the whole list.
pub fn evidence_of(inputs: &CostInputs<'_>, source: &SourceName, entry: &SourceEntry, path: AccessPath, read: f64) -> Estimated<Ppm> {
    if let Some(list) = inputs.probe.read.get(source) {
        let seen = Certainty::Measured { n: u32::try_from(list.evidence.len()).unwrap_or(u32::MAX) };
        let value = list.within(read.max(0.0) as usize);
        return Estimated::new(value, list.within(1).min(value), list.within(usize::MAX).max(value), seen, "scores of the passages read");
    }
    let features = inputs.features.get(source).and_then(Option::as_ref);
    let raw = match path {
        AccessPath::Table => evidence::table(inputs.probe.sources.get(source)),
        _ => evidence::expected(path, features, read, entry.passages, inputs.intent),
    };
    let factor = kind_factor(inputs, entry);
    let scale = |p: Ppm| Ppm::from_share(p.share() * factor);
    Estimated::new(scale(raw.value), scale(raw.low), raw.high, raw.certainty, raw.provenance)
}

fn access(inputs: &CostInputs<'_>, source: &SourceName, path: AccessPath, k: u32, quota: Tokens) -> AlternativeEstimate {
    let Some(entry) = inputs.catalog.sources.get(source) else { return AlternativeEstimate::default() };
    let read = expected_passages(inputs, entry, k, quota);
    let count = read.floor().max(1.0) as u32;
    let tokens = Tokens((read * mean_passage(entry)).round() as u64).min(quota);
    let [p10, _, p90, _] = entry.passage_tokens.map(|t| Tokens(u64::from(t) * u64::from(count)));
    let certainty =
        if entry.passages > 0 { Certainty::Measured { n: u32::try_from(entry.passages).unwrap_or(u32::MAX) } } else { Certainty::Prior };
    let described = entry.access.iter().find(|a| a.path == path);
    AlternativeEstimate {
        hits: Some(Estimated::new(count, 0, count.max(k), certainty, "k, quota and passage sizes")),
        tokens: Some(Estimated::new(tokens, p10.min(quota), p90.min(quota), certainty, "passage sizes of the catalog")),
        cost: Some(Estimated::exact(NanoUsd(0), "no model call")),
        latency: described.map(|a| {
            let prior = Estimated::new(
                a.latency_p50.value,
                Micros(0),
                a.latency_p90.value,
                a.latency_p50.certainty,
                a.latency_p50.provenance.clone(),
            );
            inputs.statistics.corrected(&access_key(inputs, path, entry), prior)
        }),
        evidence: Some(evidence_of(inputs, source, entry, path, read)),
        ..AlternativeEstimate::default()
    }
}

/// Statistics key of an access path on a source of this size.
pub fn access_key(inputs: &CostInputs<'_>, path: AccessPath, entry: &SourceEntry) -> StatKey {
    StatKey::access(inputs.tenant, Field::Latency, path, inputs.intent.bucket, SizeClass::of(entry.passages))
}

fn latency(inputs: &CostInputs<'_>, alternative: &Alternative, (p50, p90): (u64, u64)) -> Estimated<Micros> {
    let prior = Estimated::new(Micros(p50), Micros(0), Micros(p90), Certainty::Prior, "measured on two cores, benchmarks");
    inputs.statistics.corrected(&step_key(inputs, alternative), prior)
}

/// Statistics key of the latency of a step.
pub(crate) fn step_key(inputs: &CostInputs<'_>, alternative: &Alternative) -> StatKey {
    let operator = &alternative.operator;
    StatKey::new(inputs.tenant, Field::Latency, operator_class(operator), operator_key(operator), inputs.intent.bucket)
}

/// What is learned of calls beside their latency.
const CALL_FIELDS: [Field; 7] =
    [Field::OutputTokens, Field::TokenRatio, Field::FirstToken, Field::PerToken, Field::Tokens, Field::Cost, Field::Failure];

/// Statistics keys that the estimates of these alternatives read, each once.
pub fn keys_read<'a>(inputs: &CostInputs<'_>, alternatives: impl Iterator<Item = &'a Alternative>) -> BTreeSet<StatKey> {
    let mut seen: BTreeSet<(OperatorClass, &str, Option<SizeClass>)> = BTreeSet::new();
    for alternative in alternatives {
        let (class, name) = (operator_class(&alternative.operator), operator_key(&alternative.operator));
        match (&alternative.stage, &alternative.operator) {
            (Stage::Access(source), Operator::Access { .. }) => {
                let passages = inputs.catalog.sources.get(source).map_or(0, |entry| entry.passages);
                seen.insert((class, name, Some(SizeClass::of(passages))));
            }
            (
                _,
                Operator::Fuse { .. }
                | Operator::Rerank { .. }
                | Operator::Pack { .. }
                | Operator::Compress { .. }
                | Operator::Answer { .. },
            ) => drop(seen.insert((class, name, None))),
            _ => {}
        }
    }
    let key = |&(class, name, size): &(OperatorClass, &str, Option<SizeClass>)| StatKey {
        size,
        ..StatKey::new(inputs.tenant, Field::Latency, class, name, inputs.intent.bucket)
    };
    let mut keys: BTreeSet<StatKey> = seen.iter().map(key).collect();
    let models = keys.iter().filter(|key| key.class == OperatorClass::Model);
    let models: Vec<StatKey> = models.flat_map(|key| CALL_FIELDS.map(|field| key.of(field))).collect();
    let answerers = keys.iter().filter(|key| matches!(key.class, OperatorClass::Model | OperatorClass::Strategy));
    let answerers: Vec<StatKey> = answerers.map(|key| key.of(Field::Accuracy)).collect();
    keys.extend(models.into_iter().chain(answerers));
    keys
}

/// Name under which an operator's actuals are kept.
pub fn operator_key(operator: &Operator) -> &str {
    match operator {
        Operator::Access { path, .. } => path.as_str(),
        Operator::Fuse { method } => method.as_str(),
        Operator::Pack { .. } => "pack",
        Operator::Answer { model: Some(model), .. } => model.as_str(),
        Operator::Answer { strategy, .. } => strategy.as_str(),
        Operator::Rerank { reranker: name } | Operator::Compress { compressor: name, .. } | Operator::Verify { verifier: name } => name,
        Operator::Skip | Operator::NoRerank | Operator::NoCompress | Operator::NoVerify => "none",
    }
}

fn operator_class(operator: &Operator) -> OperatorClass {
    match operator {
        Operator::Access { .. } => OperatorClass::Access,
        Operator::Answer { model: Some(_), .. } => OperatorClass::Model,
        Operator::Answer { model: None, .. } => OperatorClass::Strategy,
        Operator::Verify { .. } => OperatorClass::Verifier,
        _ => OperatorClass::Step,
    }
}

/// Output tokens of one call: learned where measured, capped by the request and the model.
pub fn output_tokens(inputs: &CostInputs<'_>, model: &ModelName, entry: &ModelEntry) -> (Estimated<Tokens>, Tokens) {
    let key = StatKey::model(inputs.tenant, Field::OutputTokens, model, inputs.intent.bucket);
    let learned = inputs.statistics.corrected(&key, entry.output_tokens.clone());
    let caps = [inputs.limits.max_output_tokens, entry.max_output, Some(entry.output_tokens.high)];
    let cap = caps.into_iter().flatten().min().unwrap_or(learned.high);
    (Estimated::new(learned.value.min(cap), learned.low.min(cap), learned.high.min(cap), learned.certainty, learned.provenance), cap)
}

/// Reports from which an unknown tokenizer's learned ratio is trusted as a bound.
const RATIO_TRUSTED_FROM: u32 = 50;
/// Margin over the upper end of the learned ratio.
const RATIO_MARGIN_PERCENT: u64 = 110;
/// Bytes that packing lets an o200k token stand for at most: prose has four to five, code fewer. A tokenizer nobody knows
/// makes no more tokens than there are bytes, so this bounds its count before a report is seen.
pub const BYTES_PER_TOKEN_MAX: u64 = 6;

/// Most tokens that a text of so many o200k tokens counts under an unknown tokenizer; `None`: too few reports to say, and the
/// bytes of the text are the bound. The planner's bound and the ledger's are this one.
pub fn trusted_bound(ratio: &Estimated<u32>, o200k: Tokens) -> Option<Tokens> {
    let trusted = ratio.certainty.observations() >= RATIO_TRUSTED_FROM;
    trusted.then(|| Tokens((o200k.get() * u64::from(ratio.high) * RATIO_MARGIN_PERCENT).div_ceil(100_000)))
}

/// Tokens that a prompt of `context` tokens counts under the model's tokenizer: (expected, bound). The multiplier of an
/// unknown tokenizer is the prior's until the endpoint reported what its prompts count.
pub fn prompt_tokens(inputs: &CostInputs<'_>, model: &ModelName, entry: &ModelEntry, context: Tokens) -> (Tokens, Tokens) {
    let o200k = context + inputs.probe.goal_tokens + inputs.prompt_overhead;
    match &entry.tokenizer {
        ctx_types::catalog::TokenizerFamily::Other { multiplier_milli } => {
            let key = StatKey::model(inputs.tenant, Field::TokenRatio, model, inputs.intent.bucket);
            let m = inputs.statistics.corrected(&key, multiplier_milli.clone());
            let bytes = || Tokens(o200k.get() * BYTES_PER_TOKEN_MAX);
            (Tokens(o200k.get() * u64::from(m.value) / 1_000), trusted_bound(&m, o200k).unwrap_or_else(bytes))
        }
        _ => (o200k, o200k),
    }
}
