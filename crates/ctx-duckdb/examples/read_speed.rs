//! Measures building, opening and reading a segment: `cargo run --release -p ctx-duckdb --example read_speed [PASSAGES]`.

use ctx_duckdb::{DocumentRow, PassageRow, SegmentDb, SegmentWriter};
use std::path::Path;
use std::time::{Duration, Instant};

const DIMENSION: u32 = 256;
const ROUNDS: u32 = 300;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let passages: u32 = std::env::args().nth(1).map_or(Ok(5_000), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("read-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("segment.duckdb");
    let start = Instant::now();
    build(&path, passages)?;
    eprintln!("{passages} passages: built in {:?}, {} bytes", start.elapsed(), std::fs::metadata(&path)?.len());
    let start = Instant::now();
    let segment = SegmentDb::open(&path)?;
    eprintln!("open {:?}", start.elapsed());
    for wanted in [1, 8, 50] {
        let mut times = Vec::new();
        // Few rounds, or the cache would answer.
        for round in 0..passages / wanted.max(50) {
            let ordinals: Vec<u32> = (0..wanted).map(|n| (round * 7_919 + n * 104_729) % passages).collect();
            let start = Instant::now();
            segment.passages(&ordinals)?;
            times.push(start.elapsed());
        }
        report(&format!("{wanted} passages"), times);
        let mut times = Vec::new();
        for round in 0..ROUNDS {
            let ordinals: Vec<u32> = (0..wanted).map(|n| (round * 7_919 + n * 104_729) % passages).collect();
            let start = Instant::now();
            segment.embeddings(&ordinals)?;
            times.push(start.elapsed());
        }
        report(&format!("{wanted} embeddings"), times);
    }
    let start = Instant::now();
    eprintln!("warmed: {} in {:?}", segment.warm()?, start.elapsed());
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let ordinals: Vec<u32> = (0..50).map(|n| (round * 7_919 + n * 104_729) % passages).collect();
        let start = Instant::now();
        segment.passages(&ordinals)?;
        times.push(start.elapsed());
    }
    report("50 passages, warm", times);
    let start = Instant::now();
    segment.statistics(&[1, 2, 3])?;
    eprintln!("statistics {:?}", start.elapsed());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn build(path: &Path, passages: u32) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = SegmentWriter::create(path, Some(DIMENSION))?;
    let vector = |n: u32| (0..DIMENSION).map(|i| ((n * 31 + i * 17) % 101) as f32 / 101.0).collect::<Vec<_>>();
    for n in 0..passages {
        let name = format!("folder{}/file{}.md", n / 100, n / 5);
        if n % 5 == 0 {
            writer.add_document(DocumentRow { path: name.clone(), language: "en".into(), ..DocumentRow::default() })?;
        }
        let text: String = (0..150).map(|word| format!("word{} ", (n * 37 + word * word) % 5_003)).collect();
        let row = PassageRow {
            id: format!("{n:032x}"),
            path: name,
            text,
            fingerprint: format!("{n:064x}"),
            section: "A > B".into(),
            title: "Title".into(),
            tokens: 150,
            ..PassageRow::default()
        };
        writer.add_passage(row, Some(&vector(n)))?;
    }
    writer.finish()?;
    Ok(())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    eprintln!("{what}: p50 {:?}, p99 {:?}", times[times.len() / 2], times[times.len() * 99 / 100]);
}
