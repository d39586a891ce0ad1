//! What `CREATE SOURCE … WITH (…)` may say: the keys that the configuration has below `sources.NAME`.

use crate::limit::SENSITIVITIES;
use crate::print::text;
use crate::value::{self, Literal};
use ctx_types::{Sensitivity, SourceKind};
use std::fmt;

/// A property of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// What it is made of.
    Kind(SourceKind),
    /// Its label.
    Sensitivity(Sensitivity),
    /// When changes are looked for.
    Refresh(RefreshRule),
    /// What sensitive values found at indexing do.
    AutoLabel(LabelRule),
    /// Roles that may read it.
    ReadableBy(Vec<String>),
}

/// `refresh = …`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshRule {
    /// Before every run.
    Always,
    /// At most every so many seconds.
    Interval(u64),
    /// Only by `REFRESH` and `INDEX`.
    Manual,
}

/// `auto_label = …`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelRule {
    /// Sensitive values are not looked for.
    Off,
    /// They are counted and reported.
    Warn,
    /// They raise the source's label.
    Raise,
}

/// The key of a [`Property`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the variant of `Property` with its name")]
pub enum PropertyKey {
    Kind,
    Sensitivity,
    Refresh,
    AutoLabel,
    ReadableBy,
}

/// Every key with its name.
pub(crate) const PROPERTIES: [(&str, PropertyKey); 5] = [
    ("kind", PropertyKey::Kind),
    ("sensitivity", PropertyKey::Sensitivity),
    ("refresh", PropertyKey::Refresh),
    ("auto_label", PropertyKey::AutoLabel),
    ("readable_by", PropertyKey::ReadableBy),
];
const LABEL_RULES: [(&str, LabelRule); 3] = [("off", LabelRule::Off), ("warn", LabelRule::Warn), ("raise", LabelRule::Raise)];
/// Most roles of a source.
const ROLES_MAX: usize = 256;

impl PropertyKey {
    pub(crate) fn read(self, literal: &Literal) -> Result<Property, String> {
        Ok(match self {
            PropertyKey::Kind => Property::Kind(value::choice(literal, &kinds())?),
            PropertyKey::Sensitivity => Property::Sensitivity(value::choice(literal, &SENSITIVITIES)?),
            PropertyKey::Refresh => Property::Refresh(refresh(literal)?),
            PropertyKey::AutoLabel => Property::AutoLabel(value::choice(literal, &LABEL_RULES)?),
            PropertyKey::ReadableBy => Property::ReadableBy(roles(literal)?),
        })
    }

    /// As statements write it.
    pub fn name(self) -> &'static str {
        PROPERTIES.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }
}

/// Every kind; which of them this build reads is for whoever executes the statement to say.
fn kinds() -> Vec<(&'static str, SourceKind)> {
    SourceKind::ALL.into_iter().map(|kind| (kind_name(kind), kind)).collect()
}

pub(crate) fn kind_name(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Files => "files",
        SourceKind::Logs => "logs",
        SourceKind::Tables => "tables",
        SourceKind::Git => "git",
        SourceKind::Graph => "graph",
        SourceKind::Metrics => "metrics",
        SourceKind::Conversation => "conversation",
        SourceKind::Http => "http",
        SourceKind::Service => "service",
    }
}

/// `always`, `manual` or a number of seconds; `'interval 5'`, as the configuration has it, too.
fn refresh(literal: &Literal) -> Result<RefreshRule, String> {
    if let Literal::Number(_) = literal {
        return value::whole(literal).map(RefreshRule::Interval);
    }
    let word = literal.word().unwrap_or_default().trim().to_lowercase();
    let seconds = word.strip_prefix("interval").and_then(|rest| rest.trim_matches(['(', ')', ' ']).parse().ok());
    match (word.as_str(), seconds) {
        ("always", _) => Ok(RefreshRule::Always),
        ("manual", _) => Ok(RefreshRule::Manual),
        (_, Some(seconds)) => Ok(RefreshRule::Interval(seconds)),
        _ => Err("expected always, manual or a number of seconds".to_owned()),
    }
}

/// `'a, b'`
fn roles(literal: &Literal) -> Result<Vec<String>, String> {
    let list = literal.word().ok_or("expected roles in quotes, with commas between them")?;
    let roles: Vec<String> = list.split(',').map(str::trim).filter(|role| !role.is_empty()).map(str::to_owned).collect();
    if roles.len() > ROLES_MAX { Err(format!("at most {ROLES_MAX} roles")) } else { Ok(roles) }
}

impl Property {
    /// Its key.
    pub fn key(&self) -> PropertyKey {
        match self {
            Property::Kind(_) => PropertyKey::Kind,
            Property::Sensitivity(_) => PropertyKey::Sensitivity,
            Property::Refresh(_) => PropertyKey::Refresh,
            Property::AutoLabel(_) => PropertyKey::AutoLabel,
            Property::ReadableBy(_) => PropertyKey::ReadableBy,
        }
    }
}

impl fmt::Display for Property {
    /// `kind = logs`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = ", self.key().name())?;
        match self {
            Property::Kind(kind) => f.write_str(kind_name(*kind)),
            Property::Sensitivity(label) => write!(f, "{label}"),
            Property::Refresh(RefreshRule::Always) => f.write_str("always"),
            Property::Refresh(RefreshRule::Manual) => f.write_str("manual"),
            Property::Refresh(RefreshRule::Interval(seconds)) => write!(f, "{seconds}"),
            Property::AutoLabel(LabelRule::Off) => f.write_str("off"),
            Property::AutoLabel(LabelRule::Warn) => f.write_str("warn"),
            Property::AutoLabel(LabelRule::Raise) => f.write_str("raise"),
            Property::ReadableBy(roles) => f.write_str(&text(&roles.join(", "))),
        }
    }
}
