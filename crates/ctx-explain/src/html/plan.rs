//! The tree as a table: one row per step, its numbers beside it, details below it.

use super::markup::Html;
use crate::explanation::{ActualView, Explanation, NodeView, Numbers, PlanView};
use crate::words;
use ctx_types::{Micros, NanoUsd, Ppm};

/// A q-error from which a number is marked: PostgreSQL viewers mark an estimate that is off by ten.
const Q_MARKED_MILLI: u64 = 10_000;
/// A q-error from which it is worth a look.
const Q_NOTED_MILLI: u64 = 2_000;

pub(super) fn section(page: &mut Html, plan: &PlanView, explanation: &Explanation) {
    page.raw("<section id=\"plan\">\n<h2>Plan</h2>\n<div class=\"wide\"><table class=\"tree\">\n<thead>\n");
    let columns = Columns::of(explanation, plan);
    columns.head(page);
    page.raw("</thead>\n<tbody>\n");
    row(page, &plan.root, "", "", &columns);
    page.raw("</tbody>\n");
    if !plan.on_failure.is_empty() {
        page.raw("<tbody class=\"aside\">\n<tr><th class=\"band\" colspan=\"20\">Only when something fails</th></tr>\n");
        plan.on_failure.iter().for_each(|view| row(page, view, "", "", &columns));
        page.raw("</tbody>\n");
    }
    page.raw("</table></div>\n<dl class=\"lines\">\n");
    let lines = [
        Some(("Tokens", plan.token_budget.clone())),
        Some(("Verification", plan.verification.clone())),
        plan.estimate.as_ref().map(|e| ("Estimate", words::whole(e))),
        plan.score.as_ref().map(|s| ("Score", words::score(s))),
        Some(("Candidates", words::candidates(plan))),
        plan.margin.as_ref().map(|m| ("Margin", words::margin(m, &plan.shape, usize::MAX))),
    ];
    for (name, value) in lines.into_iter().flatten() {
        page.within("<div><dt>", name, "</dt>").within("<dd>", &value, "</dd></div>\n");
    }
    page.raw("</dl>\n</section>\n");
}

/// Which pairs of columns the table has: those in which some step has a number.
struct Columns {
    estimated: bool,
    actual: bool,
    timed: bool,
    shown: Vec<Column>,
}

struct Column {
    name: &'static str,
    words: fn(&Numbers) -> Option<String>,
}

const COLUMNS: [Column; 5] = [
    Column { name: "time", words: time },
    Column { name: "passages", words: |n| n.passages.map(|n| n.to_string()) },
    Column { name: "tokens", words: |n| n.tokens.map(|n| n.to_string()) },
    Column { name: "P(evidence)", words: |n| n.evidence_ppm.map(|p| Ppm(p).to_string()) },
    Column { name: "cost", words: cost },
];

fn time(numbers: &Numbers) -> Option<String> {
    match (numbers.latency_us, numbers.latency_p90_us) {
        (Some(p50), Some(p90)) => Some(format!("{}..{}", Micros(p50), Micros(p90))),
        (p50, _) => p50.map(|us| Micros(us).to_string()),
    }
}

/// A cost of nothing is said once, for the whole.
fn cost(numbers: &Numbers) -> Option<String> {
    if numbers.cost_unknown {
        return Some("unknown".to_owned());
    }
    numbers.cost_nano_usd.filter(|c| *c != 0).map(|c| NanoUsd(c).to_string())
}

impl Columns {
    fn of(explanation: &Explanation, plan: &PlanView) -> Columns {
        let mut all = Vec::new();
        collect(&plan.root, &mut all);
        let some = |column: &Column| all.iter().any(|numbers| (column.words)(numbers).is_some());
        Columns {
            estimated: explanation.options.costs,
            actual: explanation.options.analyze,
            timed: explanation.options.analyze && explanation.options.timing,
            shown: COLUMNS.into_iter().filter(some).collect(),
        }
    }

    fn head(&self, page: &mut Html) {
        page.raw("<tr><th rowspan=\"2\" class=\"step\">Step</th>");
        let both = u64::from(self.estimated) + u64::from(self.actual);
        for column in &self.shown {
            page.raw("<th class=\"group\" colspan=\"").number(both.max(1)).within("\">", column.name, "</th>");
        }
        if self.estimated {
            page.raw("<th rowspan=\"2\" title=\"weakest certainty among the estimates\">certainty</th>");
        }
        if self.timed {
            page.raw("<th rowspan=\"2\" class=\"own\">own time</th>");
        }
        if self.actual {
            page.raw(
                "<th rowspan=\"2\">loops</th><th rowspan=\"2\" title=\"largest of max(estimate/actual, actual/estimate)\">q-error</th>",
            );
        }
        page.raw("</tr>\n<tr>");
        for _ in &self.shown {
            page.raw(if self.estimated { "<th>estimate</th>" } else { "" }).raw(if self.actual { "<th>actual</th>" } else { "" });
        }
        page.raw("</tr>\n");
    }

    fn cells(&self, page: &mut Html, view: &NodeView) {
        let ran = view.actual.as_ref().filter(|actual| actual.loops > 0);
        for column in &self.shown {
            if self.estimated {
                page.cell((column.words)(&view.estimate));
            }
            if self.actual {
                page.cell(ran.and_then(|actual| (column.words)(&actual.numbers)));
            }
        }
        if self.estimated {
            page.cell(Some(view.estimate.certainty.clone()));
        }
        if self.timed {
            own(page, ran);
        }
        if self.actual {
            let loops = view.actual.as_ref().map(|actual| if actual.loops == 0 { "not run".to_owned() } else { actual.loops.to_string() });
            page.cell(loops);
            worst(page, ran);
        }
    }
}

fn collect<'a>(view: &'a NodeView, all: &mut Vec<&'a Numbers>) {
    all.push(&view.estimate);
    all.extend(view.actual.as_ref().map(|actual| &actual.numbers));
    view.children.iter().for_each(|child| collect(child, all));
}

/// Own time with its share of the run, as a number and as a bar.
fn own(page: &mut Html, actual: Option<&ActualView>) {
    let Some((own, share)) = actual.and_then(|a| a.own_us.zip(a.own_share_ppm)) else {
        page.raw("<td class=\"own\"></td>");
        return;
    };
    page.raw("<td class=\"own\"><span class=\"bar\" style=\"width:").place(f64::from(share) / 10_000.0);
    page.within("%\"></span><span>", &Micros(own).to_string(), "</span> <small>");
    page.text(&words::percent(share)).raw(" %</small></td>");
}

/// The largest q-error with its field; marked by a sign, not by colour alone.
fn worst(page: &mut Html, actual: Option<&ActualView>) {
    match actual.and_then(|a| a.q_errors.iter().max_by_key(|q| q.milli)) {
        None => page.raw("<td></td>"),
        Some(q) if q.milli >= Q_MARKED_MILLI => {
            page.raw("<td class=\"bad\">‼ ").text(&words::ratio(q.milli)).within(" <small>", &q.field, "</small></td>")
        }
        Some(q) if q.milli >= Q_NOTED_MILLI => {
            page.raw("<td class=\"warn\">! ").text(&words::ratio(q.milli)).within(" <small>", &q.field, "</small></td>")
        }
        Some(q) => page.raw("<td>").text(&words::ratio(q.milli)).within(" <small>", &q.field, "</small></td>"),
    };
}

fn row(page: &mut Html, view: &NodeView, lead: &str, under: &str, columns: &Columns) {
    let idle = view.actual.as_ref().is_some_and(|actual| actual.loops == 0);
    page.raw(if idle { "<tr class=\"idle\" data-node=\"" } else { "<tr data-node=\"" }).text(&view.id).raw("\"><td class=\"step\">");
    page.within("<span class=\"guide\">", lead, "</span>");
    let quality = view.estimate.quality_ppm.map(|p| format!(" {}={}", words::quality_word(&view.id), Ppm(p))).unwrap_or_default();
    let details = details(view);
    if details.is_empty() {
        page.within("<span class=\"title\">", &view.title, "</span>");
    } else {
        page.within("<details><summary>", &view.title, "</summary><ul>");
        for line in &details {
            page.within("<li>", line, "</li>");
        }
        page.raw("</ul></details>");
    }
    page.within("<small>", &quality, "</small></td>");
    columns.cells(page, view);
    page.raw("</tr>\n");
    let last = view.children.len().saturating_sub(1);
    for (at, child) in view.children.iter().enumerate() {
        let (turn, below) = if at == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        row(page, child, &format!("{under}{turn}"), &format!("{under}{below}"), columns);
    }
}

/// What is shown when a step is opened.
fn details(view: &NodeView) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(actual) = &view.actual {
        if !matches!(actual.status.as_str(), "done" | "not run") {
            out.push(format!("Status: {}", actual.status));
        }
        let q: Vec<String> = actual.q_errors.iter().map(|q| format!("{} {}", q.field, words::ratio(q.milli))).collect();
        out.extend((!q.is_empty()).then(|| format!("q-error: {}", q.join(", "))));
        if let Some(each) = &actual.per_loop {
            out.push(format!("Per loop: {}; beside, all {} together", words::measured(each).join(" "), actual.loops));
        }
        out.extend(words::buffers(actual));
        out.extend(actual.error.iter().map(|error| format!("Error: {error}")));
        out.extend(actual.dropped.iter().map(|dropped| format!("Dropped: {dropped}")));
    }
    out.extend(view.provenance.iter().map(|line| format!("Estimate: {line}")));
    out
}
