//! `ctxrt simulate`: a quote. Nothing is executed.

use crate::args::{Global, GoalArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, width};
use crate::request;
use crate::session::Session;
use crate::table::table;
use ctx_runtime::Simulation;
use std::fmt::Display;

pub(crate) async fn simulate(global: &Global, args: &GoalArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let session = Session::open(global, &args.sources, out).await?;
    let goal = request::goal(args, session.named.clone(), session.runtime.config().costmodel.weights)?;
    if !args.no_index {
        session.freshen(out, interrupt).await?;
    }
    show(&session.runtime.simulate(&goal).await?, out)?;
    Ok(0)
}

/// The quote.
pub(crate) fn show(quote: &Simulation, out: &Out) -> Result<(), Failure> {
    if out.json() {
        return out.document(quote);
    }
    let unknown = if quote.cost_incomplete { format!(" + {} tokens at unknown price", quote.unknown_price_tokens) } else { String::new() };
    let least = if quote.cost_incomplete { "≥ " } else { "" };
    let rows = [
        interval("cost", &format!("{least}{}", quote.cost.low), &quote.cost.mid, &quote.cost.high, &quote.cost.certainty),
        interval("time", &quote.latency.low, &quote.latency.mid, &quote.latency.high, &quote.latency.certainty),
        interval("tokens", &quote.tokens.low, &quote.tokens.mid, &quote.tokens.high, &quote.tokens.certainty),
        interval("P(right answer)", &quote.confidence.low, &quote.confidence.mid, &quote.confidence.high, &quote.confidence.certainty),
    ];
    let mut text = table(&["", "5 %", "median", "95 %", "certainty"], &rows, width());
    if !unknown.is_empty() {
        text.push_str(&format!("Cost: a lower bound{unknown}\n"));
    }
    text.push_str(&format!(
        "Ends: abstains {}, withheld by the check {}, breaks {}",
        quote.p_abstain, quote.p_verification_failed, quote.p_failed
    ));
    if let Some(late) = quote.p_over_latency_limit {
        text.push_str(&format!(", outlasts the latency limit {late}"));
    }
    text.push('\n');
    for read in &quote.expected_retrieval {
        let hits = read.hits.as_ref().map(|hits| format!(", {} passages expected", hits.value)).unwrap_or_default();
        text.push_str(&format!("Reads: {} by {} (k={}{hits}), in {} of runs\n", read.source, read.path, read.k, read.p_used));
    }
    for model in &quote.expected_models {
        text.push_str(&format!("Calls: {} × {}.{:03}\n", model.model, model.calls_milli / 1000, model.calls_milli % 1000));
    }
    let samples = if quote.based_on_samples == 0 {
        "at least one estimate is a prior".to_owned()
    } else {
        format!("at least {} observations behind each estimate", quote.based_on_samples)
    };
    text.push_str(&format!("Based on: {samples}; {} draws, seed {}; {}\n", quote.draws, quote.seed, quote.plan));
    out.text(&text)
}

fn interval(name: &str, low: &dyn Display, mid: &dyn Display, high: &dyn Display, certainty: &dyn Display) -> Vec<String> {
    vec![name.to_owned(), low.to_string(), mid.to_string(), high.to_string(), certainty.to_string()]
}
