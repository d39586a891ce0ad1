//! The answerer without a model: sentences chosen and cited, or "insufficient evidence". It quotes; it never composes,
//! counts or compares.

use crate::coefficients;
use crate::logistic::Logistic;
use crate::reading::{Reading, SENTENCE, Sentence};
use crate::sentences::{Span, readable};
use async_trait::async_trait;
use ctx_contracts::{Answer, ContextPassage, PluginError, ReasonRequest, Reasoner};
use ctx_types::passage::Locator;
use ctx_types::{ByteRange, Citation, Ppm, Strategy};

/// Most sentences quoted.
const QUOTES_MAX: usize = 4;
/// A further sentence must reach this share of the best one's probability.
const FURTHER_SHARE: f64 = 0.6;
/// Two sentences sharing more of their stems than this say the same.
const SAME_SHARE: f64 = 0.7;

/// A sentence that answers more likely than not is quoted whatever the scores of passages say: among few passages, scores tell
/// little.
const SURE: Ppm = Ppm(500_000);

/// Quotes sentences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

/// A sentence chosen to be quoted.
#[derive(Clone, Copy)]
pub struct Quoted<'r, 'a> {
    /// The sentence.
    pub sentence: &'r Sentence<'a>,
    /// Its logit.
    pub logit: f64,
    /// P(it answers).
    pub probability: f64,
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
    let reading = Reading::of(goal, language, context);
    let chosen = choose(&reading, &shipped.sentence);
    let best = Ppm::from_share(chosen.first().map_or(0.0, |quoted| quoted.probability));
    if evidence.get() < shipped.evidence_min && !exact && best < SURE {
        return withheld(format!("the passages found are unlikely to hold the answer (P = {evidence})"));
    }
    if best.get() < shipped.sentence_min {
        return withheld(format!("no sentence of the {} passages answers the question (best P = {best})", context.len()));
    }
    write(&chosen)
}

fn withheld(why: String) -> Answer {
    Answer { abstained: Some(why), ..Answer::default() }
}

/// The best sentence and further ones that add something, best first; at most four.
pub fn choose<'r, 'a>(reading: &'r Reading<'a>, model: &Logistic) -> Vec<Quoted<'r, 'a>> {
    let scorer = model.for_features(&SENTENCE);
    let mut scored: Vec<Quoted<'r, 'a>> = reading
        .candidates()
        .map(|sentence| {
            let logit = scorer.logit(&sentence.values);
            Quoted { sentence, logit, probability: crate::logistic::sigmoid(logit) }
        })
        .collect();
    scored.sort_by(|a, b| {
        let place = |q: &Quoted<'_, '_>| (q.sentence.passage.label, q.sentence.span.start);
        b.logit.total_cmp(&a.logit).then(place(a).cmp(&place(b)))
    });
    let best = scored.first().map_or(0.0, |quoted| quoted.probability);
    let mut chosen: Vec<Quoted<'r, 'a>> = Vec::new();
    for candidate in scored {
        if chosen.len() == QUOTES_MAX || candidate.probability < best * FURTHER_SHARE {
            break;
        }
        if chosen.iter().all(|c| shared(&c.sentence.stems, &candidate.sentence.stems) <= SAME_SHARE) {
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

fn write(chosen: &[Quoted<'_, '_>]) -> Answer {
    let mut answer = Answer::default();
    for Sentence { passage, span, .. } in chosen.iter().map(|quoted| quoted.sentence) {
        let quote = &passage.passage.text[span.start..span.end];
        if !answer.text.is_empty() {
            answer.text.push('\n');
        }
        answer.text.push_str(&format!("{} [{}]", readable(quote), passage.label));
        answer.citations.push(Citation {
            locator: narrowed(&passage.passage.locator, &passage.passage.text, *span),
            quote: Some(quote.to_owned()),
            ..passage.citation()
        });
    }
    answer
}

/// The locator of a sentence: lines counted in the passage's text, or the rows that it writes as blocks of their columns. Bytes are narrowed only where text and bytes on disk have
/// the same length (plain UTF-8 with LF); elsewhere the passage's range stays, which still holds the sentence.
fn narrowed(locator: &Locator, text: &str, span: Span) -> Locator {
    const ROWS: &str = "\n\n";
    let lines = locator.line_end - locator.line_start;
    let in_lines = |range: &str| range.matches('\n').count() as u32;
    let in_rows = |range: &str| range.matches(ROWS).count() as u32;
    let is_rows = in_lines(text) != lines && in_rows(text) == lines;
    let breaks = |range: &str| if is_rows { in_rows(range) } else { in_lines(range) };
    let before = breaks(&text[..span.start]);
    let inside = breaks(&text[span.start..span.end]);
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
    use crate::fixtures::passage;

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
    fn a_sentence_that_says_it_is_quoted_although_so_few_passages_tell_little() {
        let mut context = [passage(1, "The staging cluster is restarted every night at 03:15 by the job nightly-restart.")];
        context[0].relevance = Ppm(340_000);
        for (goal, said) in [
            ("When is the staging cluster restarted?", true),
            ("Which job restarts the staging cluster?", true),
            ("Which colour has the flag of Burkina Faso?", false),
            ("When is the production database restored?", false),
            ("Who owns the staging cluster?", false),
        ] {
            let reading = Reading::of(goal, "en", &context);
            let best = choose(&reading, &coefficients::get().sentence)[0].probability;
            assert_eq!(answer(goal, "en", &context, Ppm(340_000)).abstained.is_none(), said, "{goal}: {best}");
        }
    }

    #[test]
    fn a_question_about_a_number_is_answered_by_the_row_that_holds_it() {
        let table = "Exit codes of the program.\n\n| exit code | meaning |\n|---|---|\n| 3 | infeasible, no plan meets the limits |\n| 10 | the store cannot be read |\n";
        let context = [passage(1, "The exit code of a run is its status, and what it does mean is documented."), passage(2, table)];
        let said = answer("What does exit code 10 mean?", "en", &context, Ppm(800_000));
        assert!(said.text.starts_with("| 10 | the store cannot be read | [2]"), "{said:?}");
    }

    #[test]
    fn an_identifier_alone_is_answered_by_its_row_and_cited_at_its_line() {
        let mut row = passage(1, "order: ORD-204417\nitem: saw\n\norder: ORD-204418\nitem: axe");
        (row.passage.locator.line_start, row.passage.locator.line_end, row.exact) = (2, 3, true);
        for (goal, item, line) in [("ORD-204417", "saw", 2), ("ORD-204418", "axe", 3)] {
            let said = answer(goal, "en", std::slice::from_ref(&row), Ppm(800_000));
            assert_eq!(said.text, format!("order: {goal} item: {item} [1]"));
            let locator = &said.citations[0].locator;
            assert_eq!((said.citations.len(), locator.line_start, locator.line_end), (1, line, line));
        }
    }

    #[test]
    fn the_head_of_a_table_is_no_answer() {
        let table = "| exit code | meaning |\n|---|---|\n| 3 | infeasible, no plan meets the limits |\n| 6 | a budget ran out |\n";
        let context = [passage(1, table)];
        let said = answer("Which exit code means that a budget ran out?", "en", &context, Ppm(800_000));
        assert!(said.text.starts_with("| 6 | a budget ran out | [1]"), "{said:?}");
        let locator = &said.citations[0].locator;
        assert_eq!((locator.line_start, locator.line_end), (13, 13), "the row's own line");
        let said = answer("Which exit code means what?", "en", &context, Ppm(800_000));
        assert!(!said.text.contains("---"), "{said:?}");
    }

    #[test]
    fn words_to_look_for_are_no_question_that_a_sentence_quotes() {
        for (goal, text) in [("boiler pressure", "The boiler pressure is 4 bar."), ("sku-73105", "The item SKU 73105 is a brass hinge.")] {
            let mut context = [passage(1, text)];
            context[0].exact = goal.starts_with("sku");
            let answer = answer(goal, "en", &context, Ppm(800_000));
            assert!(answer.text.starts_with(text), "{goal}: {answer:?}");
        }
        let context = [passage(1, "Our test asks: what is the boiler pressure? Nobody knows it here.")];
        assert!(answer("What is the boiler pressure?", "en", &context, Ppm(800_000)).abstained.is_some());
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
