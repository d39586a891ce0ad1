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
        times.push(best(|| drop(std::hint::black_box(analyze(goal, model)))));
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let spans = sensitive::scan(&text).len();
    let rate = text.len() as f64 * 1e3 / best(|| drop(std::hint::black_box(sensitive::scan(&text)))) as f64;
    let long = text.chars().take(100_000).collect::<String>();
    let pasted = best(|| drop(std::hint::black_box(analyze(&long, model))));
    let mut out = std::io::stdout().lock();
    writeln!(out, "goals {} p50 {} ns p99 {} ns max {} ns", times.len(), at(50), at(99), at(100))?;
    writeln!(out, "scan {rate:.0} MB/s, {spans} spans in {} bytes", text.len())?;
    writeln!(out, "a goal of {} bytes {} us", long.len(), pasted / 1000)?;
    Ok(())
}

/// Nanoseconds of the fastest of several runs: what the work takes when nothing else takes the processor.
fn best(work: impl Fn()) -> u128 {
    (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_nanos()
        })
        .min()
        .unwrap_or_default()
}

const REPEATS: usize = 20;
