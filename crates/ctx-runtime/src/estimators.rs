//! Fitting estimators, off the response path: the latest outcomes are kept when they are absorbed, somebody asks for a fit, and what
//! was fitted is a small file in the store that processes plan with from their start on.
//!
//! Each is written whole and replaces what was there, after joining it: of two processes that absorb at the same moment one may
//! lose a few outcomes of the many that a fit reads, and nothing else.

use crate::{Runtime, RuntimeError};
use ctx_contracts::{PluginError, Store};
use ctx_cost::neural::{Examples, Fitted};
use ctx_cost::statistics::Observation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the kept outcomes.
const EXAMPLES_BLOB: &str = "estimator_outcomes";
/// Name of what was fitted.
const FITTED_BLOB: &str = "estimators";
/// Version of its form.
const FITTED_SCHEMA_VERSION: u32 = 1;

#[derive(Default, Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    tenants: BTreeMap<String, Fitted>,
}

/// What was fitted by tenant; what cannot be read counts as nothing, and is said.
pub(crate) async fn fitted(store: &dyn Store) -> BTreeMap<String, Fitted> {
    let read = match store.read_blob(FITTED_BLOB).await {
        Ok(None) => return BTreeMap::new(),
        Ok(Some(bytes)) => serde_json::from_slice::<Document>(&bytes).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match read {
        Ok(document) if document.schema_version == FITTED_SCHEMA_VERSION => document.tenants,
        Ok(_) => BTreeMap::new(),
        Err(error) => {
            tracing::warn!(error, "the fitted estimators cannot be read; planning goes on without them");
            BTreeMap::new()
        }
    }
}

/// Keeps the latest of these outcomes beside those that are kept.
pub(crate) async fn keep(store: &dyn Store, seen: &[Observation]) -> Result<(), PluginError> {
    if seen.is_empty() {
        return Ok(());
    }
    let kept = examples(store).await?.with(seen);
    store.write_blob(EXAMPLES_BLOB, kept.to_json().as_bytes()).await
}

async fn examples(store: &dyn Store) -> Result<Examples, PluginError> {
    let bytes = store.read_blob(EXAMPLES_BLOB).await?;
    Ok(bytes.and_then(|bytes| Examples::from_json(&bytes)).unwrap_or_default())
}

impl Runtime {
    /// Fits the estimators of a tenant on its latest outcomes and keeps them. Planning uses them where `costmodel.estimator` is
    /// `neural` or `auto`.
    pub async fn fit_estimators(&self, tenant: &str, seed: u64) -> Result<Fitted, RuntimeError> {
        let store = self.parts().store.as_ref();
        let kept = examples(store).await?.with(&self.inner.learning.outcomes_waiting(store).await?);
        let (now, whose) = (self.inner.now(), tenant.to_owned());
        let fit = tokio::task::spawn_blocking(move || Fitted::of(&kept, &whose, seed, now));
        let fitted_now = match fit.await {
            Ok(fitted) => fitted,
            Err(join) => std::panic::resume_unwind(join.into_panic()),
        };
        let mut document = Document { schema_version: FITTED_SCHEMA_VERSION, tenants: fitted(store).await };
        document.tenants.insert(tenant.to_owned(), fitted_now.clone());
        let bytes = serde_json::to_vec(&document).expect("fitted estimators hold integers and strings only");
        store.write_blob(FITTED_BLOB, &bytes).await?;
        self.inner.learning.adopt(tenant, fitted_now.clone());
        Ok(fitted_now)
    }
}
