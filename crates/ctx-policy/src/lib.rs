//! Rules of the house behind the Policy contract: who may read which source, what may go to which model, and what in a text
//! is a sensitive value.
//!
//! [`HousePolicy`] asks its parts in this order, and the first refusal stands: the built-in rules ([`BuiltinRules`]: readers of
//! sources, what a tier accepts), then a Rego file evaluated in process ([`RegoRules`]). A rule file opens nothing that the
//! built-in rules close. An error, and an answer that is undefined, deny.
//!
//! Sensitive values are found by the detectors of `ctx-intent`, and in addition by a Presidio server ([`Presidio`]), which
//! knows names and addresses. A detector that is down is an error here; whoever asked counts the text as restricted.
//!
//! ```
//! use ctx_policy::RegoRules;
//!
//! let rules = RegoRules::parse("house.rego", "package ctxrt\n\ndeny contains \"no models\" if input.model\n").unwrap();
//! assert!(rules.version().starts_with("rego-"));
//! let error = RegoRules::parse("house.rego", "package ctxrt\n\ndeny contains if {\n").unwrap_err();
//! assert!(error.to_string().contains("house.rego:3:"), "{error}");
//! ```

mod builtin;
mod error;
mod house;
mod labels;
mod presidio;
mod question;
mod rego;

pub use builtin::BuiltinRules;
pub use error::PolicyError;
pub use house::HousePolicy;
pub use labels::Labels;
pub use presidio::Presidio;
pub use rego::RegoRules;
