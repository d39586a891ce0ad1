//! A figure: what was measured, the bar it has to meet, the baseline measured in the same run, and how.

use crate::machine::Machine;
use anyhow::Context;
use ctx_testkit::optimizer_figures::Row;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The bar, in words.
    pub bar: String,
    /// Whether the bar is met; `None`: there is no bar for this row.
    pub met: Option<bool>,
    /// The baseline of the same run.
    pub baseline: String,
    /// Sample size, seed, what was left out.
    pub how: String,
}

impl Figure {
    /// A row without a bar.
    pub fn new(what: impl Into<String>, value: f64, unit: &str, how: impl Into<String>) -> Figure {
        Figure { what: what.into(), value, unit: unit.to_owned(), bar: String::new(), met: None, baseline: String::new(), how: how.into() }
    }

    /// With a value that must not be undercut.
    pub fn at_least(mut self, bar: f64) -> Figure {
        self.bar = format!("≥ {bar}");
        self.met = Some(self.value >= bar);
        self
    }

    /// With a value that must not be exceeded.
    pub fn at_most(mut self, bar: f64) -> Figure {
        self.bar = format!("≤ {bar}");
        self.met = Some(self.value <= bar);
        self
    }

    /// With what it is compared to.
    pub fn beside(mut self, baseline: impl Into<String>) -> Figure {
        self.baseline = baseline.into();
        self
    }
}

impl From<&Row> for Figure {
    fn from(row: &Row) -> Figure {
        let figure = Figure::new(row.what.clone(), row.value, row.unit, row.how.clone()).beside(row.baseline.clone());
        match (row.at_most, row.at_least) {
            (Some(bar), _) => figure.at_most(bar),
            (None, Some(bar)) => figure.at_least(bar),
            (None, None) => figure,
        }
    }
}

/// A group of figures measured in one go.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Name of the group and of its files.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// Rows.
    pub figures: Vec<Figure>,
    /// Everything else that was found, for later comparison.
    pub details: serde_json::Value,
}

impl Figures {
    /// Writes `NAME.json` and `NAME.md`.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let json = serde_json::to_string_pretty(self)? + "\n";
        for (extension, text) in [("json", json), ("md", self.markdown())] {
            let path = folder.join(format!("{}.{extension}", self.name));
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }

    /// The table for people.
    pub fn markdown(&self) -> String {
        let machine = &self.machine;
        let build = if machine.optimised { "release profile" } else { "dev profile (inner loops optimised, the rest not)" };
        let mut out = format!("# {}\n\n", self.name);
        let _ = writeln!(
            out,
            "{}, {} cores, {} MiB, {}; load {} at the start; {build}.\n",
            machine.processor, machine.cores, machine.memory_mib, machine.system, machine.load
        );
        out.push_str("| what | value | bar | met | baseline | how |\n|---|---|---|---|---|---|\n");
        for f in &self.figures {
            let met = f.met.map_or("", |met| if met { "yes" } else { "**no**" });
            let _ = writeln!(out, "| {} | {} {} | {} | {met} | {} | {} |", f.what, rounded(f.value), f.unit, f.bar, f.baseline, f.how);
        }
        out
    }
}

/// Four significant digits are more than any of these measurements has.
fn rounded(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}
