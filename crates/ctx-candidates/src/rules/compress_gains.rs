//! Shortening that loses a larger share of the evidence than it saves of the tokens is not weighed: packing fewer passages saves
//! as much and loses less, for the passages that it leaves out are those that hold least.

use super::hints::forced;
use crate::View;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Compress { compressor, keep } = &alternative.operator else { return None };
    let entry = view.catalog.capabilities.compressors.iter().find(|entry| entry.name == *compressor)?;
    let ratio = entry.ratios.iter().find(|ratio| ratio.keep == *keep)?;
    let (sent, survives) = (ratio.sent.value, ratio.survives.value);
    let loses_more = survives < sent && !forced(view, alternative);
    loses_more.then(|| format!("keeps {survives} of the evidence in {sent} of the tokens: fewer passages would keep more"))
}
