//! Why a goal is not answered, in words that say what to decide or to write instead.

use std::fmt;

/// Why nothing is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nothing in the goal names a column or a value.
    NoMatch,
    /// A function is asked for that is not computed.
    NotComputed {
        /// Its name in the goal.
        function: String,
    },
    /// A column is named, but not what is asked of it.
    NoOperation {
        /// The column.
        column: String,
    },
    /// An "or" that is no choice on one column.
    Either {
        /// Both sides in words, where both are conditions.
        sides: Option<(String, String)>,
    },
    /// A word beside an "or" that is no value of the tables.
    Unknown {
        /// It, as the goal has it.
        word: String,
    },
    /// The database does not accept the statement of the likeliest reading.
    Rejected {
        /// It, in words.
        reading: String,
        /// The database's words.
        reason: String,
    },
    /// Two conditions that exclude each other.
    Both {
        /// They, in words.
        sides: (String, String),
    },
    /// Several readings fit about equally.
    Ambiguous {
        /// In words, the likeliest first.
        readings: Vec<String>,
    },
    /// The likeliest reading is not likely enough.
    Unlikely {
        /// It, in words.
        reading: String,
        /// Its probability.
        probability: f64,
        /// Words that it does not explain.
        unexplained: Vec<String>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoMatch => f.write_str("nothing in the goal names a column or a value of the tables"),
            Refusal::NotComputed { function } => {
                write!(f, "the goal asks for the {function}, which is not computed; sums, means, extremes, counts and differences are")
            }
            Refusal::NoOperation { column } => {
                write!(f, "the goal names `{column}` but not what is to be computed of it: say a total, an average, the highest, how many")
            }
            Refusal::Either { sides: Some((one, other)) } => {
                write!(
                    f,
                    "the goal reads as rows where either {one} or {other}, which is not computed as one query; ask for each by itself"
                )
            }
            Refusal::Either { sides: None } => {
                f.write_str("the goal has an \"or\" that joins no two conditions on one column; ask for each side by itself")
            }
            Refusal::Unknown { word } => {
                write!(f, "no column and no value of the tables is called {word:?}, so one side of the goal's \"or\" is unknown")
            }
            Refusal::Rejected { reading, reason } => write!(f, "the likeliest reading is {reading}, which cannot be computed: {reason}"),
            Refusal::Both { sides: (one, other) } => {
                let between = "the goal reads as either rows with one of the two or one result for each";
                write!(
                    f,
                    "{between}, because no row passes both {one} and {other}; write \"or\" for rows with one of them, or ask for each by itself"
                )
            }
            Refusal::Ambiguous { readings } => write!(f, "the goal fits {} about equally", readings.join(" and ")),
            Refusal::Unlikely { reading, probability, unexplained } => {
                write!(f, "the likeliest reading is {reading}, P = {probability:.2}")?;
                match unexplained.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; not explained: {}", unexplained.join(", ")),
                }
            }
        }
    }
}
