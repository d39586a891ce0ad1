//! What policy refuses, asked before planning: about every source, every model, and every pair of them. An error denies.

use crate::runtime::Inner;
use ctx_contracts::{Decision, ModelFacts, PolicyFacts, PolicyQuestion, SourceFacts};
use ctx_types::catalog::{Locality, RerankerEntry};
use ctx_types::{Catalog, Constraints, Denial, Goal, ModelEntry, ModelName, Principal, Sensitivity, SourceEntry, SourceName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rule name of a refusal that stands for an error.
const POLICY_ERROR: &str = "policy_error";

impl Inner {
    /// The refusals, in the order of the questions.
    pub(crate) async fn denials(&self, who: &Principal, catalog: &Catalog, sources: &[SourceName], limits: &Constraints) -> Vec<Denial> {
        let mut denials = Vec::new();
        for question in questions(who, catalog, sources, limits) {
            let denial =
                |rule: String, reason: String| Denial { source: question.source.clone(), model: question.model.clone(), rule, reason };
            match self.parts.policy.decide(&question).await {
                Ok(Decision::Allow) => {}
                Ok(Decision::Deny { rule, reason }) => denials.push(denial(rule, reason)),
                Err(error) => denials.push(denial(POLICY_ERROR.to_owned(), error.to_string())),
            }
        }
        denials
    }
}

/// Why a source may not be read at all by who asks: none of its roles, or policy.
pub(crate) fn refusal(source: &SourceName, who: &Principal, catalog: &Catalog, denials: &[Denial]) -> Option<Denial> {
    let readable = catalog.sources.get(source).is_none_or(|entry| entry.readable_to(&who.roles));
    if !readable {
        let reason = format!("the principal has none of the roles that may read `{source}`");
        return Some(Denial { source: Some(source.clone()), model: None, rule: "readable_by".to_owned(), reason });
    }
    denials.iter().find(|denial| denial.model.is_none() && denial.source.as_ref() == Some(source)).cloned()
}

/// Of a goal's sources those that who asks may not read and did not name, by source with the rule that says so. Nothing that is
/// shown to a principal names them. An error of policy is no rule: it is told, so that somebody mends it.
pub(crate) fn hidden(goal: &Goal, sources: &[SourceName], catalog: &Catalog, denials: &[Denial]) -> BTreeMap<SourceName, String> {
    let unnamed = sources.iter().filter(|source| !goal.sources.contains(source));
    let rule = |source: &SourceName| refusal(source, &goal.principal, catalog, denials).map(|denial| denial.rule);
    unnamed.filter_map(|source| Some((source.clone(), rule(source)?))).filter(|(_, rule)| rule != POLICY_ERROR).collect()
}

/// The catalog as a principal sees it who may not read these sources.
pub(crate) fn without(catalog: &Catalog, hidden: &BTreeMap<SourceName, String>) -> Arc<Catalog> {
    let mut seen = catalog.clone();
    seen.sources.retain(|name, _| !hidden.contains_key(name));
    Arc::new(seen)
}

/// That there are sources which are not shown, and how many.
pub(crate) fn not_shown(hidden: usize) -> Option<String> {
    match hidden {
        0 => None,
        1 => Some("1 source is not shown: who asks may not read it".to_owned()),
        more => Some(format!("{more} sources are not shown: who asks may not read them")),
    }
}

fn questions(who: &Principal, catalog: &Catalog, sources: &[SourceName], limits: &Constraints) -> Vec<PolicyQuestion> {
    let declared = limits.sensitivity.unwrap_or(Sensitivity::Public);
    let mut questions = Vec::new();
    for source in sources.iter().map(Some).chain([None]) {
        let entry = source.and_then(|name| catalog.sources.get(name));
        let label = entry.map_or(declared, |entry| entry.sensitivity.max(declared));
        let models = catalog.models.iter().map(Some).chain([None]);
        let ask = |model: Option<ModelName>, facts: PolicyFacts| PolicyQuestion {
            principal: who.clone(),
            source: source.cloned(),
            model,
            sensitivity: label,
            facts,
        };
        for model in models.filter(|model| source.is_some() || model.is_some()) {
            questions.push(ask(model.map(|(name, _): (&ModelName, _)| name.clone()), facts(entry, model.map(|(_, entry)| entry), limits)));
        }
        let named = catalog.capabilities.rerankers.iter().filter(|reranker| reranker.calls > 0);
        for (name, reranker) in named.filter_map(|reranker| Some((ModelName::new(&reranker.name).ok()?, reranker))) {
            questions.push(ask(Some(name), PolicyFacts { model: Some(reranks(reranker)), ..facts(entry, None, limits) }));
        }
    }
    questions
}

/// A reranking model reads passages as an answering one does.
fn reranks(entry: &RerankerEntry) -> ModelFacts {
    ModelFacts { model: entry.name.clone(), provider: String::new(), local: entry.locality == Locality::Local, accepts: entry.accepts }
}

fn facts(source: Option<&SourceEntry>, model: Option<&ModelEntry>, limits: &Constraints) -> PolicyFacts {
    let input = model.and_then(|m| [limits.max_context_tokens, limits.max_tokens, m.context_window].into_iter().flatten().min());
    let output = model.and_then(|m| [limits.max_output_tokens, m.max_output, Some(m.output_tokens.high)].into_iter().flatten().min());
    PolicyFacts {
        source: source.map(|s| SourceFacts { kind: s.kind, passages: s.passages, tokens: s.tokens }),
        model: model.map(|m| ModelFacts {
            model: m.model.clone(),
            provider: m.provider.clone(),
            local: m.locality == Locality::Local,
            accepts: m.accepts,
        }),
        input_tokens: input,
        output_tokens: output,
        cost: model
            .zip(input)
            .zip(output)
            .and_then(|((m, input), output)| m.prices.known().then(|| m.prices.bound(input, output).ceil_nano())),
    }
}
