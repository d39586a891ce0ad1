//! Which script a character belongs to, as far as cutting words depends on it.
//!
//! Not a Unicode script property: scripts that are cut and stemmed alike share a class.

/// A class of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Latin letters.
    Latin,
    /// Cyrillic letters.
    Cyrillic,
    /// Greek letters.
    Greek,
    /// Arabic letters.
    Arabic,
    /// Written without spaces between words: searched as overlapping pairs of characters.
    Unspaced,
    /// Any other letter; also digits and marks, which join whatever they stand beside.
    Other,
}

/// What a character does to the word that is being cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Part of a word in this script.
    Letter(Script),
    /// Joins the word but is left out of its term: soft hyphens, joiners, vowel points.
    Silent,
    /// Between words.
    Separator,
}

/// The role of one character.
pub(crate) fn role(character: char) -> Role {
    if character.is_ascii() {
        return match character {
            'a'..='z' | 'A'..='Z' => Role::Letter(Script::Latin),
            '0'..='9' => Role::Letter(Script::Other),
            _ => Role::Separator,
        };
    }
    match character as u32 {
        // Soft hyphen, joiners, variation selectors; Hebrew and Arabic points, which readers write or leave out at will.
        0xAD | 0x200C | 0x200D | 0x2060 | 0xFEFF | 0xFE00..=0xFE0F | 0xE_0100..=0xE_01EF => Role::Silent,
        0x591..=0x5BD | 0x5BF | 0x5C1 | 0x5C2 | 0x5C4 | 0x5C5 | 0x610..=0x61A | 0x640 | 0x64B..=0x65F | 0x670 => Role::Silent,
        // Enclosing keycaps and the like decorate, they do not spell.
        0x20D0..=0x20FF => Role::Silent,
        _ if character.is_alphanumeric() => Role::Letter(script_of(character)),
        _ if unicode_normalization::char::is_combining_mark(character) => Role::Letter(Script::Other),
        _ => Role::Separator,
    }
}

fn script_of(character: char) -> Script {
    match character as u32 {
        0xAA..=0x24F | 0x1E00..=0x1EFF | 0x2C60..=0x2C7F | 0xA720..=0xA7FF => Script::Latin,
        0x370..=0x3FF | 0x1F00..=0x1FFF => Script::Greek,
        0x400..=0x52F | 0x1C80..=0x1C8F | 0x2DE0..=0x2DFF | 0xA640..=0xA69F => Script::Cyrillic,
        0x620..=0x6FF | 0x750..=0x77F | 0x8A0..=0x8FF => Script::Arabic,
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1780..=0x17FF => Script::Unspaced, // Thai, Lao, Burmese, Khmer
        0x1100..=0x11FF | 0x3130..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF => Script::Unspaced, // Hangul
        0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3040..=0x312F | 0x31A0..=0x31FF => Script::Unspaced, // Kana
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF => Script::Unspaced, // Han
        _ => Script::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_of_characters_that_are_easily_mistaken() {
        assert_eq!(role('é'), Role::Letter(Script::Latin));
        assert_eq!(role('ё'), Role::Letter(Script::Cyrillic));
        assert_eq!(role('ー'), Role::Letter(Script::Unspaced));
        assert_eq!(role('・'), Role::Separator);
        assert_eq!(role('🚀'), Role::Separator);
        assert_eq!(role('\u{FE0F}'), Role::Silent);
        assert_eq!(role('_'), Role::Separator);
        assert_eq!(role('״'), Role::Separator);
        assert_eq!(role('่'), Role::Letter(Script::Other));
    }
}
