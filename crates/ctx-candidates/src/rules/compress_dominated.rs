//! Of two ways of shortening, one that sends no fewer tokens and keeps no more of the evidence is not weighed, unless a hint asks for it.

use super::hints::forced;
use crate::View;
use ctx_types::catalog::CompressionRatio;
use ctx_types::{Alternative, Operator, Ppm};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Compress { compressor, keep } = &alternative.operator else { return None };
    if forced(view, alternative) {
        return None;
    }
    let all = || view.catalog.capabilities.compressors.iter().flat_map(|c| c.ratios.iter().map(move |r| (c.name.as_str(), r)));
    let (place, (_, mine)) = all().enumerate().find(|(_, (name, ratio))| name == compressor && ratio.keep == *keep)?;
    let (_, (name, better)) = all().enumerate().find(|(at, (_, other))| dominates(other, mine, *at < place))?;
    let (sent, survives) = (better.sent.value, better.survives.value);
    Some(format!(
        "sends {} of the tokens and keeps {} of the evidence; {name} keep={:.2} sends {sent} and keeps {survives}",
        mine.sent.value,
        mine.survives.value,
        better.keep.share()
    ))
}

/// Of equal ones the first stays.
fn dominates(other: &CompressionRatio, mine: &CompressionRatio, before: bool) -> bool {
    let of = |r: &CompressionRatio| -> (Ppm, Ppm) { (r.sent.value, r.survives.value) };
    let (theirs, ours) = (of(other), of(mine));
    theirs.0 <= ours.0 && theirs.1 >= ours.1 && (theirs != ours || before)
}
