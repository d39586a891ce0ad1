//! What somebody said of an answer, beside what was expected of it: the only source of accuracy statistics.
//!
//! What is expected of an answer given is P(right | evidence) times the evidence that was seen in its context, and what the
//! answerer does without. A verifier of ours and a judging model are not among those who say so.

use crate::coefficients;
use crate::statistics::{Field, Label, Observation, OperatorClass, StatKey, Statistics};
use ctx_types::trace::NodeStatus;
use ctx_types::{Bucket, Ppm, Status, Trace};

/// Why a label teaches nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The run ended without an answer.
    #[error("labelling a run that ended as {0:?}: it gave no answer that could be right or wrong; label a completed run")]
    NoAnswer(Status),
    /// The trace names no answerer, or no estimate of it.
    #[error("labelling a run: its trace holds no answer with an estimate; label a run of this version")]
    NoEstimate,
}

/// The comparison that a label allows. `bucket`: of the goal, unless the trace keeps only its hash. `statistics`: those in force,
/// whose correction is taken back.
pub fn observation(
    trace: &Trace,
    bucket: Option<Bucket>,
    statistics: &Statistics,
    score: Ppm,
    label: Label,
    at: u64,
) -> Result<Observation, LabelError> {
    if trace.outcome.status != Status::Completed {
        return Err(LabelError::NoAnswer(trace.outcome.status));
    }
    let answered = trace.nodes.iter().filter(|node| node.status == NodeStatus::Done);
    let (key, quality) = answered
        .filter_map(|node| Some((answerer(&node.operator)?, node.estimate.quality.as_ref()?)))
        .map(|((class, name), quality)| (key(trace, class, name, bucket), quality))
        .next_back()
        .ok_or(LabelError::NoEstimate)?;
    let with = statistics.uncorrected(&key, quality) as f64 / 1e6;
    let evidence = trace.outcome.evidence.map_or(1.0, Ppm::share);
    let without = if key.class == OperatorClass::Model { f64::from(coefficients::quality().right_without_evidence) / 1e6 } else { 0.0 };
    let expected = Ppm::from_share(evidence * with + (1.0 - evidence) * without);
    let run = format!("{}#{}", trace.id, label.as_str());
    Ok(Observation::new(key, run, at, i64::from(expected.get()), i64::from(score.get())))
}

/// Kind and name of the answerer in an operator's words: `answer extractive`, `answer single_shot small`.
fn answerer(operator: &str) -> Option<(OperatorClass, &str)> {
    let words: Vec<&str> = operator.split_whitespace().collect();
    match words.as_slice() {
        ["answer", strategy] => Some((OperatorClass::Strategy, strategy)),
        ["answer", _, model] => Some((OperatorClass::Model, model)),
        _ => None,
    }
}

fn key(trace: &Trace, class: OperatorClass, name: &str, bucket: Option<Bucket>) -> StatKey {
    StatKey { tenant: trace.tenant.clone(), field: Field::Accuracy, class, operator: Some(name.to_owned()), bucket, size: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answerers_are_read_from_their_words() {
        assert_eq!(answerer("answer extractive"), Some((OperatorClass::Strategy, "extractive")));
        assert_eq!(answerer("answer single_shot small"), Some((OperatorClass::Model, "small")));
        assert_eq!(answerer("pack raw 8000"), None);
        assert_eq!(answerer(""), None);
    }
}
