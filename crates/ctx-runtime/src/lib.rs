//! The façade: plan, explain, simulate, run, execute, verify; the async executor.
