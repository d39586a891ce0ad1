//! Cuts decoded text into passages along its structure.

use crate::error::IngestError;

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
