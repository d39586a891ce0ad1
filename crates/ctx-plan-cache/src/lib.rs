//! Plan cache: key, stamps, admission, invalidation with its cause.
