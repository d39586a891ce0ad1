//! Forced and forbidden operators, models and sources. A name binds the stages that have it; [`unknown`] finds the names that
//! no stage has, which are refused: an ignored hint would be a lie.

use crate::View;
use ctx_types::goal::Hint;
use ctx_types::{AccessPath, Alternative, Operator, Stage};

/// Names by which a hint can mean an operator: those of configuration, and those that EXPLAIN prints.
pub(crate) fn names(operator: &Operator) -> Vec<String> {
    match operator {
        Operator::Skip => vec!["skip".to_owned()],
        Operator::Access { path, .. } => vec![path.as_str().to_owned(), title(*path).to_owned(), operator.to_string()],
        Operator::Fuse { method } => vec![method.as_str().to_owned()],
        Operator::Pack { layout, .. } => vec![layout.as_str().to_owned(), operator.to_string()],
        Operator::Answer { strategy, model } => {
            let mut out = vec![strategy.as_str().to_owned()];
            if let Some(model) = model {
                out.extend([model.to_string(), format!("model:{model}"), operator.to_string(), format!("{strategy} by {model}")]);
            }
            out
        }
        Operator::Verify { verifier } => vec![verifier.clone()],
        Operator::NoVerify => vec!["no_verify".to_owned()],
        Operator::Rerank { reranker } => vec![format!("rerank:{reranker}")],
        Operator::Compress { compressor, .. } => vec![format!("compress:{compressor}")],
        Operator::NoRerank => vec!["no_rerank".to_owned()],
        Operator::NoCompress => vec!["no_compress".to_owned()],
    }
}

/// As EXPLAIN's tree names it.
fn title(path: AccessPath) -> &'static str {
    match path {
        AccessPath::Identifier => "identifier lookup",
        AccessPath::Bm25 => "bm25 scan",
        AccessPath::Dense => "dense scan",
        AccessPath::HybridLinear => "linear fusion",
        AccessPath::HybridRrf => "reciprocal rank fusion",
        AccessPath::Whole => "whole source",
        AccessPath::Table => "table query",
    }
}

/// Whether a hint's name means this alternative. A source's own name means reading it; forbidding it leaves only the skip.
fn means(name: &str, alternative: &Alternative) -> bool {
    let operator = |wanted: &str| names(&alternative.operator).iter().any(|n| n.eq_ignore_ascii_case(wanted));
    if operator(name) {
        return true;
    }
    let Stage::Access(source) = &alternative.stage else { return false };
    let reads = alternative.operator != Operator::Skip;
    match name.split_once(':') {
        Some(("source", wanted)) => wanted == source.as_str() && reads,
        Some((wanted, path)) => wanted == source.as_str() && operator(path),
        None => match name.split_once(" on ") {
            Some((path, wanted)) => wanted == source.as_str() && operator(path),
            None => name == source.as_str() && reads,
        },
    }
}

/// Whether forbidding a name forbids this alternative: a fused path reads the lists that it fuses.
fn forbids(name: &str, alternative: &Alternative) -> bool {
    let of = |path: AccessPath| {
        let Operator::Access { k, quota, .. } = alternative.operator else { return false };
        means(name, &Alternative { operator: Operator::Access { path, k, quota }, ..alternative.clone() })
    };
    let fuses = matches!(alternative.operator, Operator::Access { path: AccessPath::HybridLinear | AccessPath::HybridRrf, .. });
    means(name, alternative) || fuses && [AccessPath::Bm25, AccessPath::Dense].into_iter().any(of)
}

/// Names of the request's hints that mean no alternative there is, pruned ones included.
pub(crate) fn unknown<'a>(hints: &'a [Hint], all: &[&Alternative]) -> Vec<&'a str> {
    let of = |hint: &'a Hint| match hint {
        Hint::Force(name) | Hint::Forbid(name) => Some(name.as_str()),
        Hint::Model(_) | Hint::Gist(_) => None,
    };
    hints.iter().filter_map(of).filter(|name| !all.iter().any(|a| means(name, a))).collect()
}

/// Whether some operator of the alternative's own stage has the name, so that a forced name binds this stage.
fn binds(view: &View<'_>, name: &str, stage: &Stage) -> bool {
    let here = |operator: Operator| means(name, &Alternative { id: ctx_types::AlternativeId(0), stage: stage.clone(), operator });
    let capabilities = &view.catalog.capabilities;
    match stage {
        Stage::Access(source) => {
            // A name with numbers (`bm25 k=5 quota=1000`) begins with that of its path.
            let path = |p: AccessPath| {
                here(Operator::Access { path: p, k: 0, quota: ctx_types::Tokens(0) }) || numbered(name, p.as_str(), source.as_str())
            };
            here(Operator::Skip) || view.source(source).is_some_and(|e| e.access.iter().any(|a| path(a.path)))
        }
        Stage::Fuse => capabilities.fuse.iter().any(|&method| here(Operator::Fuse { method })),
        Stage::Pack => capabilities
            .layouts
            .iter()
            .any(|&layout| here(Operator::Pack { budget: ctx_types::Tokens(0), layout }) || name.ends_with(&format!(" tokens {layout}"))),
        Stage::Answer => capabilities.strategies.iter().any(|&strategy| {
            here(Operator::Answer { strategy, model: None })
                || view.catalog.models.keys().any(|m| here(Operator::Answer { strategy, model: Some(m.clone()) }))
        }),
        Stage::Verify => {
            here(Operator::NoVerify) || capabilities.verifiers.iter().any(|v| here(Operator::Verify { verifier: v.name.clone() }))
        }
        Stage::Rerank => {
            here(Operator::NoRerank) || capabilities.rerankers.iter().any(|r| here(Operator::Rerank { reranker: r.name.clone() }))
        }
        Stage::Compress => {
            let each = |c: &ctx_types::catalog::CompressorEntry| {
                c.ratios.iter().any(|r| here(Operator::Compress { compressor: c.name.clone(), keep: r.keep }))
            };
            here(Operator::NoCompress) || capabilities.compressors.iter().any(each)
        }
    }
}

fn numbered(name: &str, path: &str, source: &str) -> bool {
    let own = name.strip_prefix(source).and_then(|rest| rest.strip_prefix(':')).unwrap_or(name);
    own.strip_prefix(path).is_some_and(|rest| rest.starts_with(" k="))
}

/// Whether a hint of the request means this alternative.
pub(super) fn forced(view: &View<'_>, alternative: &Alternative) -> bool {
    view.goal.hints.iter().any(|hint| matches!(hint, Hint::Force(name) if means(name, alternative)))
}

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    view.goal.hints.iter().find_map(|hint| match hint {
        Hint::Forbid(name) => forbids(name, alternative).then(|| format!("forbidden by hint `{name}`")),
        Hint::Force(name) => (!means(name, alternative) && binds(view, name, &alternative.stage)).then(|| format!("hint forces `{name}`")),
        Hint::Model(name) => match &alternative.operator {
            Operator::Answer { model, .. } if model.as_ref() != Some(name) => Some(format!("hint forces model `{name}`")),
            _ => None,
        },
        Hint::Gist(_) => None,
    })
}
