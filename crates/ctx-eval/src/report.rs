//! What an evaluation found: JSON for machines, a table for people.

use crate::bootstrap::Difference;
use ctx_types::AccessPath;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Version of the JSON form.
pub const SCHEMA_VERSION: u32 = 1;

/// An evaluation of one collection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Name of the collection.
    pub collection: String,
    /// Which queries: `all`, `train`, `test` by hash, or `qrels/NAME`.
    pub split: String,
    /// Documents.
    pub documents: usize,
    /// Passages they were cut into.
    pub passages: u64,
    /// Queries.
    pub queries: usize,
    /// Seed of bootstrap and random baseline.
    pub seed: u64,
    /// Draws of each interval.
    pub resamples: usize,
    /// Passages that a fixed path sends and that its latency is measured with.
    pub sent_passages: u32,
    /// The fixed path with the best nDCG@10 on these very queries: an upper bound for a fixed choice, known afterwards only.
    pub best_fixed: String,
    /// What the planner chose.
    pub planner: PlannerChoices,
    /// One row per system.
    pub rows: Vec<Row>,
}

/// What the planner chose, over all queries.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlannerChoices {
    /// Queries by path; `none` where nothing was read.
    pub paths: BTreeMap<String, usize>,
    /// Share of runs that ended without an answer for want of evidence.
    pub abstained: f64,
}

impl PlannerChoices {
    pub(crate) fn count(&mut self, path: Option<AccessPath>, abstained: bool) {
        *self.paths.entry(path.map_or("none", AccessPath::as_str).to_owned()).or_insert(0) += 1;
        self.abstained += f64::from(u8::from(abstained));
    }

    pub(crate) fn finish(&mut self, queries: usize) {
        self.abstained /= queries.max(1) as f64;
    }
}

/// One system: an access path, the planner, a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub system: String,
    /// Mean over queries.
    pub ndcg_10: f64,
    /// Mean over queries.
    pub recall_10: f64,
    /// Mean over queries.
    pub recall_100: f64,
    /// Mean over queries.
    pub mrr_10: f64,
    /// Mean tokens of the context: of the first passages for a fixed path, of what the run packed for the planner.
    pub tokens_sent: f64,
    /// Share of queries whose context holds a relevant document.
    pub evidence_sent: f64,
    /// Median. For the planner: planning, retrieval, packing, answer and check.
    pub latency_p50_us: u64,
    /// 99th percentile.
    pub latency_p99_us: u64,
    /// Paired difference in nDCG@10 to BM25.
    pub ndcg_10_minus_bm25: Difference,
}

impl Report {
    /// The row of a system.
    pub fn row(&self, system: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.system == system)
    }

    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and strings with string keys are JSON")
    }

    /// As a table of at most a hundred columns.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let head = format!(
            "{}, split {}: {} documents, {} passages, {} queries\n",
            self.collection, self.split, self.documents, self.passages, self.queries
        );
        out.push_str(&head);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:<14} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8} {:>8}  nDCG@10 - BM25 [95 %]",
            "system", "nDCG@10", "R@10", "R@100", "MRR@10", "tokens", "evidence", "p50 ms", "p99 ms"
        );
        for row in &self.rows {
            let d = &row.ndcg_10_minus_bm25;
            let _ = writeln!(
                out,
                "{:<14} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7.0} {:>8.3} {:>8.2} {:>8.2}  {:+.3} [{:+.3}, {:+.3}]",
                row.system,
                row.ndcg_10,
                row.recall_10,
                row.recall_100,
                row.mrr_10,
                row.tokens_sent,
                row.evidence_sent,
                row.latency_p50_us as f64 / 1e3,
                row.latency_p99_us as f64 / 1e3,
                d.mean,
                d.low,
                d.high
            );
        }
        let chosen: Vec<String> = self.planner.paths.iter().map(|(path, n)| format!("{path} {n}")).collect();
        let _ = writeln!(
            out,
            "planner chose: {}; abstained {:.1} %; best fixed path afterwards: {}",
            chosen.join(", "),
            self.planner.abstained * 100.0,
            self.best_fixed
        );
        let _ = writeln!(
            out,
            "tokens, evidence: first {} passages of a fixed path, the packed context of the planner's run; latency of the planner includes\nplanning, answer and check; intervals: paired bootstrap, {} draws, seed {}, n = {}",
            self.sent_passages, self.resamples, self.seed, self.queries
        );
        out
    }
}
