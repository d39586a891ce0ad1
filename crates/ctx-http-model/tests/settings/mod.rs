//! A tier that a test's own server stands for.

use ctx_http_model::{Secret, TierSettings};
use ctx_types::ModelName;

/// Nothing but what every endpoint needs.
pub(crate) fn tier(name: &str, model: &str, key: &str, url: String) -> TierSettings {
    TierSettings {
        name: ModelName::new(name).expect("literal"),
        base_url: url,
        model: model.into(),
        api_key: Some(Secret::new(key)),
        missing_key: None,
        local: None,
        accepts: None,
        good_for: Vec::new(),
        context_window: None,
        max_output: None,
        prices: None,
        table: None,
        tokenizer: None,
        request: serde_json::Map::new(),
    }
}
