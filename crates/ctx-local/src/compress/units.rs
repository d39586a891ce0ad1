//! What a passage is cut into: sentences of prose; lines of code, logs, tables and lists, whose lines are their sentences.

use crate::sentences::sentences;
use std::ops::Range;

/// A part that is kept or left out as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Bytes in the passage's text, never empty, trimmed of blanks.
    pub range: Range<usize>,
    /// Whether it is a heading.
    pub heading: bool,
    /// Whether it is a line and not a sentence.
    pub line: bool,
}

/// Endings of files that people write prose in.
const PROSE: [&str; 8] = ["md", "markdown", "txt", "rst", "html", "htm", "adoc", "org"];
/// From this share of lines that end without a stop and are short, text is a list of lines.
const LINES_FROM: f64 = 0.8;

/// Cuts a text; a file that ends in nothing known is prose unless it looks like lines.
pub fn units(path: &str, text: &str) -> Vec<Unit> {
    if is_lines(path, text) { lines(text) } else { prose(text) }
}

fn is_lines(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()) {
        Some(ending) if PROSE.contains(&ending.as_str()) => false,
        Some(ending) if ending.chars().all(|c| c.is_ascii_alphanumeric()) && !ending.is_empty() => looks_like_lines(text, 0.5),
        _ => looks_like_lines(text, LINES_FROM),
    }
}

fn looks_like_lines(text: &str, from: f64) -> bool {
    let all: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let open = all.iter().filter(|l| !l.ends_with(['.', '!', '?', ':'])).count();
    all.len() > 2 && open as f64 >= from * all.len() as f64
}

fn lines(text: &str) -> Vec<Unit> {
    let mut at = 0;
    let mut out = Vec::new();
    for raw in text.split_inclusive('\n') {
        push(text, at..at + raw.trim_end_matches(['\n', '\r']).len(), false, true, &mut out);
        at += raw.len();
    }
    out
}

/// Sentences, and what lies between them (code blocks and whatever else is no sentence) as units of its own.
fn prose(text: &str) -> Vec<Unit> {
    let mut out = Vec::new();
    let mut end = 0;
    for span in sentences(text) {
        if span.start > end {
            push(text, end..span.start, false, false, &mut out);
        }
        push(text, span.start.max(end)..span.end, span.heading, false, &mut out);
        end = end.max(span.end);
    }
    push(text, end..text.len(), false, false, &mut out);
    out
}

/// Lines keep their indentation: in code it carries meaning.
fn push(text: &str, range: Range<usize>, heading: bool, line: bool, out: &mut Vec<Unit>) {
    if range.start >= range.end || text[range.clone()].trim().is_empty() {
        return;
    }
    let piece = &text[range.clone()];
    let start = if line { range.start } else { range.start + piece.len() - piece.trim_start().len() };
    let end = range.start + piece.trim_end().len();
    out.push(Unit { range: start..end, heading, line });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_cut_at_sentences_and_logs_at_lines() {
        let text = "# Title\nOne thing. Another\nthing here.\n\n```\nlet x = 1;\n```\nThe end.";
        let parts: Vec<&str> = units("a.md", text).iter().map(|u| &text[u.range.clone()]).collect();
        assert_eq!(parts[..3], ["# Title", "One thing.", "Another\nthing here."]);
        assert!(parts.iter().any(|p| p.contains("let x = 1;")) && parts.last() == Some(&"The end."));
        let log = "12:00 started\n12:01 failed with 502\n12:02 stopped";
        assert_eq!(units("app.log", log).len(), 3);
        assert!(units("a.md", "").is_empty());
    }
}
