//! What a tree value says in words, once for every format: brackets of a node, totals, score, margin, run.

use crate::explanation::{ActualView, Explanation, MemoryView, Numbers, PlanView, RunView};
use ctx_types::estimate::{PlanEstimate, ScoreBreakdown};
use ctx_types::plan::{Margin, Relaxation};
use ctx_types::{Micros, NanoUsd, Ppm, Score};

/// What the quality of a node is the probability of: that a wrong answer is caught, or that the answer is right given evidence.
pub(crate) fn quality_word(node: &str) -> &'static str {
    if node.starts_with("verify") { "catches" } else { "right" }
}

/// Estimates of a node, one word each; its cost only where there is one (a cost of nothing is said once, for the whole).
pub(crate) fn estimated(numbers: &Numbers, quality_word: &str) -> Vec<String> {
    let time = numbers.latency_us.zip(numbers.latency_p90_us);
    let parts = [
        numbers.cost_nano_usd.filter(|c| *c != 0).map(|c| format!("cost={}", NanoUsd(c))),
        numbers.cost_unknown.then(|| "cost=unknown".to_owned()),
        time.map(|(p50, p90)| format!("time={}..{}", Micros(p50), Micros(p90))),
        numbers.passages.map(|n| format!("passages={n}")),
        numbers.tokens.map(|n| format!("tokens={n}")),
        numbers.evidence_ppm.map(|p| format!("evidence={}", Ppm(p))),
        numbers.quality_ppm.map(|p| format!("{quality_word}={}", Ppm(p))),
    ];
    parts.into_iter().flatten().collect()
}

/// Estimates of a node in brackets, with the weakest certainty among them.
pub(crate) fn estimate(numbers: &Numbers, quality_word: &str) -> String {
    let parts = estimated(numbers, quality_word);
    if parts.is_empty() {
        return String::new();
    }
    let mark = if numbers.certainty.is_empty() { String::new() } else { format!(" {}", numbers.certainty) };
    format!("({}{mark})", parts.join(" "))
}

/// Actuals of a node in brackets.
pub(crate) fn actual(actual: &ActualView) -> String {
    if actual.loops == 0 {
        return "(not run)".to_owned();
    }
    let mut parts = measured(&actual.numbers);
    parts.push(format!("loops={}", actual.loops));
    let status = if actual.status == "done" { String::new() } else { format!(" {}", actual.status) };
    format!("(actual {}{status})", parts.join(" "))
}

/// Actuals of a node, one word each.
pub(crate) fn measured(numbers: &Numbers) -> Vec<String> {
    let parts = [
        numbers.latency_us.map(|us| format!("time={}", Micros(us))),
        numbers.passages.map(|n| format!("passages={n}")),
        numbers.tokens.map(|n| format!("tokens={n}")),
        numbers.evidence_ppm.map(|p| format!("evidence={}", Ppm(p))),
        numbers.cost_nano_usd.filter(|c| *c != 0).map(|c| format!("cost={}", NanoUsd(c))),
    ];
    parts.into_iter().flatten().collect()
}

/// `Buffers: chunks read=40 hit=12, 9000 bytes`; nothing where nothing is known to have been read.
pub(crate) fn buffers(actual: &ActualView) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(chunks) = actual.chunks {
        parts.push(format!("chunks visited={chunks}"));
    }
    if let Some(hits) = actual.cache_hits {
        parts.push(format!("cache hits={hits}"));
    }
    if let Some(bytes) = actual.bytes {
        parts.push(format!("bytes read={bytes}"));
    }
    (!parts.is_empty()).then(|| format!("Buffers: {}", parts.join(" ")))
}

/// What stands before dollars that are not all there.
pub fn least(incomplete: bool) -> &'static str {
    if incomplete { "≥ " } else { "" }
}

/// A ratio in thousandths with two decimals.
pub(crate) fn ratio(milli: u64) -> String {
    format!("{}.{:02}", milli / 1_000, milli % 1_000 / 10)
}

/// A share in ppm as per cent with one decimal.
pub(crate) fn percent(ppm: u32) -> String {
    format!("{}.{}", ppm / 10_000, ppm % 10_000 / 1_000)
}

/// What is wanted.
pub(crate) fn intent(explanation: &Explanation) -> String {
    let intent = &explanation.intent;
    let answer = intent.answer.top().map(|(s, p)| format!("{s} {p}")).unwrap_or_default();
    let evidence = intent.evidence.top().map(|(s, p)| format!("{s} {p}")).unwrap_or_default();
    let mut out = format!("{} (answer: {answer}; evidence: {evidence}; language: {}", intent.bucket, intent.language);
    let calls = explanation.plan.as_ref().is_some_and(|plan| plan.shape.contains("single_shot"));
    if calls || explanation.options.verbose {
        out.push_str(&format!("; hardness for models: {:+.2}", f64::from(intent.hardness_milli) / 1e3));
    }
    let identifiers: Vec<&str> = intent.identifiers().map(|e| e.text.as_str()).collect();
    if !identifiers.is_empty() {
        out.push_str(&format!("; identifiers: {}", identifiers.join(", ")));
    }
    if !intent.sensitive_topics.is_empty() {
        out.push_str(&format!("; about: {} (words raise no label)", intent.sensitive_topics.join(", ")));
    }
    if intent.sensitivity != ctx_types::Sensitivity::Internal {
        out.push_str(&format!("; sensitivity: {}", intent.sensitivity));
    }
    out.push(')');
    out
}

/// Estimate of the whole.
pub(crate) fn whole(e: &PlanEstimate) -> String {
    let cost = if e.cost_incomplete {
        format!("≥ {}, the rest at unknown price", e.cost.value)
    } else {
        format!("{} (at most {})", e.cost.value, e.cost_bound)
    };
    format!(
        "cost {cost}, time {}..{}, evidence {} [{}, {}] {}, accuracy {}",
        e.latency.value, e.latency.high, e.evidence.value, e.evidence.low, e.evidence.high, e.evidence.certainty, e.accuracy.value
    )
}

/// How many plans there were and how good the winner is known to be.
pub(crate) fn candidates(plan: &PlanView) -> String {
    let proof = match &plan.certificate.stopped_by {
        None => "optimal".to_owned(),
        Some(limit) => format!("within {} of optimal, stopped by {limit}", plan.certificate.bound - plan.certificate.value),
    };
    format!("{} complete plans, {} alternatives pruned; {proof}, {} nodes", plan.candidates, plan.pruned, plan.certificate.nodes)
}

/// Distance to the runner-up and what would flip the choice.
pub(crate) fn margin(margin: &Margin, shape: &str, flips_max: usize) -> String {
    let flips = if margin.flips.is_empty() {
        "no single weight, price or estimate flips it".to_owned()
    } else {
        let shown = flips_max.min(margin.flips.len());
        let more = if shown < margin.flips.len() { format!(", {} more", margin.flips.len() - shown) } else { String::new() };
        format!("flipped by {}{more}", margin.flips[..shown].join(", "))
    };
    format!("{} over {}; {flips}", margin.difference, differing(shape, &margin.runner_up))
}

/// A term below this prints as zero.
const SCORE_SHOWN_MIN: i64 = 50;

/// The terms that are not zero; they add up to within rounding.
pub(crate) fn score(s: &ScoreBreakdown) -> String {
    let terms = [
        ("acc", s.acc),
        ("cache", s.cache),
        ("vrf", s.vrf),
        ("cost", s.cost),
        ("lat", s.lat),
        ("risk", s.risk),
        ("hall", s.hall),
        ("loss", s.loss),
    ];
    let parts: Vec<String> = terms
        .into_iter()
        .filter(|(_, value)| value.get().saturating_abs() >= SCORE_SHOWN_MIN)
        .map(|(name, value)| format!("{} {name} {}", if value.get() < 0 { '-' } else { '+' }, Score(value.get().saturating_abs())))
        .collect();
    let sum = parts.join(" ");
    format!("{} = {}", s.total, sum.strip_prefix("+ ").unwrap_or(&sum))
}

/// The steps of another plan that this one does not share: what the runner-up would do instead.
fn differing(mine: &str, other: &str) -> String {
    let steps: Vec<&str> = mine.split(" → ").collect();
    let different: Vec<&str> = other.split(" → ").filter(|step| !steps.contains(step)).collect();
    if different.is_empty() { other.to_owned() } else { different.join(" → ") }
}

/// How the run ended and what it took.
pub(crate) fn run(run: &RunView) -> String {
    let more = least(run.cost_incomplete);
    let evidence = run.evidence_ppm.map(|p| format!(" evidence {}", Ppm(p))).unwrap_or_default();
    format!(
        "{}; cost {more}{} tokens {} calls {} time {}{evidence}; trace {}",
        status(run),
        NanoUsd(run.cost_nano_usd),
        run.tokens,
        run.calls,
        Micros(run.elapsed_us),
        run.trace
    )
}

/// The run's status as it is written everywhere.
pub(crate) fn status(run: &RunView) -> String {
    serde_json::to_value(run.status).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// What the planner held.
pub(crate) fn memory(memory: &MemoryView) -> String {
    let search = &memory.search;
    format!(
        "used={} bytes ({} alternatives {}, {} labels {}, {} plans {})",
        memory.used_bytes,
        memory.alternatives,
        memory.alternative_bytes,
        search.labels,
        search.label_bytes,
        search.plans,
        search.plan_bytes
    )
}

/// A constraint and what would suffice.
pub(crate) fn relaxation(r: &Relaxation) -> String {
    match &r.suffices {
        Some(value) => format!("{} = {} (now {})", r.constraint, value, r.now),
        None => format!("{}: not alone (now {})", r.constraint, r.now),
    }
}

/// The statement that an explanation answers: `EXPLAIN (ANALYZE, VERBOSE)`.
pub(crate) fn statement(explanation: &Explanation) -> String {
    let o = &explanation.options;
    let on = [
        (o.analyze, "ANALYZE"),
        (o.verbose, "VERBOSE"),
        (!o.costs, "COSTS OFF"),
        (o.settings, "SETTINGS"),
        (o.generic_plan, "GENERIC_PLAN"),
        (o.buffers, "BUFFERS"),
        (o.analyze && !o.timing, "TIMING OFF"),
        (!o.summary, "SUMMARY OFF"),
        (o.memory, "MEMORY"),
    ];
    let names: Vec<&str> = on.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
    if names.is_empty() { "EXPLAIN".to_owned() } else { format!("EXPLAIN ({})", names.join(", ")) }
}
