//! What a cell says as a number: numbers with units, durations, dates. A reading stands beside the text and never
//! replaces it; a column has one only if one form fits nearly all of its cells, and what did not fit is counted.

use serde::{Deserialize, Serialize};

/// The form of a reading; keys of one form can be compared with each other and with nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A decimal number, a unit after it ignored.
    Number,
    /// Hours, minutes, seconds, as seconds.
    Duration,
    /// A day, month or year: year × 10,000 + month × 100 + day; a part that is not given is 0.
    Date,
}

/// A reading: the form and its key as exact decimal digits (`-12.75`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Which form.
    pub form: Form,
    /// Decimal digits, an optional sign and point.
    pub digits: String,
    /// Whether the whole cell was plain digits.
    pub plain: bool,
}

impl Read {
    /// The key as a float, for comparing in memory.
    pub fn key(&self) -> f64 {
        self.digits.parse().unwrap_or(f64::NAN)
    }
    /// Digits behind the point.
    pub fn scale(&self) -> usize {
        self.digits.split_once('.').map_or(0, |(_, fraction)| fraction.len())
    }
}

/// Longest cell that is read.
const CELL_BYTES_MAX: usize = 120;
/// Digits that fit a 38-digit decimal with room for nine behind the point.
const DIGITS_MAX: usize = 28;

/// Reads a cell; `None` if it says nothing as a number.
pub fn read(cell: &str) -> Option<Read> {
    let text = cell.trim();
    if text.is_empty() || text.len() > CELL_BYTES_MAX {
        return None;
    }
    date(text).or_else(|| duration(text)).or_else(|| number(text))
}

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];

/// Number of a month's name, whole or as three letters or more.
pub fn month(word: &str) -> Option<u32> {
    let word = word.trim_end_matches('.');
    (word.len() >= 3)
        .then(|| MONTHS.iter().position(|m| m.starts_with(word) || (word == "sept" && *m == "september")))?
        .map(|at| at as u32 + 1)
}

/// Name of a month by its number.
pub fn month_name(month: u32) -> String {
    let name = (month as usize).checked_sub(1).and_then(|at| MONTHS.get(at)).copied().unwrap_or_default();
    name[..1.min(name.len())].to_uppercase() + name.get(1..).unwrap_or_default()
}

fn date(text: &str) -> Option<Read> {
    let lower = text.to_lowercase();
    iso(&lower).or_else(|| named(&lower)).map(|(y, m, d)| Read {
        form: Form::Date,
        digits: (y * 10_000 + m * 100 + d).to_string(),
        plain: false,
    })
}

/// `2024-01-02`, alone or before a time.
fn iso(text: &str) -> Option<(u32, u32, u32)> {
    let day = text.get(..10)?;
    let bytes = day.as_bytes();
    if bytes[4] != b'-' || bytes[7] != b'-' || text.as_bytes().get(10).is_some_and(|b| b.is_ascii_digit() || *b == b'-') {
        return None;
    }
    let part = |range: std::ops::Range<usize>| day.get(range)?.parse::<u32>().ok();
    checked(part(0..4)?, part(5..7)?, part(8..10)?)
}

fn checked(year: u32, month: u32, day: u32) -> Option<(u32, u32, u32)> {
    (month <= 12 && day <= 31 && (month > 0 || day == 0)).then_some((year, month, day))
}

/// A month's name with a day, a year or both: `June 9, 1968`, `9 June 1968`, `18-apr-68`, `Jan. 26`, `May 2009`. A second
/// date in the same cell (the end of a range) is ignored.
fn named(text: &str) -> Option<(u32, u32, u32)> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|p| !p.is_empty()).take(8);
    let (mut day, mut year, mut found) = (0, 0, None);
    let mut skipped = 0;
    for part in parts {
        if let Some(number) = day_or_year(part) {
            match number {
                n if n > 31 && year == 0 => year = if part.len() == 2 { 1900 + n } else { n },
                n if day == 0 && n > 0 && n <= 31 => day = n,
                n if year == 0 && found.is_some() && part.len() == 2 => year = if n < 50 { 2000 + n } else { 1900 + n },
                _ => break,
            }
        } else if let Some(number) = month(part) {
            if found.is_some() {
                break;
            }
            found = Some(number);
        } else if found.is_some() || is_weekday(part) {
            if found.is_some() && !is_weekday(part) {
                break;
            }
        } else {
            skipped += 1;
            if skipped > 0 {
                return None;
            }
        }
        if found.is_some() && day > 0 && year > 0 {
            break;
        }
    }
    checked(year, found?, day).filter(|(y, _, d)| *y > 0 || *d > 0)
}

fn is_weekday(word: &str) -> bool {
    word.len() >= 3
        && ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"].iter().any(|day| day.starts_with(word))
}

fn day_or_year(part: &str) -> Option<u32> {
    let digits = part.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &part[digits.len()..];
    let ordinal = matches!(suffix, "" | "st" | "nd" | "rd" | "th");
    (ordinal && digits.len() <= 4 && !digits.is_empty()).then(|| digits.parse().ok())?
}

/// `1:45:07.617`, `2:20.54`, `4:30`; text may follow after a blank.
fn duration(text: &str) -> Option<Read> {
    let word = text.trim_start_matches(['+', '±']).split(|c: char| c.is_whitespace() || c == '(' || c == '[').next()?;
    let parts: Vec<&str> = word.split(':').collect();
    if !(2..=3).contains(&parts.len()) || !parts.iter().take(parts.len() - 1).all(|p| is_digits(p) && p.len() <= 3) {
        return None;
    }
    let (seconds, fraction) = parts[parts.len() - 1].split_once('.').unwrap_or((parts[parts.len() - 1], ""));
    if !is_digits(seconds) || seconds.len() != 2 || !(fraction.is_empty() || is_digits(fraction)) || fraction.len() > 9 {
        return None;
    }
    let mut total: u64 = 0;
    for part in parts[..parts.len() - 1].iter().chain(std::iter::once(&seconds)) {
        total = total * 60 + part.parse::<u64>().ok()?;
    }
    let digits = if fraction.is_empty() { total.to_string() } else { format!("{total}.{fraction}") };
    Some(Read { form: Form::Duration, digits, plain: false })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A number at the beginning: a sign, a currency or `#` before it, a unit, a rank's ending or a remark in brackets after.
fn number(text: &str) -> Option<Read> {
    let mut rest = text.trim_start_matches(['#', '$', '€', '£', '¥', '~', '≈', '+', '±', '(', ' ', '"']);
    let negative = rest.starts_with(['-', '−', '–']);
    if negative {
        rest = rest.trim_start_matches(['-', '−', '–']).trim_start_matches(['$', '€', '£']);
    }
    let (mut digits, used) = digits(rest)?;
    let mut after = &rest[used..];
    if let Some((exponent, behind)) = exponent(after) {
        digits = shifted(&digits, exponent)?;
        after = behind;
    }
    if !is_end_of_number(after) || digits.len() > DIGITS_MAX {
        return None;
    }
    let digits = if negative { format!("-{digits}") } else { digits };
    let plain = digits == text;
    Some(Read { form: Form::Number, digits, plain })
}

/// Digits with grouping commas dropped; a comma before other than three digits is a decimal comma.
fn digits(text: &str) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    let run = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = run(0);
    let mut whole = text[..at].to_owned();
    if at == 0 && bytes.first() != Some(&b'.') {
        return None;
    }
    let mut fraction = String::new();
    while at > 0 && bytes.get(at) == Some(&b',') && run(at + 1) == 3 {
        whole.push_str(&text[at + 1..at + 4]);
        at += 4;
    }
    if matches!(bytes.get(at), Some(b'.' | b',')) {
        let length = run(at + 1);
        if length > 0 && !(bytes[at] == b',' && length == 3) {
            text[at + 1..at + 1 + length].clone_into(&mut fraction);
            at += 1 + length;
        }
    }
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let whole = if whole.is_empty() { "0".to_owned() } else { trim_zeros(&whole) };
    Some((if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }, at))
}

/// `e3`, `E+05`, `e-2` behind a number, and what follows.
fn exponent(after: &str) -> Option<(i32, &str)> {
    let rest = after.strip_prefix(['e', 'E'])?;
    let unsigned = rest.trim_start_matches(['+', '-']);
    let length = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 || length > 3 || rest.len() - unsigned.len() > 1 {
        return None;
    }
    let value: i32 = unsigned[..length].parse().ok()?;
    Some((if rest.starts_with('-') { -value } else { value }, &unsigned[length..]))
}

/// Decimal digits with the point moved; none where they become too long to be kept exactly.
fn shifted(digits: &str, places: i32) -> Option<String> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let point = i32::try_from(whole.len()).ok()? + places;
    if point.unsigned_abs() as usize > DIGITS_MAX {
        return None;
    }
    let padded = if point <= 0 { format!("{}{all}", "0".repeat(1 + point.unsigned_abs() as usize)) } else { all };
    let point = usize::try_from(point.max(1)).ok()?;
    let padded = if padded.len() < point { format!("{padded:0<point$}") } else { padded };
    let (whole, fraction) = padded.split_at(point);
    let fraction = fraction.trim_end_matches('0');
    let whole = trim_zeros(whole);
    (fraction.len() <= 9).then(|| if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") })
}

fn trim_zeros(digits: &str) -> String {
    let trimmed = digits.trim_start_matches('0');
    if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() }
}

/// What may follow a number: nothing, a unit, a remark; not a second number that makes it a score or a code.
fn is_end_of_number(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None => true,
        Some('%' | '°' | '*' | '†' | '"' | ')' | '+' | '[' | '(' | '′' | '\'' | '#' | '^' | ';') => true,
        // A digit behind it belongs to the number: grouping and decimal sign are not told apart.
        Some('.' | ',') => !chars.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) if c.is_whitespace() => {
            let rest = after.trim_start();
            !rest.starts_with(['-', '–', '—', ':']) || rest.len() > 40
        }
        Some('-' | '–' | '—' | '/') => {
            let rest = chars.as_str();
            // A span of years reads as its first year.
            rest.len() <= 4 && is_digits(rest) && (rest.len() == 2 || rest.len() == 4)
        }
        Some(c) if c.is_alphabetic() => {
            let unit: String = after.chars().take_while(|c| c.is_alphabetic()).collect();
            unit.chars().count() <= 4 && !after[unit.len()..].starts_with(|c: char| c.is_ascii_digit() && unit.len() > 3 || c == '-')
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cell: &str) -> String {
        read(cell).map_or("-".to_owned(), |r| format!("{:?} {}", r.form, r.digits))
    }

    #[test]
    fn cells_read_as_numbers_durations_and_dates() {
        let cases = [
            ("12.75", "Number 12.75"),
            ("007", "Number 7"),
            ("1,234", "Number 1234"),
            ("39,6", "Number 39.6"),
            ("3755 km2", "Number 3755"),
            ("21.5 m (71 ft)", "Number 21.5"),
            ("45.3%", "Number 45.3"),
            ("−12 (64-67-70-67=268)", "Number -12"),
            ("1st", "Number 1"),
            ("$1,234.50", "Number 1234.50"),
            ("1.234,50", "-"),
            ("1,23,456", "-"),
            ("12, 13", "Number 12"),
            ("1e3", "Number 1000"),
            ("1.5E+03", "Number 1500"),
            ("25e-2", "Number 0.25"),
            ("-2.5e0", "Number -2.5"),
            ("1e99", "-"),
            ("1e-12", "-"),
            ("12 em", "Number 12"),
            ("W, 5-0", "-"),
            ("2–0", "-"),
            ("", "-"),
            ("1:45:07.617", "Duration 6307.617"),
            ("4:30", "Duration 270"),
            ("June 9, 1968", "Date 19680609"),
            ("9 June 1968", "Date 19680609"),
            ("Saturday, 2 April 1988", "Date 19880402"),
            ("18-Apr-68", "Date 19680418"),
            ("2024-01-02", "Date 20240102"),
            ("2024-01-02 10:00", "Date 20240102"),
            ("Jan. 26", "Date 126"),
            ("May 2009", "Date 20090500"),
            ("1986–1994", "Number 1986"),
            ("ASTM D 638", "-"),
        ];
        for (cell, expected) in cases {
            assert_eq!(shown(cell), expected, "{cell}");
        }
    }
}
