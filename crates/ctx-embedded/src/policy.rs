//! The policy as the configuration says: built-in rules, a rule file where one is named, detectors.

use ctx_contracts::PluginError;
use ctx_policy::{BuiltinRules, HousePolicy, Labels, Presidio, RegoRules};
use ctx_runtime::Config;

/// Rules and detectors of this configuration. Fails where a rule file does, with its line.
pub(crate) fn policy(config: &Config) -> Result<HousePolicy, PluginError> {
    let rules = BuiltinRules {
        readers: config.sources.iter().map(|(name, source)| (name.clone(), source.readable_by.clone())).collect(),
        accepts: config.models.iter().filter_map(|tier| Some((tier.name.clone(), tier.accepts?))).collect(),
    };
    let mut policy = HousePolicy::new(rules).with_labels(Labels(config.policy.labels.clone()));
    if let Some(file) = &config.policy.file {
        policy = policy.with_rego(RegoRules::load(file)?);
    }
    if let Some(url) = &config.policy.url {
        policy = policy.with_presidio(Presidio::new(url)?);
    }
    Ok(policy)
}
