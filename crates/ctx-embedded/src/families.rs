//! Exact counts of the tokenizer families that are part of this build, for models that use them and as the known counts
//! that other tokenizers are predicted from.

use crate::tokens::windows;
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton, p50k_base_singleton, r50k_base_singleton};

/// A tokenizer of this build. Its tables are built at the first count of the process.
#[derive(Clone, Copy)]
pub struct KnownTokenizer {
    name: &'static str,
    tables: fn() -> &'static CoreBPE,
}

impl std::fmt::Debug for KnownTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const ALL: [KnownTokenizer; 4] = [
    KnownTokenizer { name: "o200k", tables: o200k_base_singleton },
    KnownTokenizer { name: "cl100k", tables: cl100k_base_singleton },
    KnownTokenizer { name: "p50k", tables: p50k_base_singleton },
    KnownTokenizer { name: "r50k", tables: r50k_base_singleton },
];

impl KnownTokenizer {
    /// `o200k`, `cl100k`, `p50k` or `r50k`.
    pub fn named(name: &str) -> Option<KnownTokenizer> {
        ALL.into_iter().find(|tokenizer| tokenizer.name == name)
    }

    /// Tokens of `text`. Text that looks like a special token is ordinary text.
    pub fn tokens(&self, text: &str) -> u32 {
        let tables = (self.tables)();
        let total: usize = windows(text).map(|window| tables.count_ordinary(window)).sum();
        u32::try_from(total).unwrap_or(u32::MAX)
    }
}

impl ctx_contracts::TokenCounter for KnownTokenizer {
    fn family(&self) -> &str {
        self.name
    }

    fn count(&self, text: &str) -> u32 {
        self.tokens(text)
    }
}
