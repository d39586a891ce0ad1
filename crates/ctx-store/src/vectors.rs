//! The int8 vectors of one segment, searched by brute force in memory.
//!
//! Layout (little-endian): magic 8 · version 4 · dimension 4 · count 4 · zero 4 · identity 32 · checksum of rows and
//! scales 8 · checksum of the preceding 64 bytes 8 · one f32 scale per row · `count × dimension` int8. Row *r* stands for
//! `scale[r] · row[r]`. Integer dot products make the ranking the same on every processor; similarities are in steps
//! of 10⁻⁴ and ties go to the lower ordinal.
//!
//! The rows are for searching; whoever needs exact values re-scores the few best from the originals.

use crate::checksum::{Checksum, checksum};
use crate::error::StoreError;
use crate::mapped::Mapped;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"CTXVECI8";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 72;
/// Written at a time.
const BUFFER_BYTES: usize = 256 << 10;
/// Widest accepted vector: keeps `dimension · 127²` within i32 with room to spare.
pub const DIMENSION_MAX: usize = 65_536;
/// Similarities are counted in these steps: finer differences are noise of the quantisation.
pub const SIMILARITY_STEPS: f64 = 10_000.0;

/// A vector found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// Its row.
    pub ordinal: u32,
    /// Dot product (cosine, for unit vectors) in steps of 10⁻⁴.
    pub similarity_e4: i32,
}

impl Neighbour {
    /// The similarity as a number.
    pub fn similarity(&self) -> f64 {
        f64::from(self.similarity_e4) / SIMILARITY_STEPS
    }
}

/// Largest absolute value becomes 127; a vector of zeros (or with a value that is not finite) stays zero. The row holds
/// two's complement bytes, as the file does.
fn quantise(vector: &[f32], row: &mut Vec<u8>) -> f32 {
    let finite = vector.iter().all(|value| value.is_finite());
    let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    if !finite || largest == 0.0 {
        row.extend(std::iter::repeat_n(0, vector.len()));
        return 0.0;
    }
    let scale = largest / 127.0;
    row.extend(vector.iter().map(|value| (value / scale).round() as i8 as u8));
    scale
}

/// Σ aᵢ·bᵢ over equally long rows. Sums of integers: whichever instructions are used, the result is the same.
fn dot_i8(a: &[u8], b: &[u8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code)]
        // SAFETY: the processor was just asked whether it has these instructions.
        return unsafe { dot_i8_avx2(a, b) };
    }
    dot_i8_plain(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_i8_avx2(a: &[u8], b: &[u8]) -> i32 {
    dot_i8_plain(a, b)
}

#[inline(always)]
fn dot_i8_plain(a: &[u8], b: &[u8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(i16::from(*x as i8) * i16::from(*y as i8))).sum()
}

/// Writes rows as they come; of each only its scale is kept in memory.
#[derive(Debug)]
pub struct VectorWriter {
    path: PathBuf,
    file: BufWriter<File>,
    dimension: usize,
    identity: [u8; 32],
    /// Rows that were announced.
    count: u32,
    scales: Vec<u8>,
    row: Vec<u8>,
    rows: Checksum,
}

impl VectorWriter {
    /// Creates the file for `count` rows of `dimension` values; `identity` is the hash of whatever made them (model, weights,
    /// version).
    pub fn create(path: &Path, dimension: usize, identity: [u8; 32], count: u32) -> Result<VectorWriter, StoreError> {
        if dimension == 0 || dimension > DIMENSION_MAX {
            return Err(inconsistent(format!("a dimension of {dimension} is not between 1 and {DIMENSION_MAX}")));
        }
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, File::create(path).map_err(StoreError::io("creating", path))?);
        let rows_at = HEADER_BYTES as u64 + 4 * u64::from(count);
        file.seek(SeekFrom::Start(rows_at)).map_err(StoreError::io("writing", path))?;
        let (path, scales, row) = (path.to_owned(), Vec::new(), Vec::new());
        Ok(VectorWriter { path, file, dimension, identity, count, scales, row, rows: Checksum::default() })
    }

    /// Appends the next row.
    pub fn push(&mut self, vector: &[f32]) -> Result<(), StoreError> {
        if vector.len() != self.dimension {
            return Err(inconsistent(format!("a vector of {} values among rows of {}", vector.len(), self.dimension)));
        }
        self.row.clear();
        let scale = quantise(vector, &mut self.row);
        self.scales.extend_from_slice(&scale.to_le_bytes());
        self.rows.update(&self.row);
        self.file.write_all(&self.row).map_err(StoreError::io("writing", &self.path))
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.scales.len() / 4
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Writes header and scales before the rows.
    pub fn finish(mut self) -> Result<(), StoreError> {
        if self.len() != self.count as usize {
            return Err(inconsistent(format!("{} rows where {} were announced", self.len(), self.count)));
        }
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        for number in [VERSION, self.dimension as u32, self.count, 0] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        header.extend_from_slice(&self.identity);
        header.extend_from_slice(&combined(checksum(&self.scales), self.rows.finish()).to_le_bytes());
        header.extend_from_slice(&checksum(&header).to_le_bytes());
        let file = &mut self.file;
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&header)).and_then(|()| file.write_all(&self.scales));
        written.and_then(|()| file.flush()).map_err(StoreError::io("writing", &self.path))
    }
}

fn body_checksum(scales: &[u8], rows: &[u8]) -> u64 {
    combined(checksum(scales), checksum(rows))
}

fn combined(scales: u64, rows: u64) -> u64 {
    scales.rotate_left(1) ^ rows
}

fn inconsistent(problem: String) -> StoreError {
    StoreError::Inconsistent { doing: "writing vectors", problem }
}

/// A vector file in memory. Clones share the mapping.
#[derive(Clone, Debug)]
pub struct VectorFile {
    file: Mapped,
    dimension: usize,
    count: usize,
}

impl VectorFile {
    /// Maps a file and verifies size and checksums.
    pub fn open(path: &Path) -> Result<VectorFile, StoreError> {
        let file = Mapped::open(path)?;
        if file.len() < HEADER_BYTES || file[..8] != MAGIC[..] {
            return Err(file.corrupt("not a vector file"));
        }
        let version = file.u32_at(8);
        if version > VERSION {
            return Err(StoreError::NewerSchema { path: path.to_owned(), found: version, supported: VERSION });
        }
        if file.u64_at(64) != checksum(&file[..64]) {
            return Err(file.corrupt("its header is damaged"));
        }
        let (dimension, count) = (file.u32_at(12) as usize, file.u32_at(16) as usize);
        let expected = count.checked_mul(dimension + 4).and_then(|body| body.checked_add(HEADER_BYTES));
        if dimension == 0 || dimension > DIMENSION_MAX || expected != Some(file.len()) {
            return Err(file.corrupt(format!("{} bytes for {count} rows of {dimension}", file.len())));
        }
        let rows_at = HEADER_BYTES + 4 * count;
        if file.u64_at(56) != body_checksum(&file[HEADER_BYTES..rows_at], &file[rows_at..]) {
            return Err(file.corrupt("its checksum does not match its content"));
        }
        Ok(VectorFile { file, dimension, count })
    }

    /// Values per row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }
    /// Rows.
    pub fn len(&self) -> usize {
        self.count
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Hash of whatever made the vectors: compare before searching, and never mix.
    pub fn identity(&self) -> [u8; 32] {
        self.file[24..56].try_into().expect("32 bytes")
    }
    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    fn scale(&self, row: usize) -> f64 {
        f64::from(f32::from_bits(self.file.u32_at(HEADER_BYTES + 4 * row)))
    }

    fn rows(&self) -> &[u8] {
        &self.file[HEADER_BYTES + 4 * self.count..]
    }

    /// The row as numbers again, as far as eight bits keep them; `None` beyond the last.
    pub fn vector(&self, ordinal: u32) -> Option<Vec<f32>> {
        let row = ordinal as usize;
        if row >= self.count {
            return None;
        }
        let scale = self.scale(row) as f32;
        let values = &self.rows()[row * self.dimension..(row + 1) * self.dimension];
        Some(values.iter().map(|value| f32::from(*value as i8) * scale).collect())
    }

    /// The `k` most similar rows that `keep` lets pass, best first; ties go to the lower ordinal. Rows of zeros (empty
    /// texts) are never found. `keep` is asked only for rows that would make the list.
    pub fn search(&self, query: &[f32], k: usize, keep: impl Fn(u32) -> bool) -> Result<Vec<Neighbour>, StoreError> {
        if query.len() != self.dimension {
            let problem = format!("a query of {} values for rows of {}", query.len(), self.dimension);
            return Err(StoreError::Inconsistent { doing: "searching vectors", problem });
        }
        let mut row = Vec::with_capacity(self.dimension);
        let query_scale = f64::from(quantise(query, &mut row)) * SIMILARITY_STEPS;
        if query_scale == 0.0 || k == 0 {
            return Ok(Vec::new());
        }
        // The heap's greatest element is the worst kept: lowest similarity, then highest ordinal.
        let mut best: BinaryHeap<(Reverse<i32>, u32)> = BinaryHeap::with_capacity(k.min(self.count) + 1);
        for (ordinal, values) in self.rows().chunks_exact(self.dimension).enumerate() {
            let scale = self.scale(ordinal);
            let candidate = (Reverse((f64::from(dot_i8(&row, values)) * (scale * query_scale)).round() as i32), ordinal as u32);
            let enters = best.len() < k || best.peek().is_some_and(|worst| candidate < *worst);
            if enters && scale > 0.0 && keep(ordinal as u32) {
                best.push(candidate);
                if best.len() > k {
                    best.pop();
                }
            }
        }
        let found = best.into_sorted_vec();
        Ok(found.into_iter().map(|(Reverse(similarity_e4), ordinal)| Neighbour { ordinal, similarity_e4 }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(folder: &Path, rows: &[Vec<f32>]) -> VectorFile {
        let path = folder.join("vectors.i8");
        let mut writer = VectorWriter::create(&path, rows[0].len(), [7; 32], rows.len() as u32).unwrap();
        rows.iter().for_each(|row| writer.push(row).unwrap());
        writer.finish().unwrap();
        VectorFile::open(&path).unwrap()
    }

    fn unit(seed: u32, dimension: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
        let values: Vec<f32> = (0..dimension)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / 8_388_608.0 - 1.0
            })
            .collect();
        let norm = values.iter().map(|v| v * v).sum::<f32>().sqrt();
        values.into_iter().map(|v| v / norm).collect()
    }

    #[test]
    fn the_nearest_is_found_ties_go_to_the_lower_ordinal_and_zeros_never() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (unit(1, 32), unit(2, 32));
        let vectors = file(folder.path(), &[b.clone(), a.clone(), vec![0.0; 32], a.clone(), vec![f32::NAN; 32]]);
        let found = vectors.search(&a, 5, |_| true).unwrap();
        assert_eq!(found.iter().map(|n| n.ordinal).collect::<Vec<_>>(), [1, 3, 0]);
        assert!((found[0].similarity() - 1.0).abs() < 0.005, "{}", found[0].similarity());
        assert_eq!(vectors.search(&a, 1, |ordinal| ordinal != 1).unwrap()[0].ordinal, 3);
        assert_eq!(vectors.search(&[0.0; 32], 3, |_| true).unwrap(), []);
        assert!(vectors.search(&a[..31], 3, |_| true).is_err());
        assert_eq!((vectors.identity(), vectors.vector(9)), ([7; 32], None));
    }

    #[test]
    fn int8_ranks_as_f32_does_but_for_near_ties() {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<_> = (0..500).map(|seed| unit(seed, 64)).collect();
        let vectors = file(folder.path(), &rows);
        let query = unit(9_999, 64);
        let exact = |row: &[f32]| row.iter().zip(&query).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let found = vectors.search(&query, 10, |_| true).unwrap();
        let mut truth: Vec<f64> = rows.iter().map(|row| exact(row)).collect();
        for neighbour in &found {
            let difference = (neighbour.similarity() - exact(&rows[neighbour.ordinal as usize])).abs();
            assert!(difference < 0.01, "{neighbour:?} is off by {difference}");
        }
        truth.sort_by(|a, b| b.total_cmp(a));
        assert!(exact(&rows[found[0].ordinal as usize]) >= truth[0] - 0.02);
    }

    #[test]
    fn wide_instructions_give_the_same_sums() {
        for len in [0_usize, 1, 15, 16, 255, 256, 1000] {
            let (a, b): (Vec<u8>, Vec<u8>) = (0..len).map(|n| ((n * 37 % 255 + 129) as u8, (n * 91 % 255 + 129) as u8)).unzip();
            assert_eq!(dot_i8(&a, &b), dot_i8_plain(&a, &b));
        }
    }

    proptest! {
        #[test]
        fn the_heap_agrees_with_sorting(seed in 0_u32..1000, count in 1_usize..60, k in 0_usize..70, hidden in 0_u32..60) {
            let folder = tempfile::tempdir().unwrap();
            let rows: Vec<_> = (0..count as u32).map(|row| unit(row % 7 + seed, 8)).collect();
            let vectors = file(folder.path(), &rows);
            let query = unit(seed + 3, 8);
            let all = vectors.search(&query, count, |_| true).unwrap();
            prop_assert!(all.windows(2).all(|p| (Reverse(p[0].similarity_e4), p[0].ordinal) < (Reverse(p[1].similarity_e4), p[1].ordinal)));
            let expected: Vec<_> = all.into_iter().filter(|n| n.ordinal != hidden).take(k).collect();
            prop_assert_eq!(vectors.search(&query, k, |ordinal| ordinal != hidden).unwrap(), expected);
        }

        #[test]
        fn damage_is_an_error_that_names_the_file(at in any::<usize>(), flip in 1_u8..=255, cut in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let path = file(folder.path(), &[unit(1, 16), unit(2, 16)]).path().to_owned();
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            let error = VectorFile::open(&path).unwrap_err().to_string();
            prop_assert!(error.contains("vectors.i8"), "{}", error);
        }
    }
}
