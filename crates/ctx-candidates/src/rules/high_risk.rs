//! An irreversible action needs a check, and a person where the configuration says so.

use crate::View;
use ctx_types::{Alternative, Operator, Ppm, Stage};

/// From here on a goal counts as high risk.
pub(crate) const HIGH_RISK: Ppm = Ppm(500_000);

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    if view.intent.risk < HIGH_RISK {
        return None;
    }
    if alternative.operator == Operator::NoVerify {
        return Some(format!("the goal is high risk (P = {}): a check is required", view.intent.risk));
    }
    let person = view.settings.high_risk_requires_human || view.limits.require_approval;
    (alternative.stage == Stage::Answer && person && !view.catalog.capabilities.approval)
        .then(|| "the goal is high risk and a person must approve it; nobody can be asked here".to_owned())
}
