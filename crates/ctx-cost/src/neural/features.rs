//! What is known of an operator before it runs, as numbers: the shipped estimate (tokens, passages and calls are in it), the
//! tokens that a call reads, the size of the source, and by hash the names of operator and bucket.

use crate::statistics::StatKey;

/// Dense inputs: logarithm of the shipped estimate, of the tokens read, size class of the source.
pub(crate) const DENSE: usize = 3;
/// Places that names hash into.
const OPERATORS: usize = 16;
const BUCKETS: usize = 16;
/// All inputs.
pub(crate) const WIDTH: usize = DENSE + OPERATORS + BUCKETS;

/// Inputs of one estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Features {
    pub(crate) dense: [f64; DENSE],
    /// Which inputs beyond the dense ones are on.
    pub(crate) names: [usize; 2],
}

impl Features {
    /// Of an estimate of `key` whose shipped value is `shipped`, over `load` tokens (0: not told).
    pub(crate) fn of(key: &StatKey, shipped: i64, load: u64) -> Features {
        let size = key.size.map_or(0.0, |size| size as u8 as f64);
        Features {
            dense: [libm::log(shipped.max(0) as f64 + 1.0), libm::log(load as f64 + 1.0), size],
            names: [
                DENSE + place(key.operator.as_deref().unwrap_or_default(), OPERATORS),
                DENSE + OPERATORS + place(key.bucket.map_or("", |bucket| bucket.as_str()), BUCKETS),
            ],
        }
    }
}

/// FNV-1a.
fn place(name: &str, places: usize) -> usize {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    ((hash ^ (hash >> 32)) % places as u64) as usize
}
