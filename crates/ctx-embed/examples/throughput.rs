//! Megabytes per second of tokenizing and embedding on one core, and microseconds per scan over the vectors.
//! `cargo run --release -p ctx-embed --example throughput -- FOLDER…` with collections in the BEIR layout.
#![allow(clippy::print_stdout)] // an example talks on stdout

mod collection;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ctx_embed::{IdfBuilder, StaticModel, nearest, quantize};

/// Each figure is the best of this many rounds: the machine's other work only ever adds time.
const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let model = StaticModel::embedded();
    println!("loading the embedded model: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    for folder in std::env::args().skip(1) {
        let collection = collection::read(Path::new(&folder))?;
        let texts: Vec<&str> = collection.documents.iter().map(|(_, text)| text.as_str()).collect();
        report(model, &folder, &texts);
    }
    Ok(())
}

fn report(model: &StaticModel, folder: &str, texts: &[&str]) {
    let megabytes = texts.iter().map(|text| text.len()).sum::<usize>() as f64 / 1e6;
    let mut tokens = Vec::new();
    let tokenizing = best(|| tokens = texts.iter().map(|text| model.tokenize(text)).collect());
    let mut counts = IdfBuilder::new(model.vocabulary_len());
    tokens.iter().for_each(|tokens| counts.add_document(tokens));
    let idf = counts.finish();

    let mut vector = vec![0.0; model.dimension()];
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    let embedding = best(|| {
        (codes, scales) = (Vec::new(), Vec::new());
        for tokens in &tokens {
            model.embed_tokens(tokens, &idf, &mut vector);
            let (row, scale) = quantize(&vector);
            codes.extend(row.iter().map(|code| *code as u8));
            scales.push(scale);
        }
    });
    let (query, query_scale) = quantize(&vector);
    let mut found = 0;
    let scanning = best(|| found = nearest(&query, query_scale, &codes, &scales, 50).len());

    println!(
        "{folder}: {megabytes:.1} MB, {} texts, {} tokens; tokenizing {:.0} MB/s, embedding and quantising {:.0} MB/s, \
         both {:.0} MB/s; scanning for {found}: {:.0} µs",
        texts.len(),
        tokens.iter().map(Vec::len).sum::<usize>(),
        megabytes / tokenizing,
        megabytes / embedding,
        megabytes / (tokenizing + embedding),
        scanning * 1e6,
    );
}

/// Seconds of the quickest round.
fn best(mut work: impl FnMut()) -> f64 {
    let mut seconds = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work();
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    seconds
}
