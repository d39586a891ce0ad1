//! Lessons in order.
