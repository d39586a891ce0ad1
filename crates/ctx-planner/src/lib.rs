//! The ordered list of planning stages, and the checks between them.
