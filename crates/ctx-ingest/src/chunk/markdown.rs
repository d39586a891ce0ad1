//! Headings, paragraphs, fenced code and front matter of Markdown, line by line.
//!
//! Not a Markdown parser: inline markup, links and nesting of quotes and lists do not matter for where to cut, and a
//! scanner without them is linear on every input.

use super::layout::{Join, Layout, lines};
use std::ops::Range;

/// Front matter longer than this is text.
const FRONT_MATTER_LINES_MAX: usize = 500;

/// The blocks of a Markdown text.
pub(crate) fn markdown(text: &str) -> Layout {
    let mut scanner = Scanner {
        text,
        layout: Layout::new(Join::Prose),
        section: 0,
        start: 0,
        fence: None,
        was_blank: true,
        after_heading: false,
        previous: None,
    };
    let body = scanner.front_matter();
    for line in lines(&text[body..]) {
        scanner.line(body + line.start..body + line.end);
    }
    let end = text.len();
    scanner.close(end);
    scanner.layout
}

struct Scanner<'a> {
    text: &'a str,
    layout: Layout,
    section: u32,
    /// Start of the block that is being collected.
    start: usize,
    fence: Option<Fence>,
    was_blank: bool,
    /// The block holds headings only so far: the next paragraph belongs to it.
    after_heading: bool,
    /// The line before, if it may be the text of an underlined heading.
    previous: Option<Range<usize>>,
}

#[derive(Clone, Copy)]
struct Fence {
    mark: u8,
    length: usize,
}

impl Scanner<'_> {
    fn close(&mut self, at: usize) {
        let start = std::mem::replace(&mut self.start, at);
        self.layout.push(start..at, self.section);
    }

    fn line(&mut self, range: Range<usize>) {
        let text = self.text;
        let line = text[range.clone()].trim_end();
        if let Some(fence) = self.fence {
            if closes(line, fence) {
                self.fence = None;
            }
            return;
        }
        let is_blank = line.is_empty();
        if let Some(fence) = opens(line) {
            self.begin_if_blank(range.start);
            self.fence = Some(fence);
            self.after_heading = false;
            self.previous = None;
        } else if let Some((level, title)) = atx(line) {
            self.heading(range.start, level, title);
        } else if let (Some(level), Some(previous)) = (setext(line), self.previous.clone()) {
            self.heading(previous.start, level, text[previous].trim());
        } else if !is_blank {
            self.begin_if_blank(range.start);
            self.after_heading = false;
            self.previous = starts_paragraph(line).then_some(range);
        } else {
            self.previous = None;
        }
        self.was_blank = is_blank;
    }

    fn begin_if_blank(&mut self, at: usize) {
        if self.was_blank && !self.after_heading {
            self.close(at);
        }
    }

    /// A heading directly below another stays with it: a passage of a heading alone answers nothing.
    fn heading(&mut self, at: usize, level: usize, title: &str) {
        if !self.after_heading {
            self.close(at);
        }
        let title = plain(title);
        self.section = self.layout.sections.below(self.section, level, &title);
        self.layout.title_if_none(&title);
        self.after_heading = true;
        self.previous = None;
    }

    /// Reads the title from YAML (`---`) or TOML (`+++`) at the start; returns where the body begins.
    fn front_matter(&mut self) -> usize {
        let mut all = lines(self.text).take(FRONT_MATTER_LINES_MAX);
        let rule = match all.next().map(|line| self.text[line].trim_end()) {
            Some(rule @ ("---" | "+++")) => rule,
            _ => return 0,
        };
        let mut title = None;
        for range in all {
            let line = self.text[range.clone()].trim_end();
            if line == rule || (rule == "---" && line == "...") {
                self.layout.title_if_none(title.unwrap_or(""));
                self.close(range.end);
                return range.end;
            }
            let separator = if rule == "---" { ':' } else { '=' };
            let pair = line.split_once(separator).filter(|(key, _)| key.trim_end().eq_ignore_ascii_case("title"));
            title = pair.map(|(_, value)| value.trim().trim_matches(['"', '\''])).or(title);
        }
        0
    }
}

fn indent(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

fn opens(line: &str) -> Option<Fence> {
    let rest = indent(line)?;
    let mark = *rest.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = rest.bytes().take_while(|b| *b == mark).count();
    let info_holds_mark = mark == b'`' && rest[length..].contains('`');
    (length >= 3 && !info_holds_mark).then_some(Fence { mark, length })
}

fn closes(line: &str, fence: Fence) -> bool {
    indent(line).is_some_and(|rest| rest.len() >= fence.length && rest.bytes().all(|b| b == fence.mark))
}

fn atx(line: &str) -> Option<(usize, &str)> {
    let rest = indent(line)?;
    let level = rest.bytes().take_while(|b| *b == b'#').count();
    let title = &rest[level..];
    let is_heading = (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| (level, strip_closing(title.trim())))
}

/// `Title ##` is `Title`; `C#` stays.
fn strip_closing(title: &str) -> &str {
    let open = title.trim_end_matches('#');
    if open.len() < title.len() && (open.is_empty() || open.ends_with([' ', '\t'])) { open.trim_end() } else { title }
}

fn setext(line: &str) -> Option<usize> {
    let rest = indent(line)?;
    let mark = *rest.as_bytes().first()?;
    let level = match mark {
        b'=' => 1,
        b'-' => 2,
        _ => return None,
    };
    rest.bytes().all(|b| b == mark).then_some(level)
}

/// Whether the line can be the text of an underlined heading: not a list item, a quote or a table row.
fn starts_paragraph(line: &str) -> bool {
    indent(line).is_some_and(|rest| !rest.starts_with(['-', '*', '+', '>', '|', '<']))
}

/// A heading without emphasis marks, code marks and link targets.
fn plain(title: &str) -> String {
    let mut out = String::with_capacity(title.len());
    let mut rest = title;
    while let Some(at) = rest.find(['*', '`', '[', ']']) {
        out.push_str(&rest[..at]);
        let is_link_end = rest[at..].starts_with("](");
        rest = &rest[at + 1..];
        if is_link_end {
            rest = rest.find(')').map_or(rest, |close| &rest[close + 1..]);
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(String, String)> {
        let layout = markdown(text);
        let label = |section| layout.sections.label(std::iter::once(section));
        layout.blocks.iter().map(|b| (text[b.range.clone()].to_owned(), label(b.section))).collect()
    }

    #[test]
    fn headings_of_both_styles_nest() {
        let text = "# The `Plan`\nIntro.\n\nSetup\n-----\n\nText.\n\n### [Linux](x.md) ###\nGo.\n\n# End\n";
        let found = parts(text);
        let sections: Vec<&str> = found.iter().map(|(_, s)| s.as_str()).collect();
        assert_eq!(sections, ["The Plan", "The Plan > Setup", "The Plan > Setup > Linux", "End"]);
        assert_eq!(found.iter().map(|(t, _)| t.as_str()).collect::<String>(), text);
        assert_eq!(markdown(text).title.as_deref(), Some("The Plan"));
    }

    #[test]
    fn front_matter_gives_the_title_and_no_phantom_section() {
        let text = "---\ntitle: \"Plan\"\ntags: [a]\n---\n# First\nbody\n";
        assert_eq!(markdown(text).title.as_deref(), Some("Plan"));
        let sections: Vec<String> = parts(text).into_iter().map(|(_, s)| s).collect();
        assert_eq!(sections, ["", "First"]);
        assert_eq!(markdown("+++\ntitle = 'T'\n+++\nx").title.as_deref(), Some("T"));
    }

    #[test]
    fn fenced_code_stays_whole_and_its_hashes_are_no_headings() {
        let text = "# A\n\nRun:\n\n```sh\n# not a heading\n\nmake\n```\n\nDone.\n";
        let found = parts(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[1].0.contains("not a heading\n\nmake\n```") && found.iter().all(|(_, s)| s == "A"));
    }

    #[test]
    fn rules_and_tables_are_no_headings() {
        let text = "- item\n---\n\n| a |\n---\nC# and F#\n\n# C#\nx\n";
        let sections: Vec<String> = parts(text).into_iter().map(|(_, s)| s).collect();
        assert_eq!(sections.last().map(String::as_str), Some("C#"));
        assert!(sections[..sections.len() - 1].iter().all(String::is_empty), "{sections:?}");
    }
}
