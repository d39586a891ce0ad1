//! Hiding words in every format at once: the value is redacted before it is rendered.

use crate::explanation::{Explanation, NodeView};
use ctx_types::Fate;
use ctx_types::id::sha256_hex;

fn hash(text: &str) -> String {
    format!("redacted:{}", &sha256_hex(text.as_bytes())[..12])
}

/// The explanation without words of the goal: its text, entities, operands and dropped passages become hashes, so that two
/// explanations of one goal can still be compared. Numbers, operators, sources and models stay.
pub fn redact(mut explanation: Explanation) -> Explanation {
    let words = Words::taken_from(&mut explanation);
    explanation.intent.sensitive_topics = explanation.intent.sensitive_topics.iter().map(|topic| hash(topic)).collect();
    let scrub = |text: &mut String| words.scrub(text);
    explanation.notes.iter_mut().for_each(scrub);
    explanation.sources.iter_mut().for_each(|s| scrub(&mut s.reason));
    explanation.settings.iter_mut().for_each(|s| scrub(&mut s.value));
    explanation.rejected.iter_mut().for_each(|g| scrub(&mut g.reason));
    for rejection in &mut explanation.alternatives {
        if let Fate::Pruned { reason, .. } | Fate::Infeasible { reason, .. } = &mut rejection.fate {
            scrub(reason);
        }
    }
    if let Some(cache) = explanation.summary.as_mut().and_then(|summary| summary.plan_cache.as_mut()) {
        scrub(cache);
    }
    if let Some(infeasible) = &mut explanation.infeasible {
        scrub(&mut infeasible.binding);
        scrub(&mut infeasible.missed_by);
        infeasible.conflict.iter_mut().for_each(scrub);
    }
    if let Some(plan) = &mut explanation.plan {
        words.redact(&mut plan.root);
        plan.on_failure.iter_mut().for_each(|node| words.redact(node));
        plan.margin.iter_mut().for_each(|margin| margin.flips.iter_mut().for_each(scrub));
        scrub(&mut plan.verification);
    }
    explanation
}

/// What must not be read: the goal and everything typed that was found in it, longest first.
struct Words(Vec<String>);

impl Words {
    fn taken_from(explanation: &mut Explanation) -> Words {
        let mut words = Vec::new();
        let mut take = |text: &mut String| {
            let hidden = hash(text);
            words.push(std::mem::replace(text, hidden));
        };
        take(&mut explanation.goal);
        for entity in &mut explanation.intent.entities {
            take(&mut entity.text);
            take(&mut entity.normal);
        }
        explanation.intent.operands.iter_mut().for_each(&mut take);
        if let Some(time) = &mut explanation.intent.time {
            take(&mut time.text);
        }
        words.retain(|w| w.chars().count() > 2);
        words.sort_by_key(|w| std::cmp::Reverse(w.len()));
        Words(words)
    }

    fn scrub(&self, text: &mut String) {
        for word in &self.0 {
            if text.contains(word.as_str()) {
                *text = text.replace(word.as_str(), &hash(word));
            }
        }
    }

    fn redact(&self, node: &mut NodeView) {
        self.scrub(&mut node.title);
        self.scrub(&mut node.operator);
        node.provenance.iter_mut().for_each(|line| self.scrub(line));
        if let Some(actual) = &mut node.actual {
            actual.dropped.iter_mut().for_each(|d| *d = hash(d));
            actual.error = actual.error.as_deref().map(hash);
        }
        node.children.iter_mut().for_each(|child| self.redact(child));
    }
}
