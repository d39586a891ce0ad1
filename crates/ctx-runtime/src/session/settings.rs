//! What `SET` set, and how it combines with what is configured and what a statement says.

use super::SettingLine;
use crate::Config;
use ctx_sql::setting::OutputKey;
use ctx_sql::{Limit, Output, Setting, SettingKey, Wish, WishKey};
use ctx_types::{Constraints, Goal, Objective, Weights};
use std::collections::BTreeMap;

/// Settings of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSettings {
    set: BTreeMap<SettingKey, Setting>,
}

impl SessionSettings {
    /// Sets one.
    pub fn set(&mut self, setting: Setting) {
        self.set.insert(setting.key(), setting);
    }

    /// Sets one back, or all.
    pub fn reset(&mut self, key: Option<SettingKey>) {
        match key {
            Some(key) => drop(self.set.remove(&key)),
            None => self.set.clear(),
        }
    }

    /// What was set, in the order of the keys.
    pub fn rows(&self) -> impl Iterator<Item = &Setting> {
        self.set.values()
    }

    /// Limits of every goal.
    pub fn limits(&self) -> Constraints {
        let mut limits = Constraints::default();
        for setting in self.set.values() {
            if let Setting::Limit(limit) = setting {
                limit.apply(&mut limits);
            }
        }
        limits
    }

    /// These weights with those of the session over them.
    pub fn weights(&self, mut weights: Weights) -> Weights {
        for setting in self.set.values() {
            if let Setting::Wish(Wish::Weight(term, value)) = setting {
                *term.of(&mut weights) = *value;
            }
        }
        weights
    }

    /// What is maximised.
    pub fn objective(&self) -> Objective {
        match self.set.get(&SettingKey::Wish(WishKey::Objective)) {
            Some(Setting::Wish(Wish::Objective(objective))) => *objective,
            _ => Objective::default(),
        }
    }

    /// Seed of everything random.
    pub fn seed(&self) -> Option<u64> {
        match self.set.get(&SettingKey::Wish(WishKey::Seed)) {
            Some(Setting::Wish(Wish::Seed(seed))) => Some(*seed),
            _ => None,
        }
    }

    /// How results are shown: what was set, else whether it is on by itself.
    pub fn shows(&self, key: OutputKey) -> bool {
        match self.set.get(&SettingKey::Output(key)) {
            Some(Setting::Output(Output::Timing(on) | Output::Expanded(on) | Output::Json(on) | Output::AutoRefresh(on))) => *on,
            _ => key == OutputKey::AutoRefresh,
        }
    }

    /// `SHOW key`
    pub(super) fn line(&self, key: SettingKey, config: &Config) -> SettingLine {
        let default = Config::default();
        let configured = match key {
            SettingKey::Limit(limit) => limit.of(&config.budgets).map(|limit| limit.value()),
            SettingKey::Wish(wish) => self.configured_wish(wish, config),
            SettingKey::Output(output) => Some((output == OutputKey::AutoRefresh).to_string()),
        };
        let by_default = match key {
            SettingKey::Limit(limit) => limit.of(&default.budgets).map(|limit| limit.value()),
            SettingKey::Wish(wish) => self.configured_wish(wish, &default),
            SettingKey::Output(_) => configured.clone(),
        };
        let value = match key {
            SettingKey::Limit(limit) => limit.of(&config.budgets.tightened_by(&self.limits())).map(|limit| limit.value()),
            _ => self.set.get(&key).map(Setting::value).or_else(|| configured.clone()),
        };
        let origin = match (self.set.contains_key(&key) && value != configured, configured == by_default) {
            (true, _) => "session",
            (false, false) => "configuration",
            (false, true) => "default",
        };
        SettingLine { name: key.name().to_owned(), value, origin, about: key.about().to_owned() }
    }

    fn configured_wish(&self, key: WishKey, config: &Config) -> Option<String> {
        match key {
            WishKey::Weight(term) => Some(Wish::Weight(term, *term.of(&mut config.costmodel.weights.clone())).value()),
            WishKey::Objective => Some(Wish::Objective(Objective::default()).value()),
            WishKey::Seed => None,
        }
    }

    /// `SHOW SETTINGS`: what the configuration and the session changed.
    pub(super) fn changed(&self, config: &Config) -> Vec<SettingLine> {
        let configured = config.settings().into_iter().map(|row| SettingLine {
            about: row.default.map(|default| format!("default {default}")).unwrap_or_default(),
            name: row.key,
            value: Some(row.value),
            origin: "configuration",
        });
        let session = self.rows().map(|setting| SettingLine {
            name: setting.key().name().to_owned(),
            value: Some(setting.value()),
            origin: "session",
            about: setting.key().about().to_owned(),
        });
        configured.chain(session).collect()
    }
}

/// Limits of one statement.
pub(super) fn constraints(limits: &[Limit]) -> Constraints {
    let mut constraints = Constraints::default();
    limits.iter().for_each(|limit| limit.apply(&mut constraints));
    constraints
}

/// A wish of one statement.
pub(super) fn wish(goal: &mut Goal, wish: &Wish) {
    match wish {
        Wish::Weight(term, value) => *term.of(&mut goal.weights) = *value,
        Wish::Objective(objective) => goal.objective = *objective,
        Wish::Seed(seed) => goal.seed = Some(*seed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_sql::{LimitKey, Term};
    use ctx_types::NanoUsd;

    #[test]
    fn a_session_tightens_and_never_raises() {
        let config = Config::default();
        let mut settings = SessionSettings::default();
        let key = SettingKey::Limit(LimitKey::MaxCost);
        assert_eq!((settings.line(key, &config).value.as_deref(), settings.line(key, &config).origin), (Some("5"), "default"));
        settings.set(Setting::Limit(Limit::MaxCost(NanoUsd(9_000_000_000))));
        assert_eq!((settings.line(key, &config).value.as_deref(), settings.line(key, &config).origin), (Some("5"), "default"));
        settings.set(Setting::Limit(Limit::MaxCost(NanoUsd(50_000_000))));
        assert_eq!((settings.line(key, &config).value.as_deref(), settings.line(key, &config).origin), (Some("0.05"), "session"));
        settings.reset(Some(key));
        assert_eq!(settings, SessionSettings::default());
    }

    #[test]
    fn every_setting_has_a_line_and_weights_combine() {
        let mut config = Config::default();
        config.costmodel.weights.lat = 700_000;
        let mut settings = SessionSettings::default();
        settings.set(Setting::Wish(Wish::Weight(Term::Acc, 2_000_000)));
        assert!(SettingKey::all().all(|key| !settings.line(key, &config).about.is_empty()));
        let weights = settings.weights(config.costmodel.weights);
        assert_eq!((weights.acc, weights.lat), (2_000_000, 700_000));
        let lat = settings.line(SettingKey::Wish(WishKey::Weight(Term::Lat)), &config);
        assert_eq!((lat.value.as_deref(), lat.origin), (Some("0.7"), "configuration"));
        assert_eq!(settings.changed(&config).last().map(|line| line.origin), Some("session"));
    }
}
