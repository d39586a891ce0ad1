//! Reading data sets: JSON lines, tab-separated rows, and which side of a set a row is on.

use anyhow::Context;
use ctx_types::id::sha256_hex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// One JSON value per line.
pub fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let parse = |line: &str| serde_json::from_str(line).with_context(|| format!("reading a line of {}", path.display()));
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

/// Rows of a tab-separated file with a header and no quoting, as maps.
pub fn table(path: &Path) -> anyhow::Result<Vec<BTreeMap<String, String>>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let mut lines = text.lines();
    let names: Vec<String> = lines.next().unwrap_or_default().split('\t').map(str::to_owned).collect();
    Ok(lines.map(|line| names.iter().cloned().zip(line.split('\t').map(str::to_owned)).collect()).collect())
}

/// The train side of a set: rows whose hash falls into the first 60 % of its range.
pub fn is_train(id: &str) -> bool {
    let head = &sha256_hex(id.as_bytes())[..16];
    let value = u64::from_str_radix(head, 16).unwrap_or(u64::MAX);
    (value as f64) < 0.6 * 2f64.powi(64)
}
