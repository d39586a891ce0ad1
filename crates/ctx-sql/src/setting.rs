//! Settings of a session: limits, wishes and how results are shown. `SET`, `RESET` and `SHOW` speak of them.

use crate::limit::{Limit, LimitKey};
use crate::value::{self, Literal};
use crate::wish::{Wish, WishKey};
use std::fmt;

/// How results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Whether each statement says how long it took.
    Timing(bool),
    /// Whether tables show one row per record.
    Expanded(bool),
    /// Whether results are JSON.
    Json(bool),
    /// Whether sources are brought up to date before a goal is planned.
    AutoRefresh(bool),
}

/// The key of an [`Output`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the variant of `Output` with its name")]
pub enum OutputKey {
    Timing,
    Expanded,
    Json,
    AutoRefresh,
}

impl OutputKey {
    /// Every key.
    pub const ALL: [OutputKey; 4] = [OutputKey::Timing, OutputKey::Expanded, OutputKey::Json, OutputKey::AutoRefresh];
}

/// A setting of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingKey {
    /// A limit of every goal.
    Limit(LimitKey),
    /// A wish for every goal.
    Wish(WishKey),
    /// How results are shown.
    Output(OutputKey),
}

/// A setting with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A limit of every goal.
    Limit(Limit),
    /// A wish for every goal.
    Wish(Wish),
    /// How results are shown.
    Output(Output),
}

impl SettingKey {
    /// Every key.
    pub fn all() -> impl Iterator<Item = SettingKey> {
        let limits = LimitKey::ALL.into_iter().map(SettingKey::Limit);
        limits.chain(WishKey::all().map(SettingKey::Wish)).chain(OutputKey::ALL.into_iter().map(SettingKey::Output))
    }

    /// As statements write it.
    pub fn name(self) -> &'static str {
        match self {
            SettingKey::Limit(key) => key.name(),
            SettingKey::Wish(key) => key.name(),
            SettingKey::Output(OutputKey::Timing) => "timing",
            SettingKey::Output(OutputKey::Expanded) => "expanded",
            SettingKey::Output(OutputKey::Json) => "json",
            SettingKey::Output(OutputKey::AutoRefresh) => "auto_refresh",
        }
    }

    /// What it means, in words.
    pub fn about(self) -> &'static str {
        match self {
            SettingKey::Limit(key) => key.about(),
            SettingKey::Wish(key) => key.about(),
            SettingKey::Output(OutputKey::Timing) => "each statement says how long it took",
            SettingKey::Output(OutputKey::Expanded) => "tables show one line per value",
            SettingKey::Output(OutputKey::Json) => "results are JSON",
            SettingKey::Output(OutputKey::AutoRefresh) => "sources are brought up to date before a goal is planned",
        }
    }

    /// The key with this name, in any case.
    pub fn named(name: &str) -> Option<SettingKey> {
        SettingKey::all().find(|key| key.name().eq_ignore_ascii_case(name))
    }

    pub(crate) fn read(self, literal: &Literal) -> Result<Setting, String> {
        Ok(match self {
            SettingKey::Limit(key) => Setting::Limit(key.read(literal)?),
            SettingKey::Wish(key) => Setting::Wish(key.read(literal)?),
            SettingKey::Output(key) => {
                let on = value::boolean(literal)?;
                Setting::Output(match key {
                    OutputKey::Timing => Output::Timing(on),
                    OutputKey::Expanded => Output::Expanded(on),
                    OutputKey::Json => Output::Json(on),
                    OutputKey::AutoRefresh => Output::AutoRefresh(on),
                })
            }
        })
    }
}

impl Setting {
    /// Its key.
    pub fn key(&self) -> SettingKey {
        match self {
            Setting::Limit(limit) => SettingKey::Limit(limit.key()),
            Setting::Wish(wish) => SettingKey::Wish(wish.key()),
            Setting::Output(Output::Timing(_)) => SettingKey::Output(OutputKey::Timing),
            Setting::Output(Output::Expanded(_)) => SettingKey::Output(OutputKey::Expanded),
            Setting::Output(Output::Json(_)) => SettingKey::Output(OutputKey::Json),
            Setting::Output(Output::AutoRefresh(_)) => SettingKey::Output(OutputKey::AutoRefresh),
        }
    }

    /// The value as it is written.
    pub fn value(&self) -> String {
        match self {
            Setting::Limit(limit) => limit.value(),
            Setting::Wish(wish) => wish.value(),
            Setting::Output(Output::Timing(on) | Output::Expanded(on) | Output::Json(on) | Output::AutoRefresh(on)) => on.to_string(),
        }
    }
}

impl fmt::Display for Setting {
    /// `max_cost_usd = 0.05`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key().name(), self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_share_a_name() {
        let mut names: Vec<&str> = SettingKey::all().map(SettingKey::name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(SettingKey::all().all(|key| SettingKey::named(key.name()) == Some(key)));
    }
}
