//! What one tier needs to know, as data.

use crate::prices::{Listed, PriceMap, built_in};
use ctx_types::catalog::{Locality, Prices};
use ctx_types::{ModelName, Sensitivity, Tokens};
use std::fmt;
use std::sync::Arc;

/// A key: never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// From the environment, by the caller. Line ends at the end are dropped: they would make an invalid header.
    pub fn new(value: &str) -> Secret {
        Secret(value.trim_end_matches(['\r', '\n']).to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Settings of one tier.
#[derive(Clone, Debug)]
pub struct TierSettings {
    /// Tier name.
    pub name: ModelName,
    /// Base URL that holds `/chat/completions` and `/models`.
    pub base_url: String,
    /// The provider's model name.
    pub model: String,
    /// Key, if the endpoint wants one.
    pub api_key: Option<Secret>,
    /// Environment variable that should hold a key and does not.
    pub missing_key: Option<String>,
    /// Declared local; otherwise decided by the address.
    pub local: Option<bool>,
    /// Highest sensitivity it may see; default by locality.
    pub accepts: Option<Sensitivity>,
    /// What it is good for.
    pub good_for: Vec<String>,
    /// Context window, if configured.
    pub context_window: Option<Tokens>,
    /// Output cap, if configured.
    pub max_output: Option<Tokens>,
    /// Price, if configured.
    pub prices: Option<Prices>,
    /// Prices and limits by model, in place of the built-in table's where it lists the model.
    pub table: Option<Arc<PriceMap>>,
    /// Exact tokenizer family, if configured.
    pub tokenizer: Option<String>,
    /// Fields that every request carries beside those of the wire. None of them replaces one of the wire.
    pub request: serde_json::Map<String, serde_json::Value>,
}

impl TierSettings {
    /// Loopback and private addresses are local; so is what the configuration declares to be.
    pub fn locality(&self) -> Locality {
        if self.local.unwrap_or_else(|| is_local(&self.base_url)) { Locality::Local } else { Locality::Remote }
    }

    /// What the given table or else the built-in one says about the model.
    pub(crate) fn listed(&self) -> Option<Listed> {
        let given = self.table.as_deref().and_then(|table| table.served(&self.base_url, &self.model));
        given.or_else(|| built_in().served(&self.base_url, &self.model))
    }

    /// A body with what this server wants to be told.
    pub(crate) fn told(&self, mut body: serde_json::Value) -> serde_json::Value {
        if let Some(fields) = body.as_object_mut() {
            for (key, value) in &self.request {
                fields.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        body
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.base_url.trim_end_matches('/'))
    }
}

fn is_local(url: &str) -> bool {
    let Ok(parsed) = reqwest::Url::parse(url) else { return false };
    let Some(host) = parsed.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(std::net::IpAddr::V6(ip)) => ip.is_loopback() || (ip.segments()[0] & 0xfe00) == 0xfc00,
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        for local in ["http://localhost:11434/v1", "http://127.0.0.1/v1", "http://[::1]:8080", "http://192.168.1.5:8000", "http://10.0.0.1"]
        {
            assert!(is_local(local), "{local}");
        }
        for remote in ["https://api.example.org/v1", "http://8.8.8.8", "http://localhost.example.org", "nonsense"] {
            assert!(!is_local(remote), "{remote}");
        }
    }

    #[test]
    fn a_key_is_never_printed_and_holds_no_line_end() {
        let key = Secret::new("k-1\r\n");
        assert_eq!((format!("{key:?}").as_str(), key.expose()), ("Secret(…)", "k-1"));
    }
}
