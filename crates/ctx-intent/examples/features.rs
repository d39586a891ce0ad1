//! Prints the feature vector of each goal on standard input (one JSON string a line), as `scripts/train.py` reads it:
//! `index:value` pairs with blanks between them.

use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    writeln!(out, "{} {}", ctx_intent::DETECTORS, ctx_intent::FEATURES)?;
    for line in io::stdin().lock().lines() {
        let goal: String = serde_json::from_str(&line?)?;
        let pairs: Vec<String> = ctx_intent::feature_vector(&goal).iter().map(|(index, value)| format!("{index}:{value}")).collect();
        writeln!(out, "{}", pairs.join(" "))?;
    }
    Ok(())
}
