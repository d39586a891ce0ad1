//! Two drawings: the run over time, and the plans that no other plan beats in accuracy, cost and latency at once.

use super::markup::Html;
use crate::explanation::{Explanation, NodeView, PlanView};
use ctx_types::plan::CompletePlan;
use ctx_types::{Micros, NanoUsd, Ppm};

/// Steps of the time axis.
const TICKS: u64 = 4;

/// Every step that ran, in the order of its start, on one axis; those that did not, below it.
pub(super) fn timeline(page: &mut Html, plan: &PlanView, explanation: &Explanation) {
    let Some(run) = explanation.run.as_ref().filter(|_| explanation.options.timing) else { return };
    let mut steps: Vec<&NodeView> = Vec::new();
    flatten(&plan.root, &mut steps);
    plan.on_failure.iter().for_each(|view| flatten(view, &mut steps));
    let span = |view: &NodeView| view.actual.as_ref().and_then(|a| a.start_us.zip(a.end_us));
    let whole = steps.iter().filter_map(|view| span(view)).map(|(_, end)| end).fold(run.elapsed_us, u64::max).max(1);
    steps.sort_by_key(|view| span(view).map_or((1, 0, 0), |(start, end)| (0, start, end)));
    page.raw(
        "<section id=\"timeline\">\n<h2>Timeline</h2>\n<div class=\"timeline\">\n<div class=\"axis\"><span></span><span class=\"track\">",
    );
    for tick in 0..=TICKS {
        page.raw("<i style=\"left:").place(tick as f64 * 100.0 / TICKS as f64).within(
            "%\">",
            &Micros(whole * tick / TICKS).to_string(),
            "</i>",
        );
    }
    page.raw("</span></div>\n");
    for view in steps {
        bar(page, view, span(view), whole);
    }
    page.raw("</div>\n<p class=\"legend\">Filled: done. Hatched: failed, cancelled or degraded. Outline below a bar: expected median and 9th decile.</p>\n</section>\n");
}

fn flatten<'a>(view: &'a NodeView, out: &mut Vec<&'a NodeView>) {
    out.push(view);
    view.children.iter().for_each(|child| flatten(child, out));
}

fn bar(page: &mut Html, view: &NodeView, span: Option<(u64, u64)>, whole: u64) {
    let share = |us: u64| us as f64 * 100.0 / whole as f64;
    page.raw("<div class=\"lane\"><span class=\"name\">").text(&view.title).raw("</span><span class=\"track\">");
    let Some((start, end)) = span else {
        page.raw("<em>not run</em></span></div>\n");
        return;
    };
    let status = view.actual.as_ref().map_or("done", |actual| actual.status.as_str());
    page.raw(if status == "done" { "<b class=\"done\" style=\"left:" } else { "<b class=\"broken\" style=\"left:" });
    page.place(share(start)).raw("%;width:").place(share(end.saturating_sub(start))).raw("%\"></b>");
    if let (Some(p50), Some(p90)) = (view.estimate.latency_us, view.estimate.latency_p90_us) {
        let room = 100.0 - share(start);
        page.raw("<u style=\"left:").place(share(start)).raw("%;width:").place(share(p90).min(room)).raw("%\"></u>");
        page.raw("<u class=\"median\" style=\"left:").place(share(start)).raw("%;width:").place(share(p50).min(room)).raw("%\"></u>");
    }
    // The label stands where there is room: behind a bar that ends early, before one that ends late.
    let late = share(end) > 70.0;
    page.raw(if late { "<em class=\"before\" style=\"right:" } else { "<em style=\"left:" });
    page.place(if late { 100.0 - share(start) } else { share(end) }).raw("%\">");
    page.text(&Micros(end.saturating_sub(start)).to_string());
    if status != "done" {
        page.within(" ", status, "");
    }
    page.raw("</em></span></div>\n");
}

/// Width of a plot in units of its drawing.
const WIDTH: f64 = 560.0;
/// Its height.
const HEIGHT: f64 = 300.0;
/// Room for the axis on the left, below, above and on the right.
const ROOM: (f64, f64, f64, f64) = (56.0, 46.0, 14.0, 24.0);

/// A plot of accuracy over latency and, where anything costs, one over cost. Points are numbered as in the table beside them.
pub(super) fn pareto(page: &mut Html, plan: &PlanView) {
    if plan.frontier.is_empty() {
        return;
    }
    let points: Vec<&CompletePlan> = plan.frontier.iter().map(|c| &c.plan).collect();
    let others: Vec<&CompletePlan> = plan.best.iter().map(|c| &c.plan).filter(|p| !points.contains(p)).collect();
    let winner = plan.best.first().map(|c| &c.plan);
    page.raw("<section id=\"pareto\">\n<h2>Pareto set</h2>\n<p>No plan is at once more accurate, cheaper and quicker than one of these. ");
    page.raw("◆ the chosen one, ○ the Pareto set, □ other plans among the best.</p>\n<div class=\"plots\">\n");
    let by_latency = |p: &CompletePlan| p.latency.get() as f64;
    let by_cost = |p: &CompletePlan| p.cost.get() as f64;
    let micros = |v: f64| Micros(v as u64).to_string();
    let dollars = |v: f64| NanoUsd(v as i64).to_string();
    Plot { points: &points, others: &others, winner, x: &by_latency, unit: &micros }.draw(page, "median time");
    if points.iter().chain(&others).any(|p| p.cost.get() > 0) {
        Plot { points: &points, others: &others, winner, x: &by_cost, unit: &dollars }.draw(page, "cost");
    }
    page.raw("</div>\n<div class=\"wide\"><table>\n<thead><tr><th>№</th><th>plan</th><th>accuracy</th><th>cost</th><th>time</th><th>score</th></tr></thead>\n<tbody>\n");
    for (at, view) in plan.frontier.iter().enumerate() {
        let mark = if Some(&view.plan) == winner { "◆ " } else { "" };
        page.raw("<tr><td>").raw(mark).number(at as u64 + 1).within("</td><td class=\"words\">", &view.operators, "</td>");
        let p = &view.plan;
        for cell in [p.accuracy.to_string(), p.cost.to_string(), p.latency.to_string(), p.score.to_string()] {
            page.cell(Some(cell));
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n</section>\n");
}

struct Plot<'a> {
    points: &'a [&'a CompletePlan],
    others: &'a [&'a CompletePlan],
    winner: Option<&'a CompletePlan>,
    x: &'a dyn Fn(&CompletePlan) -> f64,
    unit: &'a dyn Fn(f64) -> String,
}

impl Plot<'_> {
    fn draw(&self, page: &mut Html, name: &'static str) {
        let all = || self.points.iter().chain(self.others);
        let (low, high) = range(all().map(|p| (self.x)(p)));
        let (bottom, top) = range(all().map(|p| p.accuracy.share()));
        let x = |v: f64| ROOM.0 + (v - low) / (high - low) * (WIDTH - ROOM.0 - ROOM.3);
        let y = |v: f64| HEIGHT - ROOM.1 - (v - bottom) / (top - bottom) * (HEIGHT - ROOM.1 - ROOM.2);
        page.raw("<svg viewBox=\"0 0 560 300\" role=\"img\" aria-label=\"expected accuracy over ").raw(name).raw("\">\n");
        for tick in 0..=4 {
            let share = f64::from(tick) / 4.0;
            let (at_x, at_y) = (low + share * (high - low), bottom + share * (top - bottom));
            page.raw("<line class=\"grid\" x1=\"").place(ROOM.0).raw("\" x2=\"").place(WIDTH - ROOM.3).raw("\" y1=\"").place(y(at_y));
            page.raw("\" y2=\"").place(y(at_y)).raw("\"/>");
            page.raw("<text class=\"y\" x=\"").place(ROOM.0 - 6.0).raw("\" y=\"").place(y(at_y) + 4.0).raw("\">");
            page.text(&Ppm((at_y * 1e6) as u32).to_string()).raw("</text>");
            page.raw("<line class=\"grid\" y1=\"").place(ROOM.2).raw("\" y2=\"").place(HEIGHT - ROOM.1).raw("\" x1=\"").place(x(at_x));
            page.raw("\" x2=\"").place(x(at_x)).raw("\"/>");
            page.raw("<text class=\"x\" x=\"").place(x(at_x)).raw("\" y=\"").place(HEIGHT - ROOM.1 + 16.0).raw("\">");
            page.text(&(self.unit)(at_x)).raw("</text>\n");
        }
        page.raw("<text class=\"x name\" x=\"")
            .place((WIDTH + ROOM.0) / 2.0)
            .raw("\" y=\"")
            .place(HEIGHT - 8.0)
            .raw("\">")
            .raw(name)
            .raw("</text>");
        page.raw("<text class=\"name\" transform=\"translate(13 150) rotate(-90)\">accuracy</text>\n");
        for p in self.others.iter().filter(|p| Some(**p) != self.winner) {
            page.raw("<rect class=\"other\" width=\"8\" height=\"8\" x=\"").place(x((self.x)(p)) - 4.0);
            page.raw("\" y=\"").place(y(p.accuracy.share()) - 4.0).raw("\"><title>").text(&p.shape).raw("</title></rect>\n");
        }
        for (at, p) in self.points.iter().enumerate() {
            let (cx, cy) = (x((self.x)(p)), y(p.accuracy.share()));
            page.raw("<circle class=\"front\" r=\"4.5\" cx=\"").place(cx).raw("\" cy=\"").place(cy).raw("\"><title>").text(&p.shape);
            page.raw("</title></circle><text class=\"mark\" x=\"")
                .place(cx + 7.0)
                .raw("\" y=\"")
                .place(cy - 6.0 - f64::from((at % 2) as u32) * 3.0);
            page.raw("\">").number(at as u64 + 1).raw("</text>\n");
        }
        if let Some(p) = self.winner {
            page.raw("<path class=\"chosen\" transform=\"translate(").place(x((self.x)(p))).raw(" ").place(y(p.accuracy.share()));
            page.raw(")\" d=\"M0-9 9 0 0 9-9 0Z\"><title>chosen: ").text(&p.shape).raw("</title></path>\n");
        }
        page.raw("</svg>\n");
    }
}

/// Least and greatest with a little room; never an empty range.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if !low.is_finite() || !high.is_finite() {
        return (0.0, 1.0);
    }
    let room = ((high - low) * 0.08).max(high.abs() * 0.02).max(1e-3);
    ((low - room).max(0.0), high + room)
}
