//! The catalog as it stands, with the versions of everything in it: hashed once while nothing moves, not once per request.

use crate::prepare::Request;
use ctx_plan_cache::Stamps;
use ctx_types::plan::Stamp;
use ctx_types::{Catalog, Denial, ModelName, PromptCache, Settings, SourceName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A catalog with the stamps of everything in it, kept while nothing in it moves.
pub(crate) struct Snapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) readers: Arc<BTreeMap<SourceName, usize>>,
    versions: Mutex<Option<VersionSet>>,
    stamps: Mutex<Option<StampSet>>,
}

/// Versions of what exists, for some of the sources under some denials.
struct VersionSet {
    sources: Vec<SourceName>,
    denials: Vec<Denial>,
    policy: String,
    versions: Arc<Vec<Stamp>>,
}

struct StampSet {
    tenant: String,
    epoch: String,
    versions: Arc<Vec<Stamp>>,
    prompt_caches: BTreeMap<ModelName, PromptCache>,
    stamps: Arc<Stamps>,
}

impl Snapshot {
    /// Nothing of it is hashed yet.
    pub(crate) fn of(catalog: Arc<Catalog>, readers: Arc<BTreeMap<SourceName, usize>>) -> Snapshot {
        Snapshot { catalog, readers, versions: Mutex::new(None), stamps: Mutex::new(None) }
    }

    /// Versions of what exists; computed once while the request's sources and denials stay.
    pub(crate) fn versions(&self, sources: &[SourceName], denials: &[Denial], settings: &Settings) -> Arc<Vec<Stamp>> {
        let mut kept = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |set: &&VersionSet| set.sources == sources && set.denials == denials && set.policy == settings.policy_version;
        if let Some(set) = kept.as_ref().filter(same) {
            return set.versions.clone();
        }
        let versions = Arc::new(ctx_planner::versions(&self.catalog, sources, denials, settings));
        *kept = Some(VersionSet {
            sources: sources.to_vec(),
            denials: denials.to_vec(),
            policy: settings.policy_version.clone(),
            versions: versions.clone(),
        });
        versions
    }

    /// Versions of everything that planning this request considers; computed once while the inputs stay.
    pub(crate) fn stamps(&self, request: &Request<'_>) -> Arc<Stamps> {
        let tenant = &request.goal.principal.tenant;
        let epoch = request.statistics.epoch(tenant);
        let mut kept = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = kept
            .as_ref()
            .filter(|s| s.tenant == *tenant && s.epoch == epoch && Arc::ptr_eq(&s.versions, request.versions))
            .filter(|s| s.prompt_caches == *request.prompt_caches)
        {
            return set.stamps.clone();
        }
        let fresh = ctx_planner::stamps(request.versions, &self.catalog, request.statistics, tenant, request.prompt_caches);
        let stamps = Arc::new(Stamps::from(fresh));
        *kept = Some(StampSet {
            tenant: tenant.clone(),
            epoch: epoch.to_owned(),
            versions: request.versions.clone(),
            prompt_caches: request.prompt_caches.clone(),
            stamps: stamps.clone(),
        });
        stamps
    }
}
