//! The tree as a Graphviz graph: data flows upwards. Labels are quoted strings, never HTML labels, and no name, link or
//! tooltip is made of text.

use crate::escape::{clip, line};
use crate::explanation::{Explanation, NodeView};
use crate::words;

/// Columns of the goal in the drawing.
const GOAL_COLUMNS: usize = 80;

/// A directed graph. Every line ends with a newline.
pub(crate) fn dot(explanation: &Explanation) -> String {
    let mut out = String::from("digraph explain {\n  rankdir=BT;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n");
    out.push_str(&format!("  goal [shape=plaintext, label=\"{}\"];\n", quoted(&clip(&explanation.goal, GOAL_COLUMNS))));
    let mut count = 0;
    if let Some(plan) = &explanation.plan {
        node(&mut out, &plan.root, "goal", &mut count);
        for (at, view) in plan.on_failure.iter().enumerate() {
            let style = if ran(view) { "solid" } else { "dashed" };
            out.push_str(&format!("  f{at} [style={style}, label=\"{}\"];\n", label(view)));
            out.push_str(&format!("  n0 -> f{at} [style=dashed, label=\"on failure\", fontsize=9];\n"));
        }
    }
    if let Some(infeasible) = &explanation.infeasible {
        let lines = [format!("Infeasible: {}", infeasible.binding), infeasible.missed_by.clone()];
        out.push_str(&format!(
            "  n0 [style=bold, label=\"{}\"];\n  n0 -> goal [arrowhead=tee];\n",
            lines.each_ref().map(|l| left(l)).concat()
        ));
        for (at, r) in infeasible.relaxations.iter().enumerate() {
            out.push_str(&format!("  r{at} [style=dashed, label=\"{}\"];\n  r{at} -> n0 [style=dashed];\n", left(&words::relaxation(r))));
        }
    }
    out.push_str("}\n");
    out
}

fn ran(view: &NodeView) -> bool {
    view.actual.as_ref().is_none_or(|actual| actual.loops > 0)
}

fn node(out: &mut String, view: &NodeView, above: &str, count: &mut usize) {
    let id = format!("n{count}");
    *count += 1;
    let style = if ran(view) { "solid" } else { "dashed" };
    out.push_str(&format!("  {id} [style={style}, label=\"{}\"];\n  {id} -> {above} [style={style}];\n", label(view)));
    for child in &view.children {
        node(out, child, &id, count);
    }
}

fn label(view: &NodeView) -> String {
    let estimate = words::estimate(&view.estimate, words::quality_word(&view.id));
    let actual = view.actual.as_ref().map(words::actual).unwrap_or_default();
    [view.title.as_str(), &estimate, &actual].into_iter().filter(|l| !l.is_empty()).map(left).collect()
}

/// One left-justified line of a label.
fn left(text: &str) -> String {
    format!("{}\\l", quoted(text))
}

/// The inside of a quoted string. Graphviz reads escapes (`\N`, `\l`) and entities (`&lt;`) there.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in line(text).chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_early_nor_be_read_as_escape_or_entity() {
        assert_eq!(quoted("a\"]; x -> y [label=<b>"), "a\\\"]; x -> y [label=<b>");
        assert_eq!(quoted("\\N \\\" &lt; \n"), "\\\\N \\\\\\\" &amp;lt; \\\\n");
    }
}
