//! Cuts text into words and into runs of scripts that are written without spaces.
//!
//! Any character that is not a letter, digit or mark separates; so does a change between a spaced and an unspaced script
//! (`用Postgres存储`) and between Latin and Cyrillic. Folding and stemming come later, in [`super::terms`].

use super::script::{Role, Script, role};

/// A stretch of text between separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a str,
    pub(crate) script: Script,
}

/// The pieces of a text, in order.
pub(crate) struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(text: &'a str) -> Pieces<'a> {
        Pieces { text, at: 0 }
    }

    /// An ASCII word that ends at an ASCII separator or at the end: most words of most texts.
    fn ascii_word(&mut self) -> Option<Piece<'a>> {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        while start < bytes.len() && bytes[start] < 0x80 && !bytes[start].is_ascii_alphanumeric() {
            start += 1;
        }
        self.at = start;
        let mut end = start;
        while end < bytes.len() && bytes[end].is_ascii_alphanumeric() {
            end += 1;
        }
        if end == start || bytes.get(end).is_some_and(|byte| *byte >= 0x80) {
            return None;
        }
        self.at = end;
        Some(Piece { text: &self.text[start..end], script: Script::Latin })
    }

    fn any_word(&mut self) -> Option<Piece<'a>> {
        let rest = &self.text[self.at..];
        let (skipped, first) = rest
            .char_indices()
            .find_map(|(offset, character)| match role(character) {
                Role::Letter(script) => Some((offset, script)),
                Role::Silent | Role::Separator => None,
            })
            .or_else(|| {
                self.at = self.text.len();
                None
            })?;
        let start = self.at + skipped;
        let mut script = first;
        let mut end = self.text.len();
        for (offset, character) in self.text[start..].char_indices() {
            match role(character) {
                Role::Silent => {}
                Role::Letter(next) if joins(script, next, character) => {
                    if script == Script::Other {
                        script = next;
                    }
                }
                Role::Letter(_) | Role::Separator => {
                    end = start + offset;
                    break;
                }
            }
        }
        self.at = end;
        Some(Piece { text: &self.text[start..end], script })
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        self.ascii_word().or_else(|| self.any_word())
    }
}

/// Whether a character of script `next` continues a word of script `script`.
fn joins(script: Script, next: Script, character: char) -> bool {
    match (script, next) {
        (Script::Unspaced, Script::Unspaced) => true,
        // A mark belongs to the letter before it; a digit does not belong to a run of unspaced script.
        (Script::Unspaced, Script::Other) => !character.is_alphanumeric() || !character.is_numeric() && !character.is_ascii(),
        (_, Script::Unspaced) | (Script::Unspaced, _) => false,
        (Script::Latin, Script::Cyrillic) | (Script::Cyrillic, Script::Latin) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        Pieces::new(text).map(|piece| piece.text).collect()
    }

    #[test]
    fn ascii_text_is_cut_at_everything_that_is_not_alphanumeric() {
        assert_eq!(cut("core.util v3.14 (key=) 50% off"), ["core", "util", "v3", "14", "key", "50", "off"]);
        assert_eq!(cut("can't snake_case"), ["can", "t", "snake", "case"]);
        assert_eq!(cut(" <<< "), [""; 0]);
    }

    #[test]
    fn scripts_without_spaces_are_parted_from_the_rest() {
        assert_eq!(cut("用Postgres存储"), ["用", "Postgres", "存储"]);
        assert_eq!(cut("2024年5月"), ["2024", "年", "5", "月"]);
        assert_eq!(cut("🚀deploy✅done"), ["deploy", "done"]);
        assert_eq!(cut("PDFы"), ["PDF", "ы"]);
    }

    #[test]
    fn words_with_marks_and_letters_of_science_stay_whole() {
        assert_eq!(cut("naïve Müller TGFβ1"), ["naïve", "Müller", "TGFβ1"]);
        assert_eq!(cut("दुकान में"), ["दुकान", "में"]);
        assert_eq!(cut("co\u{AD}operate"), ["co\u{AD}operate"]);
    }
}
