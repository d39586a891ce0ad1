//! The page around the sections: policy, style, script, title, the figures that are read first.

use super::markup::Html;
use crate::escape::clip;
use crate::explanation::Explanation;
use crate::words;
use ctx_types::{Micros, NanoUsd};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of the script in base64: the only script that the page's policy lets run. A test keeps it true.
const SCRIPT_HASH: &str = include_str!("page.js.sha256");
/// Columns of the page's title.
const TITLE_COLUMNS: usize = 100;

pub(super) fn head(page: &mut Html, explanation: &Explanation) {
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-");
    page.raw(SCRIPT_HASH.trim_ascii_end());
    page.raw("'; base-uri 'none'; form-action 'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.raw(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n",
    );
    page.within("<title>EXPLAIN ", &clip(&explanation.goal, TITLE_COLUMNS), "</title>\n");
    page.raw("<style>\n").raw(STYLE).raw("</style>\n</head>\n<body>\n<header>\n");
    page.within("<p class=\"statement\">", &words::statement(explanation), "</p>\n");
    page.within("<h1>", &explanation.goal, "</h1>\n");
    page.within("<p class=\"intent\">", &words::intent(explanation), "</p>\n");
    figures(page, explanation);
    page.raw("</header>\n");
}

/// Figures that are read first, expected beside actual.
fn figures(page: &mut Html, explanation: &Explanation) {
    page.raw("<dl class=\"figures\">\n");
    let mut figure = |name: &str, value: String, note: String| {
        page.within("<div><dt>", name, "</dt>").within("<dd>", &value, "</dd>");
        if !note.is_empty() {
            page.within("<dd class=\"note\">", &note, "</dd>");
        }
        page.raw("</div>\n");
    };
    let estimate = explanation.plan.as_ref().and_then(|plan| plan.estimate.as_ref());
    if let Some(run) = &explanation.run {
        figure("Status", words::status(run), String::new());
        let expected = |words: Option<String>| words.map(|w| format!("expected {w}")).unwrap_or_default();
        figure("Time", Micros(run.elapsed_us).to_string(), expected(estimate.map(|e| format!("{}..{}", e.latency.value, e.latency.high))));
        let more = words::least(run.cost_incomplete);
        let cost = format!("{more}{}", NanoUsd(run.cost_nano_usd));
        figure("Cost", cost, expected(estimate.map(|e| format!("{}, at most {}", e.cost.value, e.cost_bound))));
        let evidence = run.evidence_ppm.map_or_else(|| "unknown".to_owned(), |p| ctx_types::Ppm(p).to_string());
        figure("P(evidence)", evidence, expected(estimate.map(|e| e.evidence.value.to_string())));
    } else if let Some(e) = estimate {
        figure("Time", format!("{}..{}", e.latency.value, e.latency.high), format!("median and 9th decile {}", e.latency.certainty));
        let more = words::least(e.cost_incomplete);
        figure("Cost", format!("{more}{}", e.cost.value), format!("at most {}", e.cost_bound));
        let interval = format!("[{}, {}] {}", e.evidence.low, e.evidence.high, e.evidence.certainty);
        figure("P(evidence)", e.evidence.value.to_string(), interval);
    }
    if let Some(e) = estimate {
        figure("Accuracy", e.accuracy.value.to_string(), format!("expected; [{}, {}]", e.accuracy.low, e.accuracy.high));
    }
    if let Some(plan) = &explanation.plan {
        if let Some(score) = &plan.score {
            figure(
                "Score",
                score.total.to_string(),
                plan.margin.as_ref().map(|m| format!("ahead by {}", m.difference)).unwrap_or_default(),
            );
        }
        figure("Plans", plan.candidates.to_string(), format!("{} alternatives pruned", plan.pruned));
    }
    if let Some(infeasible) = &explanation.infeasible {
        figure("Infeasible", infeasible.binding.clone(), infeasible.missed_by.clone());
    }
    page.raw("</dl>\n");
}

pub(super) fn foot(page: &mut Html, explanation: &Explanation) {
    page.raw("<footer>≈ measured (n observations) · ~ prior · = configured · ? unknown");
    if let Some(summary) = &explanation.summary {
        page.within(" · planner ", &summary.planner, "");
    }
    page.raw(" · explanation format ").number(explanation.schema_version.into());
    page.raw("</footer>\n<script>").raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, for the one hash.
    fn base64(bytes: &[u8]) -> String {
        const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |chunk: &[u8]| {
            let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
            let sign = |at: usize| char::from(SIGNS[(bits >> (18 - 6 * at) & 63) as usize]);
            (0..4).map(|at| if at <= chunk.len() { sign(at) } else { '=' }).collect::<String>()
        };
        bytes.chunks(3).map(group).collect()
    }

    #[test]
    fn the_policy_admits_the_script_as_it_is() {
        let hex = ctx_types::id::sha256_hex(SCRIPT.as_bytes());
        let bytes: Vec<u8> = (0..32).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex")).collect();
        assert_eq!(SCRIPT_HASH.trim_end(), base64(&bytes), "write this into page.js.sha256");
        assert!(!SCRIPT.contains("</"), "the script ends where its element ends");
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("eval"), "text stays text");
    }
}
