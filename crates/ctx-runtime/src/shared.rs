//! One value per type, shared by the plugins of one runtime: an opened store serves as `Store`, `Retriever` and
//! `TraceSink` without being opened three times. Not a service locator: only constructors see it.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Values by type.
#[derive(Default)]
pub struct Shared {
    values: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Shared {
    /// An empty set.
    pub fn new() -> Shared {
        Shared::default()
    }

    /// The value of type `T`, made by the first that asks. `make` must not ask for another value.
    pub fn get_or_make<T, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E>
    where
        T: Any + Send + Sync,
    {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = values.get(&TypeId::of::<T>()).cloned().and_then(|value| value.downcast::<T>().ok()) {
            return Ok(found);
        }
        let made = Arc::new(make()?);
        values.insert(TypeId::of::<T>(), made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_maker_wins_and_a_failure_leaves_nothing() {
        let shared = Shared::new();
        assert_eq!(shared.get_or_make::<u32, &str>(|| Err("no")), Err("no"));
        assert_eq!(*shared.get_or_make::<u32, &str>(|| Ok(7)).expect("made"), 7);
        assert_eq!(*shared.get_or_make::<u32, &str>(|| Ok(8)).expect("kept"), 7);
    }
}
