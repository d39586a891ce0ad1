//! What the cache learned about itself: counts, families, proofs, pins and what the guard watches. Written beside the entries,
//! so that a process begins where the last one ended.

use crate::counters::Counters;
use crate::guard::Guard;
use crate::pin::Pins;
use crate::semantic::Record;
use crate::template::Families;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tenants whose semantic matches are judged; a further one has none.
pub(crate) const TENANTS_MAX: usize = 1_024;

/// Everything but entries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    pub(crate) counters: Counters,
    pub(crate) families: Families,
    /// Judged proposals by tenant.
    pub(crate) judged: BTreeMap<String, Record>,
    pub(crate) pins: Pins,
    pub(crate) guard: Guard,
}
