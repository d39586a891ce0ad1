//! The language of a goal: by script, then by function words and diacritics. `und` when unsure.
//!
//! Goals are short: this decides stemming and display, never what is permitted.

use crate::filter::Filter;
use crate::words::Word;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Function words: those that say which language it is, and carry none of the content.
const FUNCTION_WORDS: [(&str, &str); 5] = [
    (
        "en",
        "the a an of to in is are was were be been do does did has have had for on at by with from as that this these those it its and or \
         what which who whom whose where when why how can could should would will may not no if than then there their they them he she his \
         her we our you your i my me us about into over under after before between all any some each both more most such only own so too \
         very just also please tell show give but while during until against",
    ),
    (
        "de",
        "der die das den dem des ein eine einen einem einer eines und oder ist sind war waren wird werden wurde wurden nicht kein keine mit \
         von zu zum zur im in am auf für aus bei nach über unter vor wie was wer wo wann warum welche welcher welches kann können soll \
         sollen muss ich du er sie es wir ihr mein meine dein unser bitte alle auch nur noch mir mich uns hat haben zwischen wenn dass",
    ),
    (
        "fr",
        "le la les un une des du de et ou est sont était être a ont pas ne plus avec sans pour par dans sur sous au aux ce cette ces qui que \
         quoi quel quelle quels quelles où quand pourquoi comment je tu il elle nous vous ils mon ma mes notre votre leur entre tous toutes \
         si mais donc d'un d'une l'erreur qu'est-ce c'est n'est",
    ),
    (
        "es",
        "el la los las un una unos unas de del y o es son era fue ser está están no con sin para por en sobre entre que qué quién cuál cuáles \
         cuándo dónde cómo cuántos cuántas yo tú él ella nosotros mi mis su sus nuestro lo le se al todos todas si pero como más hay ha han",
    ),
    (
        "ru",
        "и в во на с со к по о об от до из за у для не ни что кто где когда почему как какой какая какие это эта этот эти я ты он она мы вы \
         они мой наш ваш его её их все всех при под над между без или но а же ли бы был была было были есть нет мне",
    ),
];

/// Letters that few other languages of the table use.
const DIACRITICS: [(&str, &str); 3] = [("de", "äöüß"), ("fr", "àâçèêëîïôùûœ"), ("es", "ñáíóú¿¡")];

/// ISO 639-1 code, or `und`.
pub(crate) fn detect(text: &str, words: &[Word]) -> &'static str {
    let script = Script::of(words);
    if let Some(language) = script.alone(text) {
        return language;
    }
    by_words(text, words)
}

/// Whether a word carries no content in any language of the table.
pub(crate) fn is_function_word(word: &Word) -> bool {
    FILTER.may_hold(word.key) && INDEX.contains_key(word.lower.as_str())
}

static FILTER: LazyLock<Filter> = LazyLock::new(|| Filter::of(INDEX.keys().copied()));

/// Function word → bit per language, in the order of the table.
static INDEX: LazyLock<BTreeMap<&'static str, u8>> = LazyLock::new(|| {
    let mut index = BTreeMap::new();
    for (at, (_, list)) in FUNCTION_WORDS.iter().enumerate() {
        for word in list.split_ascii_whitespace() {
            *index.entry(word).or_insert(0) |= 1 << at;
        }
    }
    index
});

#[derive(Default)]
struct Script {
    han: usize,
    kana: usize,
    hangul: usize,
    cyrillic: usize,
    latin: usize,
}

impl Script {
    fn of(words: &[Word]) -> Script {
        let mut script = Script::default();
        for character in words.iter().flat_map(|word| word.lower.chars()) {
            match character {
                '\u{3040}'..='\u{30ff}' => script.kana += 1,
                '\u{ac00}'..='\u{d7af}' => script.hangul += 1,
                '\u{3400}'..='\u{9fff}' => script.han += 1,
                '\u{400}'..='\u{4ff}' => script.cyrillic += 1,
                'a'..='z' | '\u{c0}'..='\u{24f}' => script.latin += 1,
                _ => {}
            }
        }
        script
    }

    /// An ideograph says about as much as three letters.
    fn alone(&self, text: &str) -> Option<&'static str> {
        let ideographs = (self.han + self.kana + self.hangul) * 3;
        if ideographs > self.latin.max(self.cyrillic) / 2 && ideographs > 0 {
            return Some(match (self.kana, self.hangul) {
                (0, 0) => "zh",
                (kana, hangul) if kana >= hangul => "ja",
                _ => "ko",
            });
        }
        let ukrainian = text.contains(['і', 'ї', 'є', 'ґ', 'І', 'Ї', 'Є', 'Ґ']);
        (self.cyrillic > self.latin / 3 && self.cyrillic > 0).then_some(if ukrainian { "und" } else { "ru" })
    }
}

fn by_words(text: &str, words: &[Word]) -> &'static str {
    let masks: Vec<u8> = words
        .iter()
        .take(LANGUAGE_WORDS_MAX)
        .filter(|word| FILTER.may_hold(word.key))
        .filter_map(|word| INDEX.get(word.lower.as_str()).copied())
        .collect();
    let marks: Vec<char> = text.chars().take(LANGUAGE_WORDS_MAX * 8).filter(|character| !character.is_ascii()).collect();
    let score = |at: usize, language: &str| {
        let letters = DIACRITICS.iter().find(|(name, _)| *name == language).map_or("", |(_, letters)| letters);
        2 * masks.iter().filter(|mask| **mask & (1 << at) != 0).count() + marks.iter().filter(|mark| letters.contains(**mark)).count()
    };
    let mut scores: Vec<(&str, usize)> = FUNCTION_WORDS[..4].iter().enumerate().map(|(at, (name, _))| (*name, score(at, name))).collect();
    scores.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
    if scores[0].1 >= 2 && scores[0].1 > scores[1].1 { scores[0].0 } else { "und" }
}

/// Words looked at: a language shows early.
const LANGUAGE_WORDS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    #[test]
    fn nine_answers() {
        for (text, expected) in [
            ("How does the planner decide?", "en"),
            ("Wie wird ein Plan verworfen?", "de"),
            ("Pourquoi le plan est-il rejeté ?", "fr"),
            ("¿Por qué se rechaza el plan?", "es"),
            ("Почему план отклонён?", "ru"),
            ("为什么计划不可行?", "zh"),
            ("計画はなぜ実行できないのか", "ja"),
            ("계획이 왜 불가능한가요?", "ko"),
            ("E0502", "und"),
            ("", "und"),
            ("чому план відхилено", "und"),
        ] {
            assert_eq!(detect(text, &words(text)), expected, "{text}");
        }
    }
}
