//! Evaluation of access paths and of the planner's choice on any labelled collection.
