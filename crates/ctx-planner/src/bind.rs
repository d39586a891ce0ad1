//! One decision for another goal: what a template of the plan cache is keyed by, and how it is bound.

use crate::PlanError;
use crate::write::{identify, seed_of};
use ctx_candidates::is_high_risk;
use ctx_cost::{evidence, quality};
use ctx_types::intent::{AnswerShape, EvidenceShape};
use ctx_types::{AccessPath, Catalog, Goal, Intent, Plan, Ppm, Probe, SourceName};
use std::fmt::Write;

/// Passages at which P(evidence) is looked at: few and many.
const READ: [f64; 2] = [5.0, 50.0];
/// Ranked paths whose P(evidence) planning reads.
const PATHS: [AccessPath; 3] = [AccessPath::Bm25, AccessPath::Dense, AccessPath::HybridLinear];

/// What planning reads of a goal, words apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// What must agree exactly, per source: identifiers found (none, one, many), table and columns of a reading. Before them
    /// what rules decide by.
    pub exact: Vec<String>,
    /// The numbers: shares of answer and evidence shapes, how easy the goal is where models may answer, and per source the share of its kind, P(evidence) by path and depth,
    /// P(a reading is right). Their order follows from the sources.
    pub inputs: Vec<Ppm>,
}

/// What planning reads of this goal over these sources.
pub fn signature(catalog: &Catalog, sources: &[SourceName], probe: &Probe, intent: &Intent) -> Signature {
    let mut signature = Signature { exact: Vec::with_capacity(sources.len() + 1), inputs: Vec::with_capacity(16 + 8 * sources.len()) };
    signature.exact.push(if is_high_risk(intent) { "high risk" } else { "" }.to_owned());
    signature.inputs.extend(AnswerShape::ALL.iter().map(|shape| intent.answer.of(*shape)));
    signature.inputs.extend(EvidenceShape::ALL.iter().map(|shape| intent.evidence.of(*shape)));
    if !catalog.models.is_empty() {
        signature.inputs.push(quality::easiness(intent.hardness_milli));
    }
    for name in sources {
        let text = of_source(catalog, name, probe, intent, &mut signature.inputs);
        signature.exact.push(text);
    }
    signature
}

fn of_source(catalog: &Catalog, name: &SourceName, probe: &Probe, intent: &Intent, inputs: &mut Vec<Ppm>) -> String {
    let mut text = String::with_capacity(16);
    let Some((said, entry)) = probe.sources.get(name).zip(catalog.sources.get(name)) else { return text };
    for found in &said.identifiers {
        text.push(match found.passages {
            0 => '0',
            1 => '1',
            _ => 'n',
        });
    }
    inputs.push(intent.sources.of(entry.kind));
    let features = evidence::before(Some(said), entry);
    for path in PATHS {
        inputs.extend(READ.map(|read| evidence::expected(path, features.as_ref(), read, entry.passages, intent).value));
    }
    if let Some(table) = &said.table {
        let refused = if table.refusal.is_some() { "refused" } else { "read" };
        // Writing to a text cannot fail.
        let _ = write!(text, " {refused} {} {:?} {:?}", table.table, table.columns, table.values.len());
        inputs.push(table.probability);
    }
    text
}

/// The decision of `template` for `goal`, with the id that planning `goal` to the same decision gives. Estimates are the
/// template's.
pub(crate) fn bind(template: &Plan, goal: &Goal, intent: Intent, configuration: &str) -> Result<Plan, PlanError> {
    let mut plan = template.clone();
    plan.goal = goal.clone();
    plan.intent = intent;
    plan.id = identify(&plan, configuration)?;
    plan.seed = goal.seed.unwrap_or_else(|| seed_of(&plan.id));
    Ok(plan)
}

/// Whether both lower to the same graph, ids apart: of the words only whether they name an identifier makes a difference.
pub(crate) fn lowers_alike(template: &Plan, bound: &Plan) -> bool {
    let names = |plan: &Plan| plan.intent.identifiers().next().is_some();
    names(template) == names(bound)
}
