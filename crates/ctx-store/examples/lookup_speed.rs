//! Measures vector search and dictionary look-ups: `cargo run --release -p ctx-store --example lookup_speed`.

use ctx_store::{Dictionary, DictionaryBuilder, DictionaryTotals, TermCount, VectorFile, VectorWriter};
use std::time::{Duration, Instant};

const DIMENSION: usize = 256;
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("lookup-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for count in [5_000, 100_000] {
        let path = folder.join("vectors.i8");
        let mut writer = VectorWriter::create(&path, DIMENSION, [0; 32], count)?;
        for row in 0..count {
            writer.push(&vector(row))?;
        }
        writer.finish()?;
        let opened = Instant::now();
        let vectors = VectorFile::open(&path)?;
        eprintln!("{count} vectors: open and verify {:?}", opened.elapsed());
        let mut times = Vec::new();
        for round in 0..ROUNDS as u32 {
            let query = vector(1_000_000 + round);
            let start = Instant::now();
            let found = vectors.search(&query, 50, |ordinal| ordinal % 10 != 0)?;
            times.push(start.elapsed());
            assert_eq!(found.len(), 50);
        }
        report(&format!("{count} vectors: top 50"), times);
    }
    let path = folder.join("terms.fst");
    let mut builder = DictionaryBuilder::default();
    for n in 0..200_000_u32 {
        builder.add_term(&format!("term{n:07}"), TermCount { passages: n % 90 + 1, occurrences: n })?;
    }
    builder.finish(&path, DictionaryTotals::default())?;
    let opened = Instant::now();
    let dictionary = Dictionary::open(&path)?;
    eprintln!("200000 terms: open and verify {:?}", opened.elapsed());
    let terms: Vec<String> = (0..ROUNDS * 10).map(|n| format!("term{:07}", n * 97)).collect();
    let start = Instant::now();
    let sum: u64 = terms.iter().map(|term| u64::from(dictionary.document_frequency(term))).sum();
    eprintln!("look-up of a term: {:?} (sum {sum})", start.elapsed() / terms.len() as u32);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    eprintln!("{what}: p50 {:?}, p99 {:?}", times[times.len() / 2], times[times.len() * 99 / 100]);
}

fn vector(seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    (0..DIMENSION)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / u32::MAX as f32 - 0.5
        })
        .collect()
}
