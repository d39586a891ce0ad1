//! From flags to a [`Goal`]. Nothing is interpreted: the words travel as typed.

use crate::args::{Aim, LimitArgs, RequestArgs, Uncertain, WishArgs};
use crate::failure::Failure;
use ctx_types::goal::{Hint, UncertainLatency};
use ctx_types::{Constraints, ContentId, Goal, ModelName, Objective, SourceName, Weights, WhatIf};
use std::path::Path;

/// The goal over the given sources; empty means every configured one. `weights` are the configured ones.
pub(crate) fn goal(text: &str, args: &RequestArgs, sources: Vec<SourceName>, weights: Weights) -> Result<Goal, Failure> {
    let mut goal = Goal::new(text).with_constraints(constraints(&args.limits));
    goal.sources = sources;
    goal.weights = weighed(weights, &args.wishes.weights)?;
    goal.objective = match args.wishes.objective {
        Aim::Weighted => Objective::Weighted,
        Aim::MaxAccuracy => Objective::MaxAccuracy,
        Aim::MinCost => Objective::MinCost,
        Aim::MinLatency => Objective::MinLatency,
    };
    goal.principal = args.wishes.who.principal();
    goal.seed = args.wishes.seed;
    goal.no_cache = args.wishes.no_cache;
    goal.hints = hints(&args.wishes)?;
    goal.what_if = args.wishes.what_if.as_deref().map(assumed).transpose()?.filter(|assumed| !assumed.is_empty()).map(Box::new);
    Ok(goal)
}

fn constraints(args: &LimitArgs) -> Constraints {
    let verification = match (args.require_verification, args.no_verification) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    Constraints {
        max_cost: args.max_cost_usd,
        max_latency: args.max_latency_seconds,
        max_tokens: args.max_tokens,
        max_calls: args.max_calls,
        max_context_tokens: args.max_context_tokens,
        max_output_tokens: args.max_output_tokens,
        final_k: args.final_k,
        min_accuracy: args.min_accuracy,
        require_citations: args.require_citations,
        require_verification: verification,
        sensitivity: args.sensitivity,
        uncertain_latency: match args.uncertain_latency {
            Some(Uncertain::Refuse) => UncertainLatency::Refuse,
            Some(Uncertain::Allow) | None => UncertainLatency::Allow,
        },
        quantile: args.quantile,
        ..Constraints::default()
    }
}

fn weighed(mut weights: Weights, typed: &[(String, i64)]) -> Result<Weights, Failure> {
    for (name, value) in typed {
        let slot = match name.as_str() {
            "acc" => &mut weights.acc,
            "cache" => &mut weights.cache,
            "vrf" => &mut weights.vrf,
            "cost" => &mut weights.cost,
            "lat" => &mut weights.lat,
            "risk" => &mut weights.risk,
            "hall" => &mut weights.hall,
            "loss" => &mut weights.loss,
            other => {
                let known = "acc, cache, vrf, cost, lat, risk, hall, loss";
                return Err(Failure::input(format!("--weight {other}: the score has no such term; terms are {known}")));
            }
        };
        *slot = *value;
    }
    Ok(weights)
}

fn hints(args: &WishArgs) -> Result<Vec<Hint>, Failure> {
    let mut hints: Vec<Hint> = args.force.iter().cloned().map(Hint::Force).collect();
    hints.extend(args.forbid.iter().cloned().map(Hint::Forbid));
    if let Some(model) = &args.model {
        hints.push(Hint::Model(ModelName::new(model.clone()).map_err(|e| Failure::input(e.to_string()))?));
    }
    if let Some(gist) = &args.pin {
        hints.push(Hint::Gist(ContentId(gist.trim().to_owned())));
    }
    Ok(hints)
}

/// Reads `--what-if`.
fn assumed(file: &Path) -> Result<WhatIf, Failure> {
    let text = std::fs::read_to_string(file).map_err(|e| Failure::input(format!("reading --what-if {}: {e}", file.display())))?;
    ctx_runtime::what_if(&text).map_err(|e| Failure::input(format!("--what-if {}: {e}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use ctx_types::{NanoUsd, Ppm};

    fn parsed(line: &[&str]) -> Result<Goal, Failure> {
        let cli = Cli::try_parse_from([&["ctxrt", "run"], line].concat()).map_err(|e| Failure::input(e.to_string()))?;
        match cli.command {
            Some(Command::Run(args)) => goal(args.goal.text(), &args.goal.request, Vec::new(), Weights::default()),
            _ => Err(Failure::internal("not a run")),
        }
    }

    #[test]
    fn flags_become_constraints_weights_and_hints() {
        let line = [
            "why?",
            "--max-cost-usd",
            "0.5",
            "--min-accuracy",
            "0.8",
            "--no-verification",
            "--weight",
            "acc=2",
            "--force",
            "bm25",
            "--model",
            "local",
        ];
        let goal = parsed(&line).expect("valid");
        assert_eq!(goal.text, "why?");
        assert_eq!((goal.constraints.max_cost, goal.constraints.min_accuracy), (Some(NanoUsd(500_000_000)), Some(Ppm(800_000))));
        assert_eq!((goal.constraints.require_verification, goal.weights.acc, goal.hints.len()), (Some(false), 2_000_000, 2));
    }

    #[test]
    fn the_words_are_not_touched() {
        let words = "  \"a AND b\" -x title:y\u{202e} ";
        assert_eq!(parsed(&["--goal", words]).expect("valid").text, words);
    }

    #[test]
    fn a_term_that_does_not_exist_is_named() {
        assert!(format!("{:?}", parsed(&["x", "--weight", "speed=1"])).contains("terms are"));
    }
}
