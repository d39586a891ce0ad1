//! The plain tables: sources, best plans, what would make an infeasible goal feasible, settings and summary.

use super::markup::Html;
use crate::explanation::{Explanation, InfeasibleView, PlanView};
use crate::words;
use ctx_types::Micros;

pub(super) fn infeasible(page: &mut Html, view: &InfeasibleView) {
    page.raw("<section id=\"infeasible\">\n<h2>Infeasible</h2>\n<p>No plan meets the limits: ");
    page.text(&view.binding).within("; ", &view.missed_by, "</p>\n");
    let mut list = |title: &'static str, items: Vec<String>| {
        if !items.is_empty() {
            page.raw("<h3>").raw(title).raw("</h3>\n<ul>\n");
            for item in &items {
                page.within("<li>", item, "</li>\n");
            }
            page.raw("</ul>\n");
        }
    };
    list("What cannot hold together", view.conflict.clone());
    list("What alone would suffice", view.relaxations.iter().map(words::relaxation).collect());
    list("What must move together", view.joint.iter().map(words::relaxation).collect());
    page.raw("</section>\n");
}

pub(super) fn sources(page: &mut Html, explanation: &Explanation) {
    page.raw("<section id=\"sources\">\n<h2>Sources</h2>\n<div class=\"wide\"><table>\n");
    page.raw("<thead><tr><th>source</th><th>used</th><th>passages</th><th>generation</th><th>why</th></tr></thead>\n<tbody>\n");
    for source in &explanation.sources {
        let counted = if source.used && source.passages == 0 { "not counted".to_owned() } else { source.passages.to_string() };
        page.within("<tr><td class=\"words\">", source.source.as_str(), "</td>");
        page.raw(if source.used { "<td>✓ used</td>" } else { "<td>✗ not used</td>" });
        page.cell(Some(counted)).cell(Some(source.generation.to_string()));
        page.within("<td class=\"words\">", &source.reason, "</td></tr>\n");
    }
    page.raw("</tbody></table></div>\n</section>\n");
}

/// The best complete plans, the winner first.
pub(super) fn complete(page: &mut Html, plan: &PlanView) {
    if plan.best.is_empty() {
        return;
    }
    page.raw("<section id=\"best\">\n<h2>Best plans</h2>\n<div class=\"wide\"><table>\n");
    page.raw("<thead><tr><th>№</th><th>plan</th><th>score</th><th>accuracy</th><th>cost</th><th>time</th></tr></thead>\n<tbody>\n");
    for (at, view) in plan.best.iter().enumerate() {
        page.raw(if at == 0 { "<tr><td>◆ " } else { "<tr><td>" }).number(at as u64 + 1);
        page.within("</td><td class=\"words\">", &view.operators, "</td>");
        let p = &view.plan;
        for cell in [p.score.to_string(), p.accuracy.to_string(), p.cost.to_string(), p.latency.to_string()] {
            page.cell(Some(cell));
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n</section>\n");
}

/// Intent in full, notes, settings, summary, memory, ids.
pub(super) fn about(page: &mut Html, explanation: &Explanation) {
    page.raw("<section id=\"about\">\n<h2>Further</h2>\n<dl class=\"lines\">\n");
    let mut line = |name: &str, value: &str| {
        page.within("<div><dt>", name, "</dt>").within("<dd>", value, "</dd></div>\n");
    };
    explanation.notes.iter().for_each(|note| line("Note", note));
    if let Some(plan) = &explanation.plan {
        line("Plan", &plan.id);
        line("Shape", &plan.shape);
        line("Gist", &plan.gist);
    }
    if let Some(run) = &explanation.run {
        line("Run", &words::run(run));
    }
    if let Some(summary) = &explanation.summary {
        summary.plan_cache.iter().for_each(|cache| line("Plan cache", cache));
        summary.planning_us.iter().for_each(|us| line("Planning time", &Micros(*us).to_string()));
        summary.planning_lookups.iter().for_each(|n| line("Planning buffers", &format!("{n} look-ups in the sources")));
        if !summary.statistics_epoch.is_empty() {
            line("Statistics epoch", &summary.statistics_epoch);
        }
    }
    explanation.memory.iter().for_each(|memory| line("Planning memory", &words::memory(memory)));
    explanation.settings.iter().for_each(|setting| line("Setting", &format!("{} = {}", setting.key, setting.value)));
    page.raw("</dl>\n</section>\n");
}
