//! Single flight: requests with one key take turns, so that one plans and the others find its entry
//! when it is their turn. Whoever had its turn looks again before planning.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Mutex as Turn, MutexGuard as TurnGuard};

/// Keys that are being planned.
#[derive(Default)]
pub(crate) struct Flights {
    lines: Mutex<BTreeMap<u128, Arc<Turn<()>>>>,
}

/// A place in the line of one key; leaving it empties the line when nobody else waits.
pub(crate) struct Flight<'a> {
    flights: &'a Flights,
    key: u128,
    line: Arc<Turn<()>>,
}

impl Flights {
    pub(crate) fn join(&self, key: u128) -> Flight<'_> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry(key).or_default().clone();
        Flight { flights: self, key, line }
    }
}

impl Flight<'_> {
    /// Waits for one's turn.
    pub(crate) async fn turn(&self) -> TurnGuard<'_, ()> {
        self.line.lock().await
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut lines = self.flights.lines.lock().unwrap_or_else(PoisonError::into_inner);
        // The map's own reference and this one: nobody else is in line.
        if Arc::strong_count(&self.line) <= 2 {
            lines.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keys_are_taken_in_turns_and_the_line_empties() {
        let flights = Arc::new(Flights::default());
        let first = flights.join(7);
        let turn = first.turn().await;
        let second = tokio::spawn({
            let flights = flights.clone();
            async move { drop(flights.join(7).turn().await) }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished(), "two planned one key at once");
        drop(flights.join(8).turn().await);
        drop(turn);
        second.await.expect("no panic");
        drop(first);
        assert!(flights.lines.lock().expect("no panic").is_empty());
    }
}
