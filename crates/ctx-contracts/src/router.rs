//! One planned model, several equivalent endpoints.

use ctx_types::ModelName;

/// An endpoint that serves the planned model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Base URL.
    pub base_url: String,
    /// Whether its breaker is closed.
    pub healthy: bool,
}

/// Chooses an endpoint; never changes the model.
pub trait Router: Send + Sync {
    /// Name in the registry.
    fn name(&self) -> &str;
    /// Index into `endpoints`, or `None` when none is healthy.
    fn route(&self, model: &ModelName, endpoints: &[Endpoint]) -> Option<usize>;
}
