//! Figures about words rather than retrieval: sensitive values, prices, token counts, what a goal is read for, and what it
//! means over tables.
//!
//! `word_figures DATA OUT [pii|prices|tokens|intent|questions_over_tables ...] [prices=FILE]`; without names all of them. A Presidio server named
//! by `CTXRT_PRESIDIO` is measured beside the built-in detectors.
#![allow(clippy::print_stdout)] // a program talks on stdout

use anyhow::bail;
use ctx_benchmarks::figure::Figures;
use ctx_benchmarks::machine::Machine;
use ctx_benchmarks::{intent, pii, price_map, tables, token_counts};
use std::path::PathBuf;

const ALL: [&str; 5] = ["pii", "prices", "tokens", "intent", "questions_over_tables"];

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, out, rest @ ..] = arguments.as_slice() else { bail!("usage: word_figures DATA OUT [{}] [prices=FILE]", ALL.join("|")) };
    let (data, out) = (PathBuf::from(data), PathBuf::from(out));
    let file = rest.iter().find_map(|argument| argument.strip_prefix("prices="));
    let wanted: Vec<&str> = rest.iter().map(String::as_str).filter(|name| !name.contains('=')).collect();
    let presidio = std::env::var("CTXRT_PRESIDIO").ok();
    for name in if wanted.is_empty() { ALL.to_vec() } else { wanted } {
        let machine = Machine::describe();
        let (figures, details) = match name {
            "pii" => pii::figures(&data, presidio.as_deref()).await?,
            "prices" => price_map::figures(&data, file)?,
            "tokens" => token_counts::figures(&data)?,
            "intent" => intent::figures(&data)?,
            "questions_over_tables" => tables::figures(&data).await?,
            other => bail!("no figure is called {other}; there are: {}", ALL.join(", ")),
        };
        let group = Figures { name: name.to_owned(), machine, figures, details };
        group.write(&out)?;
        println!("{}", group.markdown());
    }
    Ok(())
}
