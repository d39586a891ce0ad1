//! Prints the sensitive spans of each text on standard input (one JSON string a line) as `detector:start:end`, blanks
//! between them; offsets in bytes.

use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let spans: Vec<String> =
            ctx_intent::sensitive::scan(&text).iter().map(|span| format!("{}:{}:{}", span.detector, span.start, span.end)).collect();
        writeln!(out, "{}", spans.join(" "))?;
    }
    Ok(())
}
