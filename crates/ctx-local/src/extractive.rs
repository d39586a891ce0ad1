//! The answerer without a model: sentences chosen and cited, or "insufficient evidence". It quotes; it never composes,
//! counts or compares.

use crate::coefficients::{self, sigmoid};
use crate::question::{Wanted, holds, wanted};
use crate::sentences::{Span, readable, sentences_of};
use crate::words::{Idf, Stems};
use async_trait::async_trait;
use ctx_contracts::{Answer, ContextPassage, PluginError, ReasonRequest, Reasoner};
use ctx_types::passage::Locator;
use ctx_types::{ByteRange, Citation, Ppm, Strategy};

/// Most sentences quoted.
const QUOTES_MAX: usize = 4;
/// A further sentence must reach this share of the best one's probability.
const FURTHER_SHARE: f64 = 0.6;
/// A sentence with fewer content words says nothing by itself.
const WORDS_MIN: usize = 3;
/// Prose has below a twentieth of such signs, code a fifth.
const SYMBOL_SHARE: f64 = 0.15;
/// Two sentences sharing more of their stems than this say the same.
const SAME_SHARE: f64 = 0.7;

/// Quotes sentences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

struct Scored<'a> {
    passage: &'a ContextPassage,
    span: Span,
    stems: Vec<String>,
    probability: f64,
}

#[async_trait]
impl Reasoner for Extractive {
    fn strategy(&self) -> Strategy {
        Strategy::Extractive
    }

    async fn reason(&self, request: ReasonRequest<'_>) -> Result<Answer, PluginError> {
        Ok(answer(&request.goal.text, &request.intent.language, request.context, request.evidence))
    }
}

/// The answer as a function of its inputs.
pub(crate) fn answer(goal: &str, language: &str, context: &[ContextPassage], evidence: Ppm) -> Answer {
    let shipped = coefficients::get();
    if context.is_empty() {
        return withheld("no passage was found".to_owned());
    }
    let exact = context.iter().any(|p| p.exact);
    if evidence.get() < shipped.evidence_min && !exact {
        return withheld(format!("the passages found are unlikely to hold the answer (P = {evidence})"));
    }
    let mut scored = score(goal, language, context);
    scored.sort_by(|a, b| {
        b.probability.total_cmp(&a.probability).then(a.passage.label.cmp(&b.passage.label)).then(a.span.start.cmp(&b.span.start))
    });
    let best = scored.first().map_or(0.0, |s| s.probability);
    if Ppm::from_share(best).get() < shipped.sentence_min {
        return withheld(format!(
            "no sentence of the {} passages answers the question (best P = {})",
            context.len(),
            Ppm::from_share(best)
        ));
    }
    write(choose(scored, best))
}

fn withheld(why: String) -> Answer {
    Answer { abstained: Some(why), ..Answer::default() }
}

fn score<'a>(goal: &str, language: &str, context: &'a [ContextPassage]) -> Vec<Scored<'a>> {
    let model = coefficients::get().sentence;
    let stems = Stems::new(language);
    let asked = stems.content(goal);
    let kind = wanted(goal);
    let spans: Vec<(&ContextPassage, Span, Vec<String>)> = context
        .iter()
        .flat_map(|p| sentences_of(&p.passage.locator.path, &p.passage.text).into_iter().map(move |s| (p, s)))
        .map(|(p, s)| (p, s, stems.content(&p.passage.text[s.start..s.end])))
        .collect();
    let texts: Vec<Vec<String>> = spans.iter().map(|(_, _, words)| words.clone()).collect();
    let idf = Idf::over(&texts);
    let rarest = asked
        .iter()
        .map(|w| (idf.of(w), w))
        .filter(|(_, w)| texts.iter().any(|t| t.contains(w)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, w)| w.clone());
    spans
        .into_iter()
        .filter(|(passage, span, words)| {
            !span.heading && words.len() >= WORDS_MIN && !echoes(goal, &passage.passage.text[span.start..span.end])
        })
        .map(|(passage, span, words)| {
            let text = &passage.passage.text[span.start..span.end];
            let heading = stems.content(&format!("{} {}", passage.passage.title, passage.passage.locator.section));
            let z = model.bias
                + model.coverage * idf.coverage(&asked, &words)
                + model.rarest * f64::from(u8::from(rarest.as_ref().is_some_and(|r| words.contains(r))))
                + model.answer_type * typed(kind, text)
                + model.heading * idf.coverage(&asked, &heading)
                + model.relevance * passage.relevance.share()
                + model.exact * f64::from(u8::from(passage.exact))
                + model.symbols * symbols(text)
                + if text.starts_with('|') { model.table_row } else { 0.0 }
                + model.position * (span.start as f64 / passage.passage.text.len().max(1) as f64);
            Scored { passage, span, stems: words, probability: sigmoid(z) }
        })
        .collect()
}

/// Whether a sentence holds the question itself: examples and tests quote questions, they do not answer them.
fn echoes(goal: &str, sentence: &str) -> bool {
    let plain = |text: &str| crate::words::raw_words(text).join(" ");
    let asked = plain(goal);
    asked.contains(' ') && plain(sentence).contains(&asked)
}

/// How much of a sentence is made of the signs that code is made of, 0 for prose, 1 from [`SYMBOL_SHARE`] on.
fn symbols(text: &str) -> f64 {
    let signs = text.chars().filter(|c| matches!(c, '{' | '}' | '(' | ')' | ';' | '=' | '<' | '>' | '&' | '[' | ']' | '"' | '\\')).count();
    (signs as f64 / text.chars().count().max(1) as f64 / SYMBOL_SHARE).min(1.0)
}

fn typed(kind: Wanted, text: &str) -> f64 {
    holds(kind, text)
}

/// The best sentence and further ones that add something.
fn choose(scored: Vec<Scored<'_>>, best: f64) -> Vec<Scored<'_>> {
    let mut chosen: Vec<Scored<'_>> = Vec::new();
    for candidate in scored {
        if chosen.len() == QUOTES_MAX || candidate.probability < best * FURTHER_SHARE {
            break;
        }
        if chosen.iter().all(|c| shared(&c.stems, &candidate.stems) <= SAME_SHARE) {
            chosen.push(candidate);
        }
    }
    chosen
}

/// Share of the smaller set's stems that both hold.
fn shared(a: &[String], b: &[String]) -> f64 {
    let common = a.iter().filter(|w| b.contains(w)).count();
    common as f64 / a.len().min(b.len()).max(1) as f64
}

fn write(chosen: Vec<Scored<'_>>) -> Answer {
    let mut answer = Answer::default();
    for scored in chosen {
        let quote = &scored.passage.passage.text[scored.span.start..scored.span.end];
        if !answer.text.is_empty() {
            answer.text.push('\n');
        }
        answer.text.push_str(&format!("{} [{}]", readable(quote), scored.passage.label));
        answer.citations.push(Citation {
            label: scored.passage.label,
            passage: scored.passage.passage.id.clone(),
            locator: narrowed(&scored.passage.passage.locator, &scored.passage.passage.text, scored.span),
            title: scored.passage.passage.title.clone(),
            quote: Some(quote.to_owned()),
        });
    }
    answer
}

/// The locator of a sentence: lines counted in the passage's text. Bytes are narrowed only where text and bytes on disk have
/// the same length (plain UTF-8 with LF); elsewhere the passage's range stays, which still holds the sentence.
fn narrowed(locator: &Locator, text: &str, span: Span) -> Locator {
    let breaks = |range: &str| range.bytes().filter(|b| *b == b'\n').count() as u32;
    let before = breaks(&text[..span.start]);
    let inside = breaks(&text[span.start..span.end]);
    let lines = locator.line_end - locator.line_start;
    let same_length = locator.bytes.end - locator.bytes.start == text.len() as u64;
    let bytes = if same_length {
        ByteRange { start: locator.bytes.start + span.start as u64, end: locator.bytes.start + span.end as u64 }
    } else {
        locator.bytes
    };
    let line_start = locator.line_start + before.min(lines);
    Locator { bytes, line_start, line_end: (line_start + inside).min(locator.line_end), ..locator.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::{Passage, SourceName};

    fn passage(label: u32, text: &str) -> ContextPassage {
        ContextPassage {
            label,
            passage: Passage {
                id: format!("p{label}"),
                locator: Locator {
                    source: SourceName::new("docs").expect("literal"),
                    path: format!("{label}.md"),
                    bytes: ByteRange { start: 100, end: 100 + text.len() as u64 },
                    line_start: 10,
                    line_end: 10 + text.matches('\n').count() as u32,
                    section: String::new(),
                    also_at: Vec::new(),
                },
                title: String::new(),
                text: text.to_owned(),
                fingerprint: String::new(),
                tokens: 50,
            },
            relevance: Ppm(600_000),
            exact: false,
        }
    }

    #[test]
    fn the_sentence_that_answers_is_quoted_with_its_line() {
        let context = [
            passage(1, "Ponds are wet.\nThe retention limit is 25 days for logs.\nBirds fly."),
            passage(2, "Backups are stored elsewhere and nobody reads them."),
        ];
        let answer = answer("What is the retention limit for logs?", "en", &context, Ppm(800_000));
        assert!(answer.text.starts_with("The retention limit is 25 days for logs. [1]"), "{}", answer.text);
        let locator = &answer.citations[0].locator;
        assert_eq!((locator.line_start, locator.line_end), (11, 11));
        assert_eq!(locator.bytes.start, 100 + 15);
    }

    #[test]
    fn brackets_of_the_source_cite_nothing() {
        let context = [passage(1, "The retention limit [17] for logs of sshd[19431] is 25 days.")];
        let answer = answer("What is the retention limit for logs of sshd?", "en", &context, Ppm(900_000));
        assert!(answer.text.contains("sshd[19431]"), "{answer:?}");
        let findings = |text: &str| crate::verify::citations::findings(text, &answer.citations, &context);
        assert_eq!(findings(&answer.text), Vec::<String>::new());
        assert!(!findings(&format!("{} and [9]", answer.text)).is_empty(), "a marker of the answer's own is still checked");
    }

    #[test]
    fn weak_evidence_is_said_not_papered_over() {
        let context = [passage(1, "Ponds are wet. Birds fly.")];
        assert!(answer("What is the retention limit?", "en", &context, Ppm(50_000)).abstained.is_some());
        assert!(answer("What is the retention limit?", "en", &context, Ppm(900_000)).abstained.is_some());
        assert!(answer("What is the retention limit?", "en", &[], Ppm::ONE).abstained.is_some());
    }
}
