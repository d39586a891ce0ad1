//! Paragraphs of plain text, line groups of logs, and headings by underline (reStructuredText).

use super::layout::{Join, Layout, lines};
use std::ops::Range;

/// Log lines are grouped to at least this many bytes before they are counted.
const LOG_GROUP_BYTES: usize = 512;
/// Shortest underline of a heading.
const UNDERLINE_MIN: usize = 3;

/// Paragraphs: runs of lines without a blank one.
pub(crate) fn text(text: &str) -> Layout {
    let mut layout = Layout::new(Join::Prose);
    let mut start = None;
    let mut was_blank = false;
    for line in lines(text) {
        let is_blank = text[line.clone()].trim().is_empty();
        if !is_blank && (was_blank || start.is_none()) {
            layout.push(start.unwrap_or(line.start)..line.start, 0);
            start = Some(line.start);
        }
        was_blank = is_blank;
    }
    layout.push(start.unwrap_or(text.len())..text.len(), 0);
    layout
}

/// Groups of lines; an indented line stays with the one before (stack traces, wrapped messages).
pub(crate) fn log(text: &str) -> Layout {
    let mut layout = Layout::new(Join::Prose);
    let mut start = 0;
    for line in lines(text) {
        let continues = text.as_bytes()[line.start].is_ascii_whitespace();
        if !continues && line.start - start >= LOG_GROUP_BYTES {
            layout.push(start..line.start, 0);
            start = line.start;
        }
    }
    layout.push(start..text.len(), 0);
    layout
}

/// Headings are lines underlined (and perhaps overlined) by one repeated mark; a mark's level is the order of its first
/// use, as in docutils.
pub(crate) fn restructured_text(text: &str) -> Layout {
    let mut layout = Layout::new(Join::Prose);
    let all: Vec<Range<usize>> = lines(text).collect();
    let mut marks: Vec<(u8, bool)> = Vec::new();
    let mut section = 0;
    let (mut start, mut idx, mut was_blank) = (0, 0, true);
    while idx < all.len() {
        if let Some(heading) = heading_at(text, &all, idx) {
            let mark = (heading.mark, heading.is_overlined);
            let level = marks.iter().position(|m| *m == mark).unwrap_or_else(|| {
                marks.push(mark);
                marks.len() - 1
            });
            layout.push(start..all[idx].start, section);
            section = layout.sections.below(section, level + 1, heading.title);
            layout.title_if_none(heading.title);
            start = all[idx].start;
            idx += heading.lines;
            // The heading stays with the paragraph below it.
            while idx < all.len() && text[all[idx].clone()].trim().is_empty() {
                idx += 1;
            }
            was_blank = false;
            continue;
        }
        let line = &text[all[idx].clone()];
        let is_blank = line.trim().is_empty();
        // An indented line after a blank belongs to the directive or list item above.
        if was_blank && !is_blank && !line.starts_with([' ', '\t']) {
            layout.push(start..all[idx].start, section);
            start = all[idx].start;
        }
        was_blank = is_blank;
        idx += 1;
    }
    layout.push(start..text.len(), section);
    layout
}

struct Heading<'a> {
    title: &'a str,
    mark: u8,
    is_overlined: bool,
    lines: usize,
}

fn heading_at<'a>(text: &'a str, all: &[Range<usize>], idx: usize) -> Option<Heading<'a>> {
    let line = |n: usize| all.get(n).map(|range| text[range.clone()].trim_end());
    if let (Some(over), Some(title), Some(under)) = (line(idx).and_then(underline), line(idx + 1), line(idx + 2))
        && underline(under) == Some(over)
        && underline(title).is_none()
        && !title.trim().is_empty()
    {
        return Some(Heading { title: title.trim(), mark: over, is_overlined: true, lines: 3 });
    }
    let (title, under) = (line(idx)?, line(idx + 1)?);
    let mark = underline(under)?;
    let fits = !title.is_empty() && !title.starts_with([' ', '\t']) && underline(title).is_none();
    // docutils wants the underline as long as the title; people are off by one or two.
    let long_enough = under.chars().count() + 2 >= title.chars().count();
    (fits && long_enough).then_some(Heading { title, mark, is_overlined: false, lines: 2 })
}

/// The mark of a line that is nothing but one repeated punctuation mark.
fn underline(line: &str) -> Option<u8> {
    let bytes = line.as_bytes();
    let mark = *bytes.first()?;
    (bytes.len() >= UNDERLINE_MIN && mark.is_ascii_punctuation() && bytes.iter().all(|b| *b == mark)).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(text: &'a str, layout: &Layout) -> Vec<(&'a str, String)> {
        layout.blocks.iter().map(|b| (&text[b.range.clone()], layout.sections.label([b.section].into_iter()))).collect()
    }

    #[test]
    fn paragraphs_keep_their_trailing_blank_lines() {
        let source = "\n\na\nb\n\n\nc";
        assert_eq!(parts(source, &text(source)), [("a\nb\n\n\n", String::new()), ("c", String::new())]);
        assert!(text("\n \n").blocks.is_empty() && text("").blocks.is_empty());
    }

    #[test]
    fn a_stack_trace_stays_with_its_line() {
        let source = format!("{}\n  at f\n{}\n", "e".repeat(600), "x".repeat(10));
        let layout = log(&source);
        assert_eq!(layout.blocks.len(), 2);
        assert!(source[layout.blocks[0].range.clone()].ends_with("at f\n"));
    }

    #[test]
    fn underlined_headings_nest_by_first_use() {
        let source = "=====\nGuide\n=====\n\nIntro.\n\nSetup\n-----\n\nText.\n\n.. note::\n\n   Kept.\n\nLinux\n~~~~~\nx\n\nMac\n~~~\ny\n";
        let layout = restructured_text(source);
        assert_eq!(layout.title.as_deref(), Some("Guide"));
        let sections: Vec<String> = parts(source, &layout).into_iter().map(|(_, s)| s).collect();
        assert_eq!(sections, ["Guide", "Guide > Setup", "Guide > Setup", "Guide > Setup > Linux", "Guide > Setup > Mac"]);
        assert_eq!(layout.blocks.iter().map(|b| b.range.len()).sum::<usize>(), source.len());
    }
}
