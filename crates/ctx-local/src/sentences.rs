//! Sentences of a passage, as byte spans. Blocks first (blank lines, headings, list items, rows, fences), then sentences within a
//! block, so that a hard-wrapped line does not end one. Code stays whole.

use crate::words::is_cjk;
use ctx_types::passage::Locator;
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

/// Spans of all sentences, in order, without surrounding blanks; no span is empty. A row of a table is one, and what heads
/// its columns is a heading.
pub fn sentences(text: &str) -> Vec<Span> {
    let mut out = Vec::new();
    for (start, end, kind) in blocks(text) {
        match kind {
            Block::Code => push(text, start, end, false, &mut out),
            Block::Heading => push(text, start, end, true, &mut out),
            Block::Row => push(text, start, end, false, &mut out),
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

/// File name endings of YAML: there `---` begins a document, not a block about it.
const YAML: &[&str] = &["yaml", "yml"];
/// A block about the document longer than this is text, as it is to the reader of files.
const FRONT_MATTER_LINES_MAX: usize = 500;

fn ending(at: &Locator) -> String {
    at.path.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_ascii_lowercase())
}

/// Whether the passage is source code.
pub(crate) fn is_code(at: &Locator) -> bool {
    CODE.contains(&ending(at).as_str())
}

/// Sentences of the passage at this place: of source code the comments, of everything else the text. What a file says about
/// itself between two rules at its head (YAML or TOML) is no sentence.
pub fn sentences_of(at: &Locator, text: &str) -> Vec<Span> {
    if is_code(at) {
        return comments(text);
    }
    let ending = ending(at);
    let head = at.bytes.start == 0 && !YAML.contains(&ending.as_str());
    let from = if head { front_matter(text) } else { 0 };
    let moved = |span: Span| Span { start: span.start + from, end: span.end + from, ..span };
    sentences(&text[from..]).into_iter().map(moved).collect()
}

/// Bytes of the block between two rules that a file starts with; 0 if it starts with none. A block that the passage does not
/// hold to its end is told from a rule above prose by its first line.
fn front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next() else { return 0 };
    let (rule, sign) = match first.trim_start_matches('\u{feff}').trim_end() {
        "---" => ("---", ':'),
        "+++" => ("+++", '='),
        _ => return 0,
    };
    let mut at = first.len();
    for line in lines.take(FRONT_MATTER_LINES_MAX) {
        at += line.len();
        if line.trim_end() == rule || (rule == "---" && line.trim_end() == "...") {
            return at;
        }
    }
    let names = |line: &str| line.split_once(sign).is_some_and(|(key, _)| !key.is_empty() && !key.contains(char::is_whitespace));
    let open = text.lines().nth(1).is_some_and(|line| names(&line.replacen(" =", "=", 1)));
    if open { text.len() } else { 0 }
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
    /// One row of a table.
    Row,
}

fn blocks(text: &str) -> Vec<(usize, usize, Block)> {
    let mut out: Vec<(usize, usize, Block)> = Vec::new();
    let mut at = 0;
    let mut fenced: Option<usize> = None;
    let mut open: Option<usize> = None;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(raw) = lines.next() {
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
        if line.starts_with('|') {
            if let Some(begin) = open.take() {
                out.push((begin, start, Block::Prose));
            }
            // What heads the columns, and the rule below it, say nothing by themselves.
            let heads = is_rule(line) || lines.peek().is_some_and(|next| is_rule(next.trim()));
            match out.last_mut().filter(|last| is_rule(line) && last.1 == start && last.2 == Block::Heading) {
                Some(head) => head.1 = end,
                None => out.push((start, end, if heads { Block::Heading } else { Block::Row })),
            }
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

/// The rule between a table's head and its rows: `|---|:-:|`.
fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

fn starts_item(line: &str) -> bool {
    let bullet = ["- ", "* ", "+ ", "• "].iter().any(|b| line.starts_with(b));
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
        let Some(stop) = ends_at(&flat, at + piece.len()).filter(|stop| *stop > begin) else { continue };
        let so_far = &flat[begin..stop];
        let last = so_far.trim_end().rsplit(' ').next().unwrap_or_default().to_lowercase();
        let abbreviated = ABBREVIATIONS.contains(&last.trim_start_matches(['(', '"'])) && stop < flat.len();
        // A stop within bold words ("**Retries.** They end …") ends no sentence: what follows says it.
        let within_bold = so_far.matches("**").count() % 2 == 1 && flat[stop..].contains("**");
        if !abbreviated && !within_bold {
            push(text, start + begin, start + stop, false, out);
            begin = stop;
        }
    }
    if begin < flat.len() {
        push(text, start + begin, end, false, out);
    }
}

/// Where a sentence ends that the segmentation of Unicode (UAX #29) ends at `stop`. A stop inside a word (`/search?q=1`) ends
/// none, unless its script writes no blanks; a note on a stop (`shipped.[1] Next`) belongs to the sentence before it.
fn ends_at(flat: &str, stop: usize) -> Option<usize> {
    let (before, after) = flat.split_at(stop);
    let glued = !before.ends_with(char::is_whitespace) && after.starts_with(|c: char| !c.is_whitespace());
    let last = before.chars().rev().find(|c| c.is_alphanumeric());
    let next = after.chars().find(|c| c.is_alphanumeric());
    if !glued || [last, next].into_iter().flatten().any(is_cjk) {
        return Some(stop);
    }
    let word = &after[..after.find(char::is_whitespace).unwrap_or(after.len())];
    (before.ends_with('[') && word.ends_with(']')).then_some(stop + word.len())
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
    fn bold_words_stay_with_what_they_introduce() {
        assert_eq!(
            texts("**Retries.** They end after five. Then a run fails."),
            ["**Retries.** They end after five.", "Then a run fails."]
        );
        assert_eq!(texts("A stray ** mark. Another sentence."), ["A stray ** mark.", "Another sentence."]);
    }

    #[test]
    fn code_stays_whole_and_cjk_ends_at_its_stop() {
        assert_eq!(texts("```\nlet a. B\nx\n```\n会議。次へ。"), ["```\nlet a. B\nx\n```", "会議。", "次へ。"]);
        assert!(texts(" \n\n").is_empty());
    }

    #[test]
    fn a_stop_inside_a_word_ends_no_sentence_and_a_note_belongs_to_its_stop() {
        let text = "GET /search?q=1 answers 200. It shipped.[1] See src/a?rs or Really!now. 会議?次へ。v2へ。";
        assert_eq!(
            texts(text),
            ["GET /search?q=1 answers 200.", "It shipped.[1]", "See src/a?rs or Really!now.", "会議?", "次へ。", "v2へ。"]
        );
    }

    #[test]
    fn a_row_of_a_table_is_one_unit_and_its_head_is_none() {
        let text = "Codes:\n| exit code | meaning |\n|---|:-:|\n| 3 | infeasible. No plan fits. |\n|10|store|\nAfter it.\n";
        assert_eq!(
            texts(text),
            ["Codes:", "| exit code | meaning |\n|---|:-:|", "| 3 | infeasible. No plan fits. |", "|10|store|", "After it."]
        );
        let heads: Vec<bool> = sentences(text).iter().map(|span| span.heading).collect();
        assert_eq!(heads, [false, true, false, false, false]);
        assert!(sentences("|---|---|\n| 3 | a |")[0].heading, "a passage that begins within its head");
    }

    fn at(path: &str, start: u64, text: &str) -> Locator {
        let bytes = ctx_types::ByteRange { start, end: start + text.len() as u64 };
        Locator { bytes, path: path.to_owned(), ..crate::fixtures::passage(1, text).passage.locator }
    }

    fn of(path: &str, start: u64, text: &str) -> Vec<String> {
        sentences_of(&at(path, start, text), text).into_iter().map(|s| readable(&text[s.start..s.end])).collect()
    }

    #[test]
    fn what_a_file_says_about_itself_at_its_head_is_no_sentence() {
        let body = "# Retries\n\nRetries stop after five attempts.\n";
        for head in
            ["---\ntitle: Retries\ndescription: How often retries happen.\n---\n", "+++\ntitle = 'Retries'\n+++\n", "---\na: b\n...\n"]
        {
            let text = format!("{head}{body}");
            assert_eq!(of("a.md", 0, &text), ["# Retries", "Retries stop after five attempts."], "{head}");
            let spans = sentences_of(&at("a.md", 0, &text), &text);
            assert_eq!(&text[spans[1].start..spans[1].end], "Retries stop after five attempts.");
        }
        let cut = "---\ntitle: Retries\ndescription: A block longer than its passage.\n";
        assert!(of("a.md", 0, cut).is_empty());
        assert_eq!(of("a.md", 0, "---\n\nA rule above prose.\n"), ["---", "A rule above prose."]);
        assert_eq!(of("a.md", 90, "---\nlate: no head of a file\n---\n").len(), 1);
        assert_eq!(of("a.yaml", 0, "---\nlimit: 5 attempts\n---\n").len(), 1);
    }

    #[test]
    fn of_code_only_comments_are_prose() {
        let text = "/// Decides the plan. It is\n/// pure, e.g. the value of\n/// the sum.\nfn decide() { let a = \"x. Y\"; }\n// Done.\n";
        assert_eq!(of("a.rs", 0, text), ["Decides the plan.", "It is pure, e.g. the value of the sum.", "Done."]);
    }

    #[test]
    fn endless_prose_is_cut_at_blanks() {
        let text = "word ".repeat(1_000);
        assert!(sentences(&text).iter().all(|s| s.end - s.start <= SENTENCE_BYTES_MAX));
        let glued = "é".repeat(3_000);
        assert!(sentences(&glued).iter().all(|s| s.end - s.start <= SENTENCE_BYTES_MAX));
    }
}
