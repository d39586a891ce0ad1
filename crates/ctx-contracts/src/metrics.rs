//! What every operator reports, or BUFFERS would have nothing to show.

use ctx_types::Micros;

/// Work done by one operator call. `None`: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecMetrics {
    /// Rows or passages returned.
    pub rows: Option<u64>,
    /// Bytes read.
    pub bytes: Option<u64>,
    /// Chunks visited.
    pub chunks: Option<u64>,
    /// Chunks served from a cache.
    pub cache_hits: Option<u64>,
    /// Wall time.
    pub elapsed: Micros,
}

/// A result with what it took.
#[derive(Clone, Debug)]
pub struct Metered<T> {
    /// The result.
    pub value: T,
    /// What it took.
    pub metrics: ExecMetrics,
}
