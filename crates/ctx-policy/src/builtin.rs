//! Built-in rules: who may read a source and what a tier may see, as the configuration says. They open nothing that the
//! planner's own rules close.

use ctx_contracts::{Decision, PolicyQuestion};
use ctx_types::catalog::readable;
use ctx_types::{ModelName, Sensitivity, SourceName};
use std::collections::{BTreeMap, BTreeSet};

/// Readers of sources, and the highest label that a tier may see where the configuration sets one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltinRules {
    /// Roles that may read a source; empty: everyone.
    pub readers: BTreeMap<SourceName, BTreeSet<String>>,
    /// Highest label by tier.
    pub accepts: BTreeMap<ModelName, Sensitivity>,
}

fn deny(rule: &str, reason: String) -> Decision {
    Decision::Deny { rule: rule.to_owned(), reason }
}

impl BuiltinRules {
    /// One decision.
    pub fn decide(&self, question: &PolicyQuestion) -> Decision {
        self.readable(question).or_else(|| self.accepted(question)).unwrap_or(Decision::Allow)
    }

    fn readable(&self, question: &PolicyQuestion) -> Option<Decision> {
        let source = question.source.as_ref()?;
        let roles = self.readers.get(source)?;
        let may = readable(roles, &question.principal.roles);
        let named = || roles.iter().cloned().collect::<Vec<_>>().join(", ");
        (!may).then(|| deny("readable_by", format!("source {source} is readable by {}", named())))
    }

    fn accepted(&self, question: &PolicyQuestion) -> Option<Decision> {
        let model = question.model.as_ref()?;
        let accepts = self.accepts.get(model)?;
        let refused = question.sensitivity > *accepts;
        refused.then(|| deny("accepts", format!("model {model} accepts {accepts}, the data is {}", question.sensitivity)))
    }
}
