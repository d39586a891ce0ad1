//! The visible text of an HTML page, with a map back into the page.
//!
//! A flat scanner: no tree, so nothing nests and nothing overflows. Scripts, styles, comments and markup vanish,
//! character references are read, headings become sections.

use super::entities;
use super::layout::{Join, Layout};
use crate::offsets::OffsetMap;

/// Elements whose content is not shown.
const HIDDEN: &[&str] = &["iframe", "math", "noscript", "script", "style", "svg", "template", "textarea", "title"];
/// Elements that end a line.
const LINE: &[&str] = &["br", "dd", "dt", "figcaption", "li", "option", "tr"];
/// Elements that end a paragraph.
const PARAGRAPH: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "div",
    "dl",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tbody",
    "thead",
    "ul",
];

/// Visible text, its layout, and where it stands in the page.
pub(crate) struct Page {
    /// Visible text.
    pub(crate) text: String,
    /// Offsets of `text` in the page.
    pub(crate) map: OffsetMap,
    /// Its blocks.
    pub(crate) layout: Layout,
}

/// Reads a page.
pub(crate) fn html(page: &str) -> Page {
    let mut reader = Reader {
        page,
        at: 0,
        text: String::with_capacity(page.len() / 2),
        map: OffsetMap::empty(),
        layout: Layout::new(Join::Prose),
        section: 0,
        block: 0,
        heading: None,
        is_pre: false,
        tags: Tags::Quoted,
    };
    reader.read();
    reader.map.finish(page.len() as u64);
    Page { text: reader.text, map: reader.map, layout: reader.layout }
}

/// How much of tag syntax the rest of the page can still hold: each failed search is made once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tags {
    /// Quotes in tags pair up.
    Quoted,
    /// They do not: a tag ends at the next `>`.
    Bare,
    /// No `>` is left.
    Over,
}

struct Reader<'a> {
    page: &'a str,
    at: usize,
    text: String,
    map: OffsetMap,
    layout: Layout,
    section: u32,
    /// Start of the current block in `text`.
    block: usize,
    /// Level and start in `text` of an open heading.
    heading: Option<(usize, usize)>,
    is_pre: bool,
    tags: Tags,
}

impl Reader<'_> {
    fn read(&mut self) {
        while self.at < self.page.len() {
            let rest = &self.page[self.at..];
            let stop = memchr::memchr2(b'<', b'&', rest.as_bytes()).unwrap_or(rest.len());
            let start = self.at;
            self.at += stop;
            self.visible(start, self.at);
            match rest.as_bytes().get(stop) {
                Some(b'<') => self.markup(),
                Some(_) => self.reference(),
                None => {}
            }
        }
        self.end_block("");
    }

    /// Appends `page[start..end]`, blanks collapsed unless preformatted.
    fn visible(&mut self, start: usize, end: usize) {
        if self.is_pre {
            self.append(start, end);
            return;
        }
        let bytes = self.page.as_bytes();
        let mut at = start;
        while at < end {
            let word_end = bytes[at..end].iter().position(u8::is_ascii_whitespace).map_or(end, |n| at + n);
            self.append(at, word_end);
            let next = bytes[word_end..end].iter().position(|b| !b.is_ascii_whitespace()).map_or(end, |n| word_end + n);
            if next > word_end {
                self.space(word_end);
            }
            at = next;
        }
    }

    fn append(&mut self, start: usize, end: usize) {
        if start < end {
            self.map.push(self.text.len(), start as u64, 1);
            self.text.push_str(&self.page[start..end]);
        }
    }

    fn space(&mut self, at: usize) {
        if self.text.len() > self.block && !self.text.ends_with([' ', '\n']) {
            self.map.push(self.text.len(), at as u64, 1);
            self.text.push(' ');
        }
    }

    fn reference(&mut self) {
        match entities::read(&self.page[self.at..]) {
            Some((c, length)) if !c.is_whitespace() || self.is_pre => {
                let step = length.div_ceil(c.len_utf8()) as u64;
                self.map.push(self.text.len(), self.at as u64, step);
                self.text.push(c);
                self.at += length;
            }
            Some((_, length)) => {
                self.space(self.at);
                self.at += length;
            }
            None => {
                self.append(self.at, self.at + 1);
                self.at += 1;
            }
        }
    }

    fn markup(&mut self) {
        let rest = &self.page[self.at..];
        if rest.starts_with("<!--") {
            let end = memchr::memmem::find(rest.as_bytes(), b"-->");
            self.at += end.map_or(rest.len(), |n| n + 3);
            return;
        }
        let is_tag = rest.as_bytes().get(1).is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!' | b'?'));
        let length = if is_tag { self.tag_length() } else { None };
        match length {
            Some(length) => self.tag(length),
            None => {
                self.append(self.at, self.at + 1);
                self.at += 1;
            }
        }
    }

    /// Bytes of the tag at `at`, `>` included.
    fn tag_length(&mut self) -> Option<usize> {
        let bytes = &self.page.as_bytes()[self.at..];
        if self.tags == Tags::Quoted {
            match quoted_tag_end(bytes) {
                Some(end) => return Some(end),
                None => self.tags = Tags::Bare,
            }
        }
        let end = if self.tags == Tags::Bare { memchr::memchr(b'>', bytes) } else { None };
        if end.is_none() {
            self.tags = Tags::Over;
        }
        end.map(|n| n + 1)
    }

    fn tag(&mut self, length: usize) {
        let tag = &self.page[self.at + 1..self.at + length - 1];
        let is_end = tag.starts_with('/');
        let tag = tag.trim_start_matches('/');
        let name_length = tag.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let name = tag[..name_length.min(16)].to_ascii_lowercase();
        let is_void = tag.ends_with('/');
        self.at += length;
        if !is_end && !is_void && HIDDEN.binary_search(&name.as_str()).is_ok() {
            self.skip_hidden(&name);
        } else if name == "td" || name == "th" {
            self.space(self.at - 1);
        } else if LINE.binary_search(&name.as_str()).is_ok() {
            self.end_block("\n");
        } else if PARAGRAPH.binary_search(&name.as_str()).is_ok() {
            self.paragraph(&name, is_end);
        }
    }

    fn paragraph(&mut self, name: &str, is_end: bool) {
        if let Some((level, start)) = self.heading.take() {
            let title = self.text[start..].trim().to_owned();
            if !title.is_empty() {
                self.section = self.layout.sections.below(self.section, level, &title);
                self.layout.title_if_none(&title);
            }
        }
        // A heading's own line stays with the text below it, so only the line ends here.
        let is_heading_end = is_end && heading_level(name).is_some();
        if is_heading_end {
            self.end_line()
        } else {
            self.end_block("\n\n")
        }
        self.is_pre = name == "pre" && !is_end;
        if let (Some(level), false) = (heading_level(name), is_end) {
            self.heading = Some((level, self.text.len()));
        }
    }

    fn end_line(&mut self) {
        if self.text.len() > self.block && !self.text.ends_with('\n') {
            self.map.push(self.text.len(), self.at as u64, 0);
            self.text.push('\n');
        }
    }

    fn end_block(&mut self, separator: &str) {
        let block = &self.text[self.block..];
        if block.trim().is_empty() || (is_only_a_heading(block) && !separator.is_empty()) {
            return;
        }
        if !separator.is_empty() {
            self.map.push(self.text.len(), self.at as u64, 0);
            self.text.push_str(separator);
        }
        self.layout.push(self.block..self.text.len(), self.section);
        self.block = self.text.len();
    }

    /// Skips to the end tag of `name`; without one the rest of the page is hidden, as in browsers.
    fn skip_hidden(&mut self, name: &str) {
        let bytes = self.page.as_bytes();
        let start = self.at;
        while let Some(found) = memchr::memmem::find(&bytes[self.at..], b"</") {
            let after = self.at + found + 2;
            let candidate = bytes.get(after..after + name.len());
            if candidate.is_some_and(|c| c.eq_ignore_ascii_case(name.as_bytes())) {
                if name == "title" && self.layout.title.is_none() {
                    let title = entities::read_all(&self.page[start..self.at + found]);
                    self.layout.title_if_none(&title);
                }
                let end = memchr::memchr(b'>', &bytes[after..]).map_or(bytes.len(), |n| after + n + 1);
                self.at = end;
                return;
            }
            self.at = after;
        }
        self.at = bytes.len();
    }
}

fn is_only_a_heading(block: &str) -> bool {
    block.ends_with('\n') && block.trim_end_matches('\n').len() + 1 == block.len() && !block[..block.len() - 1].contains('\n')
}

fn heading_level(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(usize::from(digit - b'0')),
        _ => None,
    }
}

fn quoted_tag_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        let found = at + memchr::memchr3(b'>', b'"', b'\'', bytes.get(at..)?)?;
        if bytes[found] == b'>' {
            return Some(found + 1);
        }
        at = found + 1 + memchr::memchr(bytes[found], bytes.get(found + 1..)?)? + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_visible_text_remains_and_it_points_into_the_page() {
        let page = "<html><head><title>A &amp; B</title><style>p{}</style></head><body><h1>Guide</h1>\n<p>Plans   that\nfit &lt;now&gt;.\
                    <script>if (a</b) evil()</script></p><!-- no --><h2 id='x>y'>Setup</h2><ul><li>one<li>two</ul></body></html>";
        let read = html(page);
        assert_eq!(read.text.trim_end(), "Guide\nPlans that fit <now>.\n\nSetup\none\ntwo");
        assert_eq!(read.layout.title.as_deref(), Some("A & B"));
        let label = |b: &super::super::layout::Block| read.layout.sections.label(std::iter::once(b.section));
        assert_eq!(read.layout.blocks.iter().map(label).collect::<Vec<_>>(), ["Guide", "Guide > Setup", "Guide > Setup"]);
        let at = read.text.find("<now>").expect("present");
        let range = read.map.start(at) as usize..read.map.end(at + 5) as usize;
        assert_eq!(&page[range], "&lt;now&gt;");
    }

    #[test]
    fn broken_markup_is_text_and_stays_linear() {
        assert_eq!(html("a < b <c").text, "a < b <c");
        for hostile in ["<a \"", "<a '\">", "<!--", "<", "<script>", "&", "</", "<a x=\"y>z"] {
            let page = hostile.repeat(100_000);
            assert!(html(&page).text.len() <= page.len());
        }
    }

    #[test]
    fn deep_nesting_is_flat() {
        let page = format!("{}deep{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
        assert_eq!(html(&page).text.trim(), "deep");
    }

    #[test]
    fn tables_of_names_are_sorted() {
        assert!(HIDDEN.is_sorted() && LINE.is_sorted() && PARAGRAPH.is_sorted());
    }
}
