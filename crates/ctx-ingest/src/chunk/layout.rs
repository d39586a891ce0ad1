//! The structure of a text: consecutive blocks, each under a section path. What every format's scanner produces.

use std::ops::Range;

/// Separates the names of a section path.
const SEPARATOR: &str = " > ";
/// Most names listed when a passage spans several sections.
const NAMES_LISTED_MAX: usize = 3;
/// Longest name kept, in characters; a heading may be a page long.
const NAME_CHARS_MAX: usize = 120;
/// Deepest section path; deeper names replace the last.
pub(crate) const DEPTH_MAX: usize = 8;

/// A stretch of text that should stay together, trailing blank lines included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where it stands in the text.
    pub(crate) range: Range<usize>,
    /// Index into [`Sections`].
    pub(crate) section: u32,
}

/// How neighbouring blocks of different sections combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// Prose: a document that fits is one passage; tiny sections join their neighbours.
    Prose,
    #[cfg_attr(not(feature = "code"), allow(dead_code))]
    /// Code: a definition of some size stands alone, so that its symbol can be cited.
    Symbols,
}

/// Interned section paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sections {
    paths: Vec<Vec<String>>,
}

impl Sections {
    /// Index 0 is the empty path.
    pub(crate) fn new() -> Self {
        Self { paths: vec![Vec::new()] }
    }

    /// The section `name` on `level` (1-based) below the prefix of `of`.
    pub(crate) fn below(&mut self, of: u32, level: usize, name: &str) -> u32 {
        let level = level.clamp(1, DEPTH_MAX);
        let mut path = self.paths[of as usize].clone();
        path.truncate(level - 1);
        path.push(tidy(name));
        if self.paths.last() != Some(&path) {
            self.paths.push(path);
        }
        u32::try_from(self.paths.len() - 1).expect("a text holds fewer headings than bytes, and those fit")
    }

    /// Depth of a section.
    #[cfg_attr(not(feature = "code"), allow(dead_code))]
    pub(crate) fn depth(&self, section: u32) -> usize {
        self.paths[section as usize].len()
    }

    /// Whether two sections have the same parent, or one is the other's.
    pub(crate) fn are_related(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.paths[a as usize], &self.paths[b as usize]);
        let parent = |path: &'_ [String]| path.len().saturating_sub(1);
        a[..parent(a)] == b[..parent(b)] || a.starts_with(b) || b.starts_with(a)
    }

    /// What a citation shows for a passage that spans `sections` (in order, repeats allowed).
    pub(crate) fn label(&self, sections: impl Iterator<Item = u32>) -> String {
        let mut spanned: Vec<&[String]> = Vec::new();
        for section in sections {
            let path = self.paths[section as usize].as_slice();
            if !path.is_empty() && spanned.last() != Some(&path) {
                spanned.push(path);
            }
        }
        let Some(first) = spanned.first() else { return String::new() };
        let shared = spanned.iter().fold(first.len(), |n, path| n.min(common(first, path)));
        let prefix = first[..shared].join(SEPARATOR);
        // Whoever holds a section's own text and its subsections is named by the section.
        if shared > 0 && spanned.iter().any(|path| path.len() == shared) {
            return prefix;
        }
        let names = distinct_names(&spanned, shared);
        match (prefix.is_empty(), names.is_empty()) {
            (_, true) => prefix,
            (true, false) => names,
            (false, false) => format!("{prefix}{SEPARATOR}{names}"),
        }
    }
}

fn common(a: &[String], b: &[String]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn distinct_names(spanned: &[&[String]], depth: usize) -> String {
    let mut names: Vec<&str> = Vec::new();
    for path in spanned {
        let Some(name) = path.get(depth) else { continue };
        if names.last() != Some(&name.as_str()) {
            names.push(name);
        }
        if names.len() > NAMES_LISTED_MAX {
            names[NAMES_LISTED_MAX] = "…";
            break;
        }
    }
    names.join(", ")
}

/// One line, no control characters, bounded.
fn tidy(name: &str) -> String {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut kept: String = words.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    if words.chars().count() > NAME_CHARS_MAX {
        kept.push('…');
    }
    kept
}

/// Blocks of a text with their sections and what the text calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// In text order, disjoint; together they hold all that is not blank.
    pub(crate) blocks: Vec<Block>,
    /// Their sections.
    pub(crate) sections: Sections,
    /// Front matter title or first heading.
    pub(crate) title: Option<String>,
    /// How neighbours combine.
    pub(crate) join: Join,
}

impl Layout {
    /// No block yet.
    pub(crate) fn new(join: Join) -> Self {
        Self { blocks: Vec::new(), sections: Sections::new(), title: None, join }
    }

    /// Appends a block unless it is empty.
    pub(crate) fn push(&mut self, range: Range<usize>, section: u32) {
        if !range.is_empty() {
            self.blocks.push(Block { range, section });
        }
    }

    /// Takes the first heading as the title if nothing better was found.
    pub(crate) fn title_if_none(&mut self, title: &str) {
        let title = tidy(title);
        if self.title.is_none() && !title.is_empty() {
            self.title = Some(title);
        }
    }
}

/// Lines of `text` as ranges, line ends included.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        (start < text.len()).then(|| {
            at = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |n| start + n + 1);
            start..at
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_what_a_passage_spans() {
        let mut sections = Sections::new();
        let setup = sections.below(0, 1, "Setup");
        let linux = sections.below(setup, 2, "Linux\t x64");
        let mac = sections.below(linux, 2, "Mac");
        let other = sections.below(mac, 1, "Other");
        assert_eq!(sections.label([linux].into_iter()), "Setup > Linux x64");
        assert_eq!(sections.label([linux, mac].into_iter()), "Setup > Linux x64, Mac");
        assert_eq!(sections.label([0, setup, linux, mac].into_iter()), "Setup");
        assert_eq!(sections.label([mac, other].into_iter()), "Setup, Other");
        assert_eq!(sections.label([0].into_iter()), "");
        assert!(sections.are_related(linux, mac) && !sections.are_related(linux, other));
        assert_eq!((sections.depth(0), sections.depth(mac)), (0, 2));
    }
}
