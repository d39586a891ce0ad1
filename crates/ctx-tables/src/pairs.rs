//! Two values of one column that a goal sets side by side: how far they are apart, and which of them has more. Whether an
//! "or" offers that choice or merely widens a filter is decided by where it stands.

use crate::candidates::{Candidate, Condition, Grounded, Mention, OPTIONS_MAX};
use crate::query::{Ask, End, Query, Test};
use crate::question::{Form as Asks, Superlative};
use crate::schema::ColumnId;

/// Words between which a choice stands that compares what holds them: "more", "fewer" add up, "higher" does not.
pub(crate) const MORE_OR_LESS: &[&str] = &["more", "most", "less", "least", "fewer", "fewest", "majority", "minority"];
/// Words before a value that make it a place or a time to look in, rather than one side of a choice.
const WITHIN: &[&str] = &["in", "at", "from", "for", "during", "to", "on", "of", "by", "with", "among"];

/// Adds the comparisons of every two values of one column.
pub(crate) fn add(on: &Grounded<'_>, found: &mut Vec<Candidate>) {
    let question = on.question;
    let differs = question.has(&["difference", "between", "apart", "separated"])
        || question.has_phrase("how many more")
        || question.has_phrase("how much more")
        || question.has_phrase("how many fewer")
        || question.has_phrase("how many less");
    let either = question.has(&["or", "vs", "versus"]);
    if !differs && !either {
        return;
    }
    let values: Vec<usize> =
        (0..on.conditions.len()).filter(|at| is_in(&on.conditions[*at]) && on.conditions[*at].values <= 3).take(OPTIONS_MAX).collect();
    for (&a, &b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
        let (one, two) = (&on.conditions[a], &on.conditions[b]);
        if one.filter.column != two.filter.column || one.span.end > two.span.start || one.filter == two.filter {
            continue;
        }
        let used = [one.span, two.span];
        let mut measured: Vec<(Option<ColumnId>, Option<Mention>)> =
            on.measured_columns(&used).into_iter().filter(|(c, _)| *c != one.filter.column).map(|(c, m)| (Some(c), m)).collect();
        measured.push((None, None));
        let chooses = either && offers_a_choice(on, one);
        for (column, mention) in measured {
            let candidate = |query, superlative| Candidate {
                query,
                conditions: vec![a, b],
                shown: None,
                measured: mention.clone(),
                superlative,
                pointer: None,
            };
            if differs {
                let ask = Ask::Difference { column, other: vec![two.filter.clone()] };
                found.push(candidate(Query { filters: vec![one.filter.clone()], ask }, None));
            }
            if let (true, Test::In(first), Test::In(second)) = (chooses && compares(on, column), &one.filter.test, &two.filter.test) {
                let ends: Vec<(End, Option<usize>)> = match question.superlatives.first() {
                    Some(superlative) => vec![(superlative.end, Some(0))],
                    None => vec![(End::Least, None), (End::Greatest, None)],
                };
                for (end, superlative) in ends {
                    let ask = Ask::Better { column: one.filter.column, first: first.clone(), second: second.clone(), by: column, end };
                    found.push(candidate(Query { filters: Vec::new(), ask }, superlative));
                }
            }
        }
    }
}

/// Whether a condition is a positive match of values.
fn is_in(condition: &Condition) -> bool {
    matches!(condition.filter.test, Test::In(_))
}

/// Whether the question is which of the two: "Which city has more orders, Leeds or Porto", "did Brio or Esk order more". "The
/// highest amount in Leeds or Turin" asks for an amount of both.
fn offers_a_choice(on: &Grounded<'_>, first: &Condition) -> bool {
    let question = on.question;
    let text = |at: usize| question.words.get(at).map_or("", |word| word.text.as_str());
    if question.form == Asks::YesNo {
        return true;
    }
    if first.span.start > 0 && WITHIN.contains(&text(first.span.start - 1)) {
        return false;
    }
    let asked = question.form_at + 1;
    let starts = |m: &&Mention| m.span.start == asked && m.cover > 0.99;
    let own = on.mentions.iter().filter(starts).any(|m| m.column == first.filter.column);
    let foreign = on.mentions.iter().any(|m| starts(&m)) || on.table_named.contains(&asked);
    let unique = on.table.columns[first.filter.column].is_unique(on.table.rows);
    match question.form {
        Asks::Which | Asks::Who | Asks::Where | Asks::Other => own || !foreign || on.table_named.contains(&asked) && unique,
        Asks::When => true,
        // "What is larger, A or B", "what city has more"; not "what is the largest amount".
        Asks::What => match text(asked) {
            "is" | "was" | "are" | "were" | "has" | "had" => question.superlatives.iter().any(|s| s.span.start == asked + 1),
            _ => own || !foreign,
        },
        _ => false,
    }
}

/// Whether two sides can be compared by a column: "more" adds up, and points in time have no sum.
fn compares(on: &Grounded<'_>, column: Option<ColumnId>) -> bool {
    let Some(column) = column.map(|at| &on.table.columns[at]) else { return true };
    let adds = |s: &Superlative| MORE_OR_LESS.contains(&on.question.words[s.span.start].text.as_str());
    !(column.is_time() && on.question.superlatives.first().is_some_and(adds))
}
