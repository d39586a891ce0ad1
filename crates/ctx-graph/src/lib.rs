//! Execution-graph IR: nodes, edges, validation, lowering from a plan.
