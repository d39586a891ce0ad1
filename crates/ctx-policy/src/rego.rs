//! A rule file in Rego, evaluated in process.
//!
//! One file, one package of any name. Two rules decide:
//! - `deny`: a set; every element refuses. An element is a message, or `{"rule": …, "message": …}`.
//! - `allow`: must be true where it is defined; false and undefined refuse.
//!
//! A file may define either or both. Evaluation sees the question and nothing else: no file, no network, no clock.

use crate::PolicyError;
use crate::question::document;
use ctx_contracts::{Decision, PolicyQuestion};
use ctx_types::id::sha256_hex;
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

/// Largest rule file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Longest time of one decision: a rule that counts to a billion is an error, and an error denies.
const DECISION_MAX: Duration = Duration::from_secs(2);
/// Steps between two looks at the clock.
const CHECK_EVERY: NonZeroU32 = NonZeroU32::new(1_000).expect("a thousand is not zero");
/// Deepest nesting of brackets: the parser calls itself for each.
const NESTING_MAX: usize = 64;
/// Most characters of a refusal's words.
const REASON_CHARS_MAX: usize = 300;

/// Parsed rules.
#[derive(Clone, Debug)]
pub struct RegoRules {
    engine: Engine,
    file: String,
    deny: Option<String>,
    allow: Option<String>,
    version: String,
}

impl RegoRules {
    /// Reads a rule file.
    pub fn load(path: &Path) -> Result<RegoRules, PolicyError> {
        let file = path.display().to_string();
        let unreadable = |cause: String| PolicyError::Unreadable { file: file.clone(), cause };
        let size = std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?.len();
        if size > FILE_BYTES_MAX {
            return Err(unreadable(format!("it has {size} bytes, more than {FILE_BYTES_MAX}")));
        }
        let text = std::fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
        let name = path.file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy().into_owned());
        RegoRules::parse(&name, &text)
    }

    /// Rules from text; `file` is used in messages only.
    pub fn parse(file: &str, text: &str) -> Result<RegoRules, PolicyError> {
        let not_rego = |error: &dyn std::fmt::Display| {
            let (place, cause) = placed(file, &format!("{error:#}"));
            PolicyError::NotRego { place, cause }
        };
        if let Some(line) = nested_too_deep(text) {
            let cause = format!("brackets are nested deeper than {NESTING_MAX}");
            return Err(PolicyError::NotRego { place: format!("{file}:{line}"), cause });
        }
        let mut engine = Engine::new();
        engine.set_execution_timer_config(ExecutionTimerConfig { limit: DECISION_MAX, check_interval: CHECK_EVERY });
        let package = engine.add_policy(file.to_owned(), text.to_owned()).map_err(|e| not_rego(&e))?;
        engine.set_input(Value::new_object());
        let mut defined = |rule: &str| {
            let path = format!("{package}.{rule}");
            match engine.eval_rule(path.clone()) {
                Ok(_) => Ok(Some(path)),
                Err(error) if format!("{error:#}").contains("not a valid rule path") => Ok(None),
                Err(error) => Err(not_rego(&error)),
            }
        };
        let (deny, allow) = (defined("deny")?, defined("allow")?);
        if deny.is_none() && allow.is_none() {
            return Err(PolicyError::DecidesNothing { file: file.to_owned(), package: package.trim_start_matches("data.").to_owned() });
        }
        let version = format!("rego-{}", &sha256_hex(text.as_bytes())[..16]);
        Ok(RegoRules { engine, file: file.to_owned(), deny, allow, version })
    }

    /// Hash of the file's text.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// One decision; an error is a refusal to whoever asks.
    pub fn decide(&self, question: &PolicyQuestion) -> Result<Decision, PolicyError> {
        let mut engine = self.engine.clone();
        engine.set_input(Value::from(document(question)));
        let mut value = |path: &str| engine.eval_rule(path.to_owned()).map_err(|e| self.failed(&format!("{e:#}")));
        if let Some(path) = &self.deny
            && let Some(refusal) = refused(&value(path)?)
        {
            return Ok(refusal);
        }
        match &self.allow {
            None => Ok(Decision::Allow),
            Some(path) => Ok(match value(path)? {
                Value::Bool(true) => Decision::Allow,
                Value::Undefined => deny("allow", "allow is undefined for this question"),
                _ => deny("allow", "allow is not true for this question"),
            }),
        }
    }

    fn failed(&self, message: &str) -> PolicyError {
        let (place, cause) = placed(&self.file, message);
        PolicyError::Evaluation { place, cause }
    }
}

/// The line where brackets outside of strings and comments are nested too deep.
fn nested_too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut line, mut string) = (0_usize, 1, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        line += usize::from(c == '\n');
        match (string, c) {
            // A quoted string ends with its line at the latest: what is behind a forgotten quote is looked at again.
            (Some('"'), '\n') => string = None,
            (Some('"'), '\\') => drop(chars.next()),
            (Some(quote), c) if c == quote => string = None,
            (Some(_), _) => {}
            (None, '"' | '`') => string = Some(c),
            (None, '#') => {
                if chars.by_ref().any(|c| c == '\n') {
                    line += 1;
                }
            }
            (None, '[' | '{' | '(') => {
                depth += 1;
                if depth > NESTING_MAX {
                    return Some(line);
                }
            }
            (None, ']' | '}' | ')') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}

fn deny(rule: &str, reason: &str) -> Decision {
    let clean = |text: &str| text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(REASON_CHARS_MAX).collect::<String>();
    Decision::Deny { rule: clean(rule), reason: clean(reason) }
}

/// What the value of `deny` says: nothing for an empty set, else its first element and how many more there are.
fn refused(value: &Value) -> Option<Decision> {
    let mut elements: Vec<&Value> = match value {
        Value::Set(set) => set.iter().collect(),
        Value::Array(list) => list.iter().collect(),
        Value::Bool(false) => return None,
        Value::Undefined => return Some(deny("deny", "deny is undefined for this question; write it as a set: deny contains …")),
        other => vec![other],
    };
    elements.sort();
    let (rule, message) = read(elements.first()?);
    let more = elements.len() - 1;
    let reason = if more == 0 { message } else { format!("{message} (and {more} more)") };
    Some(deny(&rule, &reason))
}

/// Rule and message of one element.
fn read(element: &Value) -> (String, String) {
    let text = |value: &Value| match value {
        Value::String(text) => text.to_string(),
        other => other.to_json_str().unwrap_or_else(|_| "denied".to_owned()),
    };
    let Value::Object(fields) = element else { return ("deny".to_owned(), text(element)) };
    let field = |names: &[&str]| names.iter().find_map(|name| fields.get(&Value::from(*name))).map(text);
    let rule = field(&["rule", "name", "id"]).unwrap_or_else(|| "deny".to_owned());
    let message = field(&["message", "msg", "reason"]).unwrap_or_else(|| text(element));
    (rule, message)
}

/// `file:line:column` and the cause, out of the parser's drawing of the line with a caret under it.
fn placed(file: &str, message: &str) -> (String, String) {
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    let place = lines.iter().find_map(|line| line.strip_prefix("--> ")).filter(|place| place.contains(file));
    let cause = lines.iter().find_map(|line| line.strip_prefix("error: ")).map(str::to_owned);
    let cause = cause.unwrap_or_else(|| lines.iter().rfind(|line| !line.is_empty()).map_or_else(String::new, |line| (*line).to_owned()));
    (place.map_or_else(|| file.to_owned(), str::to_owned), cause)
}
