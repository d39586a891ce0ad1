//! The tree as a Mermaid flowchart: data flows upwards. Text is encoded character by character, so that neither a directive
//! (`%%{init}`), a quote, a tag nor a line end of a goal or a source is seen by Mermaid's parser.

use crate::escape::{clip, line};
use crate::explanation::{Explanation, NodeView};
use crate::words;

/// Columns of the goal in the drawing.
const GOAL_COLUMNS: usize = 80;

/// A flowchart. Every line ends with a newline.
pub(crate) fn mermaid(explanation: &Explanation) -> String {
    let mut out = String::from("flowchart BT\n");
    out.push_str(&format!("  goal([\"{}\"])\n", encoded(&clip(&explanation.goal, GOAL_COLUMNS))));
    let mut count = 0;
    if let Some(plan) = &explanation.plan {
        node(&mut out, &plan.root, "goal", &mut count);
        for (at, view) in plan.on_failure.iter().enumerate() {
            out.push_str(&format!("  f{at}[\"{}\"]\n  n0 -. on failure .-> f{at}\n", label(view)));
        }
    }
    if let Some(infeasible) = &explanation.infeasible {
        let text = [format!("Infeasible: {}", infeasible.binding), infeasible.missed_by.clone()];
        out.push_str(&format!("  n0[\"{}\"]\n  n0 --x goal\n", text.each_ref().map(|t| encoded(t)).join("<br/>")));
        for (at, r) in infeasible.relaxations.iter().enumerate() {
            out.push_str(&format!("  r{at}[\"{}\"]\n  r{at} -.-> n0\n", encoded(&words::relaxation(r))));
        }
    }
    out
}

fn node(out: &mut String, view: &NodeView, above: &str, count: &mut usize) {
    let id = format!("n{count}");
    *count += 1;
    let ran = view.actual.as_ref().is_none_or(|actual| actual.loops > 0);
    let edge = if ran { "-->" } else { "-.->" };
    out.push_str(&format!("  {id}[\"{}\"]\n  {id} {edge} {above}\n", label(view)));
    for child in &view.children {
        node(out, child, &id, count);
    }
}

fn label(view: &NodeView) -> String {
    let estimate = words::estimate(&view.estimate, words::quality_word(&view.id));
    let actual = view.actual.as_ref().map(words::actual).unwrap_or_default();
    let lines = [view.title.as_str(), &estimate, &actual];
    lines.into_iter().filter(|l| !l.is_empty()).map(encoded).collect::<Vec<_>>().join("<br/>")
}

/// Letters, digits and what has no meaning in a quoted label stay; everything else is written by its number.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in line(text).chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '=' | '_' | '(' | ')') {
            out.push(c);
        } else {
            out.push_str(&format!("#{};", u32::from(c)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_mermaid_reads_is_left() {
        let hostile = "%%{init: {'theme':'dark'}}%%\n\"]; click n0 call alert() </script><img src=x onerror=alert(1)> #quot; `md` end";
        let safe = encoded(hostile);
        for sign in ['%', '{', '"', '<', '>', '`', '\n', '[', ']', '\''] {
            assert!(!safe.contains(sign), "{sign:?} is in {safe}");
        }
        assert!(
            safe.split('#').skip(1).all(|part| part.find(';').is_some_and(|at| part[..at].bytes().all(|b| b.is_ascii_digit()))),
            "{safe}"
        );
    }
}
