//! The coefficients that turn features into probabilities.

/// Shares of each facet's values, counted on the training split.
#[derive(Debug)]
pub struct IntentModel {
    pub(crate) sources: [f64; 9],
    pub(crate) digest: &'static str,
}

impl IntentModel {
    /// The coefficients shipped with this build.
    pub fn embedded() -> &'static IntentModel {
        static COUNTED: IntentModel =
            IntentModel { sources: [200.0, 120.0, 210.0, 50.0, 120.0, 1.0, 80.0, 1.0, 1.0], digest: "counts-1" };
        &COUNTED
    }
}
