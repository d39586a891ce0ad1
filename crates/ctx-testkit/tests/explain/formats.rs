//! Every format at once: nothing hostile acts in any, redaction holds in all, YAML reads back as the JSON, drawings have a node
//! per step.

use super::{GOAL, explanation, nodes, planned};
use ctx_explain::{Explanation, Format, TextOptions, explanation::NodeView, json, redact, render};
use serde_json::Value;

/// What some reader of some format would take for its own.
const HOSTILE: [&str; 10] = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "</title></style><svg onload=alert(3)>",
    "\"]; click n0 call alert() \"[",
    "%%{init: {\"theme\":\"forest\"}}%%",
    "\\\" label=<<b>x</b>>; URL=\"javascript:alert(4)\"",
    "- key: !!js/function 'x' # & * ~ null",
    "\u{202e}gnp.md\u{7}\u{1b}[31m\u{2028}\u{feff}\u{85}",
    "a\nb\r\n---\n...\n\t{}",
    "|\u{21b5}+",
];

fn written(value: &Explanation, format: Format) -> String {
    render(value, format, &TextOptions::default())
}

/// An explanation in which every free text is hostile.
fn hostile() -> Explanation {
    let all = HOSTILE.join(" ");
    let mut value = explanation(&planned(), true);
    value.goal = all.clone();
    value.notes.push(all.clone());
    value.sources.iter_mut().for_each(|source| source.reason = all.clone());
    value.rejected.iter_mut().for_each(|group| group.reason = all.clone());
    for (at, rejection) in value.alternatives.iter_mut().enumerate() {
        rejection.fate = ctx_types::Fate::Pruned { rule: HOSTILE[at % HOSTILE.len()].to_owned(), reason: all.clone() };
    }
    value.settings.push(ctx_explain::explanation::Setting { key: HOSTILE[0].to_owned(), value: all.clone() });
    if let Some(summary) = &mut value.summary {
        summary.plan_cache = Some(all.clone());
    }
    let plan = value.plan.as_mut().expect("a plan");
    plan.on_failure.iter_mut().for_each(|view| poison(view, &all));
    poison(&mut plan.root, &all);
    value
}

fn poison(view: &mut NodeView, text: &str) {
    view.title = format!("{} on {text}", view.title);
    view.provenance.push(text.to_owned());
    if let Some(actual) = &mut view.actual {
        actual.dropped.push(text.to_owned());
        actual.error = Some(text.to_owned());
    }
    view.children.iter_mut().for_each(|child| poison(child, text));
}

fn steps(value: &Explanation) -> usize {
    let plan = value.plan.as_ref().expect("a plan");
    let mut all = Vec::new();
    nodes(&json(value)["plan"]["root"], &mut all);
    all.len() + plan.on_failure.len()
}

#[test]
fn no_format_lets_a_terminal_act() {
    let value = hostile();
    for format in [Format::Text, Format::Yaml, Format::Mermaid, Format::Dot, Format::Html, Format::Pg] {
        let found = written(&value, format).chars().find(|c| *c != '\n' && (c.is_control() || "\u{202e}\u{2028}\u{feff}".contains(*c)));
        assert_eq!(found, None, "{}", format.as_str());
    }
}

#[test]
fn redaction_leaves_no_word_of_the_goal_in_any_format() {
    let plain = explanation(&planned(), true);
    let hidden = redact(plain.clone());
    for format in Format::ALL {
        let (before, after) = (written(&plain, format).to_lowercase(), written(&hidden, format).to_lowercase());
        assert!(before.contains("zebulon"), "the goal is not in {} at all", format.as_str());
        for word in ["zebulon", "e4021", "blue harbor", "yesterday"] {
            assert!(!after.contains(word), "{word} survives in {}:\n{after}", format.as_str());
        }
        assert!(after.contains("redacted"), "{}", format.as_str());
    }
}

#[test]
fn yaml_reads_back_as_the_json() {
    for value in [explanation(&planned(), true), explanation(&planned(), false), hostile()] {
        let text = written(&value, Format::Yaml);
        let back: Value = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(back, json(&value));
    }
}

#[test]
fn the_page_holds_no_markup_but_its_own() {
    let (tame, wild) = (written(&explanation(&planned(), true), Format::Html), written(&hostile(), Format::Html));
    for tag in ["<script", "</script", "<style", "</style", "<svg", "</title", "<img", "<b>x"] {
        assert_eq!(wild.matches(tag).count(), tame.matches(tag).count(), "{tag}");
    }
    assert_eq!(wild.matches("<tr data-node=").count() + wild.matches("<tr class=\"idle\" data-node=").count(), steps(&hostile()));
    for foreign in ["http:", "https:", "//", "url(", "@import", "src="] {
        let (_, page) = tame.split_once("</head>").expect("a head");
        assert!(!page.contains(foreign), "{foreign} is in the page");
    }
    assert!(tame.contains("default-src 'none'"));
}

#[test]
fn drawings_have_a_node_per_step_and_keep_their_grammar() {
    for value in [explanation(&planned(), true), hostile()] {
        let mermaid = written(&value, Format::Mermaid);
        assert_eq!(mermaid.lines().filter(|l| l.contains("[\"")).count(), steps(&value) + 1, "{mermaid}");
        for line in mermaid.lines().skip(1) {
            let outside: String = line.split('"').step_by(2).collect();
            let allowed = |c: char| c.is_ascii_alphanumeric() || " ()[]->.".contains(c);
            assert!(line.matches('"').count() != 1 && outside.chars().all(allowed), "{line}");
        }
        let dot = written(&value, Format::Dot);
        assert_eq!(dot.matches("label=\"").count(), steps(&value) + 1 + value.plan.as_ref().map_or(0, |p| p.on_failure.len()), "{dot}");
        for line in dot.lines() {
            let bare = unquoted(line);
            let allowed = |c: char| c.is_ascii_alphanumeric() || " {}[]->=,;_".contains(c);
            assert!(bare.chars().all(allowed), "{bare} in {line}");
        }
    }
}

/// A line of a Graphviz graph without its quoted strings.
fn unquoted(line: &str) -> String {
    let (mut out, mut inside, mut escaped) = (String::new(), false, false);
    for c in line.chars() {
        match (inside, c) {
            (true, _) if escaped => escaped = false,
            (true, '\\') => escaped = true,
            (_, '"') => inside = !inside,
            (false, c) => out.push(c),
            (true, _) => {}
        }
    }
    assert!(!inside, "a string is not closed: {line}");
    out
}

#[test]
fn the_postgresql_shape_is_cumulative_and_holds_no_markup() {
    for value in [explanation(&planned(), true), hostile()] {
        let text = written(&value, Format::Pg);
        assert!(text.is_ascii() && !text.contains(['<', '>']), "{text}");
        let top: Value = serde_json::from_str(&text).expect("JSON");
        let plan = &top[0]["Plan"];
        let mut all = Vec::new();
        flatten(plan, &mut all);
        let tree = {
            let mut tree = Vec::new();
            nodes(&json(&value)["plan"]["root"], &mut tree);
            tree
        };
        assert_eq!(all.len(), tree.len());
        for node in all {
            let below = |key: &str| node["Plans"].as_array().into_iter().flatten().filter_map(|c| c[key].as_f64()).fold(0.0, f64::max);
            for key in ["Total Cost", "Actual Total Time"] {
                assert!(node[key].as_f64().unwrap_or(f64::MAX) >= below(key), "{key} of {node} is not cumulative");
            }
        }
    }
}

fn flatten(node: &Value, out: &mut Vec<Value>) {
    out.push(node.clone());
    node["Plans"].as_array().into_iter().flatten().for_each(|child| flatten(child, out));
}

#[test]
fn the_goal_of_the_tests_is_hostile() {
    assert!(GOAL.contains('\u{202e}') && GOAL.contains('\u{1b}') && GOAL.contains('"'));
}
