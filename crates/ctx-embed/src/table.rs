//! Token vectors of a model2vec file: which row and which factor belong to a token, and the weighted sum over tokens.
//!
//! The embedded model keeps its int8 codes where they lie in the binary; other types are widened to f32 when loaded.
//! One dimension is added up independently of the next, so that vectorised and plain code give the same bits.

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensorError, SafeTensors};

/// Token vectors, one per token id.
#[derive(Debug)]
pub(crate) struct TokenTable {
    dimension: usize,
    codes: Codes,
    /// Row of each token, where several tokens share one (model2vec's `mapping`).
    mapping: Option<Vec<u32>>,
    /// Factor of each token: the row's scale times the file's own token weight, where there is one.
    token_scales: Vec<f32>,
    /// Factor of each dimension; empty for 1.
    dimension_scales: Vec<f32>,
}

#[derive(Debug)]
enum Codes {
    Static(&'static [u8]),
    Int8(Vec<u8>),
    Float(Vec<f32>),
}

impl TokenTable {
    /// Reads a file that is part of the program; its codes are not copied.
    pub(crate) fn from_static(bytes: &'static [u8]) -> Result<Self, String> {
        Self::read(bytes, |view| match view.dtype() {
            Dtype::I8 => Some(Codes::Static(view.data())),
            _ => None,
        })
    }

    /// Reads `model.safetensors`: tensor `embeddings` (F32, F16, BF16 or I8), and where present `row_scales`,
    /// `dimension_scales`, model2vec's `weights` and `mapping`.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        Self::read(bytes, |view| match view.dtype() {
            Dtype::I8 => Some(Codes::Int8(view.data().to_vec())),
            _ => None,
        })
    }

    fn read<'b>(bytes: &'b [u8], int8: impl Fn(&TensorView<'b>) -> Option<Codes>) -> Result<Self, String> {
        let file = SafeTensors::deserialize(bytes).map_err(|error| format!("model.safetensors: {error}"))?;
        let embeddings = file.tensor("embeddings").map_err(|error| format!("model.safetensors: {error}"))?;
        let &[rows, dimension] = embeddings.shape() else {
            return Err(format!("tensor `embeddings` has shape {:?}, not rows and dimensions", embeddings.shape()));
        };
        if rows == 0 || dimension == 0 {
            return Err("tensor `embeddings` is empty".into());
        }
        let codes = match int8(&embeddings) {
            Some(codes) => codes,
            None => Codes::Float(floats("embeddings", &embeddings)?),
        };
        let mapping = optional(&file, "mapping")?.map(|view| indices(&view, rows)).transpose()?;
        let tokens = mapping.as_ref().map_or(rows, Vec::len);
        let row_scales = scales(&file, "row_scales", rows)?;
        let weights = scales(&file, "weights", tokens)?;
        let token_scales = (0..tokens)
            .map(|token| {
                let row = mapping.as_ref().map_or(token, |rows| rows[token] as usize);
                row_scales.get(row).unwrap_or(&1.0) * weights.get(token).unwrap_or(&1.0)
            })
            .collect();
        let dimension_scales = scales(&file, "dimension_scales", dimension)?;
        Ok(Self { dimension, codes, mapping, token_scales, dimension_scales })
    }

    /// Numbers per vector.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Tokens that have a vector.
    pub(crate) fn len(&self) -> usize {
        self.token_scales.len()
    }

    /// Adds `weight` times the token's vector, still without the dimensions' factors; a token without one adds nothing.
    pub(crate) fn add(&self, token: u32, weight: f32, sum: &mut [f32]) {
        let token = token as usize;
        let Some(scale) = self.token_scales.get(token) else { return };
        let row = self.mapping.as_ref().map_or(token, |rows| rows[token] as usize);
        let range = row * self.dimension..(row + 1) * self.dimension;
        let factor = weight * scale;
        match &self.codes {
            Codes::Static(codes) => add_int8(&codes[range], factor, sum),
            Codes::Int8(codes) => add_int8(&codes[range], factor, sum),
            Codes::Float(values) => {
                for (total, value) in sum.iter_mut().zip(&values[range]) {
                    *total += value * factor;
                }
            }
        }
    }

    /// Applies the dimensions' factors to a finished sum.
    pub(crate) fn finish(&self, sum: &mut [f32]) {
        for (total, scale) in sum.iter_mut().zip(&self.dimension_scales) {
            *total *= scale;
        }
    }
}

/// The one inner loop of indexing vectors, compiled twice: the wider instructions take a third of the time.
fn add_int8(codes: &[u8], factor: f32, sum: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code)]
        // SAFETY: the processor was just asked whether it has these instructions.
        return unsafe { add_int8_avx2(codes, factor, sum) };
    }
    add_int8_plain(codes, factor, sum);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_int8_avx2(codes: &[u8], factor: f32, sum: &mut [f32]) {
    add_int8_plain(codes, factor, sum);
}

#[inline(always)]
fn add_int8_plain(codes: &[u8], factor: f32, sum: &mut [f32]) {
    for (total, code) in sum.iter_mut().zip(codes) {
        *total += f32::from(*code as i8) * factor;
    }
}

fn optional<'b>(file: &SafeTensors<'b>, name: &str) -> Result<Option<TensorView<'b>>, String> {
    match file.tensor(name) {
        Ok(view) => Ok(Some(view)),
        Err(SafeTensorError::TensorNotFound(_)) => Ok(None),
        Err(error) => Err(format!("tensor `{name}`: {error}")),
    }
}

/// An optional vector of factors; empty where the file has none.
fn scales(file: &SafeTensors<'_>, name: &str, len: usize) -> Result<Vec<f32>, String> {
    let Some(view) = optional(file, name)? else { return Ok(Vec::new()) };
    let values = floats(name, &view)?;
    if values.len() == len { Ok(values) } else { Err(format!("tensor `{name}` has {} values, not {len}", values.len())) }
}

fn floats(name: &str, view: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let data = view.data();
    let values = match view.dtype() {
        Dtype::F32 => words(data).map(f32::from_le_bytes).collect(),
        Dtype::F64 => words(data).map(|bytes| f64::from_le_bytes(bytes) as f32).collect(),
        Dtype::F16 => words(data).map(|bytes| half_to_f32(u16::from_le_bytes(bytes))).collect(),
        Dtype::BF16 => words(data).map(|bytes| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)).collect(),
        other => return Err(format!("tensor `{name}` has type {other:?}; F32, F16, BF16 or I8 can be read")),
    };
    Ok(values)
}

fn indices(view: &TensorView<'_>, rows: usize) -> Result<Vec<u32>, String> {
    let data = view.data();
    let values: Vec<i64> = match view.dtype() {
        Dtype::I64 => words(data).map(i64::from_le_bytes).collect(),
        Dtype::I32 => words(data).map(|bytes| i64::from(i32::from_le_bytes(bytes))).collect(),
        other => return Err(format!("tensor `mapping` has type {other:?}; I64 or I32 can be read")),
    };
    let row = |value: &i64| u32::try_from(*value).ok().filter(|row| (*row as usize) < rows);
    values.iter().map(|value| row(value).ok_or_else(|| format!("tensor `mapping` names row {value} of {rows}"))).collect()
}

fn words<const N: usize>(data: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    data.as_chunks::<N>().0.iter().copied()
}

/// IEEE 754 binary16, subnormals, infinities and NaN included.
fn half_to_f32(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(half >> 10 & 0x1f);
    let fraction = f32::from(half & 0x3ff) / 1024.0;
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_instructions_give_the_same_bits() {
        for len in [0, 1, 7, 8, 31, 256, 300] {
            let codes: Vec<u8> = (0..len).map(|n: u32| (n * 37 % 256) as u8).collect();
            let (mut wide, mut plain) = (vec![0.1_f32; len as usize], vec![0.1_f32; len as usize]);
            for factor in [0.013, -7.7, 1e-20, 3.3e10] {
                add_int8(&codes, factor, &mut wide);
                add_int8_plain(&codes, factor, &mut plain);
            }
            let bits = |sum: &[f32]| sum.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&wide), bits(&plain));
        }
    }

    #[test]
    fn halves_become_the_same_numbers() {
        let cases = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ];
        for (half, value) in cases {
            assert_eq!(half_to_f32(half), value, "{half:#06x}");
        }
        assert!(half_to_f32(0x7e00).is_nan());
    }
}
