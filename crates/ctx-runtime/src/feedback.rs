//! What somebody says of an answer: kept in a journal of the store, and taught to the accuracy statistics when a person or a gold
//! answer says so. What a judging model says is kept beside and teaches nothing alone.

use crate::{Runtime, RuntimeError};
use ctx_contracts::Journal;
use ctx_cost::labels;
use ctx_cost::statistics::Label;
use ctx_types::{Ppm, Trace};
use serde::{Deserialize, Serialize};

/// Name of the journal.
const JOURNAL: &str = "feedback";
/// Version of a record.
const FEEDBACK_SCHEMA_VERSION: u32 = 1;

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackBy {
    /// A person.
    User,
    /// A gold answer.
    Gold,
    /// A judging model.
    Judge,
}

/// What was said of one run's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// Version of this record.
    pub schema_version: u32,
    /// The run.
    pub trace: String,
    /// Whose run.
    pub tenant: String,
    /// Who says so.
    pub by: FeedbackBy,
    /// How right: 0 wrong, 1,000,000 right.
    pub score: Ppm,
    /// When, seconds since the Unix epoch.
    pub at: u64,
    /// Whether statistics learn from it.
    pub counted: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Runtime {
    /// Says how right the answer of a run was. The first word of each kind counts: a second is kept and teaches nothing, so that
    /// nobody can turn the statistics by repeating himself. Statistics change when outcomes are absorbed, never at once.
    ///
    /// # Errors
    /// The store's, and [`RuntimeError::Label`] for a run that gave no answer.
    pub async fn feedback(&self, trace: &Trace, score: Ppm, by: FeedbackBy) -> Result<Feedback, RuntimeError> {
        let (store, at) = (self.parts().store.clone(), self.inner.now());
        let label = match by {
            FeedbackBy::User => Some(Label::Feedback),
            FeedbackBy::Gold => Some(Label::Gold),
            FeedbackBy::Judge => None,
        };
        // From `confidential` up a trace holds a hash of the goal, which has no bucket.
        let bucket = (!is_hash(&trace.goal)).then(|| ctx_intent::analyze(&trace.goal, ctx_intent::IntentModel::embedded()).bucket);
        let observation = labels::observation(
            trace,
            bucket,
            &self.inner.learning.snapshot(),
            Ppm(score.get().min(Ppm::ONE.get())),
            label.unwrap_or(Label::Feedback),
            at,
        )?;
        let before = all(&store.journal(JOURNAL).await?);
        let repeated = before.iter().any(|said| said.trace == trace.id && said.by == by);
        let reason = match (label, repeated) {
            (None, _) => Some("accuracy is learned from people and gold answers; what a judge says is kept beside"),
            (Some(_), true) => Some("this run has such a label already; the first one counts"),
            (Some(_), false) => None,
        };
        let feedback = Feedback {
            schema_version: FEEDBACK_SCHEMA_VERSION,
            trace: trace.id.clone(),
            tenant: trace.tenant.clone(),
            by,
            score: Ppm(score.get().min(Ppm::ONE.get())),
            at,
            counted: reason.is_none(),
            reason: reason.map(str::to_owned),
        };
        let record = serde_json::to_value(&feedback).expect("feedback holds integers and strings only");
        store.append(JOURNAL, record, self.config().runtime.durability).await?;
        if feedback.counted {
            self.inner.observe(vec![observation]).await;
        }
        Ok(feedback)
    }

    /// Everything that was said of a tenant's runs, in the order of the journal.
    pub async fn feedback_given(&self, tenant: &str) -> Result<Vec<Feedback>, RuntimeError> {
        let said = all(&self.parts().store.journal(JOURNAL).await?);
        Ok(said.into_iter().filter(|feedback| feedback.tenant == tenant).collect())
    }
}

/// What another version wrote is left out.
fn all(journal: &Journal) -> Vec<Feedback> {
    let read =
        |record: &serde_json::Value| Feedback::deserialize(record).ok().filter(|said| said.schema_version == FEEDBACK_SCHEMA_VERSION);
    journal.records.iter().filter_map(|recorded| read(&recorded.record)).collect()
}

fn is_hash(goal: &str) -> bool {
    goal.starts_with("sha256:")
}
