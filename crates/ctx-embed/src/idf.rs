//! Token weights of one source: inverse document frequencies over its chunks, frozen under a version.
//!
//! The weights are not part of the model: what is rare depends on the source, and weights counted there find clearly
//! more than weights guessed from a token's rank. A frozen table is part of an embedding's identity; counting again
//! means embedding again.
//!
//! `weight(t) = ln(1 + (N − df(t) + ½) / (df(t) + ½))` with N documents, df(t) of which hold t: BM25's inverse document
//! frequency (Robertson and Spärck Jones 1976, kept positive as Lucene does). A token that no document holds gets the
//! largest weight; a token that all hold, the smallest, but not 0, so that a text of common words, or the only
//! document of a source, still has a vector.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{EmbedError, hex_prefix};

/// First byte of the stored form.
const FORMAT: u8 = 1;
/// Largest vocabulary that is read back, to bound what a damaged file can allocate.
const VOCABULARY_MAX: u64 = 1 << 22;

/// Counts in how many documents each token occurs.
#[derive(Debug, Clone)]
pub struct IdfBuilder {
    documents: u64,
    frequencies: Vec<u64>,
    /// For each token the number of the last document that held it, so that a document counts once.
    last_seen: Vec<u64>,
}

impl IdfBuilder {
    /// A builder for a vocabulary of this many tokens ([`StaticModel::vocabulary_len`](crate::StaticModel)).
    pub fn new(vocabulary_len: usize) -> Self {
        Self { documents: 0, frequencies: vec![0; vocabulary_len], last_seen: vec![0; vocabulary_len] }
    }

    /// Counts one document (a chunk). Tokens outside the vocabulary are ignored.
    pub fn add_document(&mut self, tokens: &[u32]) {
        self.documents += 1;
        for token in tokens {
            let index = *token as usize;
            if let Some(seen) = self.last_seen.get_mut(index)
                && *seen != self.documents
            {
                *seen = self.documents;
                self.frequencies[index] += 1;
            }
        }
    }

    /// Adds the counts of documents that this builder has not seen, say another segment's.
    ///
    /// # Errors
    /// [`EmbedError::Vocabulary`] if the table is of another vocabulary.
    pub fn merge(&mut self, table: &IdfTable) -> Result<(), EmbedError> {
        let (left, right) = (self.frequencies.len(), table.frequencies.len());
        if left != right {
            return Err(EmbedError::Vocabulary { left, right });
        }
        self.documents += table.documents;
        for (sum, more) in self.frequencies.iter_mut().zip(&table.frequencies) {
            *sum += more;
        }
        Ok(())
    }

    /// Freezes the counts.
    pub fn finish(self) -> IdfTable {
        IdfTable::from_counts(self.documents, self.frequencies)
    }
}

/// Frozen token weights of one source. Equal counts give equal versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredIdf", into = "StoredIdf")]
pub struct IdfTable {
    version: String,
    documents: u64,
    frequencies: Vec<u64>,
    weights: Vec<f32>,
    unseen: f32,
}

impl IdfTable {
    /// The table of a source that has not been counted: every token weighs the same.
    pub fn uniform(vocabulary_len: usize) -> Self {
        Self::from_counts(0, vec![0; vocabulary_len])
    }

    /// Content hash of the counts; part of [`EmbeddingIdentity`](crate::EmbeddingIdentity).
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Tokens of the vocabulary.
    pub fn vocabulary_len(&self) -> usize {
        self.frequencies.len()
    }

    /// Documents that hold this token.
    pub fn document_frequency(&self, token: u32) -> u64 {
        self.frequencies.get(token as usize).copied().unwrap_or(0)
    }

    /// Weight of a token; positive.
    pub fn weight(&self, token: u32) -> f32 {
        self.weights.get(token as usize).copied().unwrap_or(self.unseen)
    }

    /// Whether a source of `documents` documents has outgrown this table: it holds twice as many or half as many.
    pub fn is_outgrown_by(&self, documents: u64) -> bool {
        documents != self.documents && (documents >= self.documents.saturating_mul(2) || documents.saturating_mul(2) <= self.documents)
    }

    /// The compact stored form: format byte, then LEB128 numbers: vocabulary, documents, and for each token that
    /// occurs the distance to the token before it and its document frequency.
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(self.documents, &self.frequencies)
    }

    /// Reads [`to_bytes`](Self::to_bytes) back.
    ///
    /// # Errors
    /// [`EmbedError::Idf`] if the bytes are cut, of another format or contradict themselves.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EmbedError> {
        let (documents, frequencies) = decode(bytes).map_err(|problem| EmbedError::Idf { problem: problem.into() })?;
        Ok(Self::from_counts(documents, frequencies))
    }

    fn from_counts(documents: u64, frequencies: Vec<u64>) -> Self {
        // Most tokens of a vocabulary occur nowhere in a source: their logarithm is taken once.
        let unseen = weight(documents, 0);
        let weights = frequencies.iter().map(|df| if *df == 0 { unseen } else { weight(documents, *df) }).collect();
        let version = format!("idf_{}", hex_prefix(&Sha256::digest(encode(documents, &frequencies))));
        Self { version, documents, weights, unseen, frequencies }
    }
}

/// `libm` rather than the platform's logarithm: the same bits everywhere.
fn weight(documents: u64, frequency: u64) -> f32 {
    let (n, df) = (documents as f64, frequency as f64);
    libm::log(1.0 + (n - df + 0.5) / (df + 0.5)) as f32
}

/// The serde form: what cannot be recomputed, and the version as its checksum.
#[derive(Serialize, Deserialize)]
struct StoredIdf {
    version: String,
    vocabulary: u64,
    documents: u64,
    /// Pairs of token and document frequency, flat, ascending by token.
    frequencies: Vec<u64>,
}

impl From<IdfTable> for StoredIdf {
    fn from(table: IdfTable) -> Self {
        let occurring = table.frequencies.iter().enumerate().filter(|(_, df)| **df > 0);
        Self {
            vocabulary: table.frequencies.len() as u64,
            documents: table.documents,
            frequencies: occurring.flat_map(|(token, df)| [token as u64, *df]).collect(),
            version: table.version,
        }
    }
}

impl TryFrom<StoredIdf> for IdfTable {
    type Error = EmbedError;

    fn try_from(stored: StoredIdf) -> Result<Self, EmbedError> {
        let problem = |text: &str| EmbedError::Idf { problem: text.into() };
        if stored.vocabulary > VOCABULARY_MAX {
            return Err(problem("the vocabulary is too large"));
        }
        let mut frequencies = vec![0; stored.vocabulary as usize];
        for pair in stored.frequencies.chunks(2) {
            let [token, df] = pair else { return Err(problem("a token has no frequency")) };
            let slot = usize::try_from(*token).ok().and_then(|token| frequencies.get_mut(token));
            *slot.ok_or_else(|| problem("a token is outside the vocabulary"))? = *df;
            if *df > stored.documents {
                return Err(problem("a document frequency exceeds the documents"));
            }
        }
        let table = Self::from_counts(stored.documents, frequencies);
        if table.version != stored.version {
            return Err(problem("the counts do not match their version"));
        }
        Ok(table)
    }
}

fn encode(documents: u64, frequencies: &[u64]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    put(&mut bytes, frequencies.len() as u64);
    put(&mut bytes, documents);
    let mut next = 0;
    for (token, df) in frequencies.iter().enumerate().filter(|(_, df)| **df > 0) {
        put(&mut bytes, (token - next) as u64);
        put(&mut bytes, *df);
        next = token + 1;
    }
    bytes
}

fn decode(bytes: &[u8]) -> Result<(u64, Vec<u64>), &'static str> {
    let Some((&FORMAT, mut rest)) = bytes.split_first() else { return Err("unknown format") };
    let vocabulary = take(&mut rest)?;
    let documents = take(&mut rest)?;
    if vocabulary > VOCABULARY_MAX {
        return Err("the vocabulary is too large");
    }
    let mut frequencies = vec![0; vocabulary as usize];
    let mut next = 0_u64;
    while !rest.is_empty() {
        let token = next.checked_add(take(&mut rest)?).filter(|token| *token < vocabulary);
        let token = token.ok_or("a token is outside the vocabulary")?;
        let df = take(&mut rest)?;
        if df == 0 || df > documents {
            return Err("a document frequency exceeds the documents");
        }
        frequencies[token as usize] = df;
        next = token + 1;
    }
    Ok((documents, frequencies))
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or("cut short")?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is too long")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted(documents: &[&[u32]]) -> IdfTable {
        let mut builder = IdfBuilder::new(10);
        documents.iter().for_each(|tokens| builder.add_document(tokens));
        builder.finish()
    }

    #[test]
    fn rarer_weighs_more_and_repetition_in_a_document_counts_once() {
        let table = counted(&[&[1, 1, 1, 2], &[2, 3], &[2], &[99]]);
        assert_eq!((table.documents(), table.document_frequency(1), table.document_frequency(2)), (4, 1, 3));
        assert!(table.weight(0) > table.weight(1) && table.weight(1) > table.weight(2));
        assert!((table.weight(1) - (1.0_f32 + 3.5 / 1.5).ln()).abs() < 1e-6);
        assert_eq!(table.weight(4_000_000), table.weight(0));
    }

    #[test]
    fn uniform_weighs_all_alike() {
        let table = IdfTable::uniform(10);
        assert!(table.weight(0) > 0.0);
        assert_eq!(table.weight(0), table.weight(9));
    }

    #[test]
    fn merging_segments_equals_counting_at_once() {
        let whole = counted(&[&[1, 2], &[2], &[3, 3], &[1]]);
        let mut builder = IdfBuilder::new(10);
        builder.add_document(&[1, 2]);
        builder.merge(&counted(&[&[2], &[3, 3]])).expect("same vocabulary");
        builder.add_document(&[1]);
        assert_eq!(builder.finish(), whole);
        let error = IdfBuilder::new(3).merge(&whole).expect_err("other vocabulary");
        assert!(error.to_string().contains("3 tokens, the other 10"), "{error}");
    }

    #[test]
    fn outgrown_at_double_and_at_half() {
        let table = counted(&[&[1_u32][..]; 10]);
        let outgrown: Vec<bool> = [5, 6, 19, 20].map(|n| table.is_outgrown_by(n)).into();
        assert_eq!(outgrown, [true, false, false, true]);
        assert!(!IdfTable::uniform(3).is_outgrown_by(0));
        assert!(IdfTable::uniform(3).is_outgrown_by(1));
    }

    proptest! {
        #[test]
        fn stored_forms_round_trip_and_the_version_follows_the_counts(
            documents in prop::collection::vec(prop::collection::vec(0_u32..12, 0..8), 0..20),
        ) {
            let mut builder = IdfBuilder::new(10);
            documents.iter().for_each(|tokens| builder.add_document(tokens));
            let table = builder.clone().finish();
            prop_assert_eq!(&IdfTable::from_bytes(&table.to_bytes()).expect("own bytes"), &table);
            let json = serde_json::to_string(&table).expect("numbers and strings");
            prop_assert_eq!(&serde_json::from_str::<IdfTable>(&json).expect("own json"), &table);
            builder.add_document(&[1]);
            let more = builder.finish();
            prop_assert_ne!(more.version(), table.version());
        }

        #[test]
        fn damaged_bytes_are_errors_or_other_tables_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut with_format = vec![FORMAT];
            with_format.extend(&bytes);
            let _ = IdfTable::from_bytes(&bytes);
            let _ = IdfTable::from_bytes(&with_format);
        }
    }
}
