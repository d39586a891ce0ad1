//! Maps by hash as JSON: the hash in hex.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

pub(crate) fn serialize<V: Serialize, S: Serializer>(map: &BTreeMap<u128, V>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter().map(|(hash, value)| (format!("{hash:032x}"), value)))
}

pub(crate) fn deserialize<'de, V: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u128, V>, D::Error> {
    let named = BTreeMap::<String, V>::deserialize(deserializer)?;
    let hash = |name: &str| u128::from_str_radix(name, 16).map_err(D::Error::custom);
    named.into_iter().map(|(name, value)| Ok((hash(&name)?, value))).collect()
}
