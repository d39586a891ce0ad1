//! One replicate: the graph walked once, with everything random drawn. The rules of edges are those of `ctx_graph`.

use crate::model::{Call, Kind, Model, Step};
use crate::outcome::Probabilities;
use crate::priors::{RESIDUAL_WEIGHTS, RETRY_DIFFERS};
use crate::spread::Chance;
use ctx_graph::{Condition, FailurePolicy, Join, NodeEnd, NodeId, Readiness, fires};
use ctx_types::{ModelName, Ppm, Status};

/// What one replicate came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replicate {
    pub(crate) latency: f64,
    pub(crate) cost: f64,
    pub(crate) tokens: f64,
    pub(crate) unpriced_tokens: f64,
    /// `None`: an answer was given.
    pub(crate) stopped: Option<Status>,
}

/// Counters over all replicates: how often each node ran, how often each model was called.
pub(crate) struct Counters {
    pub(crate) runs: Vec<u32>,
    pub(crate) calls: Vec<u32>,
}

/// The walker; its buffers are reused from replicate to replicate.
pub(crate) struct Walker<'a> {
    model: &'a Model<'a>,
    shared: Vec<f64>,
    ends: Vec<Option<(NodeEnd, f64)>>,
    started: Vec<bool>,
    iterations: Vec<u32>,
    pub(crate) counters: Counters,
}

/// What changes while a replicate runs.
struct State {
    out: Replicate,
    calls: u32,
    /// Nothing before this starts: the end of the loop that started the body again.
    not_before: f64,
    /// Micro-nats of evidence lost with broken sources.
    lost: f64,
    has_evidence: Option<bool>,
    answer_is_right: Option<bool>,
    verdict: Option<NodeEnd>,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(model: &'a Model<'a>) -> Walker<'a> {
        let n = model.steps.len();
        Walker {
            model,
            shared: vec![0.0; model.models.len()],
            ends: vec![None; n],
            started: vec![false; n],
            iterations: vec![0; n],
            counters: Counters { runs: vec![0; n], calls: vec![0; model.models.len()] },
        }
    }

    /// One replicate. `shared` makes of what is drawn for a model what all its calls have in common.
    pub(crate) fn replicate(
        &mut self,
        odds: &Probabilities,
        chance: &mut Chance,
        shared: &mut dyn FnMut(&ModelName, f64) -> f64,
    ) -> Replicate {
        self.ends.fill(None);
        self.started.fill(false);
        self.iterations.fill(0);
        for (z, name) in self.shared.iter_mut().zip(&self.model.models) {
            *z = shared(name, chance.normal());
        }
        let mut state = State {
            out: Replicate::default(),
            calls: 0,
            not_before: 0.0,
            lost: 0.0,
            has_evidence: None,
            answer_is_right: None,
            verdict: None,
        };
        let order = self.model.topology.order();
        let mut at = 0;
        while at < order.len() && state.out.stopped.is_none() {
            let index = order[at];
            at += 1;
            if self.ends[index].is_some() {
                continue;
            }
            let restarted = self.visit(index, odds, chance, &mut state);
            at = restarted.map_or(at, |body| order.iter().position(|n| *n == body).unwrap_or(at));
        }
        for (node, started) in self.started.iter().enumerate() {
            self.counters.runs[node] += u32::from(*started);
        }
        state.out
    }

    /// Decides and runs one node. Returns the body to start again, if a loop says so.
    fn visit(&mut self, index: usize, odds: &Probabilities, chance: &mut Chance, state: &mut State) -> Option<usize> {
        let step = &self.model.steps[index];
        let (readiness, ready_at) = self.look(step, odds, state);
        let start = ready_at.max(state.not_before);
        let (end, until) = match readiness {
            Readiness::Run => self.run(index, start, odds, chance, state),
            Readiness::Starved => (NodeEnd::Broken, start),
            // In topological order nothing can be waited for; a node that would wait has no way to start.
            Readiness::Skip | Readiness::Wait => (NodeEnd::Skipped, 0.0),
        };
        self.ends[index] = Some((end, until));
        state.out.latency = state.out.latency.max(until);
        if end == NodeEnd::Broken {
            state.lost += step.evidence;
            if step.on_error == FailurePolicy::Fail {
                state.out.stopped = Some(if step.call.is_some() { Status::ProviderFailed } else { Status::Failed });
            }
        }
        match (&step.kind, end) {
            (Kind::Stop(status), NodeEnd::Passed) => {
                state.out.stopped = Some(*status);
                None
            }
            (Kind::Loop { body, resets, .. }, NodeEnd::Passed) => {
                resets.iter().for_each(|n| self.ends[*n] = None);
                state.not_before = until;
                Some(*body)
            }
            _ => None,
        }
    }

    /// What the edges say, and when the last edge that fired did.
    fn look(&self, step: &Step<'_>, odds: &Probabilities, state: &State) -> (Readiness, f64) {
        let mut join = Join::default();
        let mut ready_at = 0.0f64;
        for (source, kind) in &step.incoming {
            let ended = self.ends[*source];
            let fired = ended.map(|(end, at)| {
                let holds = |c: &Condition| c.holds(Some(Ppm::from_share(self.evidence(odds, state))), &|id| self.end_of(id));
                let fires = fires(kind, end, self.model.steps[*source].on_error, holds);
                // A join waits for branches that broke, too.
                if fires || (!kind.is_conditional() && end != NodeEnd::Skipped) {
                    ready_at = ready_at.max(at);
                }
                (end, fires)
            });
            join.add(kind, fired);
        }
        (join.readiness(), ready_at)
    }

    fn end_of(&self, id: &NodeId) -> Option<NodeEnd> {
        self.model.topology.index_of(id).and_then(|n| self.ends[n]).map(|(end, _)| end)
    }

    /// P(evidence) without the sources that broke.
    fn evidence(&self, odds: &Probabilities, state: &State) -> f64 {
        if state.lost == 0.0 {
            return odds.evidence;
        }
        let miss = (1.0 - odds.evidence).max(1e-7);
        (1.0 - (miss * libm::exp(state.lost / 1e6)).min(1.0)).max(0.0)
    }

    fn run(&mut self, index: usize, start: f64, odds: &Probabilities, chance: &mut Chance, state: &mut State) -> (NodeEnd, f64) {
        let step = &self.model.steps[index];
        self.started[index] = true;
        let mut now = start;
        for attempt in 1..=step.attempts {
            let z = self.residual(step.call.as_ref(), chance);
            now += step.latency.at(z);
            if step.breaks > 0.0 && chance.happens(step.breaks) {
                if attempt < step.attempts {
                    now += step.wait;
                }
                continue;
            }
            if let Some(call) = &step.call {
                self.settle(call, z, state);
            }
            return (self.says(index, odds, chance, state), now);
        }
        (NodeEnd::Broken, now)
    }

    /// A call's deviation: what all calls of its model share in this replicate, and its own.
    fn residual(&self, call: Option<&Call>, chance: &mut Chance) -> f64 {
        let own = chance.normal();
        call.map_or(own, |c| RESIDUAL_WEIGHTS.0 * self.shared[c.model] + RESIDUAL_WEIGHTS.1 * own)
    }

    /// Attempts that break before anything is generated are not billed, so only the one that serves is.
    fn settle(&mut self, call: &Call, z: f64, state: &mut State) {
        let tokens = call.tokens.at(z);
        state.calls += 1;
        self.counters.calls[call.model] += 1;
        state.out.tokens += tokens;
        match &call.cost {
            Some(cost) => state.out.cost += cost.at(z),
            None => state.out.unpriced_tokens += tokens,
        }
    }

    /// What a node that did its work says.
    fn says(&mut self, index: usize, odds: &Probabilities, chance: &mut Chance, state: &mut State) -> NodeEnd {
        match &self.model.steps[index].kind {
            Kind::Work | Kind::Stop(_) => NodeEnd::Passed,
            Kind::Answer => self.answers(odds, chance, state),
            Kind::Verify => verdict(odds, chance, state),
            Kind::Loop { body, max, .. } => {
                let bound = self.model.steps[*body].call.as_ref().map_or(0.0, |c| c.bound);
                let affordable = state.calls < self.model.max_calls && state.out.cost + bound <= self.model.max_cost;
                if self.iterations[index] >= *max || !affordable {
                    return NodeEnd::Rejected;
                }
                self.iterations[index] += 1;
                NodeEnd::Passed
            }
        }
    }

    fn answers(&self, odds: &Probabilities, chance: &mut Chance, state: &mut State) -> NodeEnd {
        let p = self.evidence(odds, state);
        let has_evidence = *state.has_evidence.get_or_insert_with(|| chance.happens(p));
        if !has_evidence && chance.happens(odds.declines_without) {
            return NodeEnd::Rejected;
        }
        if state.answer_is_right.is_none() || chance.happens(RETRY_DIFFERS) {
            state.answer_is_right = Some(chance.happens(if has_evidence { odds.right } else { odds.right_without }));
            state.verdict = None;
        }
        NodeEnd::Passed
    }
}

/// The same answer gets the same verdict again.
fn verdict(odds: &Probabilities, chance: &mut Chance, state: &mut State) -> NodeEnd {
    let rejects = if state.answer_is_right == Some(true) { odds.rejected_right } else { odds.caught };
    *state.verdict.get_or_insert_with(|| if chance.happens(rejects) { NodeEnd::Rejected } else { NodeEnd::Passed })
}
