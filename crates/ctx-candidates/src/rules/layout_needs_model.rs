//! The order of context and question matters to a model only.

use crate::{FrameChoice, View};
use ctx_types::{Alternative, Layout, Operator};

pub(super) fn refuse(_: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, String)> {
    let Operator::Pack { layout, .. } = alternatives[frame.pack].operator else { return None };
    let modelless = matches!(alternatives[frame.answer].operator, Operator::Answer { model: None, .. });
    (modelless && layout != Layout::ContextFirst).then(|| (frame.pack, format!("{layout}: no model reads the prompt")))
}
