//! A sink that keeps traces in memory.

use super::lock;
use async_trait::async_trait;
use ctx_contracts::{PluginError, TraceSink};
use ctx_types::Trace;
use std::sync::Mutex;

/// Keeps what it is given.
#[derive(Debug, Default)]
pub struct RecordingSink {
    traces: Mutex<Vec<Trace>>,
}

impl RecordingSink {
    /// Traces so far, oldest first.
    pub fn traces(&self) -> Vec<Trace> {
        lock(&self.traces).clone()
    }
}

#[async_trait]
impl TraceSink for RecordingSink {
    async fn record(&self, trace: &Trace) -> Result<(), PluginError> {
        lock(&self.traces).push(trace.clone());
        Ok(())
    }
}
