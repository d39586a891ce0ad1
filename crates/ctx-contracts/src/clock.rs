//! Time, so that tests can fix it. Planner crates never see one: they get time as an argument.

use ctx_types::Micros;

/// A source of time.
pub trait Clock: Send + Sync {
    /// Monotonic time since an arbitrary start.
    fn monotonic(&self) -> Micros;
    /// Seconds since the Unix epoch.
    fn unix_seconds(&self) -> i64;
    /// RFC 3339 with offset.
    fn rfc3339(&self) -> String;
}
