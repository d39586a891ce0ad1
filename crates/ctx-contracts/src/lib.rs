//! Plugin contracts: object-safe async traits without a runtime or a client.
