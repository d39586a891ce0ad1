//! Answerer and verifiers that need no model.
