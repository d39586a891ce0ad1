//! Time words: dates, clock times, and windows that depend on now ("yesterday", "last 24 h").
//!
//! Found, not resolved: the window is an input of planning, given from outside.

use crate::filter::Filter;
use crate::words::Word;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

/// A time mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeMention {
    /// Where it stands, in bytes.
    pub(crate) range: Range<usize>,
    /// Whether it depends on now.
    pub(crate) relative: bool,
}

/// The time mentions of a goal, by position.
pub(crate) fn times(text: &str, words: &[Word], language: &str) -> Vec<TimeMention> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !may_open(&words[at]) {
            at += 1;
            continue;
        }
        let relative = relative(words, at, language);
        let length = if relative > 0 { relative } else { absolute(text, words, at) };
        if length > 0 {
            found.push(TimeMention { range: words[at].range.start..words[at + length - 1].range.end, relative: relative > 0 });
        }
        at += length.max(1);
    }
    found
}

const SINGLE: &[&str] = &[
    "yesterday",
    "today",
    "tonight",
    "tomorrow",
    "recently",
    "gestern",
    "heute",
    "vorgestern",
    "morgen",
    "kürzlich",
    "aujourd'hui",
    "récemment",
    "ayer",
    "hoy",
    "anoche",
    "recientemente",
    "вчера",
    "сегодня",
    "позавчера",
    "недавно",
    "завтра",
];
const CJK: &[&str] = &[
    "昨天",
    "今天",
    "前天",
    "明天",
    "上周",
    "本周",
    "上个月",
    "本月",
    "去年",
    "今年",
    "最近",
    "昨日",
    "今日",
    "先週",
    "今週",
    "先月",
    "今月",
    "어제",
    "오늘",
    "그제",
    "지난주",
    "이번주",
    "지난달",
    "최근",
    "작년",
];
const LAST: &[&str] = &[
    "last",
    "past",
    "previous",
    "this",
    "current",
    "letzte",
    "letzten",
    "letzter",
    "letztes",
    "diese",
    "diesen",
    "vergangenen",
    "dernière",
    "dernier",
    "derniers",
    "dernières",
    "cette",
    "última",
    "último",
    "últimas",
    "últimos",
    "pasada",
    "pasado",
    "esta",
    "este",
    "последние",
    "последний",
    "последних",
    "последнюю",
    "прошлой",
    "прошлом",
    "прошлую",
    "этой",
    "этом",
    "next",
];
const UNITS: &[&str] = &[
    "second",
    "seconds",
    "minute",
    "minutes",
    "min",
    "mins",
    "hour",
    "hours",
    "h",
    "hr",
    "hrs",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "quarter",
    "quarters",
    "year",
    "years",
    "night",
    "morning",
    "weekend",
    "stunde",
    "stunden",
    "tag",
    "tage",
    "tagen",
    "woche",
    "wochen",
    "monat",
    "monate",
    "monaten",
    "jahr",
    "jahre",
    "jahren",
    "minuten",
    "heure",
    "heures",
    "jour",
    "jours",
    "semaine",
    "semaines",
    "mois",
    "an",
    "ans",
    "année",
    "hora",
    "horas",
    "día",
    "días",
    "semana",
    "semanas",
    "mes",
    "meses",
    "año",
    "años",
    "час",
    "часа",
    "часов",
    "день",
    "дня",
    "дней",
    "неделе",
    "неделю",
    "недели",
    "недель",
    "месяц",
    "месяце",
    "месяца",
    "месяцев",
    "год",
    "году",
    "года",
    "лет",
    "минут",
    "24h",
    "48h",
    "1h",
    "7d",
    "30d",
    "5m",
    "15m",
];
const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "januar",
    "februar",
    "märz",
    "mai",
    "juni",
    "juli",
    "oktober",
    "dezember",
    "janvier",
    "février",
    "mars",
    "avril",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
    "января",
    "февраля",
    "марта",
    "апреля",
    "мая",
    "июня",
    "июля",
    "августа",
    "сентября",
    "октября",
    "ноября",
    "декабря",
    "may",
];
const WEEKDAYS: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonntag",
    "lundi",
    "mardi",
    "mercredi",
    "jeudi",
    "vendredi",
    "samedi",
    "dimanche",
    "lunes",
    "martes",
    "miércoles",
    "jueves",
    "viernes",
    "sábado",
    "domingo",
    "понедельник",
    "вторник",
    "среду",
    "четверг",
    "пятницу",
    "субботу",
    "воскресенье",
];

const COUNTS: &[&str] =
    &["two", "three", "four", "five", "six", "seven", "ten", "few", "couple", "zwei", "drei", "deux", "trois", "dos", "tres"];
const OPENERS: &[&str] = &["vor", "hace", "il", "hier"];
const LISTS: [&[&str]; 7] = [SINGLE, LAST, UNITS, MONTHS, WEEKDAYS, COUNTS, OPENERS];
const IS_SINGLE: u8 = 1;
const IS_LAST: u8 = 2;
const IS_UNIT: u8 = 4;
const IS_MONTH: u8 = 8;
const IS_WEEKDAY: u8 = 16;
const IS_COUNT: u8 = 32;

/// Word → bit per list: one search per word instead of five walks.
static INDEX: LazyLock<BTreeMap<&'static str, u8>> = LazyLock::new(|| {
    let mut index = BTreeMap::new();
    for (at, list) in LISTS.iter().enumerate() {
        for word in *list {
            *index.entry(*word).or_insert(0) |= 1 << at;
        }
    }
    index
});

static FILTER: LazyLock<Filter> = LazyLock::new(|| Filter::of(INDEX.keys().copied()));

fn in_list(word: &str, list: u8) -> bool {
    INDEX.get(word).is_some_and(|lists| lists & list != 0)
}

/// Most words are settled here: a time begins with a digit, an ideograph, or a word of the lists.
fn may_open(word: &Word) -> bool {
    let lower = word.lower.as_str();
    lower.starts_with(|first: char| first.is_ascii_digit() || crate::words::is_ideograph(first))
        || FILTER.may_hold(word.key) && INDEX.contains_key(lower)
}

/// Words that a relative window takes, from `at`; zero where there is none.
fn relative(words: &[Word], at: usize, language: &str) -> usize {
    let word = |offset: usize| words.get(at + offset).map_or("", |word| word.lower.as_str());
    let is = |offset: usize, list: u8| in_list(word(offset), list);
    if is(0, IS_SINGLE) || word(0) == "hier" && language == "fr" {
        return 1;
    }
    if let Some(length) = cjk(words, at) {
        return length;
    }
    if is(0, IS_LAST) {
        let count = usize::from(is_count(word(1)));
        return if is(1 + count, IS_UNIT) || is(1, IS_WEEKDAY) || is(1, IS_MONTH) { 2 + count } else { 0 };
    }
    if is(0, IS_UNIT) && is(1, IS_LAST) && matches!(language, "fr" | "es") {
        return 2;
    }
    if is_count(word(0)) && is(1, IS_UNIT) && matches!(word(2), "ago" | "назад" | "earlier") {
        return 3;
    }
    let ago = matches!((word(0), word(1)), ("vor", _) | ("hace", _)) || (word(0), word(1)) == ("il", "y");
    if ago {
        let skip = if word(0) == "il" { 3 } else { 1 };
        return if is_count(word(skip)) && is(skip + 1, IS_UNIT) { skip + 2 } else { 0 };
    }
    usize::from(is(0, IS_WEEKDAY))
}

fn cjk(words: &[Word], at: usize) -> Option<usize> {
    if words[at].lower.is_ascii() {
        return None;
    }
    CJK.iter().find_map(|phrase| {
        let mut length = 0;
        let fits = phrase.chars().all(|character| {
            length += 1;
            words.get(at + length - 1).is_some_and(|word| word.lower.chars().eq(std::iter::once(character)))
        });
        fits.then_some(length)
    })
}

fn is_count(word: &str) -> bool {
    !word.is_empty() && word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit()) || in_list(word, IS_COUNT)
}

/// Words that a date or clock time takes, from `at`.
fn absolute(text: &str, words: &[Word], at: usize) -> usize {
    let word = |offset: usize| words.get(at + offset).map_or("", |word| word.lower.as_str());
    let joined = |offset: usize, sign: &str| {
        words.get(at + offset + 1).is_some_and(|next| text[words[at + offset].range.end..next.range.start] == *sign)
    };
    if is_iso_date(word(0)) {
        return 1 + usize::from(joined(0, ":") && number(word(1)).is_some());
    }
    let clock = number(word(0)).is_some_and(|hour| hour < 24) && joined(0, ":") && number(word(1)).is_some_and(|minute| minute < 60);
    if clock && word(1).len() == 2 {
        return if joined(1, ":") && number(word(2)).is_some() { 3 } else { 2 };
    }
    let slashed = number(word(0)).is_some() && joined(0, "/") && number(word(1)).is_some() && joined(1, "/") && number(word(2)).is_some();
    if slashed {
        return 3;
    }
    let month = |offset: usize| {
        in_list(word(offset), IS_MONTH)
            && (word(offset) != "may" && word(offset) != "mars" && word(offset) != "march" || words[at + offset].capital)
    };
    let day = |offset: usize| word(offset).trim_end_matches(char::is_alphabetic).parse::<u32>().is_ok_and(|day| (1..=31).contains(&day));
    if month(0) {
        let next = usize::from(day(1));
        return if next == 1 || is_year(word(1)) || word(0).len() > 4 { 1 + next + usize::from(is_year(word(1 + next))) } else { 0 };
    }
    if at + 1 < words.len() && day(0) && month(1) {
        return 2 + usize::from(is_year(word(2)));
    }
    usize::from(is_year(word(0)))
}

fn number(word: &str) -> Option<u32> {
    if word.len() <= 4 { word.parse().ok() } else { None }
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && number(word).is_some_and(|year| (1900..=2099).contains(&year))
}

/// `2024-05-12`, also with a time joined by `t`.
fn is_iso_date(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() })
        && (bytes.len() == 10 || bytes[10] == b't')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::detect;
    use crate::words::words;

    #[test]
    fn mentions_and_whether_they_depend_on_now() {
        for (text, expected, relative) in [
            ("errors since yesterday", "yesterday", true),
            ("failures in the last 24 hours please", "last 24 hours", true),
            ("what broke last Tuesday", "last Tuesday", true),
            ("3 days ago", "3 days ago", true),
            ("on 2024-05-12 at noon", "2024-05-12", false),
            ("between 10:15:30 and noon", "10:15:30", false),
            ("in March 2023", "March 2023", false),
            ("the 1984 report", "1984", false),
            ("Fehler von gestern", "gestern", true),
            ("les erreurs d'hier, hier le serveur est tombé", "hier", true),
            ("ошибки за последние 24 часа", "последние 24 часа", true),
            ("昨天的错误", "昨天", true),
            ("los errores de la semana pasada", "semana pasada", true),
        ] {
            let words = words(text);
            let found = times(text, &words, detect(text, &words));
            assert_eq!((&text[found[0].range.clone()], found[0].relative), (expected, relative), "{text}");
        }
        let none = "you may march on, 500 rows, version 1.2";
        assert_eq!(times(none, &words(none), "en"), []);
    }
}
