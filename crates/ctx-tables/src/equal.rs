//! When two answers are the same: for figures, where answers come as people wrote them. Nothing at run time compares so.

use std::collections::BTreeSet;

/// Equal sets after normalisation; numbers by value.
pub fn is_right(values: &[String], gold: &[String]) -> bool {
    let set = |texts: &[String]| texts.iter().map(|text| normal(text)).collect::<BTreeSet<_>>();
    !values.is_empty() && set(values) == set(gold)
}

/// The evaluator's normal form: citations, remarks in brackets and outer quotes at the end are no part of a value, numbers
/// and dates compare by value, the rest by lower-case words without diacritics.
pub fn normal(text: &str) -> String {
    let mut rest = text.trim().to_owned();
    loop {
        let before = rest.clone();
        rest = rest.trim_end_matches(['•', '♦', '†', '‡', '*', '#', '+', '.']).trim().to_owned();
        for (open, close) in [('[', ']'), ('(', ')')] {
            if let Some(at) = rest.strip_suffix(close).and_then(|inner| inner.rfind(open)).filter(|at| *at > 0) {
                rest.truncate(at);
                rest = rest.trim().to_owned();
            }
        }
        if let Some(inner) = rest.strip_prefix('"').and_then(|r| r.strip_suffix('"')).filter(|inner| !inner.contains('"')) {
            rest = inner.to_owned();
        }
        if rest == before {
            break;
        }
    }
    let bare: String = rest.chars().filter(|c| *c != ',').collect();
    if let Ok(number) = bare.parse::<f64>() {
        return crate::interpret::number((number * 1e6).round() / 1e6);
    }
    match crate::reading::read(&rest) {
        Some(read) if read.form == crate::reading::Form::Date => format!("date {}", read.digits),
        _ => crate::words::words(&rest).into_iter().map(|word| word.text).collect::<Vec<_>>().join(" "),
    }
}
