//! A secret: read from an environment variable, never printed.

use std::fmt;

/// A key or password. Its `Debug` and `Display` say only that there is one.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The value of an environment variable; `None` if it is not set or blank.
    pub fn from_variable(name: &str) -> Option<Secret> {
        std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()).map(Secret)
    }

    /// A given value.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The secret itself, for the header it goes into and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn it_does_not_print_itself() {
        let secret = Secret::new("sk-hidden");
        assert!(!format!("{secret:?} {secret} {:?}", Some(&secret)).contains("hidden"));
        assert_eq!(secret.expose(), "sk-hidden");
    }
}
