//! A what-if file: YAML to the value that travels in the request.

use crate::config::tree;
use ctx_types::WhatIf;

/// Why a what-if cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("reading a what-if{place}: {cause}; keys are sources, models and drop")]
pub struct WhatIfError {
    /// Line and column, where known.
    place: String,
    /// What is wrong.
    cause: String,
}

/// Reads a what-if. Unknown keys are errors: an assumption that is ignored would mislead.
pub fn what_if(text: &str) -> Result<WhatIf, WhatIfError> {
    tree::typed(text).map_err(|(line, column, cause)| WhatIfError { place: format!(" at {line}:{column}"), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_models_and_prices_are_read() {
        let text = "sources:\n  wiki: {passages: 20000, embeddings: true, sensitivity: public, paths: [bm25, dense]}\nmodels:\n  cheap: {like: premium, input_price: 0.25, output_price: 1}\ndrop: [logs]\n";
        let read = what_if(text).expect("valid");
        assert_eq!((read.sources.len(), read.models.len(), read.drop.len()), (1, 1, 1));
        assert!(read.sources.values().all(|s| s.passages == Some(20_000) && s.embeddings == Some(true)));
        assert!(read.models.values().all(|m| m.input_price.is_some_and(|p| p.0.get() == 250_000)));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let error = what_if("sources:\n  wiki: {pages: 3}\n").expect_err("no such key").to_string();
        assert!(error.contains("pages"), "{error}");
        assert!(what_if("sources: [").is_err());
    }
}
