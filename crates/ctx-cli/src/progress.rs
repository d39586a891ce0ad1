//! What indexing says while it works: a bar on a terminal, a line where something waits or was done.

use crate::output::Out;
use ctx_contracts::{IndexEvent, IndexReport};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

/// Progress of indexing, on stderr.
pub(crate) struct Progress {
    bar: ProgressBar,
    waiting: AtomicBool,
    out: Out,
}

impl Progress {
    pub(crate) fn new(out: &Out) -> Progress {
        let target = if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}  {pos}/{len}  {elapsed}") {
            bar.set_style(style);
        }
        Progress { bar, waiting: AtomicBool::new(false), out: *out }
    }

    /// One event of the store.
    pub(crate) fn event(&self, event: IndexEvent) {
        match event {
            IndexEvent::Found { source, files } => {
                self.bar.set_message(format!("reading {source}"));
                self.bar.set_length(files);
            }
            IndexEvent::Progress { source, done, total } => {
                self.bar.set_message(format!("indexing {source}"));
                self.bar.set_length(total);
                self.bar.set_position(done);
            }
            IndexEvent::Waiting { holder } => {
                if !self.waiting.swap(true, Ordering::Relaxed) {
                    self.out.note(&format!("waiting for the store: {holder}"));
                }
            }
        }
    }

    /// `done` of `all` in a row of equal steps.
    pub(crate) fn step(&self, what: &'static str, done: usize, all: usize) {
        self.bar.set_message(what);
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
    }

    /// Takes the bar away and says what was done, where something was.
    pub(crate) fn finish(&self, reports: &[IndexReport]) {
        self.bar.finish_and_clear();
        for report in reports.iter().filter(|report| report.indexed + report.removed > 0) {
            self.out.note(&summary(report));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `indexed docs: 812 files, 10,342 passages (3 removed, 12 skipped)`.
pub(crate) fn summary(report: &IndexReport) -> String {
    let mut rest = Vec::new();
    for (n, what) in [(report.unchanged, "unchanged"), (report.removed, "removed"), (report.skipped_total, "skipped")] {
        if n > 0 {
            rest.push(format!("{n} {what}"));
        }
    }
    let rest = if rest.is_empty() { String::new() } else { format!(" ({})", rest.join(", ")) };
    let files = if report.indexed == 1 { "file" } else { "files" };
    format!("indexed {}: {} {files}, {} passages in all{rest}", report.source, report.indexed, report.passages)
}
