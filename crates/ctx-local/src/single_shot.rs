//! One model call: prompt, answer, markers to citations.

use crate::markers::markers;
use crate::prompt::{ABSTAIN_SENTINEL, prompt};
use async_trait::async_trait;
use ctx_contracts::{Answer, ContextPassage, ErrorKind, ModelRequest, PluginError, ReasonRequest, Reasoner};
use ctx_types::id::sha256_hex;
use ctx_types::{Micros, Strategy};

/// Longest single call before the run's own deadline cuts it.
const CALL_TIMEOUT: Micros = Micros(120_000_000);

/// Asks a model once.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleShot;

#[async_trait]
impl Reasoner for SingleShot {
    fn strategy(&self) -> Strategy {
        Strategy::SingleShot
    }

    async fn reason(&self, request: ReasonRequest<'_>) -> Result<Answer, PluginError> {
        let Some(model) = request.model else {
            return Err(PluginError::new(ErrorKind::Internal, "answering by single_shot", "the plan names no model"));
        };
        let messages = prompt(&request.goal.text, request.context, request.layout, request.complaints);
        let sent = messages.iter().map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n");
        let response = request
            .models
            .complete(ModelRequest {
                model: model.clone(),
                messages,
                max_output: request.max_output,
                temperature_milli: 0,
                seed: request.goal.seed,
                timeout: CALL_TIMEOUT,
            })
            .await?;
        let mut answer = read(&response.text, request.context);
        answer.sent = vec![sha256_hex(sent.as_bytes())];
        Ok(answer)
    }
}

/// The answer with its resolvable citations, each label once, by label. Unresolvable markers are left in the text: the check
/// reports them.
fn read(text: &str, context: &[ContextPassage]) -> Answer {
    let text = text.trim();
    if text.is_empty() || says_that_nothing_is_found(text) {
        let why = if text.is_empty() { "the model gave an empty answer" } else { "the model found no answer in the passages" };
        return Answer { abstained: Some(why.into()), ..Answer::default() };
    }
    let mut labels: Vec<u32> = markers(text).into_iter().flat_map(|m| m.labels).filter_map(|l| l.parse().ok()).collect();
    labels.sort_unstable();
    labels.dedup();
    let citations =
        labels.into_iter().filter_map(|label| context.iter().find(|p| p.label == label)).map(ContextPassage::citation).collect();
    Answer { text: text.to_owned(), citations, ..Answer::default() }
}

/// The agreed words at the start, or as a sentence of their own anywhere: an answer that says both is none.
fn says_that_nothing_is_found(text: &str) -> bool {
    let text = text.to_uppercase();
    let bare = |part: &str| part.trim_matches(|c: char| !c.is_alphabetic()) == ABSTAIN_SENTINEL;
    text.starts_with(ABSTAIN_SENTINEL) || text.split(['.', '!', '?', '\n']).any(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentinel_and_silence_are_abstentions() {
        assert!(read("Insufficient evidence.", &[]).abstained.is_some());
        assert!(read("Port 8080 [1]. INSUFFICIENT EVIDENCE", &[]).abstained.is_some());
        assert!(read("Port 8080 [1].\n**Insufficient evidence.**", &[]).abstained.is_some());
        assert!(read("It was closed for insufficient evidence [1].", &[]).abstained.is_none());
        assert!(read("  ", &[]).abstained.is_some());
        assert!(read("Yes [1].", &[]).abstained.is_none());
    }
}
