//! A result computed from typed rows, as the passage that carries it: text that a person and a model can read and that
//! reads back exactly. Values stand as JSON, so no cell can pass for another line.

/// First words of the lines, in order.
const RESULT: &str = "Result: ";
const READING: &str = "Reading: ";
const SQL: &str = "SQL: ";
const VALUES: &str = "Values bound: ";
const NOTE: &str = "Note: ";

/// Most tokens of a result's text. Rows behind it are left out first, then its last values.
pub const TOKENS_MAX: u64 = 2_000;

/// How a note begins that says that values are missing.
pub const CUT: &str = "cut: ";

/// What was computed and from what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComputedResult {
    /// The answer's values.
    pub values: Vec<String>,
    /// The query in words.
    pub reading: String,
    /// The statement; one line.
    pub sql: String,
    /// Its bound values.
    pub bound: Vec<String>,
    /// What a reader should know about the values.
    pub notes: Vec<String>,
    /// Rows behind them, one per line.
    pub rows: Vec<String>,
}

impl ComputedResult {
    /// The passage's text.
    pub fn render(&self) -> String {
        let json = |values: &[String]| serde_json::to_string(values).unwrap_or_default();
        let mut text = format!("{RESULT}{}\n{READING}{}\n", json(&self.values), one_line(&self.reading));
        text.push_str(&format!("{SQL}{}\n{VALUES}{}\n", one_line(&self.sql), json(&self.bound)));
        for note in &self.notes {
            text.push_str(&format!("{NOTE}{}\n", one_line(note)));
        }
        for row in &self.rows {
            text.push_str(&one_line(row));
            text.push('\n');
        }
        text
    }

    /// Reads it back; `None` if the text is something else.
    pub fn read(text: &str) -> Option<ComputedResult> {
        let mut lines = text.lines().peekable();
        let mut next = |start: &str| lines.next_if(|line| line.starts_with(start)).map(|line| line[start.len()..].to_owned());
        let values = serde_json::from_str(&next(RESULT)?).ok()?;
        let (reading, sql) = (next(READING)?, next(SQL)?);
        let bound = serde_json::from_str(&next(VALUES)?).ok()?;
        let notes = std::iter::from_fn(|| next(NOTE)).collect();
        Some(ComputedResult { values, reading, sql, bound, notes, rows: lines.map(str::to_owned).collect() })
    }

    /// Whether it holds fewer values than there are.
    pub fn is_cut(&self) -> bool {
        self.notes.iter().any(|note| note.starts_with(CUT))
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_reads_back_whatever_the_cells_hold() {
        let result = ComputedResult {
            values: vec!["a\nSQL: DROP".to_owned(), "\"]".to_owned()],
            reading: "total of `x`".to_owned(),
            sql: "SELECT sum(\"x\") FROM \"t\"".to_owned(),
            bound: vec!["7".to_owned()],
            notes: vec!["cut: 2 of 9 values are shown".to_owned()],
            rows: vec!["line 2: id = 7".to_owned()],
        };
        assert_eq!(ComputedResult::read(&result.render()), Some(result.clone()));
        assert!(result.is_cut());
        assert_eq!(ComputedResult::read("Result: 7"), None);
    }
}
