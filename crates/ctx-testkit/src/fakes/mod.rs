//! Fakes of the plugin contracts: small, deterministic, scriptable with faults, and they remember what they were asked.

mod clock;
mod model;
mod policy;
mod reasoner;
mod retriever;
mod sink;
mod store;
mod verifier;

pub use clock::FixedClock;
pub use model::{FakeModel, Reply};
pub use policy::FakePolicy;
pub use reasoner::{FakeExtractive, FakeSingleShot};
pub use retriever::FakeRetriever;
pub use sink::RecordingSink;
pub use store::FakeStore;
pub use verifier::FakeVerifier;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A test that panicked while holding a fake must not hide its own message behind a poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
