//! Readings that take a goal at its word: every word of it is accounted for, columns are named in full, the operation is
//! named too. Where exactly one reading is plain, it is what was said, however unlike the questions that the coefficients
//! were fitted on; how often such a reading is right was counted on those questions.

use crate::candidates::{Candidate, Condition, Grounded, Mention, Origin, limit_of};
use crate::explained::{FRAMING, counts_rows, names_what_is_shown, names_where_counted, says_its_rows};
use crate::joined::{is_naming, may_be_added};
use crate::query::{Ask, Function};
use crate::question::{Form as Asks, Span};
use crate::reading::Form;
use crate::schema::ColumnId;

/// Words whose meaning no plain reading holds.
const NEVER: &[&str] = &["why", "if", "would", "percent", "percentage", "same", "other", "another", "only", "not", "both", "ever", "never"];

/// Words that ask for a sum.
pub(crate) const SUMMED: &[&str] = &["total", "sum", "combined", "overall", "altogether"];

/// Words that ask for a mean.
pub(crate) const AVERAGED: &[&str] = &["average", "mean"];

/// Words of a grouped reading.
pub(crate) const GROUPED: &[&str] = &[
    "per", "each", "every", "number", "count", "total", "sum", "average", "mean", "maximum", "highest", "largest", "max", "minimum",
    "lowest", "smallest", "min",
];

/// Words that ask for a sum where they stand beside one that does: "the total number of items".
const SUMMED_NUMBER: &[&str] = &["total", "sum", "combined", "overall", "altogether", "number"];

/// Words that ask how many different values there are.
const COUNTED: &[&str] = &["number", "count", "there", "exist", "different", "distinct", "unique"];

/// Whether nothing of the goal is left over.
pub fn is_plain(on: &Grounded<'_>, candidate: &Candidate) -> bool {
    let question = on.question;
    let Some(explained) = operation(on, candidate).filter(|_| !question.has(NEVER)) else { return false };
    let Some(covered) = covered(on, candidate) else { return false };
    let is_covered = |at: usize| covered.iter().any(|span| span.start <= at && at < span.end) || on.table_named.contains(&at);
    let framed = says_its_rows(on.table);
    let explains = |text: &str| explained.contains(&text) || framed && FRAMING.contains(&text);
    let left = question.words.iter().enumerate().any(|(at, word)| !word.stop && !is_covered(at) && !explains(&word.text));
    let free = |span: Span| !covered.iter().any(|other| other.overlaps(span));
    let named = |mention: &&Mention| is_full(on, mention) && (mention.span.start..mention.span.end).all(|at| !is_covered(at));
    !left
        && !question.comparatives.iter().any(|c| free(c.span))
        && !question.superlatives.iter().any(|s| free(s.span))
        && !question.pointers.iter().any(|(span, _)| free(*span))
        && !question.exclusions.iter().any(|e| free(*e))
        && !on.mentions.iter().any(|mention| named(&mention))
}

/// The words that name the operation, where they do.
fn operation(on: &Grounded<'_>, candidate: &Candidate) -> Option<&'static [&'static str]> {
    let question = on.question;
    let has = |words: &'static [&'static str]| question.has(words).then_some(words);
    let many = question.form == Asks::HowMany || question.has_phrase("number of") || question.has(&["count"]);
    let different = &["different", "distinct", "unique"];
    // Yes, no, or one of two.
    if names_where_counted(on, candidate) || question.form == Asks::YesNo && !matches!(candidate.query.ask, Ask::Better { .. }) {
        return None;
    }
    match &candidate.query.ask {
        Ask::Count => (many && !question.has(different)).then_some(&["number", "count", "there", "exist"]),
        Ask::CountDistinct { .. } if has(different).is_none() => counts_values(on, candidate).then_some(COUNTED),
        Ask::CountDistinct { .. } => has(different).filter(|_| many).map(|_| COUNTED),
        Ask::Aggregate { function: Function::Sum, column } if !may_be_added(on, *column) => None,
        Ask::Aggregate { function: Function::Sum, .. } => has(SUMMED).map(|_| if says_its_rows(on.table) { SUMMED_NUMBER } else { SUMMED }),
        Ask::Aggregate { function: Function::Avg, .. } => has(AVERAGED),
        Ask::Cells { column } if candidate.query.filters.iter().any(|filter| filter.column == *column) => None,
        Ask::Cells { .. } => {
            (!many && on.aggregated().is_none() && !candidate.conditions.is_empty() && asks_for_values(question.form)).then_some(&[])
        }
        Ask::Extreme { column, by, .. } if column == by && !asks_for_itself(on, candidate) => None,
        Ask::Extreme { column, by, .. } if column != by && !measures_the_superlative(on, candidate) => None,
        Ask::Extreme { .. } => candidate.superlative.filter(|_| on.aggregated().is_none()).map(|_| &[] as &[&str]),
        Ask::Group { of: Some((Function::Sum, _)), .. } => candidate.superlative.and(has(SUMMED)),
        Ask::Group { of: Some((Function::Avg, _)), .. } => candidate.superlative.and(has(AVERAGED)),
        Ask::Group { of: Some(_), .. } => None,
        Ask::Group { of: None, .. } => {
            let span = question.superlatives[candidate.superlative?].span;
            counts_rows(on, Some(span)).then_some(&["often", "common", "frequent", "times", "number"])
        }
        Ask::Better { by: None, .. } => counts_rows(on, Some(question.superlatives[candidate.superlative?].span)).then_some(&[]),
        Ask::Better { by: Some(by), .. } => candidate.superlative.filter(|_| may_be_added(on, *by)).map(|_| &[] as &[&str]),
        // A group by what was asked for needs a word for it, which is how such a candidate came about.
        Ask::GroupAll { of: None, .. } => many.then_some(GROUPED),
        Ask::GroupAll { of: Some(_), .. } => Some(GROUPED),
        _ => None,
    }
}

/// "What is the largest amount", "which amount is the largest": nothing but the column whose extreme is asked for is named up
/// to it, and nobody is asked for by it. A choice between two is none of the extreme.
fn asks_for_itself(on: &Grounded<'_>, candidate: &Candidate) -> bool {
    let question = on.question;
    let Some(measured) = candidate.measured.as_ref().map(|mention| mention.span) else { return false };
    let Some(superlative) = candidate.superlative.map(|at| question.superlatives[at].span) else { return false };
    let before = |at: usize| at < measured.start;
    let behind_its_word = measured.start == question.form_at + 1 && matches!(question.form, Asks::Which | Asks::What);
    let extreme_of_it = superlative.end == measured.start && matches!(question.form, Asks::What | Asks::Name | Asks::HowMuch | Asks::Other);
    (behind_its_word || extreme_of_it)
        && !on.table_named.iter().any(|at| before(*at))
        && !on.mentions.iter().any(|mention| before(mention.span.start))
}

/// "The order with the highest amount", "top 3 orders by amount": which of the two columns is measured.
fn measures_the_superlative(on: &Grounded<'_>, candidate: &Candidate) -> bool {
    let (Some(shown), Some(measured)) = (&candidate.shown, &candidate.measured) else { return true };
    let Some(superlative) = candidate.superlative.map(|at| on.question.superlatives[at].span) else { return true };
    // A quantity is not what is asked for by another: a number is shown where it names a row.
    if on.table.columns[shown.column].form() == Some(Form::Number) && !is_naming(on, shown.column) {
        return false;
    }
    let by = |mention: &Mention| mention.span.start > 0 && on.question.words[mention.span.start - 1].text == "by";
    if by(measured) || by(shown) {
        return by(measured);
    }
    // The first behind the superlative is what it measures; where both stand before it, the nearer one.
    let behind = |mention: &Mention| mention.span.start >= superlative.end;
    match (behind(shown), behind(measured)) {
        (false, true) => true,
        (true, false) => false,
        (true, true) => measured.span.start < shown.span.start,
        (false, false) => shown.span.start < measured.span.start,
    }
}

/// "How many customers ordered": what is counted is what the column names, each once.
fn counts_values(on: &Grounded<'_>, candidate: &Candidate) -> bool {
    let (Ask::CountDistinct { column }, Some(shown)) = (&candidate.query.ask, &candidate.shown) else { return false };
    let counts = |text: &str| ["number", "count"].contains(&text);
    let mut words = on.question.words.iter().enumerate().skip(on.question.form_at);
    let noun = words.find(|(_, word)| !word.stop && !counts(&word.text)).map(|(at, _)| at);
    let names = on.table.columns[*column].form().is_none() || is_naming(on, *column);
    // Where the rows have no word of their own, this may be theirs.
    says_its_rows(on.table) && on.question.form == Asks::HowMany && names && !on.is_tables_own(shown) && noun == Some(shown.span.start)
}

fn asks_for_values(form: Asks) -> bool {
    matches!(form, Asks::What | Asks::Which | Asks::Who | Asks::When | Asks::Where | Asks::Name)
}

/// Words beside the conditions that name their columns.
pub(crate) fn naming(on: &Grounded<'_>, candidate: &Candidate) -> Vec<Span> {
    let of = |condition: &Condition| {
        let near = |m: &&Mention| m.column == condition.filter.column && is_full(on, m) && m.span.distance(condition.span) <= 3;
        on.mentions.iter().filter(|m| near(m) && on.names_a_condition(m)).map(|mention| mention.span).collect::<Vec<_>>()
    };
    candidate.conditions.iter().flat_map(|at| of(&on.conditions[*at])).collect()
}

/// The number that says how many are asked for: "top 3".
pub(crate) fn limited(on: &Grounded<'_>, candidate: &Candidate, used: &[Span]) -> Option<Span> {
    let at = match candidate.query.ask {
        Ask::Extreme { limit: 2.., .. } | Ask::Group { limit: 2.., .. } | Ask::Place { limit: 2.., .. } => {
            candidate.superlative.map(|at| on.question.superlatives[at].span).or(candidate.pointer)?
        }
        _ => return None,
    };
    limit_of(on, at, candidate.shown.as_ref(), used).map(|number| number.span)
}

/// Words that the reading accounts for; nothing if a column is guessed or named in part only.
fn covered(on: &Grounded<'_>, candidate: &Candidate) -> Option<Vec<Span>> {
    let mut spans: Vec<Span> = candidate.conditions.iter().map(|at| on.conditions[*at].span).collect();
    for condition in candidate.conditions.iter().map(|at| &on.conditions[*at]) {
        let column = condition.filter.column;
        let near = |m: &&Mention| m.column == column && is_full(on, m) && m.span.distance(condition.span) <= 3;
        let naming = on.mentions.iter().filter(|m| near(m) && on.names_a_condition(m));
        let before = spans.len();
        spans.extend(naming.map(|mention| mention.span));
        let alone = || only_of_its_form(on, column);
        match condition.origin {
            Origin::Part => return None,
            // The name of a column that also is a value.
            Origin::Whole if on.mentions.iter().any(|m| is_full(on, m) && m.span == condition.span) => return None,
            Origin::Number | Origin::Date if spans.len() == before && !alone() => return None,
            // A bare number may stand in any column.
            Origin::Whole if spans.len() == before && on.table.columns[column].form() == Some(Form::Number) => return None,
            _ => {}
        }
    }
    let ask = &candidate.query.ask;
    // Of a column's own extreme only the column is named.
    let shown = if ask.shown() == ask.measured() { &candidate.measured } else { &candidate.shown };
    let chosen = match ask {
        // Its column is named by the two values.
        Ask::Better { column, .. } => {
            spans.extend(on.mentions.iter().filter(|m| m.column == *column && is_full(on, m)).map(|mention| mention.span));
            None
        }
        _ => ask.shown(),
    };
    if chosen.is_some() {
        spans.push(shown.as_ref().filter(|m| is_full(on, m) && (ask.shown() == ask.measured() || names_what_is_shown(on, m)))?.span);
    }
    if ask.measured().is_some_and(|measured| Some(measured) != ask.shown()) {
        spans.push(candidate.measured.as_ref().filter(|mention| is_full(on, mention))?.span);
    }
    spans.extend(candidate.measured.as_ref().map(|mention| mention.span));
    let superlative = candidate.superlative.map(|at| on.question.superlatives[at].span);
    spans.extend(superlative.into_iter().chain(candidate.pointer));
    spans.extend(limited(on, candidate, &spans));
    Some(spans)
}

/// Words of a column's name that nobody needs to say.
const JOINTS: &[&str] = &["a", "an", "and", "at", "by", "for", "from", "id", "in", "is", "name", "of", "on", "the", "to", "was"];

/// Whether every word of the column's name is said.
pub(crate) fn is_full(on: &Grounded<'_>, mention: &Mention) -> bool {
    let said = &on.question.words[mention.span.start..mention.span.end];
    let mut content = on.headers[mention.column].iter().filter(|word| !JOINTS.contains(&word.text.as_str())).peekable();
    content.peek().is_some() && content.all(|word| said.iter().any(|s| s.stem == word.stem))
}

fn only_of_its_form(on: &Grounded<'_>, column: ColumnId) -> bool {
    let form = on.table.columns[column].form();
    on.table.columns.iter().filter(|other| other.form() == form).count() == 1
}

#[cfg(test)]
mod tests {
    use crate::memory::Memory;
    use crate::rank::{Refusal, parse};

    fn orders() -> Memory {
        let header = ["order_id", "customer", "city", "ordered_on", "shipped_on", "amount"].map(str::to_owned);
        let rows = [
            ["1001", "Ayr Ltd", "Glasgow", "2023-11-28", "2023-12-02", "120.50"],
            ["1002", "Brio", "Turin", "2023-12-19", "2024-01-04", "75.00"],
            ["1003", "Esk", "Leeds", "2024-02-20", "2024-02-23", "310.00"],
            ["1004", "Dune", "Leeds", "2024-12-29", "2025-01-03", "640.10"],
            ["1005", "Esk", "Leeds", "2024-05-30", "2024-06-03", "512.40"],
        ];
        Memory::new("orders", &header, &rows.map(|row| row.map(str::to_owned).to_vec()))
    }

    fn meant(goal: &str) -> String {
        let memory = orders();
        let parsed = parse(&[memory.offered()], goal);
        match (parsed.refusal, parsed.best) {
            (None, Some(choice)) => crate::describe::describe(&memory.table, &choice.query),
            (refusal, _) => format!("refused: {}", refusal.unwrap_or(Refusal::NoMatch)),
        }
    }

    #[test]
    fn what_is_said_in_full_is_taken_at_its_word() {
        for (goal, reading) in [
            ("How many orders were shipped in 2024?", "number of rows in `orders` where `shipped_on` is in 2024"),
            ("What is the total amount?", "total of `amount` in `orders`"),
            ("sum of amount", "total of `amount` in `orders`"),
            ("What is the average amount in Leeds?", "average of `amount` in `orders` where `city` is \"Leeds\""),
            ("total amount per city", "total of `amount` by `city` in `orders`"),
            ("How many orders have an amount over 300?", "number of rows in `orders` where `amount` > 300"),
            ("What is the total amount in Leeds?", "total of `amount` in `orders` where `city` is \"Leeds\""),
            ("total amount shipped in 2024", "total of `amount` in `orders` where `shipped_on` is in 2024"),
            ("Which city has the highest total amount?", "`city` with the greatest total of `amount` in `orders`"),
            ("Which city has the lowest average amount?", "`city` with the least average of `amount` in `orders`"),
            ("top 2 customers by amount", "`customer` with the 2 greatest `amount` in `orders`"),
        ] {
            assert_eq!(meant(goal), reading, "{goal}");
        }
    }

    #[test]
    fn a_word_that_is_left_over_is_no_plain_reading() {
        for goal in [
            "How many orders were returned in 2024?",
            "What is the average price?",
            "Why is the total amount so low?",
            "What is the total?",
        ] {
            assert!(meant(goal).starts_with("refused"), "{goal}: {}", meant(goal));
        }
    }
}
