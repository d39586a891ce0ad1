//! Prints how long one goal takes to analyse, and how fast text is scanned for sensitive values. Give a file of goals (JSON
//! Lines with `text`) and a text file: `cargo run --release -p ctx-intent --example speed -- queries.jsonl log.txt`.

use ctx_intent::{IntentModel, analyze, sensitive};
use std::io::Write;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let goals = std::fs::read_to_string(arguments.next().ok_or("give a file of goals")?)?;
    let text = std::fs::read_to_string(arguments.next().ok_or("give a text file")?)?;
    let goals: Vec<String> = goals
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).map(|row| row["text"].as_str().unwrap_or_default().to_owned()))
        .collect::<Result<_, _>>()?;
    let model = IntentModel::embedded();
    analyze("warm", model);
    let mut times: Vec<u128> = Vec::with_capacity(goals.len());
    for goal in &goals {
        let start = Instant::now();
        std::hint::black_box(analyze(goal, model));
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let start = Instant::now();
    let spans = sensitive::scan(&text).len();
    let rate = text.len() as f64 / start.elapsed().as_secs_f64() / 1e6;
    let long = text.chars().take(100_000).collect::<String>();
    let start = Instant::now();
    std::hint::black_box(analyze(&long, model));
    let mut out = std::io::stdout().lock();
    writeln!(out, "goals {} p50 {} ns p99 {} ns max {} ns", times.len(), at(50), at(99), at(100))?;
    writeln!(out, "scan {rate:.0} MB/s, {spans} spans in {} bytes", text.len())?;
    writeln!(out, "a goal of {} bytes {} us", long.len(), start.elapsed().as_micros())?;
    Ok(())
}
