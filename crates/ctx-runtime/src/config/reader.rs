//! Typed reading of a [`Node`]: every key that is not asked for is unknown, every error names key, type and place, and
//! all errors of a file are reported together.

use super::tree::{Node, Origin, Value};
use super::{ConfigProblem, ConfigWarning};

/// Keys that earlier versions accepted: (path, version that removed it, what to write instead).
/// Empty until the first removal; a removed key warns, so that an upgrade does not brick a configuration.
pub(crate) const REMOVED: &[(&str, &str, &str)] = &[];

/// What reading found wrong.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<ConfigProblem>,
    pub(crate) warnings: Vec<ConfigWarning>,
    /// Places of values that only the registry can check, by key.
    pub(crate) places: std::collections::BTreeMap<String, String>,
}

impl Findings {
    /// One more problem.
    pub(crate) fn problem(&mut self, at: &Origin, key: &str, cause: impl Into<String>, hint: impl Into<Option<String>>) {
        self.problems.push(ConfigProblem { place: at.to_string(), key: key.to_owned(), cause: cause.into(), hint: hint.into() });
    }
}

/// One map being read.
pub(crate) struct Section {
    path: String,
    origin: Origin,
    entries: Vec<(String, Origin, Node)>,
    known: Vec<&'static str>,
}

impl Section {
    /// A section over `node`; an empty one, with a problem noted, if it is not a map.
    pub(crate) fn open(path: &str, node: Node, findings: &mut Findings) -> Section {
        let origin = node.origin;
        let entries = match node.value {
            Value::Map(entries) => entries,
            Value::Null => Vec::new(),
            other => {
                findings.problem(&origin, path, format!("expected a map of keys, found {}", other.kind()), None);
                Vec::new()
            }
        };
        Section { path: path.to_owned(), origin, entries, known: Vec::new() }
    }

    /// `path.key`.
    pub(crate) fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Where the map starts.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The value of a key, removed from what is left. An explicit null counts as absent.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Node> {
        self.known.push(key);
        let at = self.entries.iter().position(|(name, _, _)| name == key)?;
        let (_, _, node) = self.entries.remove(at);
        (node.value != Value::Null).then_some(node)
    }

    /// A section below this one; empty if absent.
    pub(crate) fn section(&mut self, key: &'static str, findings: &mut Findings) -> Section {
        let path = self.key(key);
        let node = self.take(key).unwrap_or(Node { value: Value::Map(Vec::new()), origin: self.origin.clone() });
        Section::open(&path, node, findings)
    }

    /// All entries of a map whose keys are the user's names.
    pub(crate) fn into_entries(self) -> Vec<(String, Origin, Node)> {
        self.entries
    }

    /// A text, with its place.
    pub(crate) fn text(&mut self, key: &'static str, findings: &mut Findings) -> Option<(String, Origin)> {
        let node = self.take(key)?;
        match node.value {
            Value::Text(text) => Some((text, node.origin)),
            other => {
                findings.problem(&node.origin, &self.key(key), format!("expected a text, found {}", other.kind()), None);
                None
            }
        }
    }

    /// A boolean.
    pub(crate) fn boolean(&mut self, key: &'static str, findings: &mut Findings) -> Option<bool> {
        let node = self.take(key)?;
        match node.value {
            Value::Bool(value) => Some(value),
            other => {
                findings.problem(&node.origin, &self.key(key), format!("expected true or false, found {}", other.kind()), None);
                None
            }
        }
    }

    /// A whole number in `0..=u64::MAX`. `1e6` is one; `1.5` is not.
    pub(crate) fn integer(&mut self, key: &'static str, unit: &str, findings: &mut Findings) -> Option<u64> {
        let node = self.take(key)?;
        let whole = match node.value {
            Value::Integer(value) => u64::try_from(value).ok(),
            Value::Float(value) if value.fract() == 0.0 && (0.0..9.0e15).contains(&value) => Some(value as u64),
            _ => None,
        };
        if whole.is_none() {
            let cause = format!("expected a whole number of {unit}, zero or more, found {}", described(&node));
            findings.problem(&node.origin, &self.key(key), cause, None);
        }
        whole
    }

    /// A number that is zero or more.
    pub(crate) fn amount(&mut self, key: &'static str, unit: &str, findings: &mut Findings) -> Option<f64> {
        let node = self.take(key)?;
        let number = match node.value {
            Value::Integer(value) => Some(value as f64),
            Value::Float(value) if value.is_finite() => Some(value),
            _ => None,
        };
        let accepted = number.filter(|value| *value >= 0.0);
        if accepted.is_none() {
            let cause = format!("expected a number of {unit}, zero or more, found {}", described(&node));
            let hint = matches!(node.value, Value::Text(_)).then(|| format!("write the bare number; the unit is {unit}"));
            findings.problem(&node.origin, &self.key(key), cause, hint);
        }
        accepted
    }

    /// An amount in the unit that it is kept in. One that is too large to be kept is a finding: left out it would be no limit.
    pub(crate) fn kept<T>(&mut self, key: &'static str, unit: &str, keep: impl Fn(f64) -> Option<T>, findings: &mut Findings) -> Option<T> {
        let amount = self.amount(key, unit, findings)?;
        let kept = keep(amount);
        if kept.is_none() {
            findings.problem(self.origin(), &self.key(key), format!("{amount} {unit} are more than can be counted"), None);
        }
        kept
    }

    /// Whether a limit is switched off: `none`. The value is taken then.
    pub(crate) fn is_none(&mut self, key: &'static str) -> bool {
        self.known.push(key);
        let off = self.entries.iter().position(|(name, _, node)| name == key && node.value == Value::Text("none".to_owned()));
        off.map(|at| self.entries.remove(at)).is_some()
    }

    /// A list of texts; a single text counts as a list of one.
    pub(crate) fn texts(&mut self, key: &'static str, findings: &mut Findings) -> Option<Vec<(String, Origin)>> {
        let node = self.take(key)?;
        let items = match node.value {
            Value::Text(text) => return Some(vec![(text, node.origin)]),
            Value::List(items) => items,
            other => {
                findings.problem(&node.origin, &self.key(key), format!("expected a list of texts, found {}", other.kind()), None);
                return None;
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item.value {
                Value::Text(text) => texts.push((text, item.origin)),
                other => findings.problem(&item.origin, &self.key(key), format!("expected a text, found {}", other.kind()), None),
            }
        }
        Some(texts)
    }

    /// Ends the section: whatever was not asked for is unknown, or was removed in a later version.
    pub(crate) fn finish(self, findings: &mut Findings) {
        self.finish_with(REMOVED, findings);
    }

    fn finish_with(self, removed: &[(&str, &str, &str)], findings: &mut Findings) {
        for (name, origin, _) in &self.entries {
            let key = self.key(name);
            if let Some((_, version, instead)) = removed.iter().find(|(path, _, _)| *path == key) {
                findings.warnings.push(ConfigWarning(format!("{origin}: {key} was removed in v{version}: {instead}")));
                continue;
            }
            let hint = match nearest(name, &self.known) {
                Some(near) => format!("did you mean {:?}?", self.key(near)),
                None => format!("known here: {}", self.known.join(", ")),
            };
            findings.problem(origin, &key, "unknown key", hint);
        }
    }
}

/// The type, and the value where it is a number. A text may be a secret in the wrong place: it is never quoted, except
/// when it starts with a digit and is short, as in `90s`.
fn described(node: &Node) -> String {
    let from_file = matches!(node.origin, Origin::File { .. });
    match &node.value {
        Value::Integer(value) if from_file => format!("the integer {value}"),
        Value::Float(value) if from_file => format!("the decimal number {value}"),
        Value::Text(text) if from_file && text.len() <= 8 && text.starts_with(|c: char| c.is_ascii_digit()) => format!("the text {text:?}"),
        other => other.kind().to_owned(),
    }
}

/// The known name closest to `name`, if it is close enough to be meant.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    known.iter().map(|k| (edit_distance(name, k), *k)).min().filter(|(distance, _)| *distance <= limit).map(|(_, k)| k)
}

/// Levenshtein distance over characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_key_warns_with_its_version_and_does_not_stop_the_start() {
        let tree = super::super::tree::parse("c.yaml", "onoff: no\nother: 1\n").expect("valid");
        let mut findings = Findings::default();
        Section::open("", tree, &mut findings).finish_with(&[("onoff", "0.9", "it has no replacement")], &mut findings);
        assert_eq!(findings.warnings, [ConfigWarning("c.yaml:1:1: onoff was removed in v0.9: it has no replacement".to_owned())]);
        assert_eq!(findings.problems.len(), 1, "only `other` is unknown");
    }

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        assert_eq!(nearest("max_cost_us", &["max_cost_usd", "max_calls"]), Some("max_cost_usd"));
        assert_eq!(nearest("onoff", &["runtime", "models", "budgets"]), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}
