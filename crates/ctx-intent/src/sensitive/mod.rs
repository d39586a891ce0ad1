//! Sensitive *values* in text: cards, accounts, national identifiers, phones, e-mail and network addresses, secrets.
//!
//! A word about a secret raises nothing; a value does. Typed detectors with check digits where the type has them, one
//! pass, bounded work per byte: the same scan reads a goal and counts spans while a source is indexed. Names of people
//! are not found here. Found values are never kept, only their place and type.
//!
//! ```
//! use ctx_intent::sensitive::scan;
//!
//! assert!(scan("where are the password reset docs?").is_empty());
//! assert_eq!(scan("login with password=hunter2")[0].detector, "secret");
//! ```

mod checksums;
mod contacts;
mod lettered;
mod numbers;
mod secrets;
mod topics;
mod urls;

pub(crate) use topics::topics;

use ctx_types::Sensitivity;
use ctx_types::intent::SensitiveSpan;
use std::ops::Range;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detector {
    /// A payment card number.
    Card,
    /// An international bank account number.
    Iban,
    /// A number that a state gives a person.
    NationalId,
    /// A key, token or password.
    Secret,
    /// A telephone number.
    Phone,
    /// An e-mail address.
    Email,
    /// A network address. Goals about logs are full of them: counted, but it raises nothing.
    Address,
    /// A web address. Raises nothing, and is not counted in sources, which are full of them.
    Url,
}

impl Detector {
    /// Every detector.
    pub const ALL: [Detector; 8] = [
        Detector::Card,
        Detector::Iban,
        Detector::NationalId,
        Detector::Secret,
        Detector::Phone,
        Detector::Email,
        Detector::Address,
        Detector::Url,
    ];

    /// The name in spans, statistics and explanations.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Card => "card",
            Detector::Iban => "iban",
            Detector::NationalId => "national_id",
            Detector::Secret => "secret",
            Detector::Phone => "phone",
            Detector::Email => "email",
            Detector::Address => "ip",
            Detector::Url => "url",
        }
    }

    /// The label that a value of this type raises to.
    pub fn raises_to(self) -> Sensitivity {
        match self {
            Detector::Card | Detector::Iban | Detector::NationalId | Detector::Secret => Sensitivity::Restricted,
            Detector::Phone | Detector::Email => Sensitivity::Confidential,
            Detector::Address | Detector::Url => Sensitivity::Internal,
        }
    }
}

/// The sensitive values of a text, by position, without overlaps.
pub fn scan(text: &str) -> Vec<SensitiveSpan> {
    let mut spans = Vec::new();
    for_each(text, |detector, range| {
        spans.push(SensitiveSpan {
            detector: detector.name().to_owned(),
            raises_to: detector.raises_to(),
            start: u32::try_from(range.start).unwrap_or(u32::MAX),
            end: u32::try_from(range.end).unwrap_or(u32::MAX),
        });
    });
    spans
}

/// As [`scan`], without collecting.
pub fn for_each(text: &str, mut each: impl FnMut(Detector, Range<usize>)) {
    let bytes = text.as_bytes();
    let mut floor = 0;
    let mut at = 0;
    while let Some(next) = next_trigger(bytes, at) {
        let found = examine(bytes, next).filter(|(_, range)| range.start >= floor && boundary(text, range));
        at = match found {
            Some((detector, range)) => {
                floor = range.end;
                let resume = range.end.max(next + 1);
                each(detector, range);
                resume
            }
            None => after(bytes, next),
        };
    }
}

fn boundary(text: &str, range: &Range<usize>) -> bool {
    text.is_char_boundary(range.start) && text.is_char_boundary(range.end)
}

/// What may begin or hold a value. Everything else is skipped at the cost of one table look-up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trigger {
    None,
    Digit,
    Letter,
    Sign,
}

static TRIGGERS: [Trigger; 256] = triggers();

const fn triggers() -> [Trigger; 256] {
    let mut table = [Trigger::None; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' => Trigger::Digit,
            b'A'..=b'Z' => Trigger::Letter,
            b'a' | b'b' | b'c' | b'd' | b'e' | b'g' | b'h' | b'n' | b'p' | b'r' | b's' | b't' | b'w' | b'x' | b'y' => Trigger::Letter,
            b'@' | b'+' | b'(' | b'-' | b'=' | b':' => Trigger::Sign,
            _ => Trigger::None,
        };
        byte += 1;
    }
    table
}

fn next_trigger(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        match TRIGGERS[usize::from(bytes[at])] {
            Trigger::None => {}
            Trigger::Sign => return Some(at),
            Trigger::Digit | Trigger::Letter => {
                if starts_word(bytes, at) {
                    return Some(at);
                }
            }
        }
        at += 1;
    }
    None
}

fn starts_word(bytes: &[u8], at: usize) -> bool {
    at == 0 || !is_word(bytes[at - 1])
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

type Found = Option<(Detector, Range<usize>)>;

fn examine(bytes: &[u8], at: usize) -> Found {
    value(bytes, at).or_else(|| match bytes[at] {
        b':' => urls::schemed(bytes, at).map(|url| first_value(bytes, at + 1..url.end).unwrap_or((Detector::Url, url))),
        b'w' | b'W' => urls::bare(bytes, at).map(|url| first_value(bytes, at + 1..url.end).unwrap_or((Detector::Url, url))),
        _ => None,
    })
}

/// The first value inside an address.
fn first_value(bytes: &[u8], range: Range<usize>) -> Found {
    let mut at = range.start;
    while let Some(next) = next_trigger(bytes, at).filter(|next| *next < range.end) {
        if let Some(found) = value(bytes, next) {
            return Some(found);
        }
        at = after(bytes, next);
    }
    None
}

fn value(bytes: &[u8], at: usize) -> Found {
    match bytes[at] {
        b'0'..=b'9' | b'+' | b'(' => numbers::number(bytes, at),
        b'@' => contacts::email(bytes, at),
        b'=' => secrets::assigned(bytes, at),
        b':' => secrets::credentials(bytes, at).or_else(|| secrets::assigned(bytes, at)).or_else(|| contacts::ipv6(bytes, at)),
        b'-' => secrets::pem(bytes, at),
        _ => secrets::prefixed(bytes, at).or_else(|| lettered::lettered(bytes, at)).or_else(|| secrets::stated(bytes, at)),
    }
}

/// Where to go on when nothing was found: behind a run of digits, else behind the byte.
fn after(bytes: &[u8], at: usize) -> usize {
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    at + digits.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, &str)> {
        scan(text).into_iter().map(|span| (span.detector, &text[span.start as usize..span.end as usize])).collect()
    }

    #[test]
    fn values_are_found_with_their_type() {
        let cases = [
            ("pay with 4111 1111 1111 1111 now", "card", "4111 1111 1111 1111"),
            ("card 378282246310005.", "card", "378282246310005"),
            ("IBAN DE89 3704 0044 0532 0130 00, please", "iban", "DE89 3704 0044 0532 0130 00"),
            ("to GB82WEST12345698765432", "iban", "GB82WEST12345698765432"),
            ("Patient A. Example, SSN 078-05-1120", "national_id", "078-05-1120"),
            ("my ssn is 078051120", "national_id", "078051120"),
            ("CPF 529.982.247-25", "national_id", "529.982.247-25"),
            ("СНИЛС 112-233-445 95", "national_id", "112-233-445 95"),
            ("身份证 110101199003070134", "national_id", "110101199003070134"),
            ("NI number QQ 12 34 56 C", "national_id", "QQ 12 34 56 C"),
            ("DNI 12345678Z", "national_id", "12345678Z"),
            ("mail jane.doe+x@mail.example.org today", "email", "jane.doe+x@mail.example.org"),
            ("call +44 7700 900123", "phone", "+44 7700 900123"),
            ("call 541-714-1388", "phone", "541-714-1388"),
            ("(555) 123-4567 rings", "phone", "(555) 123-4567"),
            ("from 10.251.43.21 port", "ip", "10.251.43.21"),
            ("ping 2001:db8::1 twice", "ip", "2001:db8::1"),
            ("password=hunter2", "secret", "hunter2"),
            ("my password is Tr0ub4dor&3", "secret", "Tr0ub4dor&3"),
            ("api_key: \"0123456789abcdef\"", "secret", "0123456789abcdef"),
            ("use AKIAIOSFODNN7EXAMPLE here", "secret", "AKIAIOSFODNN7EXAMPLE"),
            ("postgres://app:s3cr3tpw@db/x", "secret", "s3cr3tpw"),
            ("https://app:s3cr3tpw@db.example.org/x", "secret", "s3cr3tpw"),
            ("see https://www.example.org/a?b=c.", "url", "https://www.example.org/a?b=c"),
            ("(www.example.org)", "url", "www.example.org"),
            ("GET https://x.example/cb?token=a1b2c3d4e5", "secret", "a1b2c3d4e5"),
            ("NHS number 943 476 5919", "national_id", "943 476 5919"),
            ("Personnummer 811228-9874", "national_id", "811228-9874"),
            ("codice fiscale RSSMRA85T10A562S", "national_id", "RSSMRA85T10A562S"),
            ("NRIC S1234567D", "national_id", "S1234567D"),
            ("PAN ABCPE1234F", "national_id", "ABCPE1234F"),
            ("SIN number 046 454 286", "national_id", "046 454 286"),
            ("office,+41 (0)69 979 80 58", "phone", "+41 (0)69 979 80 58"),
        ];
        for (text, detector, value) in cases {
            assert_eq!(found(text), [(detector.to_owned(), value)], "{text}");
        }
        assert_eq!(found(&format!("key sk-{}", "a1b2".repeat(8)))[0].0, "secret");
        assert_eq!(found(&format!("ghp_{}", "Ab1".repeat(12)))[0].0, "secret");
        assert_eq!(found("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk")[0].0, "secret");
        assert_eq!(found("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nend").len(), 1);
    }

    #[test]
    fn words_about_values_and_other_numbers_are_not_values() {
        for text in [
            "error 500: password reset link leaks the api_key",
            "how do I rotate the secret token?",
            "fn login(user: &str, password: &str, token: String) -> Result<(), Error>",
            "connect(password=password, token=get_token(), secret=settings.SECRET)",
            "password: <your password>, api_key=${API_KEY}, token=***",
            "blk_-7029628814943626474 at 2005-06-03-15.42.50.675872",
            "released 2024-05-12, version 1.2.3, 1,234,567 rows, 10:15:30",
            "since 12/05/2024 3 of 10 and 100-200 ms 1700000000000",
            "commit 6906cacdf1364c53fffcb135830cfd5e4182cc6b std::a::b",
            "git@github.com:org/repo.git",
            "task-skipped sk-learn eyJ AKIA",
            "http:// is a scheme, www. is a prefix, and std::a://b is neither",
            "weight 71.1 (101.9-50.9) kg, posters (2009 23.7% versus 2), AUC 0.891 (0.877-0.907)",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC*|[0-9A-Za-z@=:+(). _-]{0,120}|[-0-9 .ß@:=\"']{0,60}") {
            let mut end = 0;
            for span in scan(&text) {
                proptest::prop_assert!(span.start >= end && span.end > span.start);
                proptest::prop_assert!(text.get(span.start as usize..span.end as usize).is_some());
                end = span.end;
            }
        }
    }
}
