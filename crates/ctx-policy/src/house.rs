//! The policy of a runtime: built-in rules, then the rule file, and the detectors.

use crate::{BuiltinRules, Labels, Presidio, RegoRules};
use async_trait::async_trait;
use ctx_contracts::{Decision, PluginError, Policy, PolicyQuestion};
use ctx_intent::sensitive;
use ctx_types::id::sha256_hex;
use ctx_types::intent::SensitiveSpan;

/// Version of the detectors and rules of this build: part of every policy's version.
const RULES_VERSION: u32 = 2;

/// Rules and detectors of one configuration.
#[derive(Debug)]
pub struct HousePolicy {
    rules: BuiltinRules,
    rego: Option<RegoRules>,
    presidio: Option<Presidio>,
    labels: Labels,
}

impl HousePolicy {
    /// Built-in rules and detectors.
    pub fn new(rules: BuiltinRules) -> HousePolicy {
        HousePolicy { rules, rego: None, presidio: None, labels: Labels::default() }
    }

    /// And a rule file.
    pub fn with_rego(mut self, rego: RegoRules) -> HousePolicy {
        self.rego = Some(rego);
        self
    }

    /// And a Presidio server. The built-in detectors go on looking: Presidio knows no keys and tokens.
    pub fn with_presidio(mut self, presidio: Presidio) -> HousePolicy {
        self.presidio = Some(presidio);
        self
    }

    /// With configured labels by detector.
    pub fn with_labels(mut self, labels: Labels) -> HousePolicy {
        self.labels = labels;
        self
    }
}

#[async_trait]
impl Policy for HousePolicy {
    fn version(&self) -> String {
        let rego = self.rego.as_ref().map_or("none", RegoRules::version);
        let detector = self.presidio.as_ref().map_or("builtin", Presidio::url);
        let text = format!("{RULES_VERSION} {:?} {rego} {detector} {:?}", self.rules, self.labels);
        let engine = if self.rego.is_some() { "opa" } else { "builtin" };
        format!("{engine}-{}", &sha256_hex(text.as_bytes())[..16])
    }

    async fn decide(&self, question: &PolicyQuestion) -> Result<Decision, PluginError> {
        match (self.rules.decide(question), &self.rego) {
            (Decision::Allow, Some(rego)) => Ok(rego.decide(question)?),
            (decision, _) => Ok(decision),
        }
    }

    async fn scan(&self, text: &str) -> Result<Vec<SensitiveSpan>, PluginError> {
        let mut spans: Vec<SensitiveSpan> = sensitive::scan(text).into_iter().map(|span| self.labels.raised(span)).collect();
        if let Some(presidio) = &self.presidio {
            spans.extend(presidio.analyze(text, &self.labels).await?);
        }
        spans.sort_by(|a, b| (a.start, a.end, &a.detector).cmp(&(b.start, b.end, &b.detector)));
        spans.dedup_by(|next, kept| {
            let same = next.start == kept.start && next.end == kept.end;
            if same {
                kept.raises_to = kept.raises_to.max(next.raises_to);
            }
            same
        });
        Ok(spans)
    }
}
