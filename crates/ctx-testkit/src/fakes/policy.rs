//! A policy with a list of denials and a list of words that count as sensitive values.

use async_trait::async_trait;
use ctx_contracts::{Decision, ErrorKind, PluginError, Policy, PolicyQuestion};
use ctx_types::intent::SensitiveSpan;
use ctx_types::{ModelName, Sensitivity, SourceName};

/// Allows everything but what it is told to deny.
#[derive(Clone, Debug, Default)]
pub struct FakePolicy {
    denied: Vec<(Option<SourceName>, Option<ModelName>)>,
    words: Vec<(String, Sensitivity)>,
    detector_down: bool,
}

impl FakePolicy {
    /// Denies a source, a model, or a pair.
    pub fn deny(mut self, source: Option<SourceName>, model: Option<ModelName>) -> Self {
        self.denied.push((source, model));
        self
    }

    /// A word that counts as a value of this label.
    pub fn value(mut self, word: &str, label: Sensitivity) -> Self {
        self.words.push((word.to_owned(), label));
        self
    }

    /// A detector that cannot be reached.
    pub fn with_detector_down(mut self) -> Self {
        self.detector_down = true;
        self
    }
}

#[async_trait]
impl Policy for FakePolicy {
    fn version(&self) -> String {
        format!("fake-{}-{}", self.denied.len(), self.words.len())
    }

    async fn decide(&self, question: &PolicyQuestion) -> Result<Decision, PluginError> {
        let denied = self.denied.iter().any(|(source, model)| *source == question.source && *model == question.model);
        Ok(if denied { Decision::Deny { rule: "fake_rule".into(), reason: "the test denies it".into() } } else { Decision::Allow })
    }

    async fn scan(&self, text: &str) -> Result<Vec<SensitiveSpan>, PluginError> {
        if self.detector_down {
            return Err(PluginError::new(ErrorKind::Unavailable, "scanning a text", "the detector is down"));
        }
        let spans = self.words.iter().filter_map(|(word, label)| {
            let start = u32::try_from(text.find(word.as_str())?).ok()?;
            let end = start + u32::try_from(word.len()).ok()?;
            Some(SensitiveSpan { detector: "fake".into(), raises_to: *label, start, end })
        });
        Ok(spans.collect())
    }
}
