//! What retrieval returns: passages with byte ranges that point into the file on disk.

use crate::{AccessPath, SourceName, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Half-open byte range `start..end` in the file on disk (BOM and CRs counted).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ByteRange {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl ByteRange {
    /// Whether two ranges share a byte.
    pub fn overlaps(self, other: ByteRange) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// Where a passage stands: everything a citation needs to be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Locator {
    /// The source it belongs to.
    pub source: SourceName,
    /// Path below the source's root, `/`-separated; never absolute, never with `..`.
    pub path: String,
    /// Bytes in the file on disk.
    pub bytes: ByteRange,
    /// First line, 1-based.
    pub line_start: u32,
    /// Last line, inclusive.
    pub line_end: u32,
    /// Heading path (`Setup > Linux`), symbol path (`impl Ledger > reserve`) or record id; empty if none.
    pub section: String,
    /// Other paths at which a byte-identical passage stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<String>,
}

/// A piece of a source, bounded in tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// Stable within a generation: `path#start-end` hashed; equal text at another place has another id.
    pub id: String,
    /// Where it stands.
    pub locator: Locator,
    /// Title of the document: front matter, first heading or file name.
    pub title: String,
    /// Decoded text: no BOM, LF line ends, no NUL.
    pub text: String,
    /// SHA-256 hex of the passage's bytes on disk: re-checked before the passage is cited.
    pub fingerprint: String,
    /// Tokens of `text` under o200k, counted at indexing.
    pub tokens: u32,
}

/// One ranked result of one access path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The passage.
    pub passage: Passage,
    /// The path's own score (BM25, cosine quantised to 1e-4, fused score). Comparable within one list only.
    pub score: f64,
    /// 1-based rank in its list.
    pub rank: u32,
    /// Which access path found it.
    pub path: AccessPath,
    /// Whether it holds an identifier of the goal literally: such hits outrank all others.
    pub exact: bool,
}

/// What a shortened passage leaves out, so that it can be fetched, and when it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Id of the passage in its source.
    pub passage: String,
    /// Where the original stands: source, path, byte range.
    pub locator: Locator,
    /// Fingerprint of the original: when the bytes on disk hash to something else, this form is stale.
    pub fingerprint: String,
    /// The compressor, with its share: `extractive keep=0.50`.
    pub by: String,
    /// Omitted, in words; empty when nothing was.
    pub omitted: String,
    /// Tokens of the original.
    pub tokens_before: Tokens,
    /// Tokens sent.
    pub tokens_after: Tokens,
    /// When the original must be fetched again.
    pub refresh: ReceiptRefresh,
}

/// When what a receipt stands for no longer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptRefresh {
    /// When the original's bytes on disk have another fingerprint.
    OriginalChanges,
}

impl Receipt {
    /// Tokens left out.
    pub fn tokens_omitted(&self) -> Tokens {
        Tokens(self.tokens_before.get().saturating_sub(self.tokens_after.get()))
    }
}
