//! Execution graph to schedule: order, concurrency, retries, deadlines.
