//! One page for a browser: the tree with estimates and actuals, the run's timeline, the Pareto set, every rejected
//! alternative. It loads nothing and allows nothing to be loaded: its policy admits its own script by hash and forbids the rest.
//! Without script it shows the same, unfiltered. Shape, words and position carry the meaning, colour only repeats it.

mod charts;
mod head;
mod markup;
mod plan;
mod rejected;
mod tables;

use crate::explanation::Explanation;
use markup::Html;

/// The page.
pub(crate) fn html(explanation: &Explanation) -> String {
    let mut page = Html::new();
    head::head(&mut page, explanation);
    page.raw("<main>\n");
    if let Some(plan) = &explanation.plan {
        plan::section(&mut page, plan, explanation);
        charts::timeline(&mut page, plan, explanation);
    }
    if let Some(infeasible) = &explanation.infeasible {
        tables::infeasible(&mut page, infeasible);
    }
    tables::sources(&mut page, explanation);
    if let Some(plan) = &explanation.plan {
        charts::pareto(&mut page, plan);
        tables::complete(&mut page, plan);
    }
    rejected::section(&mut page, explanation);
    tables::about(&mut page, explanation);
    page.raw("</main>\n");
    head::foot(&mut page, explanation);
    page.finish()
}
