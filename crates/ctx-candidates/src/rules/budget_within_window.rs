//! Context, instructions, question and answer must fit the model's window.

use crate::{FrameChoice, View};
use ctx_types::{Alternative, Operator, Tokens};

/// Tokens of instructions and message framing around context and question: an upper bound, checked by the prompt tests.
pub const PROMPT_OVERHEAD: Tokens = Tokens(400);

pub(super) fn refuse(view: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, String)> {
    let Operator::Pack { budget, .. } = alternatives[frame.pack].operator else { return None };
    let Operator::Answer { model: Some(model), .. } = &alternatives[frame.answer].operator else { return None };
    let entry = view.catalog.models.get(model)?;
    let window = entry.context_window?;
    let output = view.limits.max_output_tokens.or(entry.max_output).unwrap_or(entry.output_tokens.high).min(entry.output_tokens.high);
    let needed = budget + PROMPT_OVERHEAD + view.probe.goal_tokens + output;
    (needed > window).then(|| (frame.pack, format!("{needed} tokens with answer, the window of {model} is {window}")))
}
