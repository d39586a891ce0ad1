//! `statistics_figures DATA OUT`: intervals of latency, quotes, shares of cached prefixes; written as `OUT/statistics.json`
//! and `.md`. What is measured stands in `ctx_testkit::statistics_figures`.
#![allow(clippy::print_stdout)] // a program talks on stdout

use anyhow::{anyhow, bail};
use ctx_benchmarks::figure::{Figure, Figures};
use ctx_benchmarks::machine::Machine;
use ctx_testkit::statistics_figures::{SEED, measure};
use serde_json::json;
use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [data, out] = arguments.as_slice() else { bail!("usage: statistics_figures DATA OUT") };
    let machine = Machine::describe();
    let read = |file: &str| std::fs::read_to_string(data.join(file)).map_err(|error| format!("reading {file}: {error}"));
    let (rows, providers) = measure(&read).map_err(|cause| anyhow!(cause))?;
    let details = json!({ "seed": SEED, "providers": providers });
    let group = Figures { name: "statistics".to_owned(), machine, figures: rows.iter().map(Figure::from).collect(), details };
    group.write(out)?;
    println!("{}", group.markdown());
    Ok(())
}
