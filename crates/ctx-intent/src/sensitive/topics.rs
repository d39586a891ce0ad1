//! Words *about* sensitive things: "password", "api_key", "social security". They raise no label, since a question about how
//! passwords are reset may go where any question goes; they are a facet of their own, so that a goal can be a look-up and
//! touch secrets at once, and EXPLAIN says so.

use crate::filter::Filter;
use crate::words::Word;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Most words reported for one goal.
const TOPICS_MAX: usize = 8;

/// Single words and pairs, lower case, by language.
const TOPICS: &[&str] = &[
    "password",
    "passwords",
    "passphrase",
    "passcode",
    "passwd",
    "pwd",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "api_key",
    "api_keys",
    "apikey",
    "api-key",
    "api key",
    "api keys",
    "private key",
    "access token",
    "access_token",
    "auth token",
    "refresh token",
    "bearer token",
    "ssn",
    "ssns",
    "social security",
    "national insurance",
    "passport",
    "credit card",
    "card number",
    "cvv",
    "iban",
    "bank account",
    "personal data",
    "pii",
    "medical record",
    "medical records",
    "health record",
    "salary",
    "salaries",
    "payroll",
    "passwort",
    "passwörter",
    "kennwort",
    "geheimnis",
    "zugangsdaten",
    "personalausweis",
    "reisepass",
    "kreditkarte",
    "gehalt",
    "personenbezogene daten",
    "mot de passe",
    "identifiants",
    "carte bancaire",
    "salaire",
    "contraseña",
    "contraseñas",
    "credenciales",
    "tarjeta de",
    "salario",
    "пароль",
    "пароля",
    "паролей",
    "пароли",
    "паспорт",
    "снилс",
    "зарплата",
    "зарплаты",
    "密 码",
    "身 份",
    "パスワード",
    "비 밀",
];

/// First words of all topics.
static FIRST: LazyLock<Filter> = LazyLock::new(|| Filter::of(TOPICS.iter().map(|topic| topic.split(' ').next().unwrap_or(topic))));

/// The words of `words` that are about sensitive things, once each, in the order of the goal.
pub(crate) fn topics(words: &[Word]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| FIRST.may_hold(word.key)) {
        let pair = words.get(at + 1).map(|next| format!("{} {}", word.lower, next.lower));
        let named = pair.filter(|pair| TOPICS.contains(&pair.as_str()));
        let topic = named.or_else(|| TOPICS.contains(&word.lower.as_str()).then(|| word.lower.clone()));
        if let Some(topic) = topic.filter(|topic| seen.insert(topic.clone())) {
            found.push(topic);
        }
        if found.len() == TOPICS_MAX {
            break;
        }
    }
    found
}
