//! Traces as values: what a run of a plan would have written, without running anything.

use ctx_planner::Planned;
use ctx_types::estimate::TokenClasses;
use ctx_types::outcome::{Outcome, Spend, Verdict};
use ctx_types::trace::{NodeActual, NodeStatus, NodeTrace, TRACE_SCHEMA_VERSION, Trace};
use ctx_types::{Micros, Ppm, Probe, Status, Tokens};

/// A run in which every primary node did about what was expected of it (a tenth slower, a quarter fewer tokens) and nothing
/// failed; the others never ran.
pub fn completed(planned: &Planned) -> Trace {
    let plan = &planned.plan;
    let nodes: Vec<NodeTrace> = planned
        .schedule
        .steps
        .iter()
        .filter_map(|step| {
            let node = planned.graph.node(&step.node)?;
            let expected = node.estimate.latency.as_ref().map_or(Micros(10), |l| l.value);
            let end = step.expected_start + Micros(expected.get() * 11 / 10);
            let (status, start, end, attempts) =
                if step.primary { (NodeStatus::Done, step.expected_start, end, 1) } else { (NodeStatus::NotRun, Micros(0), Micros(0), 0) };
            let actual = if step.primary { actual(node) } else { NodeActual::default() };
            Some(NodeTrace {
                node: node.id.to_string(),
                operator: node.op.to_string(),
                status,
                start,
                end,
                attempts,
                estimate: node.estimate.clone(),
                actual,
                error: None,
            })
        })
        .collect();
    let tokens = TokenClasses { input: plan.estimate.tokens.input, output: plan.estimate.tokens.output, ..TokenClasses::default() };
    let elapsed = nodes.iter().map(|n| n.end).max().unwrap_or_default();
    Trace {
        schema_version: TRACE_SCHEMA_VERSION,
        id: "run_test".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        tenant: plan.goal.principal.tenant.clone(),
        purpose: "user".into(),
        goal: plan.goal.text.clone(),
        plan: plan.id.clone(),
        parent_plan: None,
        graph: planned.schedule.graph.clone(),
        plan_cache: "miss: first time".into(),
        epoch: plan.statistics_epoch.clone(),
        generations: plan.sources.iter().map(|s| (s.source.to_string(), s.generation)).collect(),
        propensity: Ppm::ONE,
        exploration: None,
        probe: Probe::default(),
        configuration: "configuration_test".into(),
        nodes,
        context: Vec::new(),
        calls: Vec::new(),
        planning: Micros(800),
        outcome: Outcome {
            status: Status::Completed,
            answer: "It is reported as a typed value [1].".into(),
            citations: Vec::new(),
            verdict: Some(Verdict { verifier: "test".into(), passed: true, confidence: Ppm(800_000), findings: Vec::new() }),
            evidence: Some(Ppm(850_000)),
            spend: Spend {
                cost: plan.estimate.cost.value,
                cost_incomplete: plan.estimate.cost_incomplete,
                tokens,
                calls: plan.estimate.calls,
                elapsed,
                ..Spend::default()
            },
            plan: Some(plan.id.clone()),
            trace: "run_test".into(),
            notes: Vec::new(),
        },
    }
}

fn actual(node: &ctx_graph::Node) -> NodeActual {
    let e = &node.estimate;
    let dropped = matches!(node.op, ctx_graph::NodeOp::Pack { .. }).then(|| "docs#7: says the same as docs#3".to_owned());
    NodeActual {
        hits: e.hits.as_ref().map(|h| h.value),
        tokens: e.tokens.as_ref().map(|t| Tokens(t.value.get() * 3 / 4)),
        cost: e.cost.as_ref().map(|c| c.value),
        evidence: e.evidence.as_ref().map(|_| Ppm(850_000)),
        busy: None,
        chunks: e.hits.as_ref().map(|h| u64::from(h.value) * 3),
        bytes: e.hits.as_ref().map(|h| u64::from(h.value) * 900),
        cache_hits: e.hits.as_ref().map(|_| 3),
        dropped: dropped.into_iter().collect(),
        ..NodeActual::default()
    }
}
