//! Which model and which weights made a vector. Stored beside the vectors and compared before any search:
//! vectors of different identities share no space, and a similarity between them is a number without a meaning.

use serde::{Deserialize, Serialize};

use crate::{EmbedError, IdfTable};

/// Which model this is: two models with equal identities give the same vectors for the same weights.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// Name from the model's `config.json`, else its folder's name; for people.
    pub name: String,
    /// Numbers per vector.
    pub dimension: usize,
    /// First 32 hex digits of SHA-256 over tokenizer and weights; decides equality together with the dimension.
    pub hash: String,
}

impl ModelIdentity {
    /// The identity of vectors that this model makes with the weights of `idf`.
    pub fn with_idf(&self, idf: &IdfTable) -> EmbeddingIdentity {
        EmbeddingIdentity {
            model: self.name.clone(),
            dimension: self.dimension,
            hash: self.hash.clone(),
            idf_version: idf.version().to_owned(),
        }
    }
}

/// What stands beside stored vectors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EmbeddingIdentity {
    /// Name of the model; for people, not compared.
    pub model: String,
    /// Numbers per vector.
    pub dimension: usize,
    /// Hash of the model ([`ModelIdentity::hash`]).
    pub hash: String,
    /// Version of the weights ([`IdfTable::version`]).
    pub idf_version: String,
}

impl EmbeddingIdentity {
    /// Whether vectors of `wanted` may be compared with the stored ones that carry this identity.
    ///
    /// # Errors
    /// [`EmbedError::Mismatch`] names the first part that differs; its hint says how to re-embed.
    pub fn check(&self, wanted: &Self) -> Result<(), EmbedError> {
        if self.dimension != wanted.dimension {
            return Err(mismatch("dimension", self.dimension, wanted.dimension));
        }
        if self.hash != wanted.hash {
            return Err(mismatch("model", self.model_label(), wanted.model_label()));
        }
        if self.idf_version != wanted.idf_version {
            return Err(mismatch("IDF version", &self.idf_version, &wanted.idf_version));
        }
        Ok(())
    }

    fn model_label(&self) -> String {
        format!("{} ({})", self.model, self.hash)
    }
}

fn mismatch(field: &'static str, stored: impl ToString, wanted: impl ToString) -> EmbedError {
    EmbedError::Mismatch { field, stored: stored.to_string(), wanted: wanted.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> EmbeddingIdentity {
        EmbeddingIdentity { model: "m".into(), dimension: 384, hash: "aa".into(), idf_version: "idf_1".into() }
    }

    #[test]
    fn equal_identities_agree_whatever_the_name() {
        let renamed = EmbeddingIdentity { model: "other name".into(), ..stored() };
        assert!(stored().check(&renamed).is_ok());
    }

    #[test]
    fn each_part_that_differs_is_named_with_both_values_and_a_way_out() {
        let cases = [
            (EmbeddingIdentity { dimension: 768, ..stored() }, ["dimension", "384", "768"]),
            (EmbeddingIdentity { hash: "bb".into(), ..stored() }, ["model", "aa", "bb"]),
            (EmbeddingIdentity { idf_version: "idf_2".into(), ..stored() }, ["IDF version", "idf_1", "idf_2"]),
        ];
        for (wanted, parts) in cases {
            let error = stored().check(&wanted).expect_err("identities differ");
            let message = error.to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
            assert!(error.hint().contains("ctxrt analyze"), "{}", error.hint());
        }
    }
}
