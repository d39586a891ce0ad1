//! Columns aligned by display width. The last column takes what is left and is clipped; numbers are never cut.

use ctx_explain::escape;

/// Widest column but the last.
const COLUMN_MAX: usize = 40;
/// Blanks between columns.
const GAP: usize = 2;

/// Rows under a head. Cells may hold anything: they are escaped here.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(&head)
        .chain(rows)
        .map(|row| {
            row.iter()
                .map(|cell| {
                    escape::clip(&escape::line(cell), if is_number(cell) { usize::MAX } else { COLUMN_MAX.max(width) }).into_owned()
                })
                .collect()
        })
        .collect();
    let columns = head.len();
    let widths: Vec<usize> = (0..columns)
        .map(|at| all.iter().filter_map(|row| row.get(at)).map(|cell| escape::width(cell).min(COLUMN_MAX)).max().unwrap_or(0))
        .collect();
    let right: Vec<bool> =
        (0..columns).map(|at| !rows.is_empty() && rows.iter().all(|row| row.get(at).is_none_or(|cell| is_number(cell)))).collect();
    let mut out = String::new();
    for row in &all {
        let mut used = 0;
        for (at, cell) in row.iter().enumerate() {
            let last = at + 1 == columns;
            let room = if last { width.saturating_sub(used).max(8) } else { COLUMN_MAX };
            let cell = if is_number(cell) { cell.clone().into() } else { escape::clip(cell, room) };
            let pad = widths[at].saturating_sub(escape::width(&cell));
            if right[at] {
                out.extend(std::iter::repeat_n(' ', pad));
            }
            out.push_str(&cell);
            if !last {
                out.extend(std::iter::repeat_n(' ', GAP + if right[at] { 0 } else { pad }));
            }
            used += widths[at] + GAP;
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

/// One line per value, one block per row: what fits no line of a table.
pub(crate) fn records(head: &[&str], rows: &[Vec<String>]) -> String {
    let widest = head.iter().map(|cell| escape::width(cell)).max().unwrap_or(0);
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        out.push_str(&format!("-[ {} ]-\n", number + 1));
        for (name, cell) in head.iter().zip(row) {
            let pad = " ".repeat(widest.saturating_sub(escape::width(name)));
            let line = format!("{name}{pad} | {}", escape::line(cell));
            out.push_str(line.trim_end_matches(' '));
            out.push('\n');
        }
    }
    out
}

/// Digits with a sign, a unit of money or a decimal point; an absent number is a dash.
fn is_number(cell: &str) -> bool {
    cell == "-"
        || (cell.chars().any(|c| c.is_ascii_digit())
            && cell.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | '$' | '%' | 'e')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn wide_characters_align_and_hostile_ones_do_not_pass() {
        let rows = [row(&["長い名前", "1", "x"]), row(&["a\tb\nc", "10", "y"]), row(&["\u{202e}gnp", "100", "z"])];
        let text = table(&["name", "n", "path"], &rows, 80);
        let columns: Vec<usize> = text.lines().map(|line| escape::width(&line[..line.rfind(' ').expect("columns") + 1])).collect();
        assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
        assert!(text.contains("a\\tb\\nc") && !text.contains('\u{202e}'), "{text}");
    }

    #[test]
    fn no_width_is_too_small() {
        let rows = [row(&["docs", "123456", "a very long path that does not fit anywhere"])];
        for width in 0..30 {
            let text = table(&["source", "passages", "path"], &rows, width);
            assert!(text.contains("123456"), "{width}: {text}");
        }
    }

    #[test]
    fn records_show_everything_and_nothing_hostile() {
        let text = records(&["source", "n"], &[row(&["docs", "1"]), row(&["a\nb\u{202e}", ""])]);
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.starts_with("-[ 1 ]-\nsource | docs\nn      | 1\n") && !text.contains('\u{202e}'), "{text}");
    }

    #[test]
    fn an_empty_table_is_its_head() {
        assert_eq!(table(&["a", "b"], &[], 80), "a  b\n");
    }
}
