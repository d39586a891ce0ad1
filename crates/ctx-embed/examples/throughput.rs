//! Megabytes per second of tokenizing and embedding on one core, and microseconds per scan over the vectors.
//! `cargo run --release -p ctx-embed --example throughput -- FOLDER…` with collections in the BEIR layout.
#![allow(clippy::print_stdout)] // an example talks on stdout

mod collection;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ctx_embed::{IdfBuilder, StaticModel, nearest, quantize};

/// Work is timed in batches of some milliseconds and the best of this many rounds counts for each: other work on the
/// machine only ever adds time.
const ROUNDS: usize = 9;
const BATCH: usize = 32;

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
    let (mut ids, mut reader) = (Vec::new(), model.token_reader());
    let tokenizing = seconds(texts, |text| {
        ids.clear();
        reader.read(text, &mut ids);
    });
    let tokens: Vec<Vec<u32>> = texts.iter().map(|text| model.tokenize(text)).collect();
    let mut counts = IdfBuilder::new(model.vocabulary_len());
    tokens.iter().for_each(|tokens| counts.add_document(tokens));
    let idf = counts.finish();

    let mut vector = vec![0.0; model.dimension()];
    let embedding = seconds(&tokens, |tokens| {
        model.embed_tokens(tokens, &idf, &mut vector);
    });
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    for tokens in &tokens {
        model.embed_tokens(tokens, &idf, &mut vector);
        let (row, scale) = quantize(&vector);
        codes.extend(row.iter().map(|code| *code as u8));
        scales.push(scale);
    }
    let (query, query_scale) = quantize(&vector);
    let scanning = seconds(&[()], |()| {
        nearest(&query, query_scale, &codes, &scales, 50);
    });

    println!(
        "{folder}: {megabytes:.1} MB, {} texts, {} tokens; tokenizing {:.0} MB/s, embedding {:.0} MB/s, both {:.0} MB/s; \
         one scan {:.0} µs",
        texts.len(),
        tokens.iter().map(Vec::len).sum::<usize>(),
        megabytes / tokenizing,
        megabytes / embedding,
        megabytes / (tokenizing + embedding),
        scanning * 1e6,
    );
}

/// Sum over batches of the seconds that the quickest round took.
fn seconds<T>(items: &[T], mut work: impl FnMut(&T)) -> f64 {
    let batch = |batch: &[T]| {
        let round = |_| {
            let start = Instant::now();
            batch.iter().for_each(&mut work);
            start.elapsed().as_secs_f64()
        };
        (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
    };
    items.chunks(BATCH).map(batch).sum()
}
