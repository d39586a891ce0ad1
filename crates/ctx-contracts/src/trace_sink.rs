//! Where traces go.

use crate::PluginError;
use async_trait::async_trait;
use ctx_types::Trace;

/// A place that keeps traces.
#[async_trait]
pub trait TraceSink: Send + Sync {
    /// Records one run. Called once per run, on failure and on cancellation too.
    async fn record(&self, trace: &Trace) -> Result<(), PluginError>;
}
