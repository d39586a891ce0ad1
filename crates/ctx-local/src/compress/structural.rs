//! Scores by place and form: what a reader who does not know the question would keep. Headings, declarations and table headers
//! first, then the head, then the tail, then an even sample of the rest.

use super::Unit;

/// Beginnings of lines that declare something.
const DECLARES: [&str; 22] = [
    "pub ",
    "fn ",
    "impl ",
    "struct ",
    "enum ",
    "trait ",
    "mod ",
    "use ",
    "class ",
    "def ",
    "function ",
    "func ",
    "interface ",
    "type ",
    "import ",
    "from ",
    "package ",
    "const ",
    "export ",
    "CREATE ",
    "SELECT ",
    "async ",
];
/// Endings of files that hold rows under a header.
const TABLES: [&str; 3] = ["csv", "tsv", "tab"];

pub(super) fn scores(path: &str, text: &str, cut: &[Unit]) -> Vec<f64> {
    let count = cut.len();
    let table = path.rsplit_once('.').is_some_and(|(_, ending)| TABLES.contains(&ending.to_ascii_lowercase().as_str()));
    let sample = (count / 8).max(2);
    // The head is the first of what has no form of its own: a heading does not push the first sentence back.
    let mut plain = 0;
    cut.iter()
        .enumerate()
        .map(|(at, unit)| {
            let piece = text[unit.range.clone()].trim_start();
            let from_end = count - 1 - at;
            let form = if unit.heading || (table && at == 0) || DECLARES.iter().any(|d| piece.starts_with(d)) { 2.0 } else { 0.0 };
            let head = 1.0 / (1.0 + f64::from(plain));
            plain += u32::from(form == 0.0);
            let tail = 0.6 / (1.0 + from_end as f64);
            let sampled = if at % sample == 0 { 0.05 } else { 0.0 };
            form + head.max(tail) + sampled
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::units;
    use super::*;

    #[test]
    fn headings_then_head_then_tail() {
        let text = "# Setup\nFirst sentence here. Second one follows. Third one too. Fourth is dull. The last words.";
        let cut = units("a.md", text);
        let scores = scores("a.md", text, &cut);
        let of = |needle: &str| scores[cut.iter().position(|u| text[u.range.clone()].contains(needle)).expect("there")];
        assert!(of("Setup") > of("First") && of("First") > of("last") && of("last") > of("Fourth"));
    }
}
