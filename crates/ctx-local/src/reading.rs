//! A question held against a context: every sentence that could be quoted, with the features that decide whether it answers.
//!
//! Not a model: weights are in `coefficients/local.json`, and the program that fits them (`fit_local` of the benchmarks)
//! reads sentences by this very code.

use crate::directions::{self, Directions, similarity};
use crate::question::{Wanted, holds, wanted};
use crate::sentences::{Span, is_code, sentences_of};
use crate::words::{Idf, Stems, negates, numbers, raw_words};
use ctx_contracts::ContextPassage;

/// A sentence with fewer content words says nothing by itself.
const WORDS_MIN: usize = 3;
/// A comment in code names what stands below it; with fewer content words it says nothing without that.
const COMMENT_WORDS_MIN: usize = 5;
/// Prose has below a twentieth of such signs, code a fifth.
const SYMBOL_SHARE: f64 = 0.15;
/// A sentence of so many content words is as long as sentences get.
const LONG_WORDS: f64 = 40.0;

/// Features of a sentence, in the order of [`Sentence::values`]. Shares are of inverse document frequency over the context's
/// sentences.
///
/// `coverage`: share of the question's stems that it holds · `heading`: that title and section hold · `both`: that it or its
/// heading holds · `around`: that it or a neighbour holds · `passage`: that its passage holds · `leads`: its coverage as a share
/// of the context's best · `precision`: share of its own stems that the question holds · `bigrams`: share of the question's
/// pairs of stems · `rarest`: holds the question's rarest stem that occurs at all · `similarity`: cosine of embeddings ·
/// `nearest`: its similarity as a share of the context's best · `answer_type`: ½ if it holds what is asked for (a number, a
/// time, a reason …), −½ if not, 0 if nothing particular is asked for · `numbers`, `names`: share of the question's that it
/// holds, ½ if there are none · `negation`: one of both negates · `relevance`: of its passage · `standing`: that as a share of
/// the best that does not quote the question · `exact`: its passage holds an identifier of the question · `position`, `first`:
/// in its passage · `length` · `symbols`: share of signs that code is made of · `table_row`.
pub const SENTENCE: [&str; 23] = [
    "coverage",
    "heading",
    "both",
    "around",
    "passage",
    "leads",
    "precision",
    "bigrams",
    "rarest",
    "similarity",
    "nearest",
    "answer_type",
    "numbers",
    "names",
    "negation",
    "relevance",
    "standing",
    "exact",
    "position",
    "first",
    "length",
    "symbols",
    "table_row",
];

const COVERAGE: usize = 0;
const LEADS: usize = 5;
const SIMILARITY: usize = 9;
const NEAREST: usize = 10;

/// A sentence that could be quoted.
pub struct Sentence<'a> {
    /// Where it stands.
    pub passage: &'a ContextPassage,
    /// Its bytes in the passage's text.
    pub span: Span,
    /// By [`SENTENCE`].
    pub values: [f64; SENTENCE.len()],
    pub(crate) stems: Vec<String>,
    /// Whether the question's numbers stand in it or in its heading; true where it has none.
    pub(crate) numbered: bool,
    tokens: Vec<u32>,
}

impl Sentence<'_> {
    /// Its words, verbatim.
    pub fn text(&self) -> &str {
        &self.passage.passage.text[self.span.start..self.span.end]
    }
}

/// The question's side.
struct Question {
    text: String,
    /// Stem and weight, each once.
    asked: Vec<(String, f64)>,
    order: Vec<String>,
    kind: Wanted,
    numbers: Vec<String>,
    names: Vec<String>,
    negates: bool,
    /// Whether it asks, or is one identifier, rather than claims or describes what is looked for.
    asks: bool,
    vector: Option<Vec<f32>>,
}

/// A question and the sentences of its context.
pub struct Reading<'a> {
    /// Sentences that could be quoted, in the order of the context.
    pub sentences: Vec<Sentence<'a>>,
    question: Question,
    stems: Stems,
    directions: Directions,
    /// Stems of all passages and headings.
    held: Vec<String>,
}

/// A passage cut up.
struct Cut<'a> {
    passage: &'a ContextPassage,
    heading: Vec<String>,
    parts: Vec<(Span, Vec<String>, Vec<u32>)>,
}

impl<'a> Reading<'a> {
    /// Reads the context for the question.
    pub fn of(goal: &str, language: &str, context: &'a [ContextPassage]) -> Reading<'a> {
        let stems = Stems::new(language);
        let cuts: Vec<Cut<'a>> = context.iter().map(|passage| cut(passage, &stems)).collect();
        let idf = Idf::over(&cuts.iter().flat_map(|c| c.parts.iter().map(|p| p.1.clone())).collect::<Vec<_>>());
        let directions = Directions::over(cuts.iter().flat_map(|c| c.parts.iter().map(|p| &p.2)));
        let question = question(goal, &stems, &idf, &directions);
        let mut held: Vec<String> = cuts.iter().flat_map(|c| c.heading.iter().chain(c.parts.iter().flat_map(|p| &p.1))).cloned().collect();
        held.sort_unstable();
        held.dedup();
        let rarest = question
            .asked
            .iter()
            .filter(|(stem, _)| held.binary_search(stem).is_ok())
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(stem, _)| stem.clone());
        // A passage that quotes the question (a test, a list of questions) stands above all; it sets no standard for the rest.
        let others = context.iter().filter(|p| !echoes(&question.text, &p.passage.text));
        let best = others.map(|p| p.relevance.share()).fold(0.0, f64::max);
        let mut sentences: Vec<Sentence<'a>> = Vec::new();
        for cut in cuts {
            read(cut, &question, &idf, &directions, rarest.as_deref(), best, &mut sentences);
        }
        relate(&mut sentences, COVERAGE, LEADS);
        relate(&mut sentences, SIMILARITY, NEAREST);
        Reading { sentences, question, stems, directions, held }
    }

    /// Sentences that may be quoted. A question about 10 is not answered by what says nothing of 10, where something does.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &Sentence<'a>> {
        let exact = self.question.asks && self.sentences.iter().any(|s| s.numbered && s.values[COVERAGE] > 0.0);
        self.sentences.iter().filter(move |s| !exact || s.numbered)
    }

    /// Features of an answer made of these sentences, by [`ANSWER`]. `sentence` is the logit of each.
    pub fn answer(&self, quoted: &[(&Sentence<'a>, f64)]) -> [f64; ANSWER.len()] {
        let best = quoted.iter().map(|(_, logit)| *logit).fold(f64::MIN, f64::max).max(-LOGIT_MAX);
        let mut have: Vec<String> = quoted.iter().flat_map(|(s, _)| s.stems.iter().cloned()).collect();
        let tokens: Vec<u32> = quoted.iter().flat_map(|(s, _)| s.tokens.iter().copied()).collect();
        let text = quoted.iter().map(|(s, _)| s.text()).collect::<Vec<_>>().join("\n");
        let alone = share(&self.question.asked, &have);
        have.extend(quoted.iter().flat_map(|(s, _)| {
            let p = &s.passage.passage;
            self.stems.content(&format!("{} {}", p.title, p.locator.section))
        }));
        let most = |feature: &str| {
            let at = SENTENCE.iter().position(|name| *name == feature).unwrap_or(0);
            quoted.iter().map(|(s, _)| s.values[at]).fold(f64::MIN, f64::max).max(-1.0)
        };
        let said = numbers(&text);
        [
            best.clamp(-LOGIT_MAX, LOGIT_MAX),
            alone,
            share(&self.question.asked, &have),
            similarity(self.question.vector.as_ref(), self.directions.of(&tokens).as_ref()),
            most("answer_type"),
            self.question.numbers.iter().filter(|n| !said.contains(n)).count().min(2) as f64,
            f64::from(u8::from(self.question.negates != negates(&text))),
            1.0 - share_sorted(&self.question.asked, &self.held),
            most("relevance"),
            most("passage"),
            quoted.len() as f64 / 4.0,
        ]
    }
}

/// Features of a quoted answer, in the order of [`Reading::answer`].
///
/// `sentence`: logit of its best sentence · `coverage`, `both`: share of the question's stems in its sentences, and with their
/// headings · `similarity` · `answer_type`: of the best sentence · `numbers_missing`: the question's numbers that it does not
/// hold, at most 2 · `negation`: one of both negates · `unknown`: share of the question's stems that nothing in the context
/// holds · `relevance`, `passage`: of the best sentence · `quotes`: of four.
pub const ANSWER: [&str; 11] = [
    "sentence",
    "coverage",
    "both",
    "similarity",
    "answer_type",
    "numbers_missing",
    "negation",
    "unknown",
    "relevance",
    "passage",
    "quotes",
];

/// Logits beyond this say the same.
const LOGIT_MAX: f64 = 8.0;

fn cut<'a>(passage: &'a ContextPassage, stems: &Stems) -> Cut<'a> {
    let text = &passage.passage.text;
    let parts = sentences_of(&passage.passage.locator, text)
        .into_iter()
        .map(|span| (span, stems.content(&text[span.start..span.end]), directions::tokens(&text[span.start..span.end])))
        .collect();
    Cut { passage, heading: stems.content(&format!("{} {}", passage.passage.title, passage.passage.locator.section)), parts }
}

fn question(goal: &str, stems: &Stems, idf: &Idf, directions: &Directions) -> Question {
    let order = stems.content(goal);
    let mut once = order.clone();
    once.sort_unstable();
    once.dedup();
    Question {
        text: asked_in_words(goal),
        asked: once.into_iter().map(|stem| (stem.clone(), idf.of(&stem))).collect(),
        order,
        kind: wanted(goal),
        numbers: numbers(goal),
        names: names(goal),
        negates: negates(goal),
        asks: goal.contains('?') || goal.split_whitespace().count() == 1,
        vector: directions.of(&directions::tokens(goal)),
    }
}

/// Words written as names: a capital not at the start of the text, or one within a word.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (at, word) in text.split_whitespace().enumerate() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let mut letters = word.chars();
        let first = letters.next().is_some_and(char::is_uppercase);
        if letters.any(char::is_uppercase) || (first && at > 0) {
            out.extend(raw_words(word));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Share of the weighted stems that `have` holds; 0 when nothing is asked.
pub(crate) fn share(asked: &[(String, f64)], have: &[String]) -> f64 {
    share_by(asked, |stem| have.iter().any(|h| h == stem))
}

fn share_sorted(asked: &[(String, f64)], have: &[String]) -> f64 {
    share_by(asked, |stem| have.binary_search_by(|h| h.as_str().cmp(stem)).is_ok())
}

fn share_by(asked: &[(String, f64)], held: impl Fn(&str) -> bool) -> f64 {
    let all: f64 = asked.iter().map(|(_, weight)| weight).sum();
    let found: f64 = asked.iter().filter(|(stem, _)| held(stem)).map(|(_, weight)| weight).sum();
    if all > 0.0 { found / all } else { 0.0 }
}

/// Share of `wanted` found in `text`, ½ if nothing is wanted.
fn share_of(wanted: &[String], held: impl Fn(&String) -> bool) -> f64 {
    if wanted.is_empty() { 0.5 } else { wanted.iter().filter(|w| held(w)).count() as f64 / wanted.len() as f64 }
}

fn read<'a>(
    cut: Cut<'a>,
    question: &Question,
    idf: &Idf,
    directions: &Directions,
    rarest: Option<&str>,
    best_relevance: f64,
    out: &mut Vec<Sentence<'a>>,
) {
    let passage = cut.passage;
    let text = &passage.passage.text;
    let asked = &question.asked;
    let whole: Vec<String> = cut.heading.iter().chain(cut.parts.iter().flat_map(|p| &p.1)).cloned().collect();
    let (heading, of_passage) = (share(asked, &cut.heading), share(asked, &whole));
    let relevance = passage.relevance.share();
    let least = if is_code(&passage.passage.locator) { COMMENT_WORDS_MIN } else { WORDS_MIN };
    let title = format!("{} {}", passage.passage.title, passage.passage.locator.section);
    let headed = numbers(&title);
    let standing = if best_relevance > 0.0 { (relevance / best_relevance).min(1.0) } else { 0.0 };
    for (at, (span, stems, tokens)) in cut.parts.iter().enumerate() {
        let sentence = &text[span.start..span.end];
        if span.heading || stems.len() < least || echoes(&question.text, sentence) {
            continue;
        }
        let beside = |held: &str| {
            let near = cut.parts[at.saturating_sub(1)..(at + 2).min(cut.parts.len())].iter();
            near.flat_map(|p| &p.1).any(|stem| stem == held)
        };
        let columns = header(&cut.parts, at, text);
        let both = share_by(asked, |stem| stems.iter().chain(&cut.heading).chain(columns).any(|h| h == stem));
        let (said, words) = (numbers(sentence), raw_words(sentence));
        let typed = if question.kind == Wanted::Anything { 0.0 } else { holds(question.kind, sentence) - 0.5 };
        let values = [
            share(asked, stems),
            heading,
            both,
            share_by(asked, beside),
            of_passage,
            0.0,
            precision(asked, stems, idf),
            pairs(&question.order, stems),
            f64::from(u8::from(rarest.is_some_and(|r| stems.iter().any(|s| s == r)))),
            similarity(question.vector.as_ref(), directions.of(tokens).as_ref()),
            0.0,
            typed,
            share_of(&question.numbers, |n| said.contains(n)),
            share_of(&question.names, |n| words.contains(n)),
            f64::from(u8::from(question.negates != negates(sentence))),
            relevance,
            standing,
            f64::from(u8::from(passage.exact)),
            span.start as f64 / text.len().max(1) as f64,
            f64::from(u8::from(at == 0)),
            (stems.len() as f64 / LONG_WORDS).min(1.0),
            symbols(sentence),
            f64::from(u8::from(sentence.starts_with('|'))),
        ];
        let numbered = question.numbers.iter().all(|number| said.contains(number) || headed.contains(number));
        out.push(Sentence { passage, span: *span, values, stems: stems.clone(), numbered, tokens: tokens.clone() });
    }
}

/// Stems of the row that heads the table in which this row stands; none of what is no row.
fn header<'p>(parts: &'p [(Span, Vec<String>, Vec<u32>)], at: usize, text: &str) -> &'p [String] {
    let is_row = |part: &(Span, Vec<String>, Vec<u32>)| text[part.0.start..].starts_with('|');
    if !is_row(&parts[at]) {
        return &[];
    }
    let first = parts[..at].iter().rposition(|part| !is_row(part)).map_or(0, |before| before + 1);
    &parts[first].1
}

/// Writes feature `of` as a share of its largest value into feature `into`.
fn relate(sentences: &mut [Sentence<'_>], of: usize, into: usize) {
    let most = sentences.iter().map(|s| s.values[of]).fold(0.0, f64::max);
    if most > 0.0 {
        sentences.iter_mut().for_each(|s| s.values[into] = s.values[of] / most);
    }
}

/// Share of the sentence's own weight that the question asks for.
fn precision(asked: &[(String, f64)], stems: &[String], idf: &Idf) -> f64 {
    let mut once: Vec<&String> = stems.iter().collect();
    once.sort_unstable();
    once.dedup();
    let (mut all, mut wanted) = (0.0, 0.0);
    for stem in once {
        let weight = idf.of(stem);
        all += weight;
        wanted += if asked.iter().any(|(a, _)| a == stem) { weight } else { 0.0 };
    }
    if all > 0.0 { wanted / all } else { 0.0 }
}

/// Share of the neighbouring pairs of `wanted` that stand side by side in `have`.
pub(crate) fn pairs(wanted: &[String], have: &[String]) -> f64 {
    if wanted.len() < 2 {
        return 0.0;
    }
    let held = wanted.windows(2).filter(|w| have.windows(2).any(|h| h == *w)).count();
    held as f64 / (wanted.len() - 1) as f64
}

/// Whether a sentence holds the question itself: examples and tests quote questions, they do not answer them.
fn echoes(question: &str, sentence: &str) -> bool {
    question.contains(' ') && raw_words(sentence).join(" ").contains(question)
}

/// Words from which a goal without a question mark is taken for a sentence and not for words to look for.
const SENTENCE_WORDS_MIN: usize = 6;

/// The words of a goal that asks; nothing of one that only names what is looked for, which every answer holds.
fn asked_in_words(goal: &str) -> String {
    let words = raw_words(goal);
    if goal.contains('?') || words.len() >= SENTENCE_WORDS_MIN { words.join(" ") } else { String::new() }
}

/// How much of a sentence is made of the signs that code is made of, 0 for prose, 1 from [`SYMBOL_SHARE`] on.
fn symbols(text: &str) -> f64 {
    let signs = text.chars().filter(|c| matches!(c, '{' | '}' | '(' | ')' | ';' | '=' | '<' | '>' | '&' | '[' | ']' | '"' | '\\')).count();
    (signs as f64 / text.chars().count().max(1) as f64 / SYMBOL_SHARE).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_first_words() {
        assert_eq!(names("Did the DuckDB of Ada's friend swim?"), ["ada", "duckdb", "s"]);
        assert!(names("Why is it so?").is_empty());
    }

    #[test]
    fn shares_weigh_what_is_rare() {
        let asked = [("rare".to_owned(), 3.0), ("common".to_owned(), 1.0)];
        assert!((share(&asked, &["rare".to_owned()]) - 0.75).abs() < 1e-12);
        assert_eq!(share(&[], &["rare".to_owned()]), 0.0);
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!((pairs(&words("a b c"), &words("x a b")) - 0.5).abs() < 1e-12);
    }
}
