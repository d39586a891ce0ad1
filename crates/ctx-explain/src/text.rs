//! The PostgreSQL-like text form.

use crate::escape::{self, line};
use crate::explanation::{
    ActualView, CompleteView, Explanation, InfeasibleView, NodeView, Numbers, PlanView, RejectedGroup, RunView, Summary,
};
use ctx_types::plan::Relaxation;
use ctx_types::{Micros, NanoUsd, Ppm};

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns. Lines are broken between words, never cut (a cut number is a wrong number); only the goal is clipped.
    pub width: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions { width: 100 }
    }
}

/// Most operators named in one line of rejected alternatives.
const OPERATORS_SHOWN_MAX: usize = 6;

/// Renders an explanation. Every line ends with a newline.
pub fn text(explanation: &Explanation, options: &TextOptions) -> String {
    let mut out = Writer { text: String::with_capacity(2_048), width: options.width };
    if let Some(plan) = &explanation.plan {
        node(&mut out, &plan.root, 0, explanation);
        out.blank();
    }
    if let Some(infeasible) = &explanation.infeasible {
        infeasible_head(&mut out, infeasible);
    }
    out.goal(&explanation.goal);
    out.head("Intent", &intent(explanation));
    sources(&mut out, explanation);
    if let Some(plan) = &explanation.plan {
        totals(&mut out, plan, explanation.options.verbose);
    }
    if explanation.infeasible.is_some() || explanation.options.verbose {
        rejected(&mut out, &explanation.rejected);
    }
    if let (Some(plan), true) = (&explanation.plan, explanation.options.verbose) {
        complete(&mut out, "Best plans", &plan.best);
        complete(&mut out, "Pareto set (accuracy, cost, latency)", &plan.frontier);
    }
    for note in &explanation.notes {
        out.head("Note", note);
    }
    for setting in &explanation.settings {
        out.head("Setting", &format!("{} = {}", setting.key, setting.value));
    }
    if let Some(run) = &explanation.run {
        run_line(&mut out, run);
    }
    if let Some(summary) = &explanation.summary {
        summary_lines(&mut out, summary);
    }
    out.text
}

struct Writer {
    text: String,
    width: usize,
}

impl Writer {
    fn raw(&mut self, indent: usize, content: &str) {
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.text.push_str(content);
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// The goal on one line, clipped: it may be of any length.
    fn goal(&mut self, goal: &str) {
        let content = format!("Goal: {}", line(goal));
        let clipped = escape::clip(&content, self.columns()).into_owned();
        self.raw(0, &clipped);
    }

    /// `Name: value`, continued on indented lines.
    fn head(&mut self, name: &str, value: &str) {
        self.wrapped(0, 2, &format!("{name}: {}", line(value)));
    }

    /// Words, on as many lines as they need; a word longer than a line stands alone.
    fn wrapped(&mut self, first: usize, rest: usize, content: &str) {
        let (mut indent, mut current) = (first, String::new());
        for word in content.split(' ') {
            if !current.is_empty() && indent + escape::width(&current) + 1 + escape::width(word) > self.columns() {
                self.raw(indent, current.trim_end());
                (indent, current) = (rest, String::new());
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        self.raw(indent, current.trim_end());
    }

    /// No terminal is narrower than this; a width of 0 means nobody knows.
    fn columns(&self) -> usize {
        const COLUMNS_MIN: usize = 20;
        self.width.max(COLUMNS_MIN)
    }
}

fn node(out: &mut Writer, view: &NodeView, depth: usize, explanation: &Explanation) {
    let (indent, arrow) = if depth == 0 { (0, "") } else { (depth * 4 - 2, "-> ") };
    let title = format!("{arrow}{}", line(&view.title));
    let inner = indent + arrow.len() + 2;
    let estimated = if explanation.options.costs { estimate(&view.estimate, quality_word(&view.id)) } else { String::new() };
    let actual = view.actual.as_ref().map(|a| actual_text(a, explanation.options.timing)).unwrap_or_default();
    let whole = format!("{title}{estimated}{actual}");
    // Brackets that do not fit beside the title stand below it, whole.
    if indent + escape::width(&whole) <= out.columns() {
        out.raw(indent, &whole);
    } else {
        out.raw(indent, &title);
        [&estimated, &actual].into_iter().filter(|part| !part.is_empty()).for_each(|part| out.raw(inner, part.trim_start()));
    }
    if let Some(actual) = &view.actual {
        details(out, actual, inner, explanation);
    }
    for provenance in &view.provenance {
        out.raw(inner, &line(provenance));
    }
    for child in &view.children {
        node(out, child, depth + 1, explanation);
    }
}

/// What the quality of a node is the probability of: that a wrong answer is caught, or that the answer is right given evidence.
fn quality_word(node: &str) -> &'static str {
    if node.starts_with("verify") { "catches" } else { "right" }
}

fn estimate(numbers: &Numbers, quality_word: &str) -> String {
    let mut parts = Vec::new();
    // A cost of nothing is said once, below the tree.
    if let Some(cost) = numbers.cost_nano_usd.filter(|c| *c != 0) {
        parts.push(format!("cost={}", NanoUsd(cost)));
    }
    if numbers.cost_unknown {
        parts.push("cost=unknown".to_owned());
    }
    if let (Some(p50), Some(p90)) = (numbers.latency_us, numbers.latency_p90_us) {
        parts.push(format!("time={}..{}", Micros(p50), Micros(p90)));
    }
    if let Some(passages) = numbers.passages {
        parts.push(format!("passages={passages}"));
    }
    if let Some(tokens) = numbers.tokens {
        parts.push(format!("tokens={tokens}"));
    }
    if let Some(evidence) = numbers.evidence_ppm {
        parts.push(format!("evidence={}", Ppm(evidence)));
    }
    if let Some(quality) = numbers.quality_ppm {
        parts.push(format!("{quality_word}={}", Ppm(quality)));
    }
    if parts.is_empty() {
        return String::new();
    }
    let mark = if numbers.certainty.is_empty() { String::new() } else { format!(" {}", numbers.certainty) };
    format!("  ({}{mark})", parts.join(" "))
}

fn actual_text(actual: &ActualView, timing: bool) -> String {
    if actual.elapsed_us.is_none() {
        return "  (never executed)".to_owned();
    }
    let mut parts = Vec::new();
    if let (true, Some(elapsed)) = (timing, actual.elapsed_us) {
        parts.push(format!("time={}", Micros(elapsed)));
    }
    if let Some(passages) = actual.numbers.passages {
        parts.push(format!("passages={passages}"));
    }
    if let Some(tokens) = actual.numbers.tokens {
        parts.push(format!("tokens={tokens}"));
    }
    if let Some(evidence) = actual.numbers.evidence_ppm {
        parts.push(format!("evidence={}", Ppm(evidence)));
    }
    if let Some(cost) = actual.numbers.cost_nano_usd.filter(|c| *c != 0) {
        parts.push(format!("cost={}", NanoUsd(cost)));
    }
    parts.push(format!("loops={}", actual.loops));
    let status = if actual.status == "done" { String::new() } else { format!(" {}", actual.status) };
    format!("  (actual {}{status})", parts.join(" "))
}

fn details(out: &mut Writer, actual: &ActualView, indent: usize, explanation: &Explanation) {
    let q: Vec<String> = actual
        .q_errors
        .iter()
        .filter(|q| explanation.options.timing || q.field != "latency")
        .map(|q| format!("{} {}.{:02}", q.field, q.milli / 1_000, q.milli % 1_000 / 10))
        .collect();
    if !q.is_empty() {
        let own = match (explanation.options.timing, actual.own_us) {
            (true, Some(own)) => format!("; own time {}", Micros(own)),
            _ => String::new(),
        };
        out.raw(indent, &format!("q-error: {}{own}", q.join(", ")));
    }
    if explanation.options.buffers && (actual.bytes.is_some() || actual.cache_hits.is_some()) {
        let bytes = actual.bytes.map_or_else(|| "unknown".to_owned(), |b| b.to_string());
        let cached = actual.cache_hits.map_or_else(|| "unknown".to_owned(), |c| c.to_string());
        out.raw(indent, &format!("Buffers: {bytes} bytes read, cache hits {cached}"));
    }
    for dropped in &actual.dropped {
        out.raw(indent, &format!("Dropped: {}", line(dropped)));
    }
    if let Some(error) = &actual.error {
        out.raw(indent, &format!("Error: {}", line(error)));
    }
}

fn intent(explanation: &Explanation) -> String {
    let intent = &explanation.intent;
    let answer = intent.answer.top().map(|(s, p)| format!("{s} {p}")).unwrap_or_default();
    let evidence = intent.evidence.top().map(|(s, p)| format!("{s} {p}")).unwrap_or_default();
    let mut out = format!("{} (answer: {answer}; evidence: {evidence}; language: {}", intent.bucket, intent.language);
    let identifiers: Vec<&str> = intent.identifiers().map(|e| e.text.as_str()).collect();
    if !identifiers.is_empty() {
        out.push_str(&format!("; identifiers: {}", identifiers.join(", ")));
    }
    if !intent.sensitive_topics.is_empty() {
        out.push_str(&format!("; about: {} (words raise no label)", intent.sensitive_topics.join(", ")));
    }
    if intent.sensitivity != ctx_types::Sensitivity::Internal {
        out.push_str(&format!("; sensitivity: {}", intent.sensitivity));
    }
    out.push(')');
    out
}

fn sources(out: &mut Writer, explanation: &Explanation) {
    for source in &explanation.sources {
        let mark = if source.used { "used" } else { "not used" };
        let size =
            if source.used && source.passages == 0 { "passages not counted".to_owned() } else { format!("{} passages", source.passages) };
        out.head("Source", &format!("{} ({size}, generation {}): {mark}, {}", source.source, source.generation, source.reason));
    }
}

fn totals(out: &mut Writer, plan: &PlanView, verbose: bool) {
    let e = &plan.estimate;
    out.head("Tokens", &plan.token_budget);
    out.head("Verification", &plan.verification);
    let cost = if e.cost_incomplete {
        format!("≥ {}, the rest at unknown price", e.cost.value)
    } else {
        format!("{} (at most {})", e.cost.value, e.cost_bound)
    };
    out.head(
        "Estimate",
        &format!(
            "cost {cost}, time {}..{}, evidence {} [{}, {}] {}, accuracy {}",
            e.latency.value, e.latency.high, e.evidence.value, e.evidence.low, e.evidence.high, e.evidence.certainty, e.accuracy.value
        ),
    );
    out.head("Score", &score(plan));
    let proof = match &plan.certificate.stopped_by {
        None => "optimal".to_owned(),
        Some(limit) => format!("within {} of optimal, stopped by {limit}", plan.certificate.bound - plan.certificate.value),
    };
    out.head(
        "Candidates",
        &format!("{} complete plans, {} alternatives pruned; {proof}, {} nodes", plan.candidates, plan.pruned, plan.certificate.nodes),
    );
    if let Some(margin) = &plan.margin {
        let flips = if margin.flips.is_empty() {
            "no single weight, price or estimate flips it".to_owned()
        } else {
            let shown = if verbose { margin.flips.len() } else { FLIPS_SHOWN_MAX.min(margin.flips.len()) };
            let more = if shown < margin.flips.len() { format!(", {} more", margin.flips.len() - shown) } else { String::new() };
            format!("flipped by {}{more}", margin.flips[..shown].join(", "))
        };
        out.head("Margin", &format!("{} over {}; {flips}", margin.difference, differing(&plan.shape, &margin.runner_up)));
    }
}

/// Changes that would flip the choice, shown without VERBOSE.
const FLIPS_SHOWN_MAX: usize = 1;

/// A term below this prints as zero.
const SCORE_SHOWN_MIN: i64 = 50;

/// The terms that are not zero; they add up to within rounding.
fn score(plan: &PlanView) -> String {
    let s = &plan.score;
    let terms = [
        ("acc", s.acc),
        ("cache", s.cache),
        ("vrf", s.vrf),
        ("cost", s.cost),
        ("lat", s.lat),
        ("risk", s.risk),
        ("hall", s.hall),
        ("loss", s.loss),
    ];
    let parts: Vec<String> = terms
        .into_iter()
        .filter(|(_, value)| value.get().saturating_abs() >= SCORE_SHOWN_MIN)
        .map(|(name, value)| {
            format!("{} {name} {}", if value.get() < 0 { '-' } else { '+' }, ctx_types::Score(value.get().saturating_abs()))
        })
        .collect();
    let sum = parts.join(" ");
    format!("{} = {}", s.total, sum.strip_prefix("+ ").unwrap_or(&sum))
}

/// The steps of another plan that this one does not share: what the runner-up would do instead.
fn differing(mine: &str, other: &str) -> String {
    let steps: Vec<&str> = mine.split(" → ").collect();
    let different: Vec<&str> = other.split(" → ").filter(|step| !steps.contains(step)).collect();
    if different.is_empty() { other.to_owned() } else { different.join(" → ") }
}

fn infeasible_head(out: &mut Writer, view: &InfeasibleView) {
    out.raw(0, "Infeasible");
    out.raw(2, &line(&format!("Binding: {}", view.binding)));
    out.raw(2, &line(&format!("Missed by: {}", view.missed_by)));
    match view.conflict.as_slice() {
        [] => {}
        [one] => out.raw(2, &line(&format!("Conflict: {one} alone forbids every plan"))),
        several => out.raw(2, &line(&format!("Conflict: {}; without any one of them the others can hold", several.join(" and ")))),
    }
    let relaxation = |r: &Relaxation| match &r.suffices {
        Some(value) => format!("{} = {} (now {})", r.constraint, value, r.now),
        None => format!("{}: not alone (now {})", r.constraint, r.now),
    };
    for r in &view.relaxations {
        out.raw(2, &line(&format!("Would suffice: {}", relaxation(r))));
    }
    if !view.joint.is_empty() {
        let all: Vec<String> = view.joint.iter().map(relaxation).collect();
        out.raw(2, &line(&format!("Together: {}", all.join(" and "))));
    }
    out.blank();
}

fn rejected(out: &mut Writer, groups: &[RejectedGroup]) {
    if groups.is_empty() {
        return;
    }
    out.raw(0, "Rejected:");
    for group in groups {
        let shown = group.operators.len().min(OPERATORS_SHOWN_MAX);
        let mut names = group.operators[..shown].join(", ");
        if shown < group.operators.len() {
            names.push_str(&format!(" and {} more", group.operators.len() - shown));
        }
        let count = if group.count > 1 { format!(" ×{}", group.count) } else { String::new() };
        out.raw(2, &line(&format!("{}: {names}{count}  {}: {}", group.stage, group.fate, group.reason)));
    }
}

fn complete(out: &mut Writer, title: &str, plans: &[CompleteView]) {
    if plans.is_empty() {
        return;
    }
    out.raw(0, &format!("{title}:"));
    for (i, plan) in plans.iter().enumerate() {
        let CompleteView { plan, operators } = plan;
        out.raw(
            2,
            &line(&format!(
                "{:>2}. score {} accuracy {} cost {} time {}  {operators}",
                i + 1,
                plan.score,
                plan.accuracy,
                plan.cost,
                plan.latency
            )),
        );
    }
}

fn run_line(out: &mut Writer, run: &RunView) {
    let status = serde_json::to_value(run.status).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    let more = if run.cost_incomplete { "≥ " } else { "" };
    let evidence = run.evidence_ppm.map(|p| format!(" evidence {}", Ppm(p))).unwrap_or_default();
    out.head(
        "Run",
        &format!(
            "{status}; cost {more}{} tokens {} calls {} time {}{evidence}; trace {}",
            NanoUsd(run.cost_nano_usd),
            run.tokens,
            run.calls,
            Micros(run.elapsed_us),
            run.trace
        ),
    );
}

fn summary_lines(out: &mut Writer, summary: &Summary) {
    if let Some(cache) = &summary.plan_cache {
        out.head("Plan Cache", cache);
    }
    if let Some(planning) = summary.planning_us {
        out.head("Planning Time", &Micros(planning).to_string());
    }
}
