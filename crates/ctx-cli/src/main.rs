//! The `ctxrt` binary.
fn main() {}
