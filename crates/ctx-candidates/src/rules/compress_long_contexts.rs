//! A short context is not shortened: it dilutes nothing, what its tokens cost is little, and what shortening loses is not.

use crate::{FrameChoice, View};
use ctx_types::{Alternative, Operator, Tokens};

/// Contexts from here on may be shortened: twice the length that dilutes nothing, so that half of it still gains by being short.
const FROM: Tokens = Tokens(2_000);

pub(super) fn refuse(_: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, String)> {
    let Operator::Compress { compressor, .. } = &alternatives[frame.compress].operator else { return None };
    let Operator::Pack { budget, .. } = alternatives[frame.pack].operator else { return None };
    (budget < FROM).then(|| (frame.compress, format!("{compressor}: a context of {budget} tokens is short, shortening begins at {FROM}")))
}
