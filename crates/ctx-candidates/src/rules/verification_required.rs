//! A required check removes "none"; the configured default does so wherever a model answers. A request that opts out gets no
//! check, unless it requires citations, which only a check proves.

use crate::{FrameChoice, View};
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    if alternative.operator != Operator::NoVerify {
        let opted_out = view.limits.require_verification == Some(false) && !view.limits.require_citations;
        let checks = matches!(alternative.operator, Operator::Verify { .. });
        return (checks && opted_out).then(|| "the request wants no check".to_owned());
    }
    (view.limits.require_verification == Some(true)).then(|| "require_verification is set".to_owned())
}

pub(super) fn refuse(view: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, String)> {
    let unchecked = alternatives[frame.verify].operator == Operator::NoVerify;
    let model = matches!(alternatives[frame.answer].operator, Operator::Answer { model: Some(_), .. });
    let wanted = view.settings.verification_default && view.limits.require_verification != Some(false);
    (unchecked && model && wanted).then(|| (frame.verify, "verification.default: a model's answer is checked".to_owned()))
}
