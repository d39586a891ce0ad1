//! Goal to intent: facets with probabilities from typed detectors.

pub mod identifiers;
