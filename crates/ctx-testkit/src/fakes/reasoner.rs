//! Answerers: one that quotes the first passage, one that asks the planned model.

use async_trait::async_trait;
use ctx_contracts::{Answer, ContextPassage, Message, ModelRequest, PluginError, ReasonRequest, Reasoner, Role};
use ctx_types::{Citation, Micros, Ppm, Strategy};

fn cite(passage: &ContextPassage, quote: Option<&str>) -> Citation {
    Citation { quote: quote.map(str::to_owned), ..passage.citation() }
}

/// Quotes the best passage; withholds when the calibrated evidence is below its threshold.
#[derive(Clone, Debug, Default)]
pub struct FakeExtractive {
    /// Evidence from which it answers.
    pub answers_from: Ppm,
}

#[async_trait]
impl Reasoner for FakeExtractive {
    fn strategy(&self) -> Strategy {
        Strategy::Extractive
    }

    async fn reason(&self, request: ReasonRequest<'_>) -> Result<Answer, PluginError> {
        let best = request.context.iter().find(|p| p.exact).or_else(|| request.context.first());
        match best.filter(|_| request.evidence >= self.answers_from) {
            Some(best) => {
                let quote = best.passage.text.lines().next().unwrap_or_default();
                let text = format!("{quote} [{}]", best.label);
                Ok(Answer { text, citations: vec![cite(best, Some(quote))], ..Answer::default() })
            }
            None => Ok(Answer { abstained: Some(format!("evidence {} is weak", request.evidence)), ..Answer::default() }),
        }
    }
}

/// One call: context, question and complaints in one message; cites every label that the answer names.
#[derive(Clone, Debug, Default)]
pub struct FakeSingleShot;

#[async_trait]
impl Reasoner for FakeSingleShot {
    fn strategy(&self) -> Strategy {
        Strategy::SingleShot
    }

    async fn reason(&self, request: ReasonRequest<'_>) -> Result<Answer, PluginError> {
        let mut prompt = String::new();
        for passage in request.context {
            prompt.push_str(&format!("[{}] {}\n", passage.label, passage.passage.text));
        }
        prompt.push_str(&request.goal.text);
        for complaint in request.complaints {
            prompt.push_str(&format!("\nRejected before: {complaint}"));
        }
        let response = request
            .models
            .complete(ModelRequest {
                model: request.model.cloned().expect("a single shot is planned with a model"),
                messages: vec![Message { role: Role::User, content: prompt }],
                max_output: request.max_output,
                temperature_milli: 0,
                seed: None,
                timeout: Micros(60_000_000),
            })
            .await?;
        let named = request.context.iter().filter(|p| response.text.contains(&format!("[{}]", p.label)));
        let citations = named.map(|p| cite(p, None)).collect();
        Ok(Answer { text: response.text, citations, ..Answer::default() })
    }
}
