//! Figures of the statistics, printed: `statistics_figures DATA`.
#![allow(clippy::print_stdout)] // a program talks on stdout

use ctx_testkit::statistics_figures::{latency, requests};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = PathBuf::from(std::env::args().nth(1).ok_or("usage: statistics_figures DATA")?);
    let text = std::fs::read_to_string(data.join("llmperf_latency/requests.tsv"))?;
    let rows = requests(&text).map_err(|line| format!("line {line} of requests.tsv is not a request"))?;
    let (figures, _) = latency::figures(&rows);
    for row in figures {
        println!("{} | {:.4} {} | met {:?} | {} | {}", row.what, row.value, row.unit, row.met(), row.baseline, row.how);
    }
    Ok(())
}
