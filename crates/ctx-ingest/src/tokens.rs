//! How passages are measured: the caller's tokenizer behind one method.

/// Counts the tokens of a text.
///
/// Contract: linear time; no more tokens than bytes; and, as all byte-pair tokenizers that split at line ends first, the
/// count of two texts joined at a line start is the sum of their counts. Passages whose cut is inside a line are counted
/// again as a whole, so the bound holds for tokenizers that merge across words too.
pub trait TokenCounter {
    /// Tokens of `text`.
    fn count(&self, text: &str) -> u32;
}

impl<F: Fn(&str) -> u32> TokenCounter for F {
    fn count(&self, text: &str) -> u32 {
        self(text)
    }
}

/// Counts words, at most twelve bytes each: for tests and for tools that need no tokenizer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words;

/// Bytes of a word that cost one token in [`Words`]; long runs without blanks must not look cheap.
const WORD_BYTES_MAX: usize = 12;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> u32 {
        let tokens: usize = text.split_whitespace().map(|word| word.len().div_ceil(WORD_BYTES_MAX)).sum();
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_cost_by_their_bytes() {
        assert_eq!(Words.count("a plan  fits\n"), 3);
        assert_eq!(Words.count(&"x".repeat(25)), 3);
        assert_eq!((|t: &str| t.len() as u32).count("abc"), 3);
    }
}
