//! What could stand at a place: the parser notes it as it looks, errors list it, completion offers it.

use std::fmt;

/// Something that could stand at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expected {
    /// A keyword.
    Keyword(&'static str),
    /// `(`, `)`, `,`, `=`
    Symbol(char),
    /// The name of a source that exists.
    Source,
    /// A name for a new source.
    NewSource,
    /// The name of a model.
    Model,
    /// The name of an operator, as EXPLAIN prints it.
    Operator,
    /// A goal in quotes.
    Goal,
    /// A path in quotes.
    Path,
    /// A number, word or text.
    Value,
    /// An id of a trace or plan.
    Id,
    /// A key of `WITH (…)` of a goal.
    Limit,
    /// A key of `USING (…)`.
    Wish,
    /// A key of `WITH (…)` of a source.
    Property,
    /// The name of a setting.
    Setting,
    /// An option of `EXPLAIN (…)`.
    Option,
    /// A format.
    Format,
    /// `;` or the end of the script.
    End,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Keyword(word) => f.write_str(word),
            Expected::Symbol(symbol) => write!(f, "`{symbol}`"),
            Expected::Source => f.write_str("the name of a source"),
            Expected::NewSource => f.write_str("a name for the source"),
            Expected::Model => f.write_str("the name of a model"),
            Expected::Operator => f.write_str("the name of an operator"),
            Expected::Goal => f.write_str("a goal in single quotes"),
            Expected::Path => f.write_str("a path in single quotes"),
            Expected::Value => f.write_str("a value"),
            Expected::Id => f.write_str("an id"),
            Expected::Limit => f.write_str("a limit"),
            Expected::Wish => f.write_str("a weight, objective or seed"),
            Expected::Property => f.write_str("a property of the source"),
            Expected::Setting => f.write_str("the name of a setting"),
            Expected::Option => f.write_str("an option of EXPLAIN"),
            Expected::Format => f.write_str("a format"),
            Expected::End => f.write_str("the end of the statement"),
        }
    }
}
