//! The built-in policy: who may read a source and what a tier may see, as the configuration says; and the detector of
//! sensitive values. It opens nothing that the planner's own rules close.

use async_trait::async_trait;
use ctx_contracts::{Decision, PluginError, Policy, PolicyQuestion};
use ctx_intent::sensitive;
use ctx_runtime::Config;
use ctx_types::id::sha256_hex;
use ctx_types::intent::SensitiveSpan;
use ctx_types::{ModelName, Sensitivity, SourceName};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the detectors and rules below.
const RULES_VERSION: u32 = 1;

/// Rules taken from the configuration.
#[derive(Clone, Debug)]
pub struct BuiltinPolicy {
    readers: BTreeMap<SourceName, BTreeSet<String>>,
    accepts: BTreeMap<ModelName, Sensitivity>,
}

impl BuiltinPolicy {
    /// The rules of this configuration.
    pub fn new(config: &Config) -> BuiltinPolicy {
        let readers = config.sources.iter().map(|(name, source)| (name.clone(), source.readable_by.clone())).collect();
        let accepts = config.models.iter().filter_map(|tier| Some((tier.name.clone(), tier.accepts?))).collect();
        BuiltinPolicy { readers, accepts }
    }
}

fn deny(rule: &str, reason: String) -> Decision {
    Decision::Deny { rule: rule.to_owned(), reason }
}

#[async_trait]
impl Policy for BuiltinPolicy {
    fn version(&self) -> String {
        let text = format!("{RULES_VERSION} {:?} {:?}", self.readers, self.accepts);
        format!("builtin-{}", &sha256_hex(text.as_bytes())[..16])
    }

    async fn decide(&self, question: &PolicyQuestion) -> Result<Decision, PluginError> {
        if let Some((source, roles)) = question.source.as_ref().and_then(|source| Some((source, self.readers.get(source)?))) {
            let may = roles.is_empty() || roles.iter().any(|role| question.principal.roles.contains(role));
            if !may {
                return Ok(deny(
                    "readable_by",
                    format!("source {source} is readable by {}", roles.iter().cloned().collect::<Vec<_>>().join(", ")),
                ));
            }
        }
        if let Some((model, accepts)) = question.model.as_ref().and_then(|model| Some((model, self.accepts.get(model)?))) {
            if question.sensitivity > *accepts {
                return Ok(deny("accepts", format!("model {model} accepts {accepts}, the data is {}", question.sensitivity)));
            }
        }
        Ok(Decision::Allow)
    }

    async fn scan(&self, text: &str) -> Result<Vec<SensitiveSpan>, PluginError> {
        Ok(sensitive::scan(text))
    }
}
