//! Model clients over HTTP.
