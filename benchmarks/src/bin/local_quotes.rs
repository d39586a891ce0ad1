//! `local_quotes DATA OUT URL [RUNS] [MINUTES]`: quotes beside runs of a real model that an OpenAI-compatible server at URL serves;
//! written as `OUT/local_quotes.json` and `.md`. What is measured stands in `ctx_benchmarks::local_quotes`.
#![allow(clippy::print_stdout)] // a program talks on stdout

use anyhow::bail;
use ctx_benchmarks::figure::Figures;
use ctx_benchmarks::local_quotes;
use ctx_benchmarks::machine::Machine;
use std::path::Path;
use std::time::Duration;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, out, url, rest @ ..] = arguments.as_slice() else { bail!("usage: local_quotes DATA OUT URL [RUNS] [MINUTES]") };
    let number = |at: usize, default: u64| rest.get(at).map_or(Ok(default), |text| text.parse());
    let (runs, minutes) = (usize::try_from(number(0, 400)?)?, number(1, 20)?);
    let machine = Machine::describe();
    let (figures, details) = local_quotes::figures(Path::new(data), url, runs, Duration::from_secs(60 * minutes)).await?;
    let group = Figures { name: "local_quotes".to_owned(), machine, figures, details };
    group.write(Path::new(out))?;
    println!("{}", group.markdown());
    Ok(())
}
