//! Hiding words in every format at once: the value is redacted before it is rendered.

use crate::explanation::{Explanation, NodeView};
use ctx_types::id::sha256_hex;

fn hash(text: &str) -> String {
    format!("redacted:{}", &sha256_hex(text.as_bytes())[..12])
}

/// The explanation without words of the goal: its text, entities, operands and dropped passages become hashes, so that two
/// explanations of one goal can still be compared. Numbers, operators, sources and models stay.
pub fn redact(mut explanation: Explanation) -> Explanation {
    let goal = std::mem::take(&mut explanation.goal);
    explanation.goal = hash(&goal);
    let mut words: Vec<String> = Vec::new();
    for entity in &mut explanation.intent.entities {
        words.push(std::mem::take(&mut entity.text));
        words.push(std::mem::take(&mut entity.normal));
        entity.text = hash(&words[words.len() - 2]);
        entity.normal = hash(&words[words.len() - 1]);
    }
    for operand in &mut explanation.intent.operands {
        words.push(operand.clone());
        *operand = hash(operand);
    }
    explanation.intent.sensitive_topics = explanation.intent.sensitive_topics.iter().map(|topic| hash(topic)).collect();
    if let Some(time) = &mut explanation.intent.time {
        time.text = hash(&time.text);
    }
    words.push(goal);
    words.retain(|w| w.chars().count() > 2);
    words.sort_by_key(|w| std::cmp::Reverse(w.len()));
    let scrub = |text: &mut String| {
        for word in &words {
            if text.contains(word.as_str()) {
                *text = text.replace(word.as_str(), &hash(word));
            }
        }
    };
    explanation.notes.iter_mut().for_each(scrub);
    explanation.sources.iter_mut().for_each(|s| scrub(&mut s.reason));
    explanation.rejected.iter_mut().for_each(|g| scrub(&mut g.reason));
    for rejection in &mut explanation.alternatives {
        if let ctx_types::Fate::Pruned { reason, .. } | ctx_types::Fate::Infeasible { reason, .. } = &mut rejection.fate {
            scrub(reason);
        }
    }
    if let Some(infeasible) = &mut explanation.infeasible {
        scrub(&mut infeasible.missed_by);
        infeasible.conflict.iter_mut().for_each(scrub);
    }
    if let Some(plan) = &mut explanation.plan {
        redact_node(&mut plan.root);
    }
    explanation
}

fn redact_node(node: &mut NodeView) {
    if let Some(actual) = &mut node.actual {
        actual.dropped.iter_mut().for_each(|d| *d = hash(d));
        actual.error = actual.error.as_deref().map(hash);
    }
    node.children.iter_mut().for_each(redact_node);
}
