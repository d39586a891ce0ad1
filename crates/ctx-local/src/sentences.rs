//! Sentences of a passage, as byte spans. Blocks first (blank lines, headings, list items, fences), then sentences within a
//! block, so that a hard-wrapped line does not end one. Code stays whole.

use unicode_segmentation::UnicodeSegmentation;

/// Half-open byte span in the passage's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Whether it is a heading.
    pub heading: bool,
}

/// A full stop after these does not end a sentence.
const ABBREVIATIONS: &[&str] =
    &["al.", "approx.", "cf.", "dr.", "e.g.", "eq.", "etc.", "fig.", "i.e.", "mr.", "mrs.", "ms.", "no.", "nr.", "prof.", "st.", "vs."];
/// Longest sentence kept whole; a longer one is prose without stops, cut at a space.
const SENTENCE_BYTES_MAX: usize = 1_200;

/// Spans of all sentences, in order, without surrounding blanks; no span is empty.
pub fn sentences(text: &str) -> Vec<Span> {
    let mut out = Vec::new();
    for (start, end, kind) in blocks(text) {
        match kind {
            Block::Code => push(text, start, end, false, &mut out),
            Block::Heading => push(text, start, end, true, &mut out),
            Block::Prose => prose(text, start, end, &mut out),
        }
    }
    out
}

/// File name endings of source code: there only comments are prose.
const CODE: &[&str] = &[
    "rs", "py", "js", "jsx", "mjs", "ts", "tsx", "go", "java", "c", "h", "cc", "cpp", "hpp", "cs", "kt", "swift", "rb", "php", "scala",
    "sh",
];

/// Sentences of a passage of the file at `path`: of source code the comments, of everything else the text.
pub fn sentences_of(path: &str, text: &str) -> Vec<Span> {
    let code = path.rsplit_once('.').is_some_and(|(_, ending)| CODE.contains(&ending.to_ascii_lowercase().as_str()));
    if code { comments(text) } else { sentences(text) }
}

/// Runs of comment lines are prose; the code between them is not quoted.
fn comments(text: &str) -> Vec<Span> {
    let mut out = Vec::new();
    let (mut at, mut open): (usize, Option<usize>) = (0, None);
    for raw in text.split_inclusive('\n') {
        let line = raw.trim();
        let comment = ["//", "/*", "* ", "--"].iter().any(|m| line.starts_with(m))
            || (line.starts_with('#') && !line.starts_with("#[") && !line.starts_with("#!["));
        let empty = comment && line.trim_start_matches(['/', '*', '#', '!', '-', ' ']).is_empty();
        match (comment && !empty, open) {
            (true, None) => open = Some(at),
            (false, Some(begin)) => {
                prose(text, begin, at, &mut out);
                open = None;
            }
            _ => {}
        }
        at += raw.len();
    }
    if let Some(begin) = open {
        prose(text, begin, text.len(), &mut out);
    }
    out
}

/// A quotation as a person reads it: comment markers and list signs gone, one line.
pub fn readable(quote: &str) -> String {
    let lines = quote.lines().map(|l| {
        let line = l.trim();
        let markers = ["///", "//!", "//", "/**", "/*", "* ", "- ", "> "];
        markers.iter().find_map(|m| line.strip_prefix(m)).unwrap_or(line).trim().trim_start_matches("** ").trim_end_matches("*/")
    });
    lines.filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Prose,
    Heading,
    Code,
}

fn blocks(text: &str) -> Vec<(usize, usize, Block)> {
    let mut out: Vec<(usize, usize, Block)> = Vec::new();
    let mut at = 0;
    let mut fenced: Option<usize> = None;
    let mut open: Option<usize> = None;
    for raw in text.split_inclusive('\n') {
        let (start, end) = (at, at + raw.len());
        at = end;
        let line = raw.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            if let Some(begin) = open.take() {
                out.push((begin, start, Block::Prose));
            }
            match fenced.take() {
                Some(begin) => out.push((begin, end, Block::Code)),
                None => fenced = Some(start),
            }
            continue;
        }
        if fenced.is_some() {
            continue;
        }
        let heading = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
        let item = starts_item(line);
        if (line.is_empty() || heading || item)
            && let Some(begin) = open.take()
        {
            out.push((begin, start, Block::Prose));
        }
        if heading {
            out.push((start, end, Block::Heading));
        } else if !line.is_empty() && open.is_none() {
            open = Some(start);
        }
    }
    if let Some(begin) = fenced {
        out.push((begin, text.len(), Block::Code));
    }
    if let Some(begin) = open {
        out.push((begin, text.len(), Block::Prose));
    }
    out
}

fn starts_item(line: &str) -> bool {
    let bullet = ["- ", "* ", "+ ", "• ", "| "].iter().any(|b| line.starts_with(b));
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    bullet
        || (digits > 0
            && digits < 4
            && matches!(line.as_bytes().get(digits), Some(b'.' | b')'))
            && line.as_bytes().get(digits + 1) == Some(&b' '))
}

fn prose(text: &str, start: usize, end: usize, out: &mut Vec<Span>) {
    let flat = flattened(&text[start..end]);
    let mut begin = 0;
    for (at, piece) in flat.split_sentence_bound_indices() {
        let stop = at + piece.len();
        let so_far = &flat[begin..stop];
        let last = so_far.trim_end().rsplit(' ').next().unwrap_or_default().to_lowercase();
        let abbreviated = ABBREVIATIONS.contains(&last.trim_start_matches(['(', '"'])) && stop < flat.len();
        if !abbreviated {
            push(text, start + begin, start + stop, false, out);
            begin = stop;
        }
    }
    if begin < flat.len() {
        push(text, start + begin, end, false, out);
    }
}

/// One line of the same length in bytes, so that offsets stay: line ends and the comment markers after them are blanks.
fn flattened(block: &str) -> String {
    let mut out = String::with_capacity(block.len());
    for line in block.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let marker = ["///", "//!", "//", "/**", "/*", "* "].iter().find(|m| line[indent..].starts_with(**m)).map_or(0, |m| m.len());
        out.extend(std::iter::repeat_n(' ', indent + marker));
        out.push_str(line[indent + marker..].strip_suffix('\n').unwrap_or(&line[indent + marker..]));
        out.extend(line.ends_with('\n').then_some(' '));
    }
    out
}

fn push(text: &str, mut start: usize, end: usize, heading: bool, out: &mut Vec<Span>) {
    while end - start > SENTENCE_BYTES_MAX {
        let mut cut = start + SENTENCE_BYTES_MAX;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let at = text[start..cut].rfind(' ').map_or(cut, |s| start + s + 1);
        trimmed(text, start, at, heading, out);
        start = at;
    }
    trimmed(text, start, end, heading, out);
}

fn trimmed(text: &str, start: usize, end: usize, heading: bool, out: &mut Vec<Span>) {
    let slice = &text[start..end];
    let left = slice.len() - slice.trim_start().len();
    let length = slice.trim().len();
    if length > 0 {
        out.push(Span { start: start + left, end: start + left + length, heading });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|s| &text[s.start..s.end]).collect()
    }

    #[test]
    fn hard_wraps_and_abbreviations_do_not_end_a_sentence() {
        let text = "# Title\n\nThe planner decides, e.g. by\ncost. It then stops.\n\n- one item. Two.\n- second\n";
        assert_eq!(texts(text), ["# Title", "The planner decides, e.g. by\ncost.", "It then stops.", "- one item.", "Two.", "- second"]);
    }

    #[test]
    fn code_stays_whole_and_cjk_ends_at_its_stop() {
        assert_eq!(texts("```\nlet a. B\nx\n```\n会議。次へ。"), ["```\nlet a. B\nx\n```", "会議。", "次へ。"]);
        assert!(texts(" \n\n").is_empty());
    }

    #[test]
    fn of_code_only_comments_are_prose() {
        let text = "/// Decides the plan. It is\n/// pure, e.g. the value of\n/// the sum.\nfn decide() { let a = \"x. Y\"; }\n// Done.\n";
        let found: Vec<String> = sentences_of("a.rs", text).into_iter().map(|s| readable(&text[s.start..s.end])).collect();
        assert_eq!(found, ["Decides the plan.", "It is pure, e.g. the value of the sum.", "Done."]);
    }

    #[test]
    fn endless_prose_is_cut_at_blanks() {
        let text = "word ".repeat(1_000);
        assert!(sentences(&text).iter().all(|s| s.end - s.start <= SENTENCE_BYTES_MAX));
        let glued = "é".repeat(3_000);
        assert!(sentences(&glued).iter().all(|s| s.end - s.start <= SENTENCE_BYTES_MAX));
    }
}
