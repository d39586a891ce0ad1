//! Exact selection under constraints behind one Problem.
