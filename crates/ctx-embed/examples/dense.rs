//! nDCG@10 of dense retrieval alone with the embedded model and the collection's own IDF, as a store does it: int8
//! codes are scanned, the best fifty re-scored in f32. `cargo run --release -p ctx-embed --example dense -- FOLDER…`
#![allow(clippy::print_stdout)] // an example talks on stdout

mod collection;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use ctx_embed::{IdfBuilder, IdfTable, StaticModel, cosine_e4, nearest, quantize};

/// Rows that the int8 scan hands to the re-score.
const RESCORED: usize = 50;
const CUTOFF: usize = 10;

struct Vectors {
    exact: Vec<Vec<f32>>,
    codes: Vec<u8>,
    scales: Vec<f32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    for folder in std::env::args().skip(1) {
        let collection = collection::read(Path::new(&folder))?;
        let (vectors, idf) = index(&collection.documents);
        let (mut scanned, mut rescored) = (0.0, 0.0);
        for (id, text) in &collection.queries {
            let (by_codes, by_values) = search(text, &vectors, &idf);
            let relevant = &collection.relevant[id];
            scanned += ndcg(&by_codes, &collection.documents, relevant);
            rescored += ndcg(&by_values, &collection.documents, relevant);
        }
        let n = collection.queries.len() as f64;
        println!("{folder}: nDCG@10 {:.4} int8, {:.4} re-scored, {n} queries", scanned / n, rescored / n);
    }
    Ok(())
}

fn index(documents: &[(String, String)]) -> (Vectors, IdfTable) {
    let model = StaticModel::embedded();
    let tokens: Vec<Vec<u32>> = documents.iter().map(|(_, text)| model.tokenize(text)).collect();
    let mut counts = IdfBuilder::new(model.vocabulary_len());
    tokens.iter().for_each(|tokens| counts.add_document(tokens));
    let idf = counts.finish();
    let mut vectors = Vectors { exact: Vec::new(), codes: Vec::new(), scales: Vec::new() };
    for tokens in &tokens {
        let mut vector = vec![0.0; model.dimension()];
        model.embed_tokens(tokens, &idf, &mut vector);
        let (codes, scale) = quantize(&vector);
        vectors.codes.extend(codes.iter().map(|code| *code as u8));
        vectors.scales.push(scale);
        vectors.exact.push(vector);
    }
    (vectors, idf)
}

/// The best rows by codes alone and after the re-score.
fn search(text: &str, vectors: &Vectors, idf: &IdfTable) -> (Vec<usize>, Vec<usize>) {
    let model = StaticModel::embedded();
    let mut query = vec![0.0; model.dimension()];
    model.embed(text, idf, &mut query);
    let (codes, scale) = quantize(&query);
    let found: Vec<usize> = nearest(&codes, scale, &vectors.codes, &vectors.scales, RESCORED).iter().map(|n| n.row).collect();
    let mut rescored = found.clone();
    rescored.sort_by_key(|row| (-cosine_e4(&query, &vectors.exact[*row]), *row));
    (found, rescored)
}

fn ndcg(ranked: &[usize], documents: &[(String, String)], relevant: &BTreeMap<String, u32>) -> f64 {
    let discounted = |(rank, grade): (usize, f64)| grade / (rank as f64 + 2.0).log2();
    let grade = |row: &usize| f64::from(*relevant.get(&documents[*row].0).unwrap_or(&0));
    let gained: f64 = ranked.iter().take(CUTOFF).map(grade).enumerate().map(discounted).sum();
    let mut ideal: Vec<f64> = relevant.values().map(|grade| f64::from(*grade)).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    gained / ideal.into_iter().take(CUTOFF).enumerate().map(discounted).sum::<f64>()
}
