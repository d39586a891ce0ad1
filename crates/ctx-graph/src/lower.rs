//! From the decision to the steps: a pure function of the plan. What the plan does not say, [`LoweringParameters`] does.

use crate::{Edge, EdgeKind, ExecutionGraph, FailurePolicy, GraphError, LegFusion, LegPath, LegWeight, Node, NodeId, NodeOp, Resource};
use ctx_types::alternative::ALREADY_READ;
use ctx_types::plan::PlannedAlternative;
use ctx_types::{
    AccessPath, AlternativeEstimate, Certainty, Estimated, Fate, Micros, Operator, Plan, Ppm, SourceName, Stage, Status, Strategy, Tokens,
};

/// Median time to merge ranked lists of a few hundred entries: a sort in memory. Guess: 20 µs, 5 to 200.
const MERGE_LATENCY_US: (u64, u64, u64) = (20, 5, 200);

/// Constants of lowering that configuration and fits may replace. They are part of the graph and of its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoweringParameters {
    /// Share of the dense leg in a linear hybrid; BM25 has the rest.
    pub dense_weight: Ppm,
    /// Constant of reciprocal rank fusion: 60 in Cormack, Clarke and Büttcher 2009.
    pub rrf_constant: u32,
    /// Attempts at reading a source: the second one finds the segments that a merge has moved.
    pub access_attempts: u32,
    /// Attempts at a model call, the first included.
    pub model_attempts: u32,
    /// Times a rejected generated answer is produced anew.
    pub answer_retries: u32,
    /// Most passages of one document in the context; `None` derives half of `final_k`, rounded up, at least two.
    pub per_document_cap: Option<u32>,
}

impl Default for LoweringParameters {
    /// Prior: the dense share is a guess until fitted (dense alone ranks SciFact at .457, BM25 at .693).
    fn default() -> Self {
        LoweringParameters {
            dense_weight: Ppm(300_000),
            rrf_constant: 60,
            access_attempts: 2,
            model_attempts: 3,
            answer_retries: 1,
            per_document_cap: None,
        }
    }
}

/// The graph of a plan with default parameters. It is validated.
pub fn lower(plan: &Plan) -> Result<ExecutionGraph, GraphError> {
    lower_with(plan, &LoweringParameters::default())
}

/// The graph of a plan. It is validated.
pub fn lower_with(plan: &Plan, parameters: &LoweringParameters) -> Result<ExecutionGraph, GraphError> {
    let mut lowering = Lowering { plan, parameters, nodes: Vec::new(), edges: Vec::new() };
    let lists = lowering.accesses()?;
    let merged = lowering.fuse(lists)?;
    let ranked = lowering.rerank(merged)?;
    let packed = lowering.pack(ranked)?;
    let context = lowering.compress(packed)?;
    let answer = lowering.answer(context)?;
    lowering.verify(&answer)?;
    let graph = ExecutionGraph::new(plan.id.clone(), lowering.nodes, lowering.edges);
    graph.validate()?;
    Ok(graph)
}

struct Lowering<'a> {
    plan: &'a Plan,
    parameters: &'a LoweringParameters,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// One way of reading a source before it becomes nodes.
struct SourceAccess<'a> {
    source: &'a SourceName,
    path: AccessPath,
    k: u32,
    quota: Tokens,
    estimate: &'a AlternativeEstimate,
}

impl<'a> Lowering<'a> {
    fn add(&mut self, id: impl Into<String>, op: NodeOp, estimate: AlternativeEstimate, on_error: FailurePolicy) -> NodeId {
        let (resource, max_attempts) = match &op {
            NodeOp::Access { .. } => (Resource::Store, self.parameters.access_attempts),
            NodeOp::Answer { model: Some(model), .. } => (Resource::Model(model.clone()), self.parameters.model_attempts),
            _ => (Resource::Cpu, 1),
        };
        let id = NodeId::new(id);
        self.nodes.push(Node { id: id.clone(), op, estimate, resource, on_error, max_attempts });
        id
    }

    fn connect(&mut self, from: &NodeId, to: &NodeId, kind: EdgeKind) {
        self.edges.push(Edge { from: from.clone(), to: to.clone(), kind });
    }

    fn wrong(&self, chosen: &PlannedAlternative) -> GraphError {
        let alternative = &chosen.alternative;
        GraphError::WrongOperator {
            plan: self.plan.id.to_string(),
            stage: alternative.stage.to_string(),
            operator: alternative.operator.to_string(),
        }
    }

    fn stage(&self, stage: Stage, name: &'static str) -> Result<&'a PlannedAlternative, GraphError> {
        self.plan.chosen(&stage).ok_or_else(|| GraphError::MissingStage { plan: self.plan.id.to_string(), stage: name })
    }

    /// One list per source that is read: its single leg, or the merge of its legs.
    fn accesses(&mut self) -> Result<Vec<NodeId>, GraphError> {
        let mut reads = Vec::new();
        for chosen in &self.plan.chosen {
            match (&chosen.alternative.stage, &chosen.alternative.operator) {
                (Stage::Access(_), Operator::Skip) => {}
                (Stage::Access(source), Operator::Access { path, k, quota }) => {
                    reads.push(SourceAccess { source, path: *path, k: *k, quota: *quota, estimate: &chosen.estimate });
                }
                (Stage::Access(_), _) => return Err(self.wrong(chosen)),
                _ => {}
            }
        }
        let policy = if reads.len() > 1 { FailurePolicy::Degrade } else { FailurePolicy::Fail };
        Ok(reads.iter().map(|read| self.source(read, policy)).collect())
    }

    fn source(&mut self, read: &SourceAccess<'_>, policy: FailurePolicy) -> NodeId {
        let ranked: &[LegPath] = match read.path {
            AccessPath::Identifier => &[LegPath::Identifier],
            AccessPath::Bm25 => &[LegPath::Bm25],
            AccessPath::Dense => &[LegPath::Dense],
            AccessPath::HybridLinear | AccessPath::HybridRrf => &[LegPath::Bm25, LegPath::Dense],
            AccessPath::Whole => &[LegPath::Whole],
            AccessPath::Table => &[LegPath::Table],
        };
        let exact = self.wants_identifier_leg(read);
        if let ([only], false) = (ranked, exact) {
            return self.leg(read, *only, read.estimate.clone(), policy);
        }
        let legs: Vec<NodeId> = ranked.iter().map(|p| self.leg(read, *p, self.leg_estimate(read, *p), FailurePolicy::Degrade)).collect();
        let exact =
            exact.then(|| self.leg(read, LegPath::Identifier, self.leg_estimate(read, LegPath::Identifier), FailurePolicy::Degrade));
        let op = NodeOp::FuseLegs {
            source: read.source.clone(),
            method: self.leg_fusion(read.path, &legs),
            exact: exact.clone(),
            k: read.k,
            quota: read.quota,
        };
        let estimate = AlternativeEstimate { latency: Some(merge_latency()), ..read.estimate.clone() };
        let fuse = self.add(format!("fuse.{}", read.source), op, estimate, policy);
        for leg in legs.iter().chain(&exact) {
            self.connect(leg, &fuse, EdgeKind::Parallel);
        }
        fuse
    }

    fn leg(&mut self, read: &SourceAccess<'_>, path: LegPath, estimate: AlternativeEstimate, policy: FailurePolicy) -> NodeId {
        let op = NodeOp::Access { source: read.source.clone(), path, k: read.k, quota: read.quota };
        self.add(format!("access.{}.{path}", read.source), op, estimate, policy)
    }

    fn leg_fusion(&self, path: AccessPath, legs: &[NodeId]) -> LegFusion {
        match (path, legs) {
            (AccessPath::HybridRrf, _) => LegFusion::Rrf { constant: self.parameters.rrf_constant },
            (AccessPath::HybridLinear, [bm25, dense]) => {
                let dense_weight = self.parameters.dense_weight.min(Ppm::ONE);
                LegFusion::Linear {
                    weights: vec![
                        LegWeight { leg: bm25.clone(), weight: dense_weight.complement() },
                        LegWeight { leg: dense.clone(), weight: dense_weight },
                    ],
                }
            }
            (_, legs) => LegFusion::Single { leg: legs[0].clone() },
        }
    }

    /// Exact wins: a ranked path also looks identifiers up where the goal names one and the source was found to hold it,
    /// which is when an identifier alternative survived pruning. Whole sources hold every passage anyway.
    fn wants_identifier_leg(&self, read: &SourceAccess<'_>) -> bool {
        let ranked = !matches!(read.path, AccessPath::Identifier | AccessPath::Whole | AccessPath::Table);
        ranked && self.plan.intent.identifiers().next().is_some() && self.alternatives_of(read.source, LegPath::Identifier).next().is_some()
    }

    /// Rejected alternatives that are this leg alone and could have been executed, or could have been when the run began.
    fn alternatives_of(&self, source: &SourceName, path: LegPath) -> impl Iterator<Item = (u32, Tokens, &'a AlternativeEstimate)> {
        static NOTHING: AlternativeEstimate =
            AlternativeEstimate { hits: None, tokens: None, cost: None, latency: None, evidence: None, quality: None, call: None };
        let source = source.clone();
        self.plan.rejected.iter().filter_map(move |rejection| match (&rejection.alternative.stage, &rejection.alternative.operator) {
            (Stage::Access(s), Operator::Access { path: p, k, quota })
                if *s == source
                    && *p == path.access_path()
                    && !matches!(&rejection.fate, Fate::Pruned { rule, .. } if rule != ALREADY_READ) =>
            {
                Some((*k, *quota, rejection.estimate.as_ref().unwrap_or(&NOTHING)))
            }
            _ => None,
        })
    }

    /// A leg's estimate is that of the alternative which is this leg alone, the nearest `k` and quota first. Where there is none, only
    /// the hybrid's latency is known to bound it.
    fn leg_estimate(&self, read: &SourceAccess<'_>, path: LegPath) -> AlternativeEstimate {
        if path.access_path() == read.path {
            return read.estimate.clone();
        }
        let nearest = self
            .alternatives_of(read.source, path)
            .min_by_key(|(k, quota, _)| (k.abs_diff(read.k), quota.get().abs_diff(read.quota.get())));
        nearest.map_or_else(
            || AlternativeEstimate { latency: read.estimate.latency.clone(), ..AlternativeEstimate::default() },
            |(_, _, estimate)| estimate.clone(),
        )
    }

    fn fuse(&mut self, mut lists: Vec<NodeId>) -> Result<Option<NodeId>, GraphError> {
        if lists.len() < 2 {
            return Ok(lists.pop());
        }
        let chosen = self.stage(Stage::Fuse, "fuse")?;
        let Operator::Fuse { method } = chosen.alternative.operator else { return Err(self.wrong(chosen)) };
        let fuse = self.add("fuse", NodeOp::Fuse { method }, chosen.estimate.clone(), FailurePolicy::Fail);
        for list in &lists {
            self.connect(list, &fuse, EdgeKind::Parallel);
        }
        Ok(Some(fuse))
    }

    /// Nothing is read: nothing is reordered.
    fn rerank(&mut self, last: Option<NodeId>) -> Result<Option<NodeId>, GraphError> {
        let (Some(last), Some(chosen)) = (last.clone(), self.plan.chosen(&Stage::Rerank)) else { return Ok(last) };
        match &chosen.alternative.operator {
            Operator::NoRerank => Ok(Some(last)),
            Operator::Rerank { reranker } => {
                // Without it the order of retrieval stands: a reranker that breaks costs its gain, not the run.
                let op = NodeOp::Rerank { reranker: reranker.clone() };
                let rerank = self.add("rerank", op, chosen.estimate.clone(), FailurePolicy::Fail);
                self.connect(&last, &rerank, EdgeKind::Then);
                Ok(Some(rerank))
            }
            _ => Err(self.wrong(chosen)),
        }
    }

    fn pack(&mut self, last: Option<NodeId>) -> Result<NodeId, GraphError> {
        let chosen = self.stage(Stage::Pack, "pack")?;
        let Operator::Pack { budget, layout } = chosen.alternative.operator else { return Err(self.wrong(chosen)) };
        let final_k = self.plan.limits.final_k;
        let per_document_cap = self.parameters.per_document_cap.or(final_k.map(|k| k.div_ceil(2).max(2)));
        let op = NodeOp::Pack { budget, layout, per_document_cap, final_k };
        let pack = self.add("pack", op, chosen.estimate.clone(), FailurePolicy::Fail);
        if let Some(last) = last {
            self.connect(&last, &pack, EdgeKind::Then);
        }
        Ok(pack)
    }

    fn compress(&mut self, last: NodeId) -> Result<NodeId, GraphError> {
        let Some(chosen) = self.plan.chosen(&Stage::Compress) else { return Ok(last) };
        match &chosen.alternative.operator {
            Operator::NoCompress => Ok(last),
            Operator::Compress { compressor, keep } => {
                let op = NodeOp::Compress { compressor: compressor.clone(), keep: *keep };
                let compress = self.add("compress", op, chosen.estimate.clone(), FailurePolicy::Fail);
                self.connect(&last, &compress, EdgeKind::Then);
                Ok(compress)
            }
            _ => Err(self.wrong(chosen)),
        }
    }

    /// The answerer, and where the run ends when it declines.
    fn answer(&mut self, last: NodeId) -> Result<Answerer, GraphError> {
        let chosen = self.stage(Stage::Answer, "answer")?;
        let Operator::Answer { strategy, model } = &chosen.alternative.operator else { return Err(self.wrong(chosen)) };
        let op = NodeOp::Answer { strategy: *strategy, model: model.clone() };
        let id = self.add("answer", op, chosen.estimate.clone(), FailurePolicy::Fail);
        self.connect(&last, &id, EdgeKind::Then);
        Ok(Answerer { id, strategy: *strategy })
    }

    fn stop(&mut self, id: &str, status: Status) -> NodeId {
        self.add(id, NodeOp::Stop { status }, AlternativeEstimate::default(), FailurePolicy::Fail)
    }

    /// The check and what follows when it fails. Quoting again gives the same sentences, so an extractive answer is not
    /// retried: it is withheld. A generated one is produced anew, then the run ends as `verification_failed`.
    fn verify(&mut self, answerer: &Answerer) -> Result<(), GraphError> {
        let verify = match self.plan.chosen(&Stage::Verify) {
            None => None,
            Some(chosen) => match &chosen.alternative.operator {
                Operator::NoVerify => None,
                Operator::Verify { verifier } => {
                    let op = NodeOp::Verify { verifier: verifier.clone() };
                    Some(self.add("verify", op, chosen.estimate.clone(), FailurePolicy::Fail))
                }
                _ => return Err(self.wrong(chosen)),
            },
        };
        let abstain = self.stop("abstain", Status::Abstained);
        self.connect(&answerer.id, &abstain, EdgeKind::OnFailure);
        let Some(verify) = verify else { return Ok(()) };
        self.connect(&answerer.id, &verify, EdgeKind::OnSuccess);
        match answerer.strategy {
            Strategy::Extractive | Strategy::Computed => self.connect(&verify, &abstain, EdgeKind::OnFailure),
            Strategy::SingleShot => self.retry(&answerer.id, &verify),
        }
        Ok(())
    }

    fn retry(&mut self, answer: &NodeId, verify: &NodeId) {
        let failed = self.stop("verification_failed", Status::VerificationFailed);
        if self.parameters.answer_retries == 0 {
            return self.connect(verify, &failed, EdgeKind::OnFailure);
        }
        let op = NodeOp::Loop { body: answer.clone(), max_iterations: self.parameters.answer_retries };
        let retry = self.add("retry", op, AlternativeEstimate::default(), FailurePolicy::Fail);
        self.connect(verify, &retry, EdgeKind::OnFailure);
        self.connect(&retry, answer, EdgeKind::Then);
        self.connect(&retry, &failed, EdgeKind::OnFailure);
    }
}

struct Answerer {
    id: NodeId,
    strategy: Strategy,
}

fn merge_latency() -> Estimated<Micros> {
    let (value, low, high) = MERGE_LATENCY_US;
    Estimated::new(Micros(value), Micros(low), Micros(high), Certainty::Prior, "merging ranked lists in memory")
}
