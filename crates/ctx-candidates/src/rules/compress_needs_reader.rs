//! Shortening pays where somebody is paid by the token or diluted by them. Quotations must stand in their source as they are.

use crate::{FrameChoice, View};
use ctx_types::{Alternative, Operator};

pub(super) fn refuse(_: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, String)> {
    let Operator::Compress { compressor, .. } = &alternatives[frame.compress].operator else { return None };
    let modelless = matches!(alternatives[frame.answer].operator, Operator::Answer { model: None, .. });
    modelless
        .then(|| (frame.compress, format!("{compressor}: quotations are taken from the passages as they stand, and no model reads them")))
}
