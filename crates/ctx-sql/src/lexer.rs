//! Text to tokens, by PostgreSQL's rules for quotes, dollars and comments. Never fails: what is no token becomes
//! [`Kind::Bad`] and is reported when the parser reaches it, so that statements before it are not lost.
//!
//! One departure: a bare word may hold `.` and `-` between letters and digits (`deploy-logs`, `app.log`). The language has
//! no arithmetic, and names of sources and models look like this. Words keep their case; only keywords ignore it.

use crate::error::Problem;
use crate::span::Span;
use crate::token::{Kind, Token};

/// Most bytes of a script.
pub const SCRIPT_BYTES_MAX: usize = 16 << 20;

/// All tokens of `text`; the last one is [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    if text.len() > SCRIPT_BYTES_MAX {
        let problem = Problem::TooLong { bytes: text.len(), max: SCRIPT_BYTES_MAX };
        let end = Token { kind: Kind::End, at: Span::new(text.len(), text.len()) };
        return vec![Token { kind: Kind::Bad(problem, None), at: Span::new(0, 0) }, end];
    }
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next();
        let last = token.kind == Kind::End;
        tokens.push(token);
        if last {
            return tokens;
        }
    }
}

/// Whether `text` is one bare word.
pub(crate) fn is_bare_word(text: &str) -> bool {
    text.starts_with(starts_word) && word_len(text) == text.len()
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Token {
        if let Some(bad) = self.skip_blanks() {
            return bad;
        }
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return self.token(Kind::End, start, 0) };
        match first {
            '\'' => self.quoted('\'', "text"),
            '"' => self.quoted('"', "name"),
            '$' => self.dollar_quoted(),
            '(' | ')' | ',' | '=' | ';' | '*' | '+' | '-' => self.token(Kind::Symbol(first), start, 1),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            c if c.is_ascii_digit() => self.number(),
            c if starts_word(c) => self.token(Kind::Word, start, word_len(rest)),
            other => self.token(Kind::Bad(Problem::Character(other), character_hint(other)), start, other.len_utf8()),
        }
    }

    /// A token over the next `bytes`.
    fn token(&mut self, kind: Kind, start: usize, bytes: usize) -> Token {
        self.at += bytes;
        Token { kind, at: Span::new(start, self.at) }
    }

    /// Blanks and comments. A comment without an end is the only thing here that can be wrong.
    fn skip_blanks(&mut self) -> Option<Token> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("--") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                match comment_len(rest) {
                    Some(bytes) => self.at += bytes,
                    None => return Some(self.unterminated("comment", 2, rest.len(), "close it with */; comments nest")),
                }
            } else if blank == 0 {
                return None;
            }
        }
    }

    /// Everything from here on, blamed on its first `shown` bytes.
    fn unterminated(&mut self, what: &'static str, shown: usize, bytes: usize, hint: &'static str) -> Token {
        let token = self.token(Kind::Bad(Problem::Unterminated { what }, Some(hint)), self.at, bytes);
        Token { at: Span::new(token.at.start, token.at.start + shown), ..token }
    }

    /// `'…'` or `"…"`: a doubled quote is one of its kind, nothing else is special.
    fn quoted(&mut self, quote: char, what: &'static str) -> Token {
        let (start, body) = (self.at, &self.rest()[1..]);
        let mut value = String::new();
        let mut from = 0;
        while let Some(found) = body[from..].find(quote) {
            let at = from + found;
            value.push_str(&body[from..at]);
            if !body[at + 1..].starts_with(quote) {
                let kind = if quote == '"' { Kind::Quoted(value) } else { Kind::Text(value) };
                return self.token(kind, start, at + 2);
            }
            value.push(quote);
            from = at + 2;
        }
        let hint =
            if quote == '"' { "close it with \"; write \"\" for a quote inside" } else { "close it with '; write '' for a quote inside" };
        self.unterminated(what, 1, body.len() + 1, hint)
    }

    /// `$$…$$` or `$tag$…$tag$`: nothing inside is special.
    fn dollar_quoted(&mut self) -> Token {
        let (start, rest) = (self.at, self.rest());
        let Some(delimiter) = dollar_delimiter(rest) else {
            return self.token(Kind::Bad(Problem::Character('$'), Some("a text in dollars begins with $$ or $tag$")), start, 1);
        };
        let body = &rest[delimiter.len()..];
        match body.find(delimiter) {
            Some(end) => self.token(Kind::Text(body[..end].to_owned()), start, end + 2 * delimiter.len()),
            None => self.unterminated("text", delimiter.len(), rest.len(), "close it with the same dollars that open it"),
        }
    }

    /// Digits with `_` between them, a fraction, an exponent. Letters that follow at once make it no number.
    fn number(&mut self) -> Token {
        let (start, rest) = (self.at, self.rest());
        let mut bytes = digits_len(rest);
        if rest[bytes..].starts_with('.') {
            bytes += 1 + digits_len(&rest[bytes + 1..]);
        }
        let exponent = &rest[bytes..];
        if exponent.starts_with(['e', 'E']) {
            let sign = usize::from(exponent[1..].starts_with(['+', '-']));
            let digits = digits_len(&exponent[1 + sign..]);
            bytes += if digits == 0 { 0 } else { 1 + sign + digits };
        }
        let tail: usize = rest[bytes..].chars().take_while(|c| continues_word(*c)).map(char::len_utf8).sum();
        if tail == 0 {
            return self.token(Kind::Number, start, bytes);
        }
        let problem = Problem::Number(rest[..bytes + tail].to_owned());
        self.token(
            Kind::Bad(problem, Some("numbers have no unit; a name that begins with a digit needs double quotes")),
            start,
            bytes + tail,
        )
    }
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of the word at the start: letters, digits, `_`, and single `.` or `-` between them.
fn word_len(text: &str) -> usize {
    let mut bytes = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let joins = matches!(c, '.' | '-') && chars.peek().is_some_and(|(_, next)| continues_word(*next));
        if !continues_word(c) && !joins {
            break;
        }
        bytes = at + c.len_utf8();
    }
    bytes
}

fn digits_len(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count()
}

/// Bytes of a comment that opens here; `None` if it does not close.
fn comment_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// `$$` or `$tag$` at the start; a tag is a word without `.` and `-`.
fn dollar_delimiter(text: &str) -> Option<&str> {
    let tag = &text[1..];
    let end = tag.find('$')?;
    let valid = end == 0 || (tag.starts_with(starts_word) && tag[..end].chars().all(continues_word));
    valid.then(|| &text[..end + 2])
}

fn character_hint(c: char) -> Option<&'static str> {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{00b4}' | '\u{2032}' => Some("a typographic quote: write '"),
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{00ab}' | '\u{00bb}' => {
            Some("a typographic quote: write ' around texts and \" around names")
        }
        '\u{2013}' | '\u{2014}' | '\u{2212}' => Some("a typographic dash: write -"),
        '`' | '[' | ']' => Some("names are quoted with \""),
        '\\' => Some("commands with a backslash stand at the beginning of a line, outside a statement"),
        ':' | '>' | '<' | '{' | '}' => Some("write key = value"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).into_iter().map(|token| token.kind).filter(|kind| *kind != Kind::End).collect()
    }

    fn text(value: &str) -> Kind {
        Kind::Text(value.to_owned())
    }

    #[test]
    fn quotes_dollars_and_comments_follow_postgresql() {
        assert_eq!(kinds("'it''s' ''"), [text("it's"), text("")]);
        assert_eq!(kinds("$$it's $1$$ $q$a $$ b$q$"), [text("it's $1"), text("a $$ b")]);
        assert_eq!(kinds("\"a \"\"b\"\"\""), [Kind::Quoted("a \"b\"".to_owned())]);
        assert_eq!(kinds("/* a /* b */ c */ ; -- rest\n,"), [Kind::Symbol(';'), Kind::Symbol(',')]);
        assert_eq!(kinds("a\\'"), [Kind::Word, Kind::Bad(Problem::Character('\\'), character_hint('\\')), bad("text")]);
    }

    fn bad(what: &'static str) -> Kind {
        Kind::Bad(Problem::Unterminated { what }, Some("close it with '; write '' for a quote inside"))
    }

    #[test]
    fn names_of_sources_and_models_are_words() {
        for word in ["docs", "deploy-logs", "app.log", "bge-small-en-v1.5", "_x", "журнал", "文書"] {
            assert_eq!(kinds(word), [Kind::Word], "{word}");
            assert!(is_bare_word(word), "{word}");
        }
        assert_eq!(kinds("a-- comment"), [Kind::Word]);
        assert!(!is_bare_word("a-") && !is_bare_word("a..b") && !is_bare_word("9a") && !is_bare_word(""));
    }

    #[test]
    fn numbers_and_what_is_none() {
        for number in ["5", "0.05", "1e6", "1E-3", "120_000", ".5", "5."] {
            assert_eq!(kinds(number), [Kind::Number], "{number}");
        }
        for number in ["90s", "1e", "3e36eca", "1.5x"] {
            assert!(matches!(kinds(number)[..], [Kind::Bad(Problem::Number(_), _)]), "{number}");
        }
    }

    #[test]
    fn spans_cover_what_they_name() {
        let script = "  'a' , é";
        let found: Vec<&str> = tokens(script).iter().map(|token| &script[token.at.range(script)]).collect();
        assert_eq!(found, ["'a'", ",", "é", ""]);
    }
}
