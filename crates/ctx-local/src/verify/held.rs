//! Numbers of a claim that nothing it cites holds. A model that copies a sentence and changes its number has nearly every word
//! right, so no share of words can tell; the number can.
//!
//! A number is held if a cited passage or the question has it: as digits, as a word (`three`, `May`), rounded (29.7 for 30), or in
//! another unit (5 seconds for 5,000 milliseconds). Digits that are part of a name (`E0502`, `IL-6`, `v2`) and signs of a list
//! are no numbers here.

use ctx_contracts::ContextPassage;

/// How units of one kind stand to each other: percent, thousands, millions, binary thousands, seconds, hours, days.
const SCALES: [f64; 7] = [100.0, 1e3, 1e6, 1024.0, 60.0, 3_600.0, 24.0];
const WORDS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// A number as it is written, and its value.
struct Number<'a> {
    written: &'a str,
    value: f64,
    /// Digits after the point.
    decimals: i32,
}

/// Numbers of `claim` that neither `cited` nor `question` hold, as written.
pub(super) fn unheld<'a>(claim: &'a str, question: &str, cited: &[&ContextPassage]) -> Vec<&'a str> {
    let said = numbers(claim);
    if said.is_empty() {
        return Vec::new();
    }
    let texts = cited.iter().flat_map(|p| [p.passage.title.as_str(), p.passage.text.as_str()]).chain([question]);
    let known: Vec<f64> = texts.flat_map(values).collect();
    said.into_iter().filter(|number| !known.iter().any(|value| number.is(*value))).map(|number| number.written).collect()
}

/// Numbers of a claim that neither the passages cited by these labels nor the question hold, as written.
pub fn unheld_numbers<'a>(claim: &'a str, question: &str, context: &[ContextPassage], cited: &[u32]) -> Vec<&'a str> {
    unheld(claim, question, &context.iter().filter(|p| cited.contains(&p.label)).collect::<Vec<_>>())
}

/// Whether a claim says a number at all. The sign of a list item alone (`2.`) says none.
pub(super) fn says_a_number(claim: &str) -> bool {
    let sign = claim.trim().strip_suffix(['.', ')', ':']).is_some_and(|sign| sign.len() < 3 && sign.bytes().all(|b| b.is_ascii_digit()));
    !sign && !numbers(claim).is_empty()
}

impl Number<'_> {
    fn is(&self, known: f64) -> bool {
        let close = |value: f64| (self.value - value).abs() <= value.abs() * 1e-9;
        let rounded = (self.value - known).abs() <= 0.5 * libm::pow(10.0, f64::from(-self.decimals)) && known.fract() != 0.0;
        close(known) || rounded || SCALES.iter().any(|scale| close(known * scale) || close(known / scale))
    }
}

/// Every number of a text, those in names too: the lenient side.
fn values(text: &str) -> Vec<f64> {
    let mut out: Vec<f64> = digits(text).into_iter().map(|(_, number)| number.value).collect();
    let mut tens = None;
    for word in text.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase) {
        let small = WORDS.iter().position(|w| *w == word).map(|at| at as f64);
        let ten = TENS.iter().position(|w| *w == word).map(|at| 20.0 + 10.0 * at as f64);
        let month = MONTHS.iter().position(|m| *m == word || (word.len() == 3 && m.starts_with(&word))).map(|at| 1.0 + at as f64);
        out.extend(small.or(ten).or(month));
        if let (Some(tens), Some(small)) = (tens, small) {
            out.push(tens + small);
        }
        tens = ten;
    }
    out
}

/// Numbers that stand on their own.
fn numbers(claim: &str) -> Vec<Number<'_>> {
    let of_a_name = |start: usize, end: usize| {
        let mut before = claim[..start].chars().rev();
        let (last, second) = (before.next(), before.next());
        let glued = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '#'));
        let joined = matches!(last, Some('-' | '/' | '.')) && glued(second);
        // `5ms` is a number with its unit, `4A` a part of a name: a unit is written in lower case, or stands for a size.
        let rest: String = claim[end..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let unit = rest.chars().all(|c| c.is_ascii_lowercase())
            || ["GB", "MB", "KB", "TB", "GiB", "MiB", "KiB", "MHz", "GHz", "K", "M"].contains(&rest.as_str());
        glued(last) || joined || !unit
    };
    let of_a_list = |start: usize, end: usize| {
        let rest = claim[end..].strip_prefix([')', '.', ':']);
        claim[..start].trim().is_empty() && end - start < 3 && rest.is_some_and(|rest| rest.chars().any(char::is_alphanumeric))
    };
    let all = digits(claim).into_iter();
    all.filter(|(start, n)| !of_a_name(*start, start + n.written.len()) && !of_a_list(*start, start + n.written.len()))
        .map(|(_, n)| n)
        .collect()
}

/// Runs of digits with `,` between thousands and one point, and where they begin.
fn digits(text: &str) -> Vec<(usize, Number<'_>)> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let thousands = |at: usize| bytes.get(at) == Some(&b',') && (1..=3).all(|next| digit(at + next)) && !digit(at + 4);
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !digit(at) {
            at += 1;
            continue;
        }
        let start = at;
        let mut point = None;
        loop {
            if digit(at) || (point.is_none() && thousands(at)) {
                at += 1;
            } else if point.is_none() && bytes.get(at) == Some(&b'.') && digit(at + 1) {
                point = Some(at);
                at += 1;
            } else {
                break;
            }
        }
        let written = &text[start..at];
        let plain: String = written.chars().filter(|c| *c != ',').collect();
        // Digits and one point always parse.
        let value = plain.parse().unwrap_or(f64::NAN);
        let decimals = point.map_or(0, |point| i32::try_from(at - point - 1).unwrap_or(i32::MAX));
        out.push((start, Number { written, value, decimals }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::passage;

    fn missing<'a>(claim: &'a str, text: &str) -> Vec<&'a str> {
        let held = passage(1, text);
        unheld(claim, "Which limit has deploy 1423?", &[&held])
    }

    #[test]
    fn a_changed_number_is_not_held() {
        let text = "The server listens on port 8080 since May. It keeps 1,000 rows, 29.7 % of all, for 5000 ms, in twenty-five shards.";
        for claim in ["port 9090", "1001 rows", "31 %", "for 6 seconds", "26 shards", "808 is the port", "deploy 1424", "since 2020"] {
            assert_eq!(missing(claim, text).len(), 1, "{claim}");
        }
        for claim in [
            "port 8080.",
            "1000 rows",
            "30 %",
            "29.7%",
            "5 s",
            "5s",
            "25 shards",
            "deploy 1423",
            "error E0502 of IL-6 in v2",
            "1. a step",
            "no number",
        ] {
            assert!(missing(claim, text).is_empty(), "{claim}: {:?}", missing(claim, text));
        }
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        let read = |text: &str| digits(text).into_iter().map(|(_, n)| n.value).collect::<Vec<_>>();
        assert_eq!(
            read("1,234,567.5 and 1,2 or 3.4.5, 10:30, 2024-05-01"),
            [1_234_567.5, 1.0, 2.0, 3.4, 5.0, 10.0, 30.0, 2024.0, 5.0, 1.0]
        );
        assert!(
            says_a_number("5ms") && says_a_number("a 16GB node") && !says_a_number("2.") && !says_a_number("HNF4A") && !says_a_number("")
        );
        assert!(read("１２ ٣").is_empty(), "only what every reader writes alike");
    }
}
