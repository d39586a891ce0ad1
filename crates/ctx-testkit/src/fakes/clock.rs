//! A clock that stands until it is moved.

use ctx_contracts::Clock;
use ctx_types::Micros;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stands at 2026-11-29T00:00:00Z until [`FixedClock::advance`].
#[derive(Debug, Default)]
pub struct FixedClock {
    micros: AtomicU64,
}

/// 2026-11-29T00:00:00Z in seconds since the Unix epoch.
const START: i64 = 1_795_910_400;

impl FixedClock {
    /// Moves it forward.
    pub fn advance(&self, by: Micros) {
        self.micros.fetch_add(by.0, Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn monotonic(&self) -> Micros {
        Micros(self.micros.load(Ordering::SeqCst))
    }

    fn unix_seconds(&self) -> i64 {
        START + i64::try_from(self.micros.load(Ordering::SeqCst) / 1_000_000).unwrap_or(0)
    }

    fn rfc3339(&self) -> String {
        let second = self.micros.load(Ordering::SeqCst) / 1_000_000;
        format!("2026-11-29T{:02}:{:02}:{:02}+00:00", second / 3600 % 24, second / 60 % 60, second % 60)
    }
}
