//! Two plans or runs against each other: operators, sources, estimates and actuals that differ, and nothing else.
//!
//! A [`Side`] is made from an explanation or from a trace, so that a plan can be compared with a run. Steps are matched by
//! their id in the execution graph.

use crate::escape::{block, line};
use crate::explanation::{Explanation, NodeView, Numbers};
use crate::nodes::numbers;
use crate::words;
use ctx_types::trace::NodeStatus;
use ctx_types::{Micros, NanoUsd, Ppm, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format of differences.
pub const DIFFERENCE_SCHEMA_VERSION: u32 = 1;

/// One of two things that are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// What the reader called it.
    pub label: String,
    words: BTreeMap<&'static str, String>,
    whole: Amounts,
    sources: BTreeMap<String, String>,
    steps: BTreeMap<String, Step>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    operator: String,
    amounts: Amounts,
}

/// By what and which: (`estimate`, `tokens`).
type Amounts = BTreeMap<(Kind, &'static str), Amount>;

/// Whether a number was expected or happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Expected.
    Estimate,
    /// Happened.
    Actual,
}

/// Unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nano-dollars.
    NanoUsd,
    /// Microseconds.
    Us,
    /// Parts per million.
    Ppm,
    /// A count.
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Amount {
    value: i64,
    unit: Unit,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// [`DIFFERENCE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The first side's label.
    pub a: String,
    /// The second side's.
    pub b: String,
    /// Whether nothing differs.
    pub same: bool,
    /// Plan id, shape, goal, status and the like.
    pub words: Vec<WordChange>,
    /// Sources: used, not used, or unknown to one side.
    pub sources: Vec<WordChange>,
    /// Steps that one side lacks or whose operator differs.
    pub operators: Vec<WordChange>,
    /// Numbers of the whole.
    pub whole: Vec<AmountChange>,
    /// Numbers of steps that both sides have.
    pub steps: Vec<StepChange>,
}

/// A word that differs; `None` where one side has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WordChange {
    /// Which.
    pub name: String,
    /// The first side's.
    pub a: Option<String>,
    /// The second side's.
    pub b: Option<String>,
}

/// A number that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmountChange {
    /// Expected or happened.
    pub kind: Kind,
    /// `cost`, `latency`, `tokens`, …
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The first side's; `None`: unknown or does not apply.
    pub a: Option<i64>,
    /// The second side's.
    pub b: Option<i64>,
}

/// Numbers of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepChange {
    /// Id in the execution graph.
    pub step: String,
    /// What differs.
    pub amounts: Vec<AmountChange>,
}

impl Side {
    /// A plan as it was explained, with the run where ANALYZE was on.
    pub fn of_explanation(label: impl Into<String>, explanation: &Explanation) -> Side {
        let mut side = Side { label: label.into(), ..Side::default() };
        side.word("goal", &explanation.goal);
        for source in &explanation.sources {
            side.sources.insert(source.source.to_string(), if source.used { "used" } else { "not used" }.to_owned());
        }
        if let Some(plan) = &explanation.plan {
            side.word("plan", &plan.id);
            side.word("shape", &plan.shape);
            side.word("verification", &plan.verification);
            plan.on_failure.iter().for_each(|view| side.step(view));
            side.step(&plan.root);
            if let Some(e) = &plan.estimate {
                side.amount(Kind::Estimate, "cost", Unit::NanoUsd, Some(e.cost.value.get()));
                side.amount(Kind::Estimate, "latency", Unit::Us, signed(e.latency.value.get()));
                side.amount(Kind::Estimate, "evidence", Unit::Ppm, Some(e.evidence.value.get().into()));
                side.amount(Kind::Estimate, "accuracy", Unit::Ppm, Some(e.accuracy.value.get().into()));
                side.amount(Kind::Estimate, "context tokens", Unit::Count, signed(e.context_tokens.value.get()));
            }
        }
        if let Some(infeasible) = &explanation.infeasible {
            side.word("infeasible", &format!("{}; {}", infeasible.binding, infeasible.missed_by));
        }
        if let Some(run) = &explanation.run {
            side.word("status", &words::status(run));
            side.amount(Kind::Actual, "cost", Unit::NanoUsd, Some(run.cost_nano_usd));
            side.amount(Kind::Actual, "latency", Unit::Us, signed(run.elapsed_us));
            side.amount(Kind::Actual, "tokens", Unit::Count, signed(run.tokens));
            side.amount(Kind::Actual, "calls", Unit::Count, Some(run.calls.into()));
            side.amount(Kind::Actual, "evidence", Unit::Ppm, run.evidence_ppm.map(i64::from));
        }
        side
    }

    /// A run as it was recorded. A trace holds the plan's id and the estimates of its steps, not its shape.
    pub fn of_trace(label: impl Into<String>, trace: &Trace) -> Side {
        let mut side = Side { label: label.into(), ..Side::default() };
        side.word("goal", &trace.goal);
        side.word("plan", trace.plan.0.as_str());
        let status = serde_json::to_value(trace.outcome.status).ok().and_then(|v| v.as_str().map(str::to_owned));
        side.word("status", &status.unwrap_or_default());
        for node in &trace.nodes {
            let ran = node.status != NodeStatus::NotRun;
            let actual = Numbers {
                cost_nano_usd: node.actual.cost.map(|c| c.get()),
                latency_us: ran.then(|| node.end.get().saturating_sub(node.start.get())),
                passages: node.actual.hits.map(u64::from),
                tokens: node.actual.tokens.map(|t| t.get()),
                evidence_ppm: node.actual.evidence.map(|p| p.get()),
                ..Numbers::default()
            };
            let mut amounts = amounts(Kind::Estimate, &numbers(&node.estimate));
            amounts.extend(amounts_of(ran.then_some(&actual)));
            side.steps.insert(node.node.clone(), Step { operator: node.operator.clone(), amounts });
        }
        let spend = &trace.outcome.spend;
        side.amount(Kind::Actual, "cost", Unit::NanoUsd, Some(spend.cost.get()));
        side.amount(Kind::Actual, "latency", Unit::Us, signed(spend.elapsed.get()));
        side.amount(Kind::Actual, "tokens", Unit::Count, signed(spend.tokens.total().get()));
        side.amount(Kind::Actual, "calls", Unit::Count, Some(spend.calls.into()));
        side.amount(Kind::Actual, "evidence", Unit::Ppm, trace.outcome.evidence.map(|p| p.get().into()));
        side
    }

    fn word(&mut self, name: &'static str, value: &str) {
        self.words.insert(name, value.to_owned());
    }

    fn amount(&mut self, kind: Kind, name: &'static str, unit: Unit, value: Option<i64>) {
        if let Some(value) = value {
            self.whole.insert((kind, name), Amount { value, unit });
        }
    }

    fn step(&mut self, view: &NodeView) {
        let mut amounts = amounts(Kind::Estimate, &view.estimate);
        let ran = view.actual.as_ref().filter(|actual| actual.loops > 0);
        amounts.extend(amounts_of(ran.map(|actual| &actual.numbers)));
        self.steps.insert(view.id.clone(), Step { operator: view.operator.clone(), amounts });
        view.children.iter().for_each(|child| self.step(child));
    }
}

fn signed(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

fn amounts_of(actual: Option<&Numbers>) -> Amounts {
    actual.map(|numbers| amounts(Kind::Actual, numbers)).unwrap_or_default()
}

fn amounts(kind: Kind, n: &Numbers) -> Amounts {
    let all = [
        ("cost", Unit::NanoUsd, n.cost_nano_usd),
        ("latency", Unit::Us, n.latency_us.and_then(signed)),
        ("latency p90", Unit::Us, n.latency_p90_us.and_then(signed)),
        ("passages", Unit::Count, n.passages.and_then(signed)),
        ("tokens", Unit::Count, n.tokens.and_then(signed)),
        ("evidence", Unit::Ppm, n.evidence_ppm.map(i64::from)),
        ("quality", Unit::Ppm, n.quality_ppm.map(i64::from)),
    ];
    all.into_iter().filter_map(|(name, unit, value)| Some(((kind, name), Amount { value: value?, unit }))).collect()
}

/// What differs between two sides. Words that only one kind of side has (a shape, a status) are not a difference.
pub fn diff(a: &Side, b: &Side) -> Difference {
    let operator =
        |side: &Side| -> BTreeMap<String, String> { side.steps.iter().map(|(id, s)| (id.clone(), s.operator.clone())).collect() };
    let words = |side: &Side| -> BTreeMap<String, String> { side.words.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect() };
    let both = |changes: Vec<WordChange>| changes.into_iter().filter(|c| c.a.is_some() && c.b.is_some()).collect::<Vec<_>>();
    let sources = word_changes(&a.sources, &b.sources);
    let known = !a.sources.is_empty() && !b.sources.is_empty();
    let mut out = Difference {
        schema_version: DIFFERENCE_SCHEMA_VERSION,
        a: a.label.clone(),
        b: b.label.clone(),
        same: false,
        words: both(word_changes(&words(a), &words(b))),
        sources: if known { sources } else { Vec::new() },
        operators: word_changes(&operator(a), &operator(b)),
        whole: amount_changes(&a.whole, &b.whole),
        steps: Vec::new(),
    };
    for (id, step) in &a.steps {
        let Some(other) = b.steps.get(id) else { continue };
        let amounts = amount_changes(&step.amounts, &other.amounts);
        if !amounts.is_empty() {
            out.steps.push(StepChange { step: id.clone(), amounts });
        }
    }
    out.same = [out.words.len(), out.sources.len(), out.operators.len(), out.whole.len(), out.steps.len()].iter().all(|n| *n == 0);
    out
}

fn word_changes(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<WordChange> {
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let change = |name: &String| WordChange { name: name.clone(), a: a.get(name).cloned(), b: b.get(name).cloned() };
    names.into_iter().map(change).filter(|c| c.a != c.b).collect()
}

/// Numbers of which one side knows nothing of the kind (a plan that was never run) are no difference.
fn amount_changes(a: &Amounts, b: &Amounts) -> Vec<AmountChange> {
    let has = |side: &Amounts, kind: Kind| side.keys().any(|(k, _)| *k == kind);
    let names: std::collections::BTreeSet<&(Kind, &'static str)> = a.keys().chain(b.keys()).collect();
    let change = |key: &(Kind, &'static str)| {
        let (x, y) = (a.get(key), b.get(key));
        let unit = x.or(y).map_or(Unit::Count, |amount| amount.unit);
        AmountChange { kind: key.0, name: key.1.to_owned(), unit, a: x.map(|v| v.value), b: y.map(|v| v.value) }
    };
    names.into_iter().filter(|(kind, _)| has(a, *kind) && has(b, *kind)).map(change).filter(|c| c.a != c.b).collect()
}

/// The difference for people. Every line ends with a newline.
pub fn text(difference: &Difference) -> String {
    let mut out = format!("a: {}\nb: {}\n", line(&difference.a), line(&difference.b));
    if difference.same {
        out.push_str("No difference.\n");
        return out;
    }
    let list = |out: &mut String, title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out.push_str(&format!("{title}:\n"));
            lines.iter().for_each(|l| out.push_str(&format!("  {}\n", block(l))));
        }
    };
    list(&mut out, "Plan", difference.words.iter().map(word).collect());
    list(&mut out, "Operators", difference.operators.iter().map(word).collect());
    list(&mut out, "Sources", difference.sources.iter().map(word).collect());
    list(&mut out, "Whole", difference.whole.iter().map(amount).collect());
    let steps = difference.steps.iter().flat_map(|s| s.amounts.iter().map(move |c| format!("{}: {}", line(&s.step), amount(c))));
    list(&mut out, "Steps", steps.collect());
    out
}

fn word(change: &WordChange) -> String {
    let name = line(&change.name);
    match (&change.a, &change.b) {
        (Some(a), Some(b)) => format!("~ {name}: {} → {}", line(a), line(b)),
        (Some(a), None) => format!("- {name}: {}", line(a)),
        (None, Some(b)) => format!("+ {name}: {}", line(b)),
        (None, None) => name.into_owned(),
    }
}

fn amount(change: &AmountChange) -> String {
    let kind = match change.kind {
        Kind::Estimate => "estimated",
        Kind::Actual => "actual",
    };
    let shown = |value: Option<i64>| value.map_or_else(|| "unknown".to_owned(), |v| in_unit(v, change.unit));
    let factor = match (change.a, change.b) {
        (Some(a), Some(b)) if a > 0 && b > 0 => {
            format!(" (× {:.2})", b as f64 / a as f64)
        }
        _ => String::new(),
    };
    format!("{kind} {} {} → {}{factor}", change.name, shown(change.a), shown(change.b))
}

fn in_unit(value: i64, unit: Unit) -> String {
    match unit {
        Unit::NanoUsd => NanoUsd(value).to_string(),
        Unit::Us => Micros(u64::try_from(value).unwrap_or(0)).to_string(),
        Unit::Ppm => Ppm(u32::try_from(value).unwrap_or(0)).to_string(),
        Unit::Count => value.to_string(),
    }
}
