//! Forced and forbidden operators. A forced name binds the stages that have it; the planner checks that some stage does.

use crate::View;
use ctx_types::goal::Hint;
use ctx_types::{Alternative, Operator, Stage};

/// Names by which a hint can mean an operator.
pub(crate) fn names(operator: &Operator) -> Vec<String> {
    match operator {
        Operator::Skip => vec!["skip".to_owned()],
        Operator::Access { path, .. } => vec![path.as_str().to_owned()],
        Operator::Fuse { method } => vec![method.as_str().to_owned()],
        Operator::Pack { layout, .. } => vec![layout.as_str().to_owned()],
        Operator::Answer { strategy, .. } => vec![strategy.as_str().to_owned()],
        Operator::Verify { verifier } => vec![verifier.clone()],
        Operator::NoVerify => vec!["no_verify".to_owned()],
        Operator::NoRerank | Operator::NoCompress => Vec::new(),
    }
}

fn has_name(view: &View<'_>, stage: &Stage, name: &str) -> bool {
    use ctx_types::{AccessPath, FuseMethod, Layout, Strategy};
    match stage {
        Stage::Access(source) => {
            view.source(source).is_some_and(|e| AccessPath::from_name(name).is_some_and(|p| e.access.iter().any(|a| a.path == p)))
        }
        Stage::Fuse => FuseMethod::from_name(name).is_some(),
        Stage::Pack => Layout::from_name(name).is_some(),
        Stage::Answer => Strategy::from_name(name).is_some(),
        Stage::Verify => name == "no_verify" || view.catalog.capabilities.verifiers.iter().any(|v| v.name == name),
        Stage::Rerank | Stage::Compress => false,
    }
}

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let mine = names(&alternative.operator);
    view.goal.hints.iter().find_map(|hint| match hint {
        Hint::Forbid(name) => mine.contains(name).then(|| format!("forbidden by hint `{name}`")),
        Hint::Force(name) => (has_name(view, &alternative.stage, name) && !mine.contains(name)).then(|| format!("hint forces `{name}`")),
        Hint::Model(name) => match &alternative.operator {
            Operator::Answer { model, .. } if model.as_ref() != Some(name) => Some(format!("hint forces model `{name}`")),
            _ => None,
        },
        Hint::Gist(_) => None,
    })
}
