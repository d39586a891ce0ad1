//! Results computed from a source's tables, as passages: the values, the statement, the rows behind them. Bounded in rows,
//! bytes, time and tokens; a result that is cut says so.

use super::view::{OWN, TableView};
use crate::error::EmbeddedError;
use crate::search::Found;
use crate::tokens::O200k;
use ctx_contracts::ExecMetrics;
use ctx_duckdb::tables::{Bounds, Computed, SourceRow};
use ctx_tables::Table;
use ctx_tables::describe::describe;
use ctx_tables::rank::Choice;
use ctx_tables::sql::Sql;
use ctx_types::computed::{CUT, ComputedResult, TOKENS_MAX};
use ctx_types::id::sha256_hex;
use ctx_types::passage::{ByteRange, Locator};
use ctx_types::{AccessPath, Hit, Passage};

/// Characters of a cell shown among the rows behind a result.
const CELL_CHARS_MAX: usize = 60;

/// Where a result comes from.
struct Place {
    path: String,
    lines: (u32, u32),
    section: String,
    title: String,
}

impl TableView {
    /// The result of the goal's reading as one passage; none where the reading is refused.
    pub(crate) fn compute(&self, goal: &str, counter: &O200k) -> Result<Found, EmbeddedError> {
        if let Some(Ok(())) = self.own(goal) {
            let computed = self.db.run_own(goal, &Bounds::default())?;
            return Ok(self.found(&computed, self.result_of_own(goal, &computed), self.place_of_own(goal), 1.0, counter));
        }
        let parsed = self.parse(goal);
        let Some(choice) = parsed.best.filter(|_| parsed.refusal.is_none()) else {
            return Ok(Found { hits: Vec::new(), metrics: ExecMetrics { rows: Some(0), ..ExecMetrics::default() } });
        };
        let computed = match self.db.compute(&choice, &Bounds::default()) {
            Ok(computed) => computed,
            // Values that the reading cannot be computed of give no answer; the store is as good as before.
            Err(error) if error.is_of_values() => {
                tracing::warn!(source = %self.name, %error, "the reading cannot be computed");
                return Ok(Found { hits: Vec::new(), metrics: ExecMetrics { rows: Some(0), ..ExecMetrics::default() } });
            }
            Err(error) => return Err(error.into()),
        };
        let table = &self.db.tables()[choice.table];
        Ok(self.found(&computed, result(table, &choice, &computed), place(table, &computed), choice.probability, counter))
    }

    fn found(&self, computed: &Computed, result: ComputedResult, place: Place, score: f64, counter: &O200k) -> Found {
        let (text, tokens) = fitted(result, counter);
        let file = self.published.files.iter().find(|file| file.path == place.path);
        let locator = Locator {
            source: self.name.clone(),
            path: place.path.clone(),
            bytes: ByteRange { start: 0, end: file.map_or(0, |file| file.bytes) },
            line_start: place.lines.0,
            line_end: place.lines.1,
            section: place.section,
            also_at: Vec::new(),
        };
        let metrics = ExecMetrics { rows: Some(computed.rows.len() as u64), bytes: Some(text.len() as u64), ..ExecMetrics::default() };
        let passage = Passage {
            id: sha256_hex(format!("{}\n{text}", self.published.fingerprint).as_bytes())[..32].to_owned(),
            locator,
            title: place.title,
            tokens,
            text,
            fingerprint: file.map(|file| file.hash.clone()).unwrap_or_default(),
        };
        Found { hits: vec![Hit { passage, score, rank: 1, path: AccessPath::Table, exact: false }], metrics }
    }

    fn result_of_own(&self, goal: &str, computed: &Computed) -> ComputedResult {
        ComputedResult {
            values: computed.rows.iter().filter_map(|row| whole_row(row)).collect(),
            reading: OWN.to_owned(),
            sql: goal.trim().to_owned(),
            bound: Vec::new(),
            notes: computed.cut.iter().map(|limit| format!("{CUT}the result reached the limit of {limit}")).collect(),
            rows: Vec::new(),
        }
    }

    fn place_of_own(&self, goal: &str) -> Place {
        let path = self.published.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let section = goal.split_whitespace().collect::<Vec<_>>().join(" ");
        Place { path, lines: (1, 1), section, title: self.name.to_string() }
    }

    /// The values of a result, computed again by the statement that it names.
    pub(crate) fn recompute(&self, result: &ComputedResult) -> Result<Vec<String>, EmbeddedError> {
        if result.reading == OWN {
            return Ok(self.db.run_own(&result.sql, &Bounds::default())?.rows.iter().filter_map(|row| whole_row(row)).collect());
        }
        let sql = Sql { text: result.sql.clone(), parameters: result.bound.clone() };
        Ok(values(&self.db.run(&sql, &Bounds::default())?))
    }

    /// A person's own SQL.
    pub(crate) fn run_own(&self, text: &str, bounds: &Bounds) -> Result<Computed, EmbeddedError> {
        Ok(self.db.run_own(text, bounds)?)
    }
}

fn result(table: &Table, choice: &Choice, computed: &Computed) -> ComputedResult {
    let query = &choice.query;
    let of_query = || query.ask.measured().into_iter().chain(query.ask.shown()).chain(query.filters.iter().map(|filter| filter.column));
    let used = |at: &usize| of_query().any(|column| column == *at);
    let mut notes: Vec<String> = computed.cut.iter().map(|limit| format!("{CUT}the result reached the limit of {limit}")).collect();
    for column in (0..table.columns.len()).filter(used).map(|at| &table.columns[at]) {
        notes.extend(column.notes.iter().map(|note| format!("{}: {note}", column.name)));
    }
    ComputedResult {
        values: values(computed),
        reading: describe(table, query),
        sql: computed.sql.text.clone(),
        bound: computed.sql.parameters.clone(),
        notes,
        rows: computed.behind.iter().map(|row| line(table, row)).collect(),
    }
}

/// One value per row; a grouped one stands before its measure.
fn values(computed: &Computed) -> Vec<String> {
    let grouped = computed.columns.len() > 1;
    let value = |row: &Vec<Option<String>>| match row.as_slice() {
        [Some(value), Some(measure), ..] if grouped => Some(format!("{value}: {measure}")),
        [Some(value), ..] => Some(value.clone()),
        _ => None,
    };
    computed.rows.iter().filter_map(value).collect()
}

/// A row of a person's own result: its cells in order.
fn whole_row(row: &[Option<String>]) -> Option<String> {
    (!row.is_empty()).then(|| row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" | "))
}

fn line(table: &Table, row: &SourceRow) -> String {
    let filled = table.columns.iter().zip(&row.cells).filter_map(|(column, cell)| Some((column, cell.as_ref()?)));
    let cells: Vec<String> = filled.map(|(column, cell)| format!("{} = {}", column.name, clip(cell))).collect();
    format!("line {}: {}", row.line, cells.join(", "))
}

fn clip(cell: &str) -> String {
    if cell.chars().count() <= CELL_CHARS_MAX {
        return cell.to_owned();
    }
    cell.chars().take(CELL_CHARS_MAX).chain(std::iter::once('…')).collect()
}

fn place(table: &Table, computed: &Computed) -> Place {
    let of = |pick: fn(u64, u64) -> u64| computed.behind.iter().map(|row| row.line).reduce(pick).unwrap_or(1);
    let lines = [of(u64::min), of(u64::max)].map(|line| u32::try_from(line).unwrap_or(u32::MAX));
    Place {
        path: table.files.first().cloned().unwrap_or_default(),
        lines: (lines[0], lines[1]),
        section: computed.sql.inlined(),
        title: table.name.clone(),
    }
}

/// The text within its limit of tokens: first fewer rows behind the values, then fewer values, and a note that says so.
fn fitted(mut result: ComputedResult, counter: &O200k) -> (String, u32) {
    let all = result.values.len();
    loop {
        let text = result.render();
        let tokens = counter.tokens(&text);
        if u64::from(tokens) <= TOKENS_MAX {
            return (text, tokens);
        }
        match (result.rows.len(), result.values.len()) {
            (1.., _) => result.rows.truncate(result.rows.len() / 2),
            (0, 2..) => {
                result.values.truncate(result.values.len() / 2);
                result.notes.retain(|note| !note.starts_with(CUT));
                result.notes.insert(0, format!("{CUT}{} of {all} values are shown", result.values.len()));
            }
            // One value that is longer by itself is the answer all the same.
            _ => return (text, tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_loses_its_rows_first_and_says_which_values_are_missing() {
        let row = |n: usize| format!("line {n}: name = a customer with a rather long name, city = Springfield");
        let mut result = ComputedResult { values: vec!["7".to_owned()], rows: (0..400).map(row).collect(), ..ComputedResult::default() };
        let (text, tokens) = fitted(result.clone(), &O200k::new());
        let held = ComputedResult::read(&text).expect("reads back");
        assert!(u64::from(tokens) <= TOKENS_MAX && !held.rows.is_empty() && !held.is_cut());
        result.values = (0..1_000).map(|n| format!("customer number {n}")).collect();
        let held = ComputedResult::read(&fitted(result.clone(), &O200k::new()).0).expect("reads back");
        assert!(held.is_cut() && held.rows.is_empty() && result.values.starts_with(&held.values));
        assert_eq!(held.notes[0], format!("cut: {} of 1000 values are shown", held.values.len()));
    }
}
