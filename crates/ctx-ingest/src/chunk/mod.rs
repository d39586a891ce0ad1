//! Cuts decoded text into passages along its structure: a scanner per format finds blocks (`layout`), one packer joins
//! and splits them (`pack`, `split`).

#[cfg(feature = "code")]
pub(crate) mod code;
pub(crate) mod entities;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod markdown;
pub(crate) mod pack;
pub(crate) mod plain;
pub(crate) mod split;
pub(crate) mod table;

use crate::error::IngestError;
use crate::kind::CodeLanguage;
use layout::Layout;

/// Bounds of a passage in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkOptions {
    /// Short neighbours of one section are merged up to this size.
    pub target_tokens: u32,
    /// No passage is larger. A document that fits is one passage.
    pub max_tokens: u32,
}

/// Smallest accepted `max_tokens`: one character may cost several tokens.
pub const MAX_TOKENS_MIN: u32 = 16;

impl Default for ChunkOptions {
    fn default() -> Self {
        Self { target_tokens: 220, max_tokens: 512 }
    }
}

impl ChunkOptions {
    /// Refuses bounds that cannot be kept.
    pub fn check(self) -> Result<Self, IngestError> {
        let (target, max) = (self.target_tokens, self.max_tokens);
        if max < MAX_TOKENS_MIN || target == 0 || target > max {
            return Err(IngestError::Bounds { target, max, min: MAX_TOKENS_MIN });
        }
        Ok(self)
    }
}

/// Code by its syntax tree; the error says why it has to be cut as text.
pub(crate) fn code_layout(text: &str, language: CodeLanguage, bounds: ChunkOptions) -> Result<Layout, String> {
    #[cfg(feature = "code")]
    return code::code(text, language, bounds.target_tokens);
    #[cfg(not(feature = "code"))]
    {
        let _ = (text, bounds);
        Err(format!("this build has no grammar for {language:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_cannot_be_kept_are_refused() {
        assert!(ChunkOptions::default().check().is_ok());
        for (target_tokens, max_tokens) in [(0, 100), (10, 8), (200, 100), (15, 15)] {
            assert!(ChunkOptions { target_tokens, max_tokens }.check().is_err());
        }
    }
}
