//! A verifier is paired only with strategies whose answers it can check.

use crate::{FrameChoice, View};
use ctx_types::{Alternative, Operator};

pub(super) fn refuse(view: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, String)> {
    let Operator::Verify { verifier } = &alternatives[frame.verify].operator else { return None };
    let Operator::Answer { strategy, .. } = &alternatives[frame.answer].operator else { return None };
    let entry = view.catalog.capabilities.verifiers.iter().find(|v| v.name == *verifier)?;
    (!entry.checks.contains(strategy)).then(|| (frame.verify, format!("{verifier} cannot check {strategy} answers")))
}
