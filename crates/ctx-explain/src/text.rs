//! The PostgreSQL-like text form.

use crate::escape::{self, line};
use crate::explanation::{ActualView, CompleteView, Explanation, InfeasibleView, NodeView, PlanView, RejectedGroup, Summary};
use crate::words;
use ctx_types::Micros;

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
        node(&mut out, &plan.root, 0);
        on_failure(&mut out, plan, explanation);
        out.blank();
    }
    if let Some(infeasible) = &explanation.infeasible {
        infeasible_head(&mut out, infeasible);
    }
    out.goal(&explanation.goal);
    out.head("Intent", &words::intent(explanation));
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
        out.head("Run", &words::run(run));
    }
    if let Some(summary) = &explanation.summary {
        summary_lines(&mut out, summary);
    }
    if let Some(memory) = &explanation.memory {
        out.head("Planning Memory", &words::memory(memory));
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

fn node(out: &mut Writer, view: &NodeView, depth: usize) {
    let (indent, arrow) = if depth == 0 { (0, "") } else { (depth * 4 - 2, "-> ") };
    let title = format!("{arrow}{}", line(&view.title));
    let inner = indent + arrow.len() + 2;
    let estimated = words::estimate(&view.estimate, words::quality_word(&view.id));
    let actual = view.actual.as_ref().map(words::actual).unwrap_or_default();
    let brackets = || [&estimated, &actual].into_iter().filter(|part| !part.is_empty());
    let whole = brackets().fold(title.clone(), |line, part| format!("{line}  {part}"));
    // Brackets that do not fit beside the title stand below it, whole.
    if indent + escape::width(&whole) <= out.columns() {
        out.raw(indent, &whole);
    } else {
        out.raw(indent, &title);
        brackets().for_each(|part| out.raw(inner, part));
    }
    if let Some(actual) = &view.actual {
        details(out, actual, inner);
    }
    for provenance in &view.provenance {
        out.raw(inner, &line(provenance));
    }
    for child in &view.children {
        node(out, child, depth + 1);
    }
}

fn details(out: &mut Writer, actual: &ActualView, indent: usize) {
    let q: Vec<String> = actual.q_errors.iter().map(|q| format!("{} {}", q.field, words::ratio(q.milli))).collect();
    if !q.is_empty() {
        let own = match (actual.own_us, actual.own_share_ppm) {
            (Some(own), Some(share)) => format!("; own time {}, {} % of the run", Micros(own), words::percent(share)),
            _ => String::new(),
        };
        out.raw(indent, &format!("q-error: {}{own}", q.join(", ")));
    }
    let each = actual.per_loop.as_ref().map(words::measured).filter(|parts| !parts.is_empty());
    if let Some(parts) = each {
        out.raw(indent, &format!("Per loop: {}; above, all {} together", parts.join(" "), actual.loops));
    }
    if let Some(buffers) = words::buffers(actual) {
        out.raw(indent, &buffers);
    }
    for dropped in &actual.dropped {
        out.raw(indent, &format!("Dropped: {}", line(dropped)));
    }
    if let Some(error) = &actual.error {
        out.raw(indent, &format!("Error: {}", line(error)));
    }
}

/// Steps outside the tree that ran; with VERBOSE, all of them.
fn on_failure(out: &mut Writer, plan: &PlanView, explanation: &Explanation) {
    for view in &plan.on_failure {
        let ran = view.actual.as_ref().is_some_and(|actual| actual.loops > 0);
        if ran || (explanation.options.verbose && explanation.options.analyze) {
            let actual = view.actual.as_ref().map(words::actual).unwrap_or_default();
            out.raw(0, &line(&format!("On failure: {}  {actual}", view.title)));
        }
    }
}

fn sources(out: &mut Writer, explanation: &Explanation) {
    for source in &explanation.sources {
        let mark = if source.used { "used" } else { "not used" };
        let size =
            if source.used && source.passages == 0 { "passages not counted".to_owned() } else { format!("{} passages", source.passages) };
        out.head("Source", &format!("{} ({size}, generation {}): {mark}, {}", source.source, source.generation, source.reason));
    }
}

/// Changes that would flip the choice, shown without VERBOSE.
const FLIPS_SHOWN_MAX: usize = 1;

fn totals(out: &mut Writer, plan: &PlanView, verbose: bool) {
    out.head("Tokens", &plan.token_budget);
    out.head("Verification", &plan.verification);
    if let Some(estimate) = &plan.estimate {
        out.head("Estimate", &words::whole(estimate));
    }
    if let Some(score) = &plan.score {
        out.head("Score", &words::score(score));
    }
    out.head("Candidates", &words::candidates(plan));
    if let Some(margin) = &plan.margin {
        out.head("Margin", &words::margin(margin, &plan.shape, if verbose { usize::MAX } else { FLIPS_SHOWN_MAX }));
    }
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
    for r in &view.relaxations {
        out.raw(2, &line(&format!("Would suffice: {}", words::relaxation(r))));
    }
    if !view.joint.is_empty() {
        let all: Vec<String> = view.joint.iter().map(words::relaxation).collect();
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

fn summary_lines(out: &mut Writer, summary: &Summary) {
    if let Some(cache) = &summary.plan_cache {
        out.head("Plan Cache", cache);
    }
    if let Some(planning) = summary.planning_us {
        out.head("Planning Time", &Micros(planning).to_string());
    }
    if let Some(lookups) = summary.planning_lookups {
        out.head("Planning Buffers", &format!("{lookups} look-ups in the sources"));
    }
}
