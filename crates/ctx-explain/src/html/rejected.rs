//! Every alternative that lost, with its fate and its reason; the page's script narrows the list by stage, fate and words.

use super::markup::Html;
use crate::explanation::Explanation;
use ctx_types::plan::Rejection;
use ctx_types::{AlternativeEstimate, AlternativeId, Fate};
use std::collections::BTreeMap;

pub(super) fn section(page: &mut Html, explanation: &Explanation) {
    page.raw("<section id=\"rejected\">\n<h2>Rejected alternatives</h2>\n");
    if explanation.alternatives.is_empty() {
        groups(page, explanation);
    } else {
        all(page, explanation);
    }
    page.raw("</section>\n");
}

/// Without VERBOSE: what there is of it.
fn groups(page: &mut Html, explanation: &Explanation) {
    if explanation.rejected.is_empty() {
        page.raw("<p>Shown with VERBOSE.</p>\n");
        return;
    }
    page.raw("<div class=\"wide\"><table>\n<thead><tr><th>stage</th><th>alternatives</th><th>count</th><th>fate</th><th>reason</th></tr></thead>\n<tbody>\n");
    for group in &explanation.rejected {
        page.within("<tr><td class=\"words\">", &group.stage, "</td>").within("<td class=\"words\">", &group.operators.join(", "), "</td>");
        page.raw("<td>").number(group.count).raw("</td>");
        page.within("<td class=\"words\">", &group.fate, "</td>").within("<td class=\"words\">", &group.reason, "</td></tr>\n");
    }
    page.raw("</tbody></table></div>\n");
}

fn all(page: &mut Html, explanation: &Explanation) {
    let rows = &explanation.alternatives;
    let names: BTreeMap<AlternativeId, String> = rows.iter().map(|r| (r.alternative.id, r.alternative.operator.to_string())).collect();
    filter(page, rows);
    page.raw(
        "<div class=\"wide tall\"><table id=\"alternatives\">\n<thead><tr><th>stage</th><th>alternative</th><th>fate</th><th>reason</th>",
    );
    page.raw("<th>P(evidence)</th><th>tokens</th><th>time</th><th>cost</th></tr></thead>\n<tbody>\n");
    for rejection in rows {
        let stage = rejection.alternative.stage.to_string();
        let fate = fate(&rejection.fate);
        page.raw("<tr data-stage=\"").text(&stage).raw("\" data-fate=\"").text(&fate).raw("\">");
        page.within("<td class=\"words\">", &stage, "</td>");
        page.within("<td class=\"words\">", &rejection.alternative.operator.to_string(), "</td>");
        page.within("<td class=\"words\">", &fate, "</td>").within("<td class=\"words\">", &reason(&rejection.fate, &names), "</td>");
        estimate(page, rejection.estimate.as_ref());
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
}

/// The controls, hidden until the script has taken them over.
fn filter(page: &mut Html, rows: &[Rejection]) {
    let mut stages: BTreeMap<String, u64> = BTreeMap::new();
    let mut fates: BTreeMap<String, u64> = BTreeMap::new();
    for rejection in rows {
        *stages.entry(rejection.alternative.stage.to_string()).or_default() += 1;
        *fates.entry(fate(&rejection.fate)).or_default() += 1;
    }
    page.raw("<p class=\"filter\" id=\"filter\" hidden>\n");
    select(page, "<label>Stage <select id=\"by-stage\">", &stages);
    select(page, "<label>Reason <select id=\"by-fate\">", &fates);
    page.raw("<label>Words <input id=\"by-words\" type=\"search\" autocomplete=\"off\"></label> <output id=\"shown\"></output>\n</p>\n");
}

fn select(page: &mut Html, open: &'static str, values: &BTreeMap<String, u64>) {
    page.raw(open).raw("<option value=\"\">all</option>");
    for (value, count) in values {
        page.within("<option value=\"", value, "\">").text(value).raw(" (").number(*count).raw(")</option>");
    }
    page.raw("</select></label>\n");
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Chosen => "chosen".to_owned(),
        Fate::Pruned { rule, .. } => format!("pruned by {rule}"),
        Fate::Dominated { .. } => "dominated".to_owned(),
        Fate::Infeasible { .. } => "infeasible".to_owned(),
        Fate::Outscored { .. } => "outscored".to_owned(),
    }
}

fn reason(fate: &Fate, names: &BTreeMap<AlternativeId, String>) -> String {
    match fate {
        Fate::Chosen => String::new(),
        Fate::Pruned { reason, .. } | Fate::Infeasible { reason, .. } => reason.clone(),
        Fate::Dominated { by } => {
            format!("{} is at least as good in everything", names.get(by).map_or("the chosen one", String::as_str))
        }
        Fate::Outscored { score, difference } => format!("best plan through it scores {score}, {difference} below the winner"),
    }
}

fn estimate(page: &mut Html, estimate: Option<&AlternativeEstimate>) {
    page.cell(estimate.and_then(|e| e.evidence.as_ref()).map(|v| format!("{} {}", v.value, v.certainty)));
    page.cell(estimate.and_then(|e| e.tokens.as_ref()).map(|v| v.value.to_string()));
    page.cell(estimate.and_then(|e| e.latency.as_ref()).map(|v| v.value.to_string()));
    page.cell(estimate.and_then(|e| e.cost.as_ref()).filter(|v| v.value.get() != 0).map(|v| v.value.to_string()));
}
