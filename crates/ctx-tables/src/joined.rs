//! Conditions that a goal joins on one column: "in 2023 or 2024" is one condition, "in 2023 and 2024" holds of no row. What
//! a reading makes of them, and what a reading may not be: one that reads "or" as "and", or counts rows where the goal
//! counts what a column counts.

use crate::candidates::{Candidate, Condition, Grounded, Origin};
use crate::features::spans;
use crate::plain::is_full;
use crate::query::{Ask, Comparison, Filter, Test};
use crate::question::{Form as Asks, Span};
use crate::reading::Form;
use crate::schema::{Column, ColumnId};

/// Joined conditions per goal.
const UNIONS_MAX: usize = 64;
/// Conditions that one joins.
const SIDES_MAX: usize = 6;
/// Words between the sides of a condition.
const GAP_MAX: usize = 5;

/// What a reading passes over although it changes the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Unaccounted {
    /// An "or" that the reading holds no choice for; its sides, where both are conditions.
    Or(Option<(Filter, Filter)>),
    /// Two conditions that no row passes both.
    And(Filter, Filter),
    /// Rows are counted, the goal asks how many of what a column counts.
    Quantity(ColumnId),
}

/// What kind of words made a condition: only equals are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Values,
    Compared,
    Dated,
}

fn kind(on: &Grounded<'_>, condition: &Condition) -> Kind {
    match condition.origin {
        Origin::Whole | Origin::Part => Kind::Values,
        Origin::Number | Origin::Date if on.question.comparatives.iter().any(|c| c.span.overlaps(condition.span)) => Kind::Compared,
        Origin::Number | Origin::Date => Kind::Dated,
    }
}

/// "not from Leeds or Turin": what excludes the first value excludes the second.
pub(crate) fn spread_exclusions(on: &Grounded<'_>, conditions: &mut [Condition]) {
    conditions.sort_by_key(|condition| condition.span);
    for at in 0..conditions.len() {
        let joins = |before: &Condition| {
            before.negated
                && before.filter.column == conditions[at].filter.column
                && gap(on, before, &conditions[at], &["and", "or", "nor"])
        };
        let Test::In(texts) = &conditions[at].filter.test else { continue };
        if !conditions[..at].iter().any(joins) {
            continue;
        }
        let test = Test::NotIn(texts.clone());
        let condition = &mut conditions[at];
        condition.filter.test = test;
        condition.negated = true;
        condition.rows = condition.rows.map(|rows| on.table.rows.saturating_sub(rows));
    }
}

/// Whether only a joint, stop words and the column's own name stand between two conditions.
fn gap(on: &Grounded<'_>, one: &Condition, other: &Condition, joints: &[&str]) -> bool {
    let (start, end) = (one.span.end, other.span.start);
    if start >= end || end - start > GAP_MAX {
        return false;
    }
    let own = |at: usize| on.mentions.iter().any(|m| m.column == one.filter.column && m.span.start <= at && at < m.span.end);
    let foreign = |at: usize| {
        let named =
            |m: &&crate::candidates::Mention| m.column != one.filter.column && is_full(on, m) && m.span.start <= at && at < m.span.end;
        on.mentions.iter().any(|m| named(&m))
    };
    let words = &on.question.words;
    let joint = |at: usize| joints.contains(&words[at].text.as_str());
    // "Over 500 or more than 5 items" is about two columns.
    let elsewhere = |at: usize| foreign(at) && !own(at);
    if kind(on, other) == Kind::Compared && (elsewhere(other.span.end) || one.span.start.checked_sub(1).is_some_and(elsewhere)) {
        return false;
    }
    (start..end).filter(|at| joint(*at)).count() == 1
        && (start..end)
            .all(|at| joint(at) || own(at) || words[at].stop && !foreign(at) && !["and", "or"].contains(&words[at].text.as_str()))
}

/// Conditions joined by "or", of one column and one kind each; the longest ones only.
pub(crate) fn unions(on: &Grounded<'_>, base: &[Condition]) -> Vec<Condition> {
    if !on.question.has(&["or"]) {
        return Vec::new();
    }
    let mut found: Vec<Condition> = Vec::new();
    let mut last: Vec<Condition> = base.to_vec();
    for side in 1..SIDES_MAX {
        let mut next = Vec::new();
        for one in base {
            for other in last.iter().filter(|other| other.filter.column == one.filter.column && kind(on, one) == kind(on, other)) {
                let listed = side > 1 && one.span.end == other.span.start;
                if listed || gap(on, one, other, &["or"]) {
                    next.extend(union(on, one, other));
                }
            }
        }
        next.truncate(UNIONS_MAX);
        if next.is_empty() {
            break;
        }
        found.extend(next.iter().cloned());
        last = next;
    }
    let inside = |a: &Condition, b: &Condition| {
        a.filter.column == b.filter.column && b.span.start <= a.span.start && a.span.end <= b.span.end && a.span != b.span
    };
    let longest = |condition: &&Condition| !found.iter().any(|other| inside(condition, other));
    found.iter().filter(longest).take(UNIONS_MAX).cloned().collect()
}

fn union(on: &Grounded<'_>, one: &Condition, other: &Condition) -> Option<Condition> {
    let test = match (&one.filter.test, &other.filter.test) {
        (Test::In(a), Test::In(b)) => Test::In(merged(a, b)),
        (Test::NotIn(a), Test::NotIn(b)) => Test::NotIn(merged(a, b)),
        (Test::In(_) | Test::NotIn(_), _) | (_, Test::In(_) | Test::NotIn(_)) => return None,
        (a, b) => {
            let a = if kind(on, one) == Kind::Dated { of_same_year(on, one.span, other.span)? } else { a.clone() };
            let mut tests = vec![a];
            match b {
                Test::Any(more) => tests.extend(more.iter().cloned()),
                test => tests.push(test.clone()),
            }
            Test::Any(tests)
        }
    };
    let span = Span { start: one.span.start, end: other.span.end };
    let rows = match &test {
        Test::In(texts) => on.index.rows_of(one.filter.column, texts).map(|rows| rows.len() as u64),
        _ => None,
    };
    Some(Condition {
        span,
        filter: Filter { column: one.filter.column, test },
        origin: if one.origin == Origin::Part { Origin::Part } else { other.origin },
        rows,
        named: one.named || other.named,
        negated: one.negated,
        content: one.content + other.content,
        values: one.values + other.values,
    })
}

fn merged(a: &[String], b: &[String]) -> Vec<String> {
    let mut texts = [a, b].concat();
    texts.sort();
    texts.dedup();
    texts
}

/// "January or February 2024" are months of one year; dates that differ in what they name are no choice between equals.
fn of_same_year(on: &Grounded<'_>, one: Span, other: Span) -> Option<Test> {
    let mut first = *on.question.dates.iter().find(|date| date.span == one)?;
    let second = on.question.dates.iter().rfind(|date| date.span.overlaps(other))?;
    if (first.month > 0, first.day > 0) != (second.month > 0, second.day > 0) || first.year > 0 && second.year == 0 {
        return None;
    }
    if first.year == 0 {
        first.year = second.year;
    }
    Some(first.test())
}

/// Whether no row passes both of two tests on one column, or a person would not say both: two values of one cell.
pub(crate) fn excludes(one: &Test, other: &Test) -> bool {
    match (one, other) {
        (Test::NotIn(_), _) | (_, Test::NotIn(_)) => false,
        (Test::Any(tests), test) | (test, Test::Any(tests)) => tests.iter().all(|one| excludes(one, test)),
        (Test::In(_), _) | (_, Test::In(_)) => true,
        (Test::Month(a), Test::Month(b)) | (Test::MonthDay(a), Test::MonthDay(b)) => a != b,
        (Test::Month(month), Test::MonthDay(day)) | (Test::MonthDay(day), Test::Month(month)) => day / 100 != *month,
        (Test::Month(month), test) | (test, Test::Month(month)) => !in_some_year(test, month * 100, month * 100 + 99),
        (Test::MonthDay(day), test) | (test, Test::MonthDay(day)) => !in_some_year(test, *day, *day),
        (a, b) => ends(a).zip(ends(b)).is_some_and(|(a, b)| apart(a, b) || apart(b, a)),
    }
}

/// Least and greatest key that pass, and whether each itself does.
type Ends = ((f64, bool), (f64, bool));

fn ends(test: &Test) -> Option<Ends> {
    let open = |sign: f64| (sign * f64::INFINITY, false);
    Some(match test {
        Test::Between(least, most) => ((least.parse().ok()?, true), (most.parse().ok()?, true)),
        Test::Compare(sign, digits) => {
            let key = digits.parse().ok()?;
            match sign {
                Comparison::Equal => ((key, true), (key, true)),
                Comparison::Less => (open(-1.0), (key, false)),
                Comparison::AtMost => (open(-1.0), (key, true)),
                Comparison::Greater => ((key, false), open(1.0)),
                Comparison::AtLeast => ((key, true), open(1.0)),
            }
        }
        _ => return None,
    })
}

fn apart(below: Ends, above: Ends) -> bool {
    let (most, least) = (below.1, above.0);
    most.0 < least.0 || most.0 == least.0 && !(most.1 && least.1)
}

/// Whether a run of days of some year lies between the ends of a test, years of that test only.
fn in_some_year(test: &Test, first: u32, last: u32) -> bool {
    let Some(((least, _), (most, _))) = ends(test) else { return true };
    if !least.is_finite() || !most.is_finite() {
        return true;
    }
    let years = (least / 10_000.0) as u32..=(most / 10_000.0) as u32;
    years.into_iter().any(|year| f64::from(year * 10_000 + first) <= most && f64::from(year * 10_000 + last) >= least)
}

/// What a reading passes over.
pub fn unaccounted(on: &Grounded<'_>, candidate: &Candidate) -> Option<Unaccounted> {
    let used = spans(on, candidate);
    quantity(on, candidate).map(Unaccounted::Quantity).or_else(|| or(on, candidate, &used)).or_else(|| and(on, &used))
}

fn or(on: &Grounded<'_>, candidate: &Candidate, used: &[Span]) -> Option<Unaccounted> {
    let question = on.question;
    let inside = |span: &Span, at: usize| span.start <= at && at < span.end;
    let between = |at: usize| match (&candidate.query.ask, candidate.conditions.as_slice()) {
        (Ask::Better { .. }, [one, other]) => on.conditions[*one].span.end <= at && at < on.conditions[*other].span.start,
        _ => false,
    };
    let free = |at: usize| {
        question.words[at].text == "or"
            && !used.iter().any(|span| inside(span, at))
            && !question.comparatives.iter().any(|c| inside(&c.span, at))
            && !between(at)
    };
    let at = (0..question.words.len()).find(|at| free(*at))?;
    let strong = |c: &&Condition| (c.origin != Origin::Part, c.named, c.content);
    let before = on.conditions.iter().filter(|c| c.span.end <= at && at - c.span.end <= GAP_MAX).max_by_key(strong);
    let behind = on.conditions.iter().filter(|c| c.span.start > at && c.span.start - at <= GAP_MAX).max_by_key(strong);
    Some(Unaccounted::Or(before.zip(behind).map(|(one, other)| (one.filter.clone(), other.filter.clone()))))
}

fn and(on: &Grounded<'_>, used: &[Span]) -> Option<Unaccounted> {
    let is_used = |c: &Condition| used.iter().any(|span| span.overlaps(c.span));
    let simple = |c: &&Condition| c.origin != Origin::Part && !matches!(c.filter.test, Test::Any(_));
    let joined = |one: &Condition, other: &Condition| {
        one.filter.column == other.filter.column
            && one.span.end <= other.span.start
            && kind(on, one) == kind(on, other)
            && (kind(on, one) != Kind::Values || one.span.end == other.span.start || gap(on, one, other, &["and"]))
            && excludes(&one.filter.test, &other.filter.test)
            && !(is_used(one) && is_used(other))
    };
    let pairs = on.conditions.iter().filter(simple).flat_map(|one| on.conditions.iter().filter(simple).map(move |other| (one, other)));
    let (one, other) = pairs.into_iter().find(|(one, other)| joined(one, other))?;
    Some(Unaccounted::And(one.filter.clone(), other.filter.clone()))
}

/// Columns whose numbers name or rank a row rather than count something.
pub(crate) const NAMING: &[&str] =
    &["id", "no", "nr", "number", "code", "key", "rank", "pos", "posit", "place", "year", "season", "week", "round", "seed", "page"];

/// Whether a column numbers the rows: `Boat #`, or whole numbers that differ from row to row and lie close together.
fn numbers_rows(column: &Column, rows: u64) -> bool {
    let end = |text: &str| text.parse::<f64>().ok();
    let span = column.range.as_ref().and_then(|(least, most)| Some(end(most)? - end(least)?));
    column.name.trim_end().ends_with('#') || column.is_unique(rows) && span.is_none_or(|span| span < 2.0 * rows as f64)
}

/// Whether a column's name says that it names or ranks its rows.
pub(crate) fn is_naming(on: &Grounded<'_>, column: ColumnId) -> bool {
    on.headers[column].iter().any(|word| NAMING.contains(&word.stem.as_str()))
}

/// Whether a column's name allows that its numbers count or measure something.
pub(crate) fn may_be_added(on: &Grounded<'_>, column: ColumnId) -> bool {
    let described = &on.table.columns[column];
    let number = described.form() == Some(Form::Number) && !described.is_year();
    number && !is_naming(on, column) && !described.name.trim_end().ends_with('#')
}

/// Whether a column's numbers count or measure something.
fn is_quantity(on: &Grounded<'_>, column: ColumnId) -> bool {
    may_be_added(on, column) && !numbers_rows(&on.table.columns[column], on.table.rows)
}

/// "How many items": a column of numbers is what is counted, while the reading counts rows.
fn quantity(on: &Grounded<'_>, candidate: &Candidate) -> Option<ColumnId> {
    if !matches!(candidate.query.ask, Ask::Count | Ask::CountDistinct { .. }) || on.question.form != Asks::HowMany {
        return None;
    }
    let words = &on.question.words;
    let noun = words.iter().enumerate().skip(on.question.form_at + 2).find(|(_, word)| !word.stop).map(|(at, _)| at)?;
    if on.table_named.contains(&noun) || noun > on.question.form_at + 3 {
        return None;
    }
    let counted = |column: ColumnId| matches!(candidate.query.ask, Ask::CountDistinct { column: of } if of == column);
    let filtered = |span: Span| candidate.conditions.iter().any(|at| on.conditions[*at].span.overlaps(span));
    let named = on.mentions.iter().filter(|m| m.span.start <= noun && noun < m.span.end && is_full(on, m) && !filtered(m.span));
    named
        .map(|m| m.column)
        .find(|column| is_quantity(on, *column) && !(counted(*column) && on.question.has(&["different", "distinct", "unique"])))
}

#[cfg(test)]
mod tests {
    use crate::describe::describe;
    use crate::interpret::interpret;
    use crate::memory::Memory;
    use crate::rank::parse;

    fn orders() -> Memory {
        let header = ["order id", "customer", "city", "amount", "items", "shipped_on"].map(str::to_owned);
        let rows = [
            ["1001", "Ayr Ltd", "Glasgow", "120.50", "4", "2022-12-02"],
            ["1002", "Brio", "Turin", "75.00", "5", "2023-01-04"],
            ["1003", "Esk", "Leeds", "310.00", "2", "2023-02-23"],
            ["1004", "Brio", "Leeds", "640.10", "1", "2024-01-03"],
            ["1005", "Esk", "Leeds", "512.40", "7", "2024-06-03"],
            ["1006", "Brio", "Bath", "99.00", "2", "2025-02-11"],
        ];
        Memory::new("orders", &header, &rows.map(|row| row.map(str::to_owned).to_vec()))
    }

    /// The first value, with the reading, or the refusal.
    fn answer(goal: &str) -> (Option<String>, String) {
        let memory = orders();
        let parsed = parse(&[memory.offered()], goal);
        match (parsed.refusal, parsed.best) {
            (None, Some(choice)) => {
                let values = interpret(&memory.table, &memory.rows, &choice.query);
                (Some(values.join(", ")), describe(&memory.table, &choice.query))
            }
            (refusal, _) => (None, refusal.map_or(String::new(), |refusal| refusal.to_string())),
        }
    }

    #[test]
    fn a_choice_on_one_column_is_one_condition() {
        for (goal, value) in [
            ("How many orders were shipped in 2023 or 2024?", "4"),
            ("How many orders were shipped in 2022, 2023 or 2024?", "5"),
            ("How many orders were shipped in January or February?", "4"),
            ("How many orders were shipped in January or February 2023?", "2"),
            ("How many orders have an amount below 100 or above 500?", "4"),
            ("How many orders were shipped before 2023 or after 2024?", "2"),
            ("How many orders are from Leeds or Turin?", "4"),
            ("How many orders were shipped in 2024 or later?", "3"),
            ("What is the total amount in Leeds or Turin?", "1537.5"),
        ] {
            let (found, reading) = answer(goal);
            assert_eq!(found.as_deref(), Some(value), "{goal}: {reading}");
        }
    }

    #[test]
    fn a_choice_that_is_no_single_condition_is_refused_between_what() {
        for (goal, words) in [
            ("How many orders are from Leeds or with more than 5 items?", "\"Leeds\""),
            ("How many orders have an amount over 500 or more than 5 items?", "> 5"),
            ("How many orders were shipped in 2023 and 2024?", "write \"or\" for rows with one of them"),
            ("How many orders were shipped in January and in February?", "is in February"),
            ("How many orders have an amount over 500 and below 100?", "< 100"),
            ("How many orders are from Leeds and Turin?", "\"Turin\""),
            ("How many orders were shipped in January 2024 or February?", "or"),
        ] {
            let (found, reason) = answer(goal);
            assert!(found.is_none() && reason.contains(words), "{goal}: {found:?} {reason}");
        }
    }

    #[test]
    fn no_contradiction_of_its_own_making_is_answered() {
        let dates = ["2023", "January 2023", "before 2023", "after 2024", "2023 or later", "from 2022 to 2023"];
        for (one, joint, other) in dates
            .iter()
            .flat_map(|one| ["and", "or"].map(|joint| (one, joint)))
            .flat_map(|(one, joint)| ["2024", "June 2024", "after 2024", "before 2023"].map(|other| (one, joint, other)))
        {
            let goal = format!("How many orders were shipped in {one} {joint} in {other}?")
                .replace("in before", "before")
                .replace("in after", "after");
            let goal = goal.replace("in from", "from");
            let (found, reading) = answer(&goal);
            let empty = found.as_deref() == Some("0");
            assert!(!empty, "{goal}: {reading}");
        }
    }

    #[test]
    fn what_is_excluded_is_excluded_on_both_sides() {
        let (found, reading) = answer("How many orders are not from Leeds or Turin?");
        assert!(found.is_none_or(|value| value == "2"), "{reading}");
    }

    #[test]
    fn a_column_that_counts_is_never_counted_in_rows() {
        let (found, reason) = answer("How many items did Brio order?");
        assert!(found.is_none() && reason.contains("total of `items`") && reason.contains("number of rows"), "{found:?} {reason}");
        assert_eq!(answer("How many orders did Brio place?").0.as_deref(), Some("3"));
        assert_eq!(answer("What is the total items of Brio?").0.as_deref(), Some("8"));
    }

    #[test]
    fn a_name_in_capitals_is_no_word_without_content() {
        let header = ["name", "department"].map(str::to_owned);
        let rows = [["Ann", "Sales"], ["Bob", "IT"], ["Cyd", "IT"]].map(|row| row.map(str::to_owned).to_vec());
        let memory = Memory::new("employees", &header, &rows);
        let parsed = |goal: &str| {
            let parsed = parse(&[memory.offered()], goal);
            let values = parsed.best.map(|choice| interpret(&memory.table, &memory.rows, &choice.query));
            (values.filter(|_| parsed.refusal.is_none()), parsed.refusal.map(|refusal| refusal.to_string()))
        };
        assert_eq!(parsed("How many employees are in Sales or IT?").0, Some(vec!["3".to_owned()]));
        assert!(parsed("How many employees work in Sales and IT?").1.is_some_and(|reason| reason.contains("\"IT\"")));
    }

    #[test]
    fn extremes_that_are_said_in_full_are_answered() {
        for (goal, value) in [
            ("Which order has the highest amount?", "1004"),
            ("What is the largest amount?", "640.10"),
            ("What is the lowest amount in Leeds?", "310.00"),
            ("Top 3 orders by amount", "1003, 1004, 1005"),
            ("Which 3 orders have the highest amount?", "1003, 1004, 1005"),
            ("Which customer has the highest amount in Glasgow?", "Ayr Ltd"),
        ] {
            let (found, reading) = answer(goal);
            assert_eq!(found.as_deref(), Some(value), "{goal}: {reading}");
        }
    }

    #[test]
    fn what_is_not_computed_is_named() {
        assert!(answer("What is the median amount?").1.contains("the median, which is not computed"));
        assert!(answer("What is the median amount in Leeds?").1.contains("the median, which is not computed"));
    }

    #[test]
    fn dates_in_readings_are_dates() {
        let reading = |goal: &str| answer(goal).1;
        for (goal, words) in [
            ("How many orders were shipped from 2023 to 2024?", "`shipped_on` is from 2023 to 2024"),
            ("How many orders were shipped after June 2023?", "`shipped_on` is after 2023-06"),
            ("How many orders were shipped before 2023?", "`shipped_on` is before 2023"),
            ("How many orders were shipped after 2023-02-01?", "`shipped_on` is after 2023-02-01"),
            ("How many orders were shipped in June?", "`shipped_on` is in June"),
        ] {
            assert!(reading(goal).contains(words), "{goal}: {}", reading(goal));
        }
    }
}
