//! Enumeration, then pruning, then frames.

use crate::rules::{self, FRAME_RULES, FrameRule, REFINE_RULES, RULES};
use crate::{View, grid};
use ctx_types::plan::Known;
use ctx_types::{AccessPath, Alternative, AlternativeId, FuseMethod, Layout, Operator, SourceName, Stage, Tokens};

/// An alternative that a rule removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// The alternative.
    pub alternative: Alternative,
    /// The rule.
    pub rule: &'static str,
    /// Its reason.
    pub reason: String,
}

/// One choice of everything that is not a source. Indices into [`PlanSpace::alternatives`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameChoice {
    /// Fuse method.
    pub fuse: usize,
    /// Rerank.
    pub rerank: usize,
    /// Pack.
    pub pack: usize,
    /// Compress.
    pub compress: usize,
    /// Strategy and model.
    pub answer: usize,
    /// Verifier.
    pub verify: usize,
}

/// What is possible.
#[derive(Clone, Debug, Default)]
pub struct PlanSpace {
    /// Every surviving alternative in canonical order.
    pub alternatives: Vec<Alternative>,
    /// Per source, its surviving alternatives. Indices into `alternatives`.
    pub groups: Vec<(SourceName, Vec<usize>)>,
    /// Consistent frames.
    pub frames: Vec<FrameChoice>,
    /// Removed alternatives.
    pub pruned: Vec<Pruned>,
}

/// Enumerates and prunes.
pub fn generate(view: &View<'_>) -> PlanSpace {
    let mut space = pruned(view);
    frames(view, &mut space);
    space
}

/// Every access path, and of the other stages only what earlier decisions of the same kind are made of. What is left out is in
/// no list.
pub fn generate_of(view: &View<'_>, known: &Known) -> PlanSpace {
    let mut space = pruned(view);
    // Accesses come first, so that the groups' indices stay.
    space.alternatives.retain(|a| known.holds(a));
    space.pruned.retain(|p| matches!(p.alternative.stage, Stage::Access(_)));
    frames(view, &mut space);
    space
}

/// What single alternatives the rules leave.
fn pruned(view: &View<'_>) -> PlanSpace {
    let mut space = PlanSpace::default();
    for alternative in enumerate(view) {
        match RULES.iter().find_map(|rule| (rule.prune)(view, &alternative).map(|reason| (rule.name, reason))) {
            Some((rule, reason)) => space.pruned.push(Pruned { alternative, rule, reason }),
            None => space.alternatives.push(alternative),
        }
    }
    for source in view.sources {
        let stage = Stage::Access(source.clone());
        let members = space.alternatives.iter().enumerate().filter(|(_, a)| a.stage == stage).map(|(i, _)| i).collect();
        space.groups.push((source.clone(), members));
    }
    space
}

fn enumerate(view: &View<'_>) -> Vec<Alternative> {
    let mut operators: Vec<(Stage, Operator)> = Vec::with_capacity(160);
    for source in view.sources {
        accesses(view, source, &mut operators);
    }
    let capabilities = &view.catalog.capabilities;
    for method in sorted(&capabilities.fuse, FuseMethod::ALL) {
        operators.push((Stage::Fuse, Operator::Fuse { method }));
    }
    operators.push((Stage::Rerank, Operator::NoRerank));
    for reranker in &capabilities.rerankers {
        operators.push((Stage::Rerank, Operator::Rerank { reranker: reranker.name.clone() }));
    }
    for budget in grid::budgets(view.limits) {
        for layout in sorted(&capabilities.layouts, Layout::ALL) {
            operators.push((Stage::Pack, Operator::Pack { budget, layout }));
        }
    }
    operators.push((Stage::Compress, Operator::NoCompress));
    for compressor in &capabilities.compressors {
        for ratio in &compressor.ratios {
            operators.push((Stage::Compress, Operator::Compress { compressor: compressor.name.clone(), keep: ratio.keep }));
        }
    }
    for strategy in sorted(&capabilities.strategies, ctx_types::Strategy::ALL) {
        if matches!(strategy, ctx_types::Strategy::Extractive | ctx_types::Strategy::Computed) {
            operators.push((Stage::Answer, Operator::Answer { strategy, model: None }));
        } else {
            operators.extend(view.catalog.models.keys().map(|m| (Stage::Answer, Operator::Answer { strategy, model: Some(m.clone()) })));
        }
    }
    operators.push((Stage::Verify, Operator::NoVerify));
    for verifier in &capabilities.verifiers {
        operators.push((Stage::Verify, Operator::Verify { verifier: verifier.name.clone() }));
    }
    operators.into_iter().enumerate().map(|(i, (stage, operator))| Alternative { id: AlternativeId(i as u32), stage, operator }).collect()
}

/// Capabilities in canonical order, each once, whatever order plugins registered in.
fn sorted<T: Copy + PartialEq>(have: &[T], all: &[T]) -> Vec<T> {
    all.iter().copied().filter(|v| have.contains(v)).collect()
}

fn accesses(view: &View<'_>, source: &SourceName, out: &mut Vec<(Stage, Operator)>) {
    let stage = || Stage::Access(source.clone());
    out.push((stage(), Operator::Skip));
    let Some(entry) = view.source(source) else { return };
    let quotas = grid::budgets(view.limits);
    for path in AccessPath::ALL.iter().copied().filter(|p| entry.access.iter().any(|a| a.path == *p)) {
        if path == AccessPath::Whole {
            let k = u32::try_from(entry.passages).unwrap_or(u32::MAX);
            out.push((stage(), Operator::Access { path, k, quota: entry.tokens.max(Tokens(1)) }));
            continue;
        }
        // A query has one result, as large as its bounds let it be.
        if path == AccessPath::Table {
            let holds_it = quotas.iter().find(|quota| quota.get() >= ctx_types::computed::TOKENS_MAX).or(quotas.last());
            out.push((stage(), Operator::Access { path, k: 1, quota: holds_it.copied().unwrap_or(Tokens(1)) }));
            continue;
        }
        for k in grid::ks(view.settings) {
            for quota in &quotas {
                out.push((stage(), Operator::Access { path, k, quota: *quota }));
            }
        }
    }
}

/// Why an alternative was refused last.
type Refused = Option<(&'static str, String)>;

/// Every consistent combination; an alternative that is in none is pruned with the last rule that refused it.
fn frames(view: &View<'_>, space: &mut PlanSpace) {
    let of =
        |stage: Stage| -> Vec<usize> { space.alternatives.iter().enumerate().filter(|(_, a)| a.stage == stage).map(|(i, _)| i).collect() };
    let (fuse, rerank, pack) = (of(Stage::Fuse), of(Stage::Rerank), of(Stage::Pack));
    let (compress, answer, verify) = (of(Stage::Compress), of(Stage::Answer), of(Stage::Verify));
    let mut refused: Vec<Refused> = vec![None; space.alternatives.len()];
    let mut used = vec![false; space.alternatives.len()];
    let refined = Refinements::new(view, &space.alternatives, [&rerank, &pack, &compress, &answer], &mut refused);
    let plainest = first_layouts(&space.alternatives, &pack);
    let mut plain: Vec<Option<bool>> = vec![None; fuse.len() * answer.len() * verify.len() * pack.len()];
    for ((at_f, &f), (at_r, &r)) in fuse.iter().enumerate().flat_map(|f| rerank.iter().enumerate().map(move |r| (f, r))) {
        for ((at_a, &a), (at_v, &v)) in answer.iter().enumerate().flat_map(|a| verify.iter().enumerate().map(move |v| (a, v))) {
            for ((at_p, &p), (at_c, &c)) in pack.iter().enumerate().flat_map(|p| compress.iter().enumerate().map(move |c| (p, c))) {
                let refines = !matches!(
                    (&space.alternatives[r].operator, &space.alternatives[c].operator),
                    (Operator::NoRerank, Operator::NoCompress)
                );
                let weighed = refined.reorders(at_r, at_p, at_a) && refined.shortens(at_c, at_p, at_a);
                if !weighed || (refines && !plainest[at_p]) {
                    continue;
                }
                let frame = FrameChoice { fuse: f, rerank: r, pack: p, compress: c, answer: a, verify: v };
                // The other rules look at neither reranker nor compressor: one verdict is that of all.
                let verdict = &mut plain[((at_f * answer.len() + at_a) * verify.len() + at_v) * pack.len() + at_p];
                let passes = *verdict.get_or_insert_with(|| match refuse(view, &space.alternatives, &frame) {
                    Some((blamed, rule, reason)) => {
                        refused[blamed] = Some((rule, reason));
                        false
                    }
                    None => true,
                });
                if passes {
                    [f, r, p, c, a, v].into_iter().for_each(|i| used[i] = true);
                    space.frames.push(frame);
                }
            }
        }
    }
    prune_unused(space, &used, refused);
}

/// Which packs have the first layout that is left for their budget. Reordering and shortening are weighed with that one only: what
/// a layout is worth does not depend on them, and it is the best one that the answerers were measured with.
fn first_layouts(alternatives: &[Alternative], pack: &[usize]) -> Vec<bool> {
    let budget = |at: usize| if let Operator::Pack { budget, .. } = alternatives[at].operator { Some(budget) } else { None };
    pack.iter().map(|&at| pack.iter().find(|&&other| budget(other) == budget(at)) == Some(&at)).collect()
}

/// Which rerankers and compressors go with which pack budget and answerer.
struct Refinements {
    packs: usize,
    answers: usize,
    reorders: Vec<bool>,
    shortens: Vec<bool>,
}

impl Refinements {
    fn new(
        view: &View<'_>,
        alternatives: &[Alternative],
        [rerank, pack, compress, answer]: [&[usize]; 4],
        refused: &mut [Refused],
    ) -> Refinements {
        let mut allowed = |steps: &[usize], frame: fn(usize, FrameChoice) -> FrameChoice| -> Vec<bool> {
            let (Some(&first_rerank), Some(&first_compress)) = (rerank.first(), compress.first()) else { return Vec::new() };
            let mut out = Vec::with_capacity(steps.len() * pack.len() * answer.len());
            for (&step, &p) in steps.iter().flat_map(|s| pack.iter().map(move |p| (s, p))) {
                for &a in answer {
                    let plain = FrameChoice { fuse: 0, rerank: first_rerank, pack: p, compress: first_compress, answer: a, verify: 0 };
                    let frame = frame(step, plain);
                    let blamed = |rule: &FrameRule| {
                        let refusal = (rule.refuse)(view, alternatives, &frame).filter(|(blamed, _)| *blamed == step);
                        refusal.map(|(_, reason)| (rule.name, reason))
                    };
                    let refusal = REFINE_RULES.iter().find_map(blamed);
                    out.push(refusal.is_none());
                    if refusal.is_some() {
                        refused[step] = refusal;
                    }
                }
            }
            out
        };
        let reorders = allowed(rerank, |step, plain| FrameChoice { rerank: step, ..plain });
        let shortens = allowed(compress, |step, plain| FrameChoice { compress: step, ..plain });
        Refinements { packs: pack.len(), answers: answer.len(), reorders, shortens }
    }

    fn at(&self, step: usize, pack: usize, answer: usize) -> usize {
        (step * self.packs + pack) * self.answers + answer
    }

    fn reorders(&self, rerank: usize, pack: usize, answer: usize) -> bool {
        self.reorders[self.at(rerank, pack, answer)]
    }

    fn shortens(&self, compress: usize, pack: usize, answer: usize) -> bool {
        self.shortens[self.at(compress, pack, answer)]
    }
}

fn refuse(view: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, &'static str, String)> {
    FRAME_RULES.iter().find_map(|rule| (rule.refuse)(view, alternatives, frame).map(|(blamed, reason)| (blamed, rule.name, reason)))
}

/// Why no combination holds an alternative, where no rule refused it.
fn not_taken(stage: &Stage) -> String {
    match stage {
        Stage::Access(_) => "no answerer that is left works on what this would bring".to_owned(),
        _ => "no consistent combination of the other stages is left".to_owned(),
    }
}

/// Whether some frame's answerer works on text, and whether one works on computed results.
fn taken(space: &PlanSpace) -> (bool, bool) {
    let mut taken = (false, false);
    for frame in &space.frames {
        match space.alternatives[frame.answer].operator {
            Operator::Answer { strategy: ctx_types::Strategy::Computed, .. } => taken.1 = true,
            Operator::Answer { strategy: ctx_types::Strategy::Extractive, .. } => taken.0 = true,
            _ => taken = (true, true),
        }
    }
    if space.frames.is_empty() { (true, true) } else { taken }
}

fn prune_unused(space: &mut PlanSpace, used: &[bool], mut refused: Vec<Option<(&'static str, String)>>) {
    let (text, results) = taken(space);
    let unread = |a: &Alternative| match a.operator {
        Operator::Access { path: AccessPath::Table, .. } => !results,
        Operator::Access { .. } => !text,
        _ => false,
    };
    let idle = |i: usize, a: &Alternative| if matches!(a.stage, Stage::Access(_)) { unread(a) } else { !used[i] };
    for (i, alternative) in space.alternatives.iter().enumerate() {
        if idle(i, alternative) {
            let (rule, reason) = refused[i].take().unwrap_or_else(|| (rules::NO_FRAME, not_taken(&alternative.stage)));
            space.pruned.push(Pruned { alternative: alternative.clone(), rule, reason });
        }
    }
    space.pruned.sort_by_key(|p| p.alternative.id);
    let keep: Vec<bool> = space.alternatives.iter().enumerate().map(|(i, a)| !idle(i, a)).collect();
    let mut renumber = vec![usize::MAX; keep.len()];
    let mut next = 0;
    for (i, kept) in keep.iter().enumerate() {
        if *kept {
            renumber[i] = next;
            next += 1;
        }
    }
    let mut kept = keep.iter();
    space.alternatives.retain(|_| *kept.next().unwrap_or(&false));
    for (_, members) in &mut space.groups {
        members.retain(|m| keep[*m]);
        members.iter_mut().for_each(|m| *m = renumber[*m]);
    }
    for frame in &mut space.frames {
        for slot in [&mut frame.fuse, &mut frame.rerank, &mut frame.pack, &mut frame.compress, &mut frame.answer, &mut frame.verify] {
            *slot = renumber[*slot];
        }
    }
}
