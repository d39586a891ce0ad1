//! JSON in the shape of PostgreSQL's `EXPLAIN (FORMAT JSON)`, for viewers of its plans.
//!
//! A viewer reads costs and times as cumulative, and rows and times per loop; so they are written that way. The unit of
//! cost is the expected millisecond on the critical path. Viewers are known to render strings as markup and to edit the
//! document by regular expressions before they parse it: angle brackets are replaced and everything outside ASCII is escaped.

use crate::escape::line;
use crate::explanation::{ActualView, Explanation, NodeView};
use crate::words;
use ctx_types::NanoUsd;
use serde_json::{Map, Value, json};

/// The document as text.
pub(crate) fn text(explanation: &Explanation) -> String {
    let pretty = serde_json::to_string_pretty(&value(explanation)).unwrap_or_default();
    let mut out = String::with_capacity(pretty.len() + 64);
    for c in pretty.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out.push('\n');
    out
}

/// The document as a value.
pub(crate) fn value(explanation: &Explanation) -> Value {
    let mut top = Map::new();
    let (plan, start) = match (&explanation.plan, &explanation.infeasible) {
        (Some(plan), _) => (node(&plan.root), start_of(&plan.root)),
        (None, Some(infeasible)) => {
            (json!({"Node Type": "Infeasible", "Binding": safe(&infeasible.binding), "Missed By": safe(&infeasible.missed_by)}), None)
        }
        (None, None) => (json!({"Node Type": "Nothing to do"}), None),
    };
    top.insert("Plan".into(), plan);
    top.insert("Query Text".into(), safe(&explanation.goal).into());
    if let Some(us) = explanation.summary.as_ref().and_then(|s| s.planning_us) {
        top.insert("Planning Time".into(), milliseconds(us));
    }
    if let (Some(run), true) = (&explanation.run, start.is_some() || explanation.options.analyze) {
        top.insert("Execution Time".into(), milliseconds(run.elapsed_us));
    }
    if !explanation.settings.is_empty() {
        let rows: Map<String, Value> = explanation.settings.iter().map(|s| (safe(&s.key), safe(&s.value).into())).collect();
        top.insert("Settings".into(), Value::Object(rows));
    }
    for (key, words) in remarks(explanation) {
        top.insert(key.to_owned(), safe(&words).into());
    }
    Value::Array(vec![Value::Object(top)])
}

/// What has no place in PostgreSQL's document, in words.
fn remarks(explanation: &Explanation) -> Vec<(&'static str, String)> {
    let plan = explanation.plan.as_ref();
    let parts = [
        explanation.options.costs.then(|| ("Cost Unit", "expected milliseconds on the critical path, children included".to_owned())),
        plan.map(|p| ("Plan Id", p.id.clone())),
        plan.and_then(|p| p.estimate.as_ref()).map(|e| ("Estimate", words::whole(e))),
        plan.and_then(|p| p.score.as_ref()).map(|s| ("Score", words::score(s))),
        plan.and_then(|p| p.margin.as_ref().map(|m| ("Margin", words::margin(m, &p.shape, usize::MAX)))),
        plan.map(|p| ("Candidates", words::candidates(p))),
        explanation.run.as_ref().map(|r| ("Run", words::run(r))),
        explanation.summary.as_ref().and_then(|s| s.plan_cache.clone()).map(|c| ("Plan Cache", c)),
        explanation.memory.as_ref().map(|m| ("Planning Memory", words::memory(m))),
    ];
    parts.into_iter().flatten().collect()
}

fn node(view: &NodeView) -> Value {
    let mut out = Map::new();
    let (kind, object) = view.title.split_once(" on ").unwrap_or((&view.title, ""));
    out.insert("Node Type".into(), safe(kind).into());
    let name = object.split([' ', ',']).next().unwrap_or_default();
    if !name.is_empty() {
        out.insert("Relation Name".into(), safe(name).into());
        out.insert("Step".into(), safe(&view.title).into());
    }
    if let Some(cost) = cost_us(view) {
        let own = view.estimate.latency_us.unwrap_or(0);
        out.insert("Startup Cost".into(), milliseconds(cost - own));
        out.insert("Total Cost".into(), milliseconds(cost));
    }
    if let Some(rows) = view.estimate.passages {
        out.insert("Plan Rows".into(), rows.into());
    }
    let estimate = words::estimate(&view.estimate, words::quality_word(&view.id));
    if !estimate.is_empty() {
        out.insert("Estimate".into(), safe(&estimate).into());
    }
    if let Some(actual) = &view.actual {
        actuals(&mut out, view, actual);
    }
    for (at, provenance) in view.provenance.iter().enumerate() {
        out.insert(format!("Provenance {}", at + 1), safe(provenance).into());
    }
    if !view.children.is_empty() {
        out.insert("Plans".into(), view.children.iter().map(node).collect());
    }
    Value::Object(out)
}

fn actuals(out: &mut Map<String, Value>, view: &NodeView, actual: &ActualView) {
    out.insert("Actual Loops".into(), actual.loops.into());
    out.insert("Status".into(), safe(&actual.status).into());
    if actual.loops == 0 {
        return;
    }
    let loops = u64::from(actual.loops);
    if let (Some(start), Some(end)) = (start_of(view), end_of(view)) {
        let before = actual.start_us.unwrap_or(start).saturating_sub(start);
        out.insert("Actual Startup Time".into(), milliseconds(before / loops));
        out.insert("Actual Total Time".into(), milliseconds(end.saturating_sub(start) / loops));
    }
    if let Some(rows) = actual.numbers.passages {
        out.insert("Actual Rows".into(), rows.into());
    }
    if let Some(hits) = actual.cache_hits {
        out.insert("Shared Hit Blocks".into(), hits.into());
    }
    if let Some(chunks) = actual.chunks {
        out.insert("Shared Read Blocks".into(), chunks.saturating_sub(actual.cache_hits.unwrap_or(0)).into());
    }
    let parts = [
        Some(("Actual", words::actual(actual))),
        actual.per_loop.as_ref().map(|each| ("Actual Per Loop", words::measured(each).join(" "))),
        actual.numbers.cost_nano_usd.map(|cost| ("Actual Cost", NanoUsd(cost).to_string())),
        actual.bytes.map(|bytes| ("Bytes Read", bytes.to_string())),
        actual.error.clone().map(|error| ("Error", error)),
    ];
    for (key, words) in parts.into_iter().flatten() {
        out.insert(key.to_owned(), safe(&words).into());
    }
    for q in &actual.q_errors {
        out.insert(format!("q-error {}", safe(&q.field)), words::ratio(q.milli).into());
    }
    for (at, dropped) in actual.dropped.iter().enumerate() {
        out.insert(format!("Dropped {}", at + 1), safe(dropped).into());
    }
}

/// Median along the slowest branch: own time and the dearest child.
fn cost_us(view: &NodeView) -> Option<u64> {
    let below = view.children.iter().filter_map(cost_us).max();
    match (view.estimate.latency_us, below) {
        (None, None) => None,
        (own, below) => Some(own.unwrap_or(0) + below.unwrap_or(0)),
    }
}

/// When the first step of a subtree began.
fn start_of(view: &NodeView) -> Option<u64> {
    let below = view.children.iter().filter_map(start_of).min();
    let own = view.actual.as_ref().and_then(|actual| actual.start_us);
    own.into_iter().chain(below).min()
}

/// When its last step ended.
fn end_of(view: &NodeView) -> Option<u64> {
    let below = view.children.iter().filter_map(end_of).max();
    let own = view.actual.as_ref().and_then(|actual| actual.end_us);
    own.into_iter().chain(below).max()
}

fn milliseconds(us: u64) -> Value {
    // Exact for every time below two hundred years.
    json!(us as f64 / 1_000.0)
}

/// Text that is no markup, whatever reads it as markup.
fn safe(text: &str) -> String {
    line(text).replace('<', "\u{2039}").replace('>', "\u{203a}")
}
