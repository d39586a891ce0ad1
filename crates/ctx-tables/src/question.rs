//! A goal's words with what they signal: numbers, dates, comparisons, superlatives, places in the order of rows, the form
//! of the question. Typed detectors over a word list each; which of them mean something is decided with the table at hand.

use crate::query::{Comparison, End, Test};
use crate::reading::month;
use crate::words::{Word, words};

/// How the question asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// How many, number of.
    HowMany,
    /// How much.
    HowMuch,
    /// How long, how tall, how old, …
    HowAdjective,
    /// Who.
    Who,
    /// When.
    When,
    /// Where.
    Where,
    /// Which.
    Which,
    /// What.
    What,
    /// Name, list, show.
    Name,
    /// Begins with a verb: yes, no, or one of two.
    YesNo,
    /// Anything else.
    Other,
}

impl Form {
    /// Short name for features.
    pub fn name(self) -> &'static str {
        match self {
            Form::HowMany => "how_many",
            Form::HowMuch => "how_much",
            Form::HowAdjective => "how_adj",
            Form::Who => "who",
            Form::When => "when",
            Form::Where => "where",
            Form::Which => "which",
            Form::What => "what",
            Form::Name => "name",
            Form::YesNo => "yes_no",
            Form::Other => "other",
        }
    }
}

/// A run of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First word.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

impl Span {
    /// Whether two runs share a word.
    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }
    /// Words between two runs.
    pub fn distance(self, other: Span) -> usize {
        if self.overlaps(other) {
            0
        } else {
            (other.start as isize - self.end as isize).max(self.start as isize - other.end as isize) as usize
        }
    }
}

/// A number in the question.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Where.
    pub span: Span,
    /// As decimal digits.
    pub digits: String,
    /// As a value.
    pub value: f64,
}

/// A date or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateMention {
    /// Where.
    pub span: Span,
    /// Year or 0.
    pub year: u32,
    /// Month or 0.
    pub month: u32,
    /// Day or 0.
    pub day: u32,
}

impl DateMention {
    /// First key of the period.
    pub fn first(&self) -> u32 {
        self.year * 10_000 + self.month * 100 + self.day
    }
    /// Last key of the period.
    pub fn last(&self) -> u32 {
        match (self.month, self.day) {
            (0, _) => self.year * 10_000 + 9_999,
            (_, 0) => self.first() + 99,
            _ => self.first(),
        }
    }
    /// Rows whose date lies in the period.
    pub fn test(&self) -> Test {
        match (self.year, self.month, self.day) {
            (0, month, 0) => Test::Month(month),
            (0, month, day) => Test::MonthDay(month * 100 + day),
            (_, _, 0) => Test::Between(self.first().to_string(), self.last().to_string()),
            _ => Test::Compare(Comparison::Equal, self.first().to_string()),
        }
    }
}

/// What a number or date is compared with: "more than 5", "before 2004", "between 10 and 20".
#[derive(Clone, Debug, PartialEq)]
pub struct Comparative {
    /// Where, its operands included.
    pub span: Span,
    /// The test on a number.
    pub number: Option<Test>,
    /// The test on a date.
    pub date: Option<Test>,
    /// Whether the words are about time.
    pub temporal: bool,
}

/// A superlative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superlative {
    /// Where.
    pub span: Span,
    /// Which end.
    pub end: End,
    /// Words of headers that it measures by (`longest`: length, duration).
    pub measures: &'static [&'static str],
}

/// Words that point into the order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// First, top.
    First,
    /// Last, bottom.
    Last,
    /// Next, after, below, following.
    Next,
    /// Previous, before, above.
    Previous,
}

/// The question, looked at.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its words.
    pub words: Vec<Word>,
    /// How it asks.
    pub form: Form,
    /// The word that says so.
    pub form_at: usize,
    /// Numbers.
    pub numbers: Vec<Number>,
    /// Dates.
    pub dates: Vec<DateMention>,
    /// Comparisons.
    pub comparatives: Vec<Comparative>,
    /// Superlatives.
    pub superlatives: Vec<Superlative>,
    /// Pointers into the order of rows.
    pub pointers: Vec<(Span, Pointer)>,
    /// Words that exclude: other than, besides, not.
    pub exclusions: Vec<Span>,
}

const MORE: &[&str] = &["more", "most", "highest", "largest", "biggest", "greatest", "maximum", "max", "majority"];
const LESS: &[&str] = &["less", "least", "fewest", "lowest", "smallest", "minimum", "min", "minority"];

/// Superlatives that say what they measure: the word, its end, stems of headers.
const MEASURED: &[(&str, End, &[&str])] = &[
    ("longest", End::Greatest, &["length", "durat", "time", "distanc", "long", "run", "year"]),
    ("shortest", End::Least, &["length", "durat", "time", "distanc", "height", "run", "year"]),
    ("tallest", End::Greatest, &["height", "elev", "altitud"]),
    ("deepest", End::Greatest, &["depth"]),
    ("heaviest", End::Greatest, &["weight", "mass"]),
    ("lightest", End::Least, &["weight", "mass"]),
    ("fastest", End::Least, &["time", "result", "durat"]),
    ("quickest", End::Least, &["time", "result", "durat"]),
    ("slowest", End::Greatest, &["time", "result", "durat"]),
    ("oldest", End::Least, &["year", "date", "born", "birth", "built", "found", "open", "complet"]),
    ("earliest", End::Least, &["year", "date", "season", "time"]),
    ("newest", End::Greatest, &["year", "date", "open", "complet"]),
    ("latest", End::Greatest, &["year", "date", "season"]),
    ("youngest", End::Greatest, &["year", "date", "born", "birth"]),
    ("cheapest", End::Least, &["price", "cost"]),
    ("priciest", End::Greatest, &["price", "cost"]),
    ("widest", End::Greatest, &["width"]),
    ("farthest", End::Greatest, &["distanc"]),
    ("furthest", End::Greatest, &["distanc"]),
    ("closest", End::Least, &["distanc"]),
    ("best", End::Least, &["rank", "posit", "place", "pos"]),
    ("worst", End::Greatest, &["rank", "posit", "place", "pos"]),
];

/// Phrases of a comparison: words, the sign, whether it is about time. Longer ones first where one begins another.
const COMPARISONS: &[(&str, Comparison, bool)] = &[
    ("no more than", Comparison::AtMost, false),
    ("no less than", Comparison::AtLeast, false),
    ("no fewer than", Comparison::AtLeast, false),
    ("not more than", Comparison::AtMost, false),
    ("not less than", Comparison::AtLeast, false),
    ("more than", Comparison::Greater, false),
    ("more then", Comparison::Greater, false),
    ("greater than", Comparison::Greater, false),
    ("higher than", Comparison::Greater, false),
    ("larger than", Comparison::Greater, false),
    ("bigger than", Comparison::Greater, false),
    ("longer than", Comparison::Greater, false),
    ("taller than", Comparison::Greater, false),
    ("heavier than", Comparison::Greater, false),
    ("less than", Comparison::Less, false),
    ("less then", Comparison::Less, false),
    ("fewer than", Comparison::Less, false),
    ("lower than", Comparison::Less, false),
    ("smaller than", Comparison::Less, false),
    ("shorter than", Comparison::Less, false),
    ("at least", Comparison::AtLeast, false),
    ("a minimum of", Comparison::AtLeast, false),
    ("at most", Comparison::AtMost, false),
    ("up to", Comparison::AtMost, false),
    ("in excess of", Comparison::Greater, false),
    ("over", Comparison::Greater, false),
    ("above", Comparison::Greater, false),
    ("exceeding", Comparison::Greater, false),
    ("exceeded", Comparison::Greater, false),
    ("exceeds", Comparison::Greater, false),
    ("exceed", Comparison::Greater, false),
    ("under", Comparison::Less, false),
    ("below", Comparison::Less, false),
    ("exactly", Comparison::Equal, false),
    ("prior to", Comparison::Less, true),
    ("earlier than", Comparison::Less, true),
    ("later than", Comparison::Greater, true),
    ("before", Comparison::Less, true),
    ("after", Comparison::Greater, true),
    ("since", Comparison::AtLeast, true),
];

/// Words between a comparison and its number.
const FILLERS: &[&str] = &["a", "an", "the", "year", "of", "in"];

const POINTERS: &[(&str, Pointer)] = &[
    ("first", Pointer::First),
    ("top", Pointer::First),
    ("initial", Pointer::First),
    ("last", Pointer::Last),
    ("final", Pointer::Last),
    ("bottom", Pointer::Last),
    ("next", Pointer::Next),
    ("after", Pointer::Next),
    ("below", Pointer::Next),
    ("following", Pointer::Next),
    ("follows", Pointer::Next),
    ("followed", Pointer::Next),
    ("beneath", Pointer::Next),
    ("underneath", Pointer::Next),
    ("under", Pointer::Next),
    ("behind", Pointer::Next),
    ("previous", Pointer::Previous),
    ("previously", Pointer::Previous),
    ("before", Pointer::Previous),
    ("prior", Pointer::Previous),
    ("preceding", Pointer::Previous),
    ("preceded", Pointer::Previous),
    ("above", Pointer::Previous),
];

const EXCLUSIONS: &[&str] =
    &["other than", "besides", "beside", "except", "excluding", "aside from", "apart from", "not", "isn t", "wasn t", "without"];

const NUMBER_WORDS: &[&str] = &[
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

impl Question {
    /// Looks at a goal.
    pub fn new(text: &str) -> Question {
        let words = words(text);
        let (form, form_at) = form(&words);
        let numbers = numbers(&words);
        let dates = dates(&words);
        let comparatives = comparatives(&words, &numbers, &dates);
        let mut superlatives = superlatives(&words);
        superlatives.retain(|s: &Superlative| !comparatives.iter().any(|c| c.span.overlaps(s.span)));
        let pointers = words
            .iter()
            .enumerate()
            .filter_map(|(at, word)| {
                POINTERS.iter().find(|(text, _)| *text == word.text).map(|(_, p)| (Span { start: at, end: at + 1 }, *p))
            })
            .collect();
        let exclusions = (0..words.len()).filter_map(|at| EXCLUSIONS.iter().find_map(|phrase| phrase_at(&words, at, phrase))).collect();
        Question { words, form, form_at, numbers, dates, comparatives, superlatives, pointers, exclusions }
    }

    /// Whether one of these words is in it.
    pub fn has(&self, texts: &[&str]) -> bool {
        self.words.iter().any(|word| texts.contains(&word.text.as_str()))
    }

    /// Whether this phrase is in it.
    pub fn has_phrase(&self, phrase: &str) -> bool {
        (0..self.words.len()).any(|at| phrase_at(&self.words, at, phrase).is_some())
    }

    /// A pointer of this kind.
    pub fn pointer(&self, wanted: &[Pointer]) -> Option<(Span, Pointer)> {
        self.pointers.iter().find(|(_, pointer)| wanted.contains(pointer)).copied()
    }
}

/// The words of a phrase standing at a place.
pub fn phrase_at(words: &[Word], at: usize, phrase: &str) -> Option<Span> {
    let mut end = at;
    for part in phrase.split(' ') {
        if words.get(end)?.text != part {
            return None;
        }
        end += 1;
    }
    Some(Span { start: at, end })
}

fn form(words: &[Word]) -> (Form, usize) {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let begins_with_verb = ["did", "is", "was", "does", "do", "are", "were", "has", "have", "had", "can", "could"].contains(&text(0));
    for at in 0..words.len() {
        let form = match (text(at), text(at + 1)) {
            ("how", "many") => Form::HowMany,
            ("how", "much") => Form::HowMuch,
            ("how", _) => Form::HowAdjective,
            ("number", "of") | ("amount", "of") | ("count", _) if at < 6 => Form::HowMany,
            ("who" | "whom" | "whose", _) => Form::Who,
            ("when", _) => Form::When,
            ("where", _) => Form::Where,
            ("which", _) => Form::Which,
            ("what", _) if (at + 1..at + 6).any(|i| matches!(text(i), "number" | "amount") && text(i + 1) == "of") => Form::HowMany,
            ("what", "year" | "date" | "day" | "month") => Form::When,
            ("what", _) => Form::What,
            ("name" | "list" | "show" | "give" | "tell", _) if at == 0 => Form::Name,
            _ => continue,
        };
        if !begins_with_verb {
            return (form, at);
        }
    }
    (if begins_with_verb { Form::YesNo } else { Form::Other }, 0)
}

fn numbers(words: &[Word]) -> Vec<Number> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let digits = match NUMBER_WORDS.iter().position(|name| *name == word.text) {
            Some(value) => value.to_string(),
            None => {
                let digits = word.text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let scaled = words.get(at + 1).map_or("", |w| w.text.as_str());
                match scaled {
                    "million" if digits.parse::<u64>().is_ok() => format!("{digits}000000"),
                    "thousand" if digits.parse::<u64>().is_ok() => format!("{digits}000"),
                    _ => digits.to_owned(),
                }
            }
        };
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') && digits.matches('.').count() < 2;
        if let Some(value) = plain.then(|| digits.parse::<f64>().ok()).flatten() {
            found.push(Number { span: Span { start: at, end: at + 1 }, digits, value });
        }
    }
    found
}

/// Words before `may` or `march` that make it a month.
const MONTH_FOLLOWS: &[&str] = &["in", "of", "on", "during", "after", "before", "since", "from", "between", "until", "till"];

/// Dates: a month's name with a day, a year or both on either side, or a number that can only be a year.
fn dates(words: &[Word]) -> Vec<DateMention> {
    let mut found: Vec<DateMention> = Vec::new();
    let number = |at: usize| -> Option<u32> {
        let text = words.get(at)?.text.as_str();
        let digits =
            text.strip_suffix("st").or(text.strip_suffix("nd")).or(text.strip_suffix("rd")).or(text.strip_suffix("th")).unwrap_or(text);
        digits.parse().ok()
    };
    let is_year = |n: &u32| (1000..=2100).contains(n);
    let is_day = |n: &u32| (1..=31).contains(n);
    let joins = |word: &Word| matches!(word.text.as_str(), "or" | "and" | "to");
    let mut at = 0;
    while at < words.len() {
        let text = words[at].text.as_str();
        let named = month(text).filter(|_| text != "mar" || words.get(at + 1).is_some_and(Word::is_number));
        let ambiguous = matches!(text, "may" | "march")
            && !(at > 0 && MONTH_FOLLOWS.contains(&words[at - 1].text.as_str()))
            && !(at > 0 && found.last().is_some_and(|d| d.month > 0 && d.span.end + 1 == at && joins(&words[at - 1])))
            && number(at + 1).is_none()
            && (at == 0 || number(at - 1).is_none());
        if let Some(month) = named.filter(|_| !ambiguous && text.len() < 10) {
            let mut date = DateMention { span: Span { start: at, end: at + 1 }, year: 0, month, day: 0 };
            let free = at > 0 && found.last().is_none_or(|d| d.span.end != at);
            if let Some(day) = (at > 0).then(|| number(at - 1)).flatten().filter(is_day).filter(|_| free) {
                date.day = day;
                date.span.start = at - 1;
            }
            if let Some(day) = number(at + 1).filter(is_day).filter(|_| date.day == 0) {
                date.day = day;
                date.span.end = at + 2;
            }
            if let Some(year) = number(date.span.end).filter(is_year) {
                date.year = year;
                date.span.end += 1;
            }
            at = date.span.end;
            found.push(date);
            continue;
        }
        if let Some(year) = number(at).filter(is_year).filter(|_| text.len() == 4) {
            let date = iso(words, at, year);
            at = date.span.end - 1;
            found.push(date);
        }
        at += 1;
    }
    found
}

/// A year with the month and day behind it, where they are written as in `2024-06-15` or `2024-06`.
fn iso(words: &[Word], at: usize, year: u32) -> DateMention {
    let two = |at: usize, most: u32| {
        let text = words.get(at).map_or("", |word| word.text.as_str());
        text.parse::<u32>().ok().filter(|n| text.len() == 2 && (1..=most).contains(n))
    };
    let month = two(at + 1, 12);
    let day = month.and_then(|_| two(at + 2, 31));
    let led = words.get(at + 1).is_some_and(|word| word.text.starts_with('0'));
    match (month, day) {
        (Some(month), Some(day)) => DateMention { span: Span { start: at, end: at + 3 }, year, month, day },
        (Some(month), None) if led => DateMention { span: Span { start: at, end: at + 2 }, year, month, day: 0 },
        _ => DateMention { span: Span { start: at, end: at + 1 }, year, month: 0, day: 0 },
    }
}

fn comparatives(words: &[Word], numbers: &[Number], dates: &[DateMention]) -> Vec<Comparative> {
    let mut found: Vec<Comparative> = Vec::new();
    for at in 0..words.len() {
        if found.last().is_some_and(|c| c.span.end > at) {
            continue;
        }
        if let Some(between) = between(words, at, numbers, dates) {
            found.push(between);
            continue;
        }
        let Some((phrase, sign, temporal)) =
            COMPARISONS.iter().find_map(|(text, sign, temporal)| Some((phrase_at(words, at, text)?, *sign, *temporal)))
        else {
            continue;
        };
        let mut operand = phrase.end;
        while words.get(operand).is_some_and(|w| FILLERS.contains(&w.text.as_str())) {
            operand += 1;
        }
        let number = numbers.iter().find(|n| n.span.start == operand);
        let date = dates.iter().find(|d| d.span.start == operand && d.year > 0);
        let of_times = number.is_some_and(|n| words.get(n.span.end).is_some_and(|w| w.text == "times"));
        if number.is_none() && date.is_none() || of_times {
            continue;
        }
        let end = number.map_or(0, |n| n.span.end).max(date.map_or(0, |d| d.span.end));
        found.push(Comparative {
            span: Span { start: at, end },
            number: number.filter(|n| date.is_none_or(|d| d.span.end == n.span.end)).map(|n| Test::Compare(sign, n.digits.clone())),
            date: date.map(|d| date_test(sign, d)),
            temporal,
        });
    }
    found.extend(numbers.iter().filter_map(|n| or_more(words, n, dates)));
    found.sort_by_key(|c| c.span);
    found
}

fn date_test(sign: Comparison, date: &DateMention) -> Test {
    let key = match sign {
        Comparison::Less | Comparison::AtLeast => date.first(),
        Comparison::Greater | Comparison::AtMost => date.last(),
        Comparison::Equal => return date.test(),
    };
    Test::Compare(sign, key.to_string())
}

/// Words behind a number or date that make it one end: the phrase, the sign, whether it is about time.
const OR_MORE: &[(&str, Comparison, bool)] = &[
    ("or more", Comparison::AtLeast, false),
    ("or greater", Comparison::AtLeast, false),
    ("or higher", Comparison::AtLeast, false),
    ("and above", Comparison::AtLeast, false),
    ("or above", Comparison::AtLeast, false),
    ("or over", Comparison::AtLeast, false),
    ("and over", Comparison::AtLeast, false),
    ("or less", Comparison::AtMost, false),
    ("or fewer", Comparison::AtMost, false),
    ("or lower", Comparison::AtMost, false),
    ("or below", Comparison::AtMost, false),
    ("and below", Comparison::AtMost, false),
    ("or under", Comparison::AtMost, false),
    ("or later", Comparison::AtLeast, true),
    ("or after", Comparison::AtLeast, true),
    ("or newer", Comparison::AtLeast, true),
    ("or earlier", Comparison::AtMost, true),
    ("or before", Comparison::AtMost, true),
    ("or older", Comparison::AtMost, true),
];

/// "5 or more", "10 or fewer", "5 and above", "2022 or later"; "100 or more than 500" has another comparison behind it.
fn or_more(words: &[Word], number: &Number, dates: &[DateMention]) -> Option<Comparative> {
    let at = number.span.end;
    let (phrase, sign, temporal) =
        OR_MORE.iter().find_map(|(text, sign, temporal)| Some((phrase_at(words, at, text)?, *sign, *temporal)))?;
    let mut operand = phrase.end;
    while words.get(operand).is_some_and(|w| FILLERS.contains(&w.text.as_str())) {
        operand += 1;
    }
    let date_behind = || dates.iter().any(|d| d.span.start == operand);
    let compares = |w: &Word| matches!(w.text.as_str(), "than" | "then") || w.is_number() || NUMBER_WORDS.contains(&w.text.as_str());
    if words.get(operand).is_some_and(compares) || date_behind() {
        return None;
    }
    let date = dates.iter().find(|d| temporal && d.span.end == at && d.year > 0);
    Some(Comparative {
        span: Span { start: date.map_or(number.span.start, |d| d.span.start), end: phrase.end },
        number: date.is_none_or(|d| d.month == 0).then(|| Test::Compare(sign, number.digits.clone())),
        date: date.map(|d| date_test(sign, d)),
        temporal,
    })
}

/// "between 10 and 20", "from 2001 to 2004".
fn between(words: &[Word], at: usize, numbers: &[Number], dates: &[DateMention]) -> Option<Comparative> {
    let joint = match words[at].text.as_str() {
        "between" => "and",
        "from" => "to",
        _ => return None,
    };
    let is_joint = |at: usize| words.get(at).is_some_and(|w| w.text == joint || w.text == "to" || w.text == "and");
    let mut start = at + 1;
    while words.get(start).is_some_and(|w| FILLERS.contains(&w.text.as_str()) || w.text == "years") {
        start += 1;
    }
    let ends = |first: Span| if is_joint(first.end) { first.end + 1 } else { first.end };
    let pair_of_dates = dates.iter().find(|d| d.span.start == start && d.year > 0).and_then(|first| {
        let second = dates.iter().find(|d| d.span.start == ends(first.span) && d.year > 0)?;
        Some((first.first(), second.last(), second.span.end))
    });
    let pair_of_numbers = numbers.iter().find(|n| n.span.start == start).and_then(|first| {
        let second = numbers.iter().find(|n| n.span.start == ends(first.span))?;
        (first.value < second.value).then(|| (first.digits.clone(), second.digits.clone(), second.span.end))
    });
    let end = pair_of_dates.map_or(0, |p| p.2).max(pair_of_numbers.as_ref().map_or(0, |p| p.2));
    (end > 0).then(|| Comparative {
        span: Span { start: at, end },
        number: pair_of_numbers.map(|(a, b, _)| Test::Between(a, b)),
        date: pair_of_dates.map(|(a, b, _)| Test::Between(a.to_string(), b.to_string())),
        temporal: joint == "to",
    })
}

fn superlatives(words: &[Word]) -> Vec<Superlative> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        let span = Span { start: at, end: at + 1 };
        let follows = |offset: usize, texts: &[&str]| words.get(at + offset).is_some_and(|w| texts.contains(&w.text.as_str()));
        let at_least = at > 0 && words[at - 1].text == "at";
        if let Some((_, end, measures)) = MEASURED.iter().find(|(name, _, _)| *name == text) {
            found.push(Superlative { span, end: *end, measures });
        } else if text == "most" && follows(1, &["recent", "recently"]) {
            found.push(Superlative { span: Span { start: at, end: at + 2 }, end: End::Greatest, measures: &["year", "date", "season"] });
        } else if (MORE[1..].contains(&text) && !at_least)
            || (text == "top" && (!words.get(at + 1).is_some_and(Word::is_number) || words.iter().any(|w| w.text == "by")))
        {
            found.push(Superlative { span, end: End::Greatest, measures: &[] });
        } else if LESS[1..].contains(&text) && !at_least {
            found.push(Superlative { span, end: End::Least, measures: &[] });
        } else if matches!(text, "more" | "higher" | "larger" | "greater" | "better" | "longer" | "bigger" | "taller")
            && !follows(1, &["than", "then"])
            && words.iter().any(|w| w.text == "or")
        {
            found.push(Superlative { span, end: End::Greatest, measures: &[] });
        } else if matches!(text, "less" | "lower" | "smaller" | "fewer" | "shorter" | "worse")
            && !follows(1, &["than", "then"])
            && words.iter().any(|w| w.text == "or")
        {
            found.push(Superlative { span, end: End::Least, measures: &[] });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_signal_what_is_asked() {
        let q = Question::new("In how many games did the winning team score more than 4 points after May 2, 1998?");
        assert_eq!(q.form, Form::HowMany);
        assert_eq!(q.comparatives.len(), 2);
        assert_eq!(q.comparatives[0].number, Some(Test::Compare(Comparison::Greater, "4".to_owned())));
        assert_eq!(q.comparatives[1].date, Some(Test::Compare(Comparison::Greater, "19980502".to_owned())));
        let q = Question::new("which two lakes are deepest between 2001 and 2004?");
        assert_eq!(q.superlatives[0].measures, ["depth"]);
        assert_eq!(q.comparatives[0].date, Some(Test::Between("20010000".to_owned(), "20049999".to_owned())));
        assert_eq!(q.comparatives[0].number, Some(Test::Between("2001".to_owned(), "2004".to_owned())));
        let q = Question::new("list all towns with 1,500 people or more, other than Ayr");
        assert_eq!(q.exclusions.len(), 1);
        assert_eq!(q.numbers[0].digits, "1500");
    }
}
