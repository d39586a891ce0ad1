//! Vectors as they are stored and searched: int8 codes with one scale, integer dot products, similarities rounded
//! to 10⁻⁴. Not an index: `nearest` is a scan, exact over the codes.
//!
//! Integer sums do not depend on their order, so any vectorisation gives the same ranking; the f32 re-score
//! ([`cosine_e4`]) adds in a fixed order and rounds, which hides the last bits.

/// Largest magnitude of a code. −128 is not used, so that a code and its negative both exist.
const CODE_MAX: f32 = 127.0;
/// Independent sums of [`dot_f32`]; part of the result's definition, since f32 addition is not associative.
const LANES: usize = 8;

/// Rounds a vector to int8 codes: `value ≈ code · scale`. The zero vector has scale 0; a value that is not finite
/// becomes 0.
pub fn quantize(vector: &[f32]) -> (Vec<i8>, f32) {
    let largest = vector.iter().filter(|v| v.is_finite()).fold(0.0_f32, |max, v| max.max(v.abs()));
    if largest == 0.0 {
        return (vec![0; vector.len()], 0.0);
    }
    let scale = largest / CODE_MAX;
    (vector.iter().map(|v| code(*v, scale)).collect(), scale)
}

fn code(value: f32, scale: f32) -> i8 {
    if !value.is_finite() {
        return 0;
    }
    (value / scale).round().clamp(-CODE_MAX, CODE_MAX) as i8
}

/// Dot product of two code vectors; the shorter length counts. Exact below 130,000 dimensions.
pub fn dot_i8(query: &[i8], row: &[i8]) -> i32 {
    query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// [`dot_i8`] with a row as it lies in a memory-mapped file.
pub fn dot_bytes(query: &[i8], row: &[u8]) -> i32 {
    query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b as i8)).sum()
}

/// Similarity in ten-thousandths from a code dot product and both scales.
pub fn similarity_e4(dot: i32, query_scale: f32, row_scale: f32) -> i32 {
    round_e4(f64::from(dot) * f64::from(query_scale) * f64::from(row_scale))
}

/// Similarity in ten-thousandths of two unit vectors in f32, for the re-score.
pub fn cosine_e4(a: &[f32], b: &[f32]) -> i32 {
    round_e4(f64::from(dot_f32(a, b)))
}

fn round_e4(similarity: f64) -> i32 {
    (similarity * 10_000.0).round() as i32
}

/// f32 dot product with a fixed order of additions: lane sums first, then the lanes left to right.
pub fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut lanes = [0.0_f32; LANES];
    for (x, y) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for (lane, (x, y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane += x * y;
        }
    }
    let done = len - len % LANES;
    for (lane, (x, y)) in lanes.iter_mut().zip(a[done..].iter().zip(&b[done..])) {
        *lane += x * y;
    }
    lanes.iter().sum()
}

/// A row found by [`nearest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Position of the row.
    pub row: usize,
    /// Similarity in ten-thousandths.
    pub similarity_e4: i32,
}

/// The `k` rows most similar to `query`, best first, ties by position. `rows` holds `scales.len()` rows of
/// `query.len()` codes one after the other; a row with scale 0 (a text without known words) is never returned.
pub fn nearest(query: &[i8], query_scale: f32, rows: &[u8], scales: &[f32], k: usize) -> Vec<Neighbour> {
    if query.is_empty() || query_scale == 0.0 || k == 0 {
        return Vec::new();
    }
    let keep = 2 * k.min(scales.len());
    let mut best: Vec<Neighbour> = Vec::with_capacity(keep);
    let mut floor = i32::MIN;
    for (row, (codes, scale)) in rows.chunks_exact(query.len()).zip(scales).enumerate() {
        let similarity_e4 = similarity_e4(dot_bytes(query, codes), query_scale, *scale);
        if *scale == 0.0 || similarity_e4 < floor {
            continue;
        }
        best.push(Neighbour { row, similarity_e4 });
        if best.len() >= keep && best.len() > k {
            floor = keep_best(&mut best, k);
        }
    }
    keep_best(&mut best, k);
    best
}

/// Sorts, cuts to `k`, and returns the similarity below which nothing can enter any more.
fn keep_best(best: &mut Vec<Neighbour>, k: usize) -> i32 {
    best.sort_unstable_by(|a, b| b.similarity_e4.cmp(&a.similarity_e4).then(a.row.cmp(&b.row)));
    best.truncate(k);
    if best.len() < k { i32::MIN } else { best.last().map_or(i32::MIN, |worst| worst.similarity_e4) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_and_non_finite_vectors_are_survived() {
        assert_eq!(quantize(&[0.0, 0.0]), (vec![0, 0], 0.0));
        assert_eq!(quantize(&[]), (vec![], 0.0));
        assert_eq!(quantize(&[f32::NAN, 1.0, f32::INFINITY]).0, vec![0, 127, 0]);
    }

    #[test]
    fn extreme_codes_do_not_overflow() {
        let codes = vec![-127_i8; 4096];
        assert_eq!(dot_i8(&codes, &codes), 4096 * 127 * 127);
    }

    #[test]
    fn ties_go_to_the_lower_row_and_zero_rows_are_left_out() {
        let query = [10_i8, 0];
        let rows = [0_u8, 0, 10, 0, 5, 5, 10, 0];
        let found = nearest(&query, 0.1, &rows, &[0.0, 0.1, 0.1, 0.1], 3);
        assert_eq!(found.iter().map(|n| n.row).collect::<Vec<_>>(), [1, 3, 2]);
    }

    proptest! {
        #[test]
        fn codes_stay_within_half_a_step(vector in prop::collection::vec(-3.0_f32..3.0, 1..300)) {
            let (codes, scale) = quantize(&vector);
            for (value, code) in vector.iter().zip(&codes) {
                prop_assert!((value - f32::from(*code) * scale).abs() <= scale * 0.501);
            }
        }

        #[test]
        fn dot_of_bytes_is_dot_of_codes(pairs in prop::collection::vec((-127_i8..=127, -127_i8..=127), 0..300)) {
            let (a, b): (Vec<i8>, Vec<i8>) = pairs.into_iter().unzip();
            let bytes: Vec<u8> = b.iter().map(|c| *c as u8).collect();
            let slow: i64 = a.iter().zip(&b).map(|(x, y)| i64::from(*x) * i64::from(*y)).sum();
            prop_assert_eq!(i64::from(dot_i8(&a, &b)), slow);
            prop_assert_eq!(i64::from(dot_bytes(&a, &bytes)), slow);
        }

        #[test]
        fn nearest_equals_sorting_everything(
            rows in prop::collection::vec(prop::collection::vec(-9_i8..=9, 4), 0..60),
            query in prop::collection::vec(-9_i8..=9, 4),
            k in 0_usize..70,
        ) {
            let bytes: Vec<u8> = rows.iter().flatten().map(|c| *c as u8).collect();
            let scales = vec![0.01_f32; rows.len()];
            let found = nearest(&query, 0.01, &bytes, &scales, k);
            let mut all: Vec<(i32, usize)> =
                rows.iter().enumerate().map(|(i, r)| (similarity_e4(dot_i8(&query, r), 0.01, 0.01), i)).collect();
            all.sort_by_key(|(s, i)| (-s, *i));
            all.truncate(k);
            prop_assert_eq!(found.iter().map(|n| (n.similarity_e4, n.row)).collect::<Vec<_>>(), all);
        }
    }
}
