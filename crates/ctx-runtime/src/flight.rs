//! Single flight: requests with one key take turns, so that one plans and the others find its entry.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Mutex as Turn, MutexGuard as TurnGuard};

#[derive(Default)]
struct Line {
    turn: Turn<()>,
    went: AtomicBool,
}

/// Keys that are being planned.
#[derive(Default)]
pub(crate) struct Flights {
    lines: Mutex<BTreeMap<u128, Arc<Line>>>,
}

/// A place in the line of one key; leaving it empties the line when nobody else waits.
pub(crate) struct Flight<'a> {
    flights: &'a Flights,
    key: u128,
    line: Arc<Line>,
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
        self.line.turn.lock().await
    }

    /// Whether somebody in this line has planned already.
    pub(crate) fn others_went_first(&self) -> bool {
        self.line.went.load(Ordering::Acquire)
    }

    /// Planned and inserted.
    pub(crate) fn went(&self) {
        self.line.went.store(true, Ordering::Release);
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
    async fn one_goes_first_the_other_sees_it_and_the_line_empties() {
        let flights = Arc::new(Flights::default());
        let first = flights.join(7);
        let turn = first.turn().await;
        let second = tokio::spawn({
            let flights = flights.clone();
            async move {
                let flight = flights.join(7);
                let _turn = flight.turn().await;
                flight.others_went_first()
            }
        });
        tokio::task::yield_now().await;
        first.went();
        drop(turn);
        assert!(second.await.expect("no panic"));
        drop(first);
        assert!(flights.lines.lock().expect("no panic").is_empty());
    }
}
