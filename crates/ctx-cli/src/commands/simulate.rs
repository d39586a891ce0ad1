//! `ctxrt simulate`: a quote. Nothing is executed.

use crate::args::{Global, SimulateArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, width};
use crate::request;
use crate::session::Session;
use crate::table::table;
use ctx_runtime::{BatchTotal, Simulation};
use ctx_types::{Goal, ModelName, Tokens};
use serde_json::json;
use std::fmt::Display;
use std::path::Path;

/// Goals of one batch.
const GOALS_MAX: usize = 10_000;
/// Seed of what the goals of a batch share, unless one is given.
const BATCH_SEED: u64 = 1;

pub(crate) async fn simulate(global: &Global, args: &SimulateArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let session = Session::open(global, &args.request.sources, out).await?;
    let weights = session.runtime.config().costmodel.weights;
    let texts = match &args.goals {
        Some(file) => listed(file)?,
        None => vec![args.words.clone().or_else(|| args.goal.clone()).unwrap_or_default()],
    };
    let goals = texts.iter().map(|text| request::goal(text, &args.request, session.named.clone(), weights));
    let goals = goals.collect::<Result<Vec<Goal>, Failure>>()?;
    if !args.request.no_index {
        session.freshen(&args.request.wishes.who, out, interrupt).await?;
    }
    match (&args.goals, goals.as_slice()) {
        (None, [goal]) => show(&session.runtime.simulate(goal).await?, out).map(|()| 0),
        _ => batch(&session, &goals, args.request.wishes.seed.unwrap_or(BATCH_SEED), out).await,
    }
}

/// Goals of a file, one a line, as they stand; empty lines are none.
fn listed(file: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::input(format!("reading goals from {}: {error}", file.display())))?;
    let goals: Vec<String> = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    match goals.len() {
        0 => Err(Failure::input(format!("reading goals from {}: it holds none", file.display())).with_hint("one goal per line")),
        n if n > GOALS_MAX => Err(Failure::input(format!("reading goals from {}: {n} goals, at most {GOALS_MAX}", file.display()))),
        _ => Ok(goals),
    }
}

/// Every goal's quote, and all together. Goals that cannot be quoted are named and make the exit code that of the first.
async fn batch(session: &Session, goals: &[Goal], seed: u64, out: &Out) -> Result<u8, Failure> {
    let (quotes, total) = session.runtime.simulate_all(goals, seed).await;
    let mut failed = None;
    let mut documents = Vec::new();
    let mut rows = Vec::new();
    for (goal, quote) in goals.iter().zip(quotes) {
        match quote {
            Ok(quote) => {
                let flag = if quote.under_sampled.is_empty() { "" } else { "few samples: wide" };
                rows.push(vec![
                    quote.cost.mid.to_string(),
                    format!("{} to {}", quote.cost.low, quote.cost.high),
                    format!("{} to {}", quote.latency.low, quote.latency.high),
                    format!("{} to {}", quote.tokens.low, quote.tokens.high),
                    quote.confidence.mid.to_string(),
                    flag.to_owned(),
                    goal.text.clone(),
                ]);
                documents.push(json!({ "goal": goal.text, "quote": quote }));
            }
            Err(error) => {
                let failure = Failure::from(error);
                documents.push(json!({ "goal": goal.text, "error": failure.message() }));
                out.note(&format!("no quote for {}: {}", goal.text, failure.message()));
                failed.get_or_insert(failure.code());
            }
        }
    }
    if out.json() {
        out.document(&json!({ "schema_version": 1, "goals": documents, "total": total }))?;
    } else {
        let head = ["cost", "90 % of runs", "time", "tokens", "P(right)", "", "goal"];
        out.text(&format!("{}{}", table(&head, &rows, width()), together(&total)))?;
    }
    Ok(failed.unwrap_or(0))
}

fn together(total: &BatchTotal) -> String {
    let least = ctx_explain::least(total.cost_incomplete);
    let unknown = at_unknown_price(total.cost_incomplete, total.unknown_price_tokens, &total.unpriced_models);
    let few = if total.under_sampled == 0 { String::new() } else { format!("; {} goals with too few observations", total.under_sampled) };
    format!(
        "\nAll {} goals: cost {least}{} to {} (median {}){unknown}, time one after the other {} to {} (median {}), tokens {} to {}\nExpected right: {}.{:03} of {}; {} draws, seed {}{few}\n",
        total.goals,
        total.cost.low,
        total.cost.high,
        total.cost.mid,
        total.latency.low,
        total.latency.high,
        total.latency.mid,
        total.tokens.low,
        total.tokens.high,
        total.right_milli / 1000,
        total.right_milli % 1000,
        total.goals,
        total.draws,
        total.seed
    )
}

/// ` + 3100 tokens at unknown price (premium)`; nothing where every price is known.
fn at_unknown_price<'a>(incomplete: bool, tokens: Tokens, models: impl IntoIterator<Item = &'a ModelName>) -> String {
    let models: Vec<&str> = models.into_iter().map(ModelName::as_str).collect();
    match (incomplete, models.is_empty()) {
        (false, _) => String::new(),
        (true, true) => format!(" + {tokens} tokens at unknown price"),
        (true, false) => format!(" + {tokens} tokens at unknown price ({})", models.join(", ")),
    }
}

/// The quote.
pub(crate) fn show(quote: &Simulation, out: &Out) -> Result<(), Failure> {
    if out.json() {
        return out.document(quote);
    }
    let unknown = at_unknown_price(quote.cost_incomplete, quote.unknown_price_tokens, &quote.unpriced_models);
    let least = ctx_explain::least(quote.cost_incomplete);
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
    if !quote.under_sampled.is_empty() {
        text.push_str(&format!("Few observations, so wide: {}\n", quote.under_sampled.join("; ")));
    }
    text.push_str(&format!("Based on: {samples}; {} draws, seed {}; {}\n", quote.draws, quote.seed, quote.plan));
    out.text(&text)
}

fn interval(name: &str, low: &dyn Display, mid: &dyn Display, high: &dyn Display, certainty: &dyn Display) -> Vec<String> {
    vec![name.to_owned(), low.to_string(), mid.to_string(), high.to_string(), certainty.to_string()]
}
