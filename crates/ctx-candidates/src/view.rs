//! What the rules see.

use ctx_types::{Catalog, Constraints, Denial, Goal, Intent, Probe, Sensitivity, Settings, SourceEntry, SourceName, SourceProbe};

/// Inputs of candidate generation; all borrowed, all values.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The goal.
    pub goal: &'a Goal,
    /// Constraints in force.
    pub limits: &'a Constraints,
    /// The analysed goal.
    pub intent: &'a Intent,
    /// What exists.
    pub catalog: &'a Catalog,
    /// What the sources said.
    pub probe: &'a Probe,
    /// What policy refused.
    pub denials: &'a [Denial],
    /// Configuration.
    pub settings: &'a Settings,
    /// Permitted sources of this goal, sorted.
    pub sources: &'a [SourceName],
}

impl<'a> View<'a> {
    /// Catalog row of a source.
    pub fn source(&self, name: &SourceName) -> Option<&'a SourceEntry> {
        self.catalog.sources.get(name)
    }

    /// What a source said about the goal.
    pub fn probed(&self, name: &SourceName) -> Option<&'a SourceProbe> {
        self.probe.sources.get(name)
    }

    /// Whether the principal's roles allow reading a source.
    pub fn may_read(&self, entry: &SourceEntry) -> bool {
        entry.readable_to(&self.goal.principal.roles)
    }

    /// The tightest label in play and who declared it: the goal, a value in it, or a permitted source.
    pub fn sensitivity(&self) -> (Sensitivity, String) {
        let mut tightest = (self.intent.sensitivity, "the goal holds a sensitive value".to_owned());
        if let Some(declared) = self.limits.sensitivity.filter(|d| *d >= tightest.0) {
            tightest = (declared, format!("the goal is declared {declared}"));
        }
        for name in self.sources {
            if let Some(entry) = self.source(name).filter(|e| e.sensitivity > tightest.0 && self.may_read(e)) {
                tightest = (entry.sensitivity, format!("source `{name}` is {}", entry.sensitivity));
            }
        }
        tightest
    }

    /// Identifiers of the goal that a source holds literally, with the number of passages.
    pub fn identifier_hits(&self, name: &SourceName) -> u64 {
        self.probed(name).map_or(0, |p| p.identifiers.iter().map(|i| i.passages).sum())
    }
}
