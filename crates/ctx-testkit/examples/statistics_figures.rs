//! Figures of the statistics, printed: `statistics_figures DATA`.
#![allow(clippy::print_stdout)] // a program talks on stdout

use ctx_testkit::statistics_figures;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = PathBuf::from(std::env::args().nth(1).ok_or("usage: statistics_figures DATA")?);
    for row in statistics_figures::measure(&|file| std::fs::read_to_string(data.join(file)).map_err(|e| format!("{file}: {e}")))?.0 {
        println!("{} | {:.4} {} | met {:?} | {} | {}", row.what, row.value, row.unit, row.met(), row.baseline, row.how);
    }
    Ok(())
}
