//! Commands with a backslash, as psql has them: for the shell, and between the statements of a script.

use crate::failure::Failure;
use ctx_sql::SYNOPSES;

/// Names with what they do, for help and completion.
pub(super) const COMMANDS: [(&str, &str); 10] = [
    ("\\?", "this help"),
    ("\\h [STATEMENT]", "how a statement is written"),
    ("\\d [SOURCE]", "sources, or what is known about one"),
    ("\\dm", "models"),
    ("\\timing [on|off]", "say how long each statement took"),
    ("\\x [on|off]", "tables with one line per value"),
    ("\\json [on|off]", "results as JSON"),
    ("\\i FILE", "execute the statements of a file"),
    ("\\o [FILE]", "write results to a file; without one, to the screen again"),
    ("\\q", "leave"),
];

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meta {
    Help,
    Syntax(Option<String>),
    Sources(Option<String>),
    Models,
    Timing(Option<bool>),
    Expanded(Option<bool>),
    Json(Option<bool>),
    Include(String),
    Output(Option<String>),
    Quit,
}

/// Reads a line that begins with a backslash. A `;` at its end is forgiven.
pub(super) fn read(line: &str) -> Result<Meta, Failure> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = Some(unquoted(rest.trim())).filter(|argument| !argument.is_empty()).map(str::to_owned);
    let switch = |argument: Option<String>| match argument.as_deref().map(str::to_lowercase).as_deref() {
        None => Ok(None),
        Some("on" | "true") => Ok(Some(true)),
        Some("off" | "false") => Ok(Some(false)),
        Some(other) => Err(Failure::input(format!("{name}: expected on or off, found {other:?}"))),
    };
    Ok(match name {
        "\\?" => Meta::Help,
        "\\h" => Meta::Syntax(argument),
        "\\d" => Meta::Sources(argument),
        "\\dm" => Meta::Models,
        "\\timing" => Meta::Timing(switch(argument)?),
        "\\x" => Meta::Expanded(switch(argument)?),
        "\\json" => Meta::Json(switch(argument)?),
        "\\i" => Meta::Include(argument.ok_or_else(|| Failure::input("\\i: which file?"))?),
        "\\o" => Meta::Output(argument),
        "\\q" => Meta::Quit,
        other => {
            return Err(Failure::input(format!("there is no command {other}")).with_hint("\\? lists them; statements have no backslash"));
        }
    })
}

/// A file name may stand in quotes.
fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}

/// `\?`
pub(super) fn help() -> String {
    let mut text = String::from("Statements end with a semicolon and may take several lines. Commands:\n");
    for (name, about) in COMMANDS {
        text.push_str(&format!("  {name:18}{about}\n"));
    }
    text.push_str("Statements (\\h STATEMENT shows how one is written):\n");
    for synopsis in &SYNOPSES {
        text.push_str(&format!("  {:18}{}\n", synopsis.statement, synopsis.about));
    }
    text.push_str("CREATE SOURCE and SET last as long as the session; sources below sources: in ctxrt.yaml stay.\n");
    text
}

/// `\h`
pub(super) fn syntax(wanted: Option<&str>) -> Result<String, Failure> {
    let wanted = wanted.unwrap_or_default().to_uppercase();
    let found: Vec<_> = SYNOPSES.iter().filter(|synopsis| synopsis.statement.starts_with(&wanted)).collect();
    if found.is_empty() {
        let known: Vec<&str> = SYNOPSES.iter().map(|synopsis| synopsis.statement).collect();
        return Err(Failure::input(format!("there is no statement {wanted:?}; there are {}", known.join(", "))));
    }
    Ok(found.iter().map(|synopsis| format!("{}\n", synopsis.shape)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_with_and_without_their_arguments() {
        assert_eq!(read("\\timing").expect("known"), Meta::Timing(None));
        assert_eq!(read(" \\x ON ;").expect("known"), Meta::Expanded(Some(true)));
        assert_eq!(read("\\i 'a file.sql'").expect("known"), Meta::Include("a file.sql".to_owned()));
        assert_eq!(read("\\d docs").expect("known"), Meta::Sources(Some("docs".to_owned())));
        for wrong in ["\\", "\\nosuch", "\\x maybe", "\\i"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_command_of_the_help_is_read() {
        for (name, _) in COMMANDS {
            let word = name.split(' ').next().expect("a name");
            let line = if word == "\\i" { "\\i x".to_owned() } else { word.to_owned() };
            assert!(read(&line).is_ok() && help().contains(name), "{name}");
        }
        assert!(syntax(Some("create")).expect("known").starts_with("CREATE SOURCE"));
        assert!(syntax(Some("select")).is_err());
    }
}
