//! A result computed from tables, given as it is: the values, then the place they come from. No model, nothing composed.

use async_trait::async_trait;
use ctx_contracts::{Answer, PluginError, ReasonRequest, Reasoner};
use ctx_types::Strategy;
use ctx_types::computed::ComputedResult;

/// Values written into an answer; more are counted.
const VALUES_MAX: usize = 50;
/// Notes written below it.
const NOTES_MAX: usize = 5;

/// Gives the computed result that stands first in the context.
#[derive(Clone, Copy, Debug, Default)]
pub struct Computed;

#[async_trait]
impl Reasoner for Computed {
    fn strategy(&self) -> Strategy {
        Strategy::Computed
    }

    async fn reason(&self, request: ReasonRequest<'_>) -> Result<Answer, PluginError> {
        let best = request.context.iter().filter_map(|passage| Some((passage, ComputedResult::read(&passage.passage.text)?)));
        let best = best.max_by_key(|(passage, _)| (passage.relevance, std::cmp::Reverse(passage.label)));
        let Some((passage, result)) = best else {
            return Ok(Answer { abstained: Some("no result was computed".to_owned()), ..Answer::default() });
        };
        if result.values.is_empty() {
            return Ok(Answer { abstained: Some(format!("no row of the table fits: {}", result.reading)), ..Answer::default() });
        }
        Ok(Answer { text: text(&result, passage.label), citations: vec![passage.citation()], ..Answer::default() })
    }
}

/// The values, then what they are and what a reader should know about them.
fn text(result: &ComputedResult, label: u32) -> String {
    let shown: Vec<&str> = result.values.iter().take(VALUES_MAX).map(String::as_str).collect();
    let more = result.values.len().saturating_sub(VALUES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut text = format!("{}{more} [{label}]\n({})", shown.join(", "), result.reading);
    for note in result.notes.iter().take(NOTES_MAX) {
        text.push_str(&format!("\n{note}"));
    }
    text
}
