//! Labels of conversations: "and now translate that" is as sensitive as what it is about.
//!
//! They live as long as the runtime. What a conversation said is not kept, only how sensitive it was.

use crate::prepare::{Choice, tightest};
use crate::runtime::Inner;
use ctx_types::{Catalog, Constraints, Goal, Sensitivity};
use std::sync::PoisonError;

/// Conversations whose label is remembered.
const TALKS_MAX: usize = 65_536;

impl Inner {
    /// The label that a goal's conversation has by what was said and read in it before: "and now translate that" is as sensitive
    /// as what it is about.
    pub(crate) fn talk_label(&self, goal: &Goal) -> Option<Sensitivity> {
        let talks = self.talks.lock().unwrap_or_else(PoisonError::into_inner);
        talks.get(&(goal.principal.tenant.clone(), goal.conversation.clone()?)).copied()
    }

    /// The label of what a goal says, and of what is read for it.
    pub(crate) fn said_label(&self, goal: &Goal, limits: &Constraints, catalog: &Catalog, choice: &Choice) -> Sensitivity {
        match choice.planned() {
            Some(planned) => tightest(limits, catalog, Some(planned)),
            None => self.planner.analyze(goal).sensitivity.max(limits.sensitivity.unwrap_or(Sensitivity::Public)),
        }
    }

    /// A conversation never becomes less sensitive. A runtime remembers [`TALKS_MAX`] of them that are more than public.
    pub(crate) fn raise_talk(&self, goal: &Goal, label: Sensitivity) {
        let Some(conversation) = goal.conversation.clone().filter(|_| label > Sensitivity::Public) else { return };
        let mut talks = self.talks.lock().unwrap_or_else(PoisonError::into_inner);
        let known = talks.entry((goal.principal.tenant.clone(), conversation)).or_insert(label);
        *known = label.max(*known);
        if talks.len() > TALKS_MAX {
            // What is kept longest is what is most sensitive.
            let least = talks.iter().min_by_key(|(_, label)| **label).map(|(key, _)| key.clone());
            least.map(|key| talks.remove(&key));
        }
    }
}
