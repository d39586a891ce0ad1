//! `require_citations` means proven citations: the verifier must resolve every one of them.

use crate::View;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    if !view.limits.require_citations {
        return None;
    }
    match &alternative.operator {
        Operator::NoVerify => Some("require_citations is set: citations must be checked".to_owned()),
        Operator::Verify { verifier } => {
            let entry = view.catalog.capabilities.verifiers.iter().find(|v| v.name == *verifier)?;
            (!entry.proves_citations).then(|| format!("{verifier} does not resolve citations; require_citations is set"))
        }
        _ => None,
    }
}
