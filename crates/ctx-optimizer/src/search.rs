//! The search: labels once, frames in order of their bounds, and what EXPLAIN needs beside the winner.
//!
//! A frame is evaluated with every label only while it can still matter: to the best plans, to the runner-up, to the best
//! plan through one of its alternatives, or to the Pareto set. Its optimistic value (the best of all coordinates at once)
//! decides; nothing is left out that could change a result.

use crate::constraints::Usage;
use crate::evaluate::{Evaluator, Ideal, Rank, rank};
use crate::frontier::Frontier;
use crate::infeasible::{Diagnosis, diagnose};
use crate::labels::{Label, LabelLimits, Labels, Sense, dominates};
use crate::problem::{COMPARED_MAX, Item, Problem, Totals};
use crate::score::{self, Shares, Value};
use crate::sensitivity::{self, Flip};
use crate::through;
use ctx_types::plan::{BEST_PLANS_MAX, FRONTIER_MAX, SearchMemory};
use ctx_types::{AlternativeId, MicroNats, Objective, Score};
use std::collections::BTreeMap;

/// A complete plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Index of its frame.
    pub frame: usize,
    /// Item index per group.
    pub selection: Vec<usize>,
    /// Its coordinates.
    pub totals: Totals,
    /// Its value.
    pub value: Value,
}

/// What happened to an alternative that the winner does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Through {
    /// Value of the best feasible plan through it.
    Feasible(Value),
    /// Every plan through it breaks a limit; the smallest set of broken limits, as bits.
    Infeasible(u8),
    /// Another item of its group is at least as good in every coordinate.
    Dominated(AlternativeId),
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The winner, if any plan is feasible.
    pub winner: Option<Candidate>,
    /// Best plans, best first, of different frames or selections.
    pub best: Vec<Candidate>,
    /// The best plan of another shape than the winner's, among those that no other dominates.
    pub runner_up: Option<Candidate>,
    /// Pareto set over (accuracy, cost, latency), best value first.
    pub frontier: Vec<Candidate>,
    /// Per alternative: best plan through it.
    pub through: BTreeMap<AlternativeId, Through>,
    /// Upper bound on any feasible plan's value.
    pub bound: Value,
    /// Labels created and plans evaluated.
    pub nodes: u64,
    /// Which limit stopped the search.
    pub stopped_by: Option<String>,
    /// What it held in memory.
    pub memory: SearchMemory,
    /// Why nothing is feasible.
    pub diagnosis: Option<Diagnosis>,
}

/// Groups without what is dominated, and the labels over them.
pub(crate) struct Reduced {
    /// Surviving items.
    pub items: Vec<Vec<Item>>,
    /// Their indices in the problem.
    pub kept: Vec<Vec<usize>>,
    /// How labels compare.
    pub sense: Sense,
    /// How much may be compared and kept.
    pub limits: LabelLimits,
}

/// A complete plan as the search holds it.
#[derive(Clone, Copy, Debug)]
struct Found {
    value: Value,
    frame: usize,
    label: usize,
}

/// What the evaluation of frames leaves.
struct Evaluation<'a> {
    evaluator: &'a Evaluator<'a>,
    reduced: &'a Reduced,
    labels: &'a Labels,
    shares: Vec<Shares>,
    /// Best plans, best first.
    top: Vec<Found>,
    /// The best plan, and the best of another shape.
    shapes: [Option<(Found, Shape)>; 2],
    frontier: Frontier<Found>,
    /// Best value of each evaluated frame.
    frames: Vec<Option<Option<Value>>>,
    nodes: u64,
}

type Shape = (u32, Vec<u32>);

/// The best feasible plan, proven, with everything EXPLAIN needs.
pub fn solve(problem: &Problem) -> Solution {
    let evaluator = Evaluator::new(problem);
    let mut through: BTreeMap<AlternativeId, Through> = BTreeMap::new();
    let reduced = reduce(problem, &mut through);
    let views: Vec<&[Item]> = reduced.items.iter().map(Vec::as_slice).collect();
    let promise = promise(&evaluator, &views);
    let labels = Labels::build(&views, reduced.sense, reduced.limits, &promise);
    let mut evaluation = Evaluation::new(&evaluator, &reduced, &labels);
    evaluation.run(&mut through);
    let winner = evaluation.top.first().map(|f| evaluation.candidate(f));
    let diagnosis = winner.is_none().then(|| diagnose(&problem.limits, &evaluation.usages()));
    evaluation.nodes += labels.expanded;
    through::items(&evaluator, &reduced, &labels, &promise, &mut through, &mut evaluation.nodes);
    let stopped_by = labels.truncated.map(|limit| match limit {
        "labels_max" => format!("labels_max = {}", problem.labels_max),
        other => format!("{other} = {COMPARED_MAX}"),
    });
    let bound = match (&winner, &stopped_by) {
        (Some(w), None) => w.value,
        _ => bound(&evaluator, &views),
    };
    let memory = held(&labels, evaluation.top.len() + evaluation.frontier.members().len());
    Solution {
        memory,
        best: evaluation.top.iter().map(|f| evaluation.candidate(f)).collect(),
        runner_up: evaluation.shapes[1].as_ref().map(|(f, _)| evaluation.candidate(f)),
        frontier: evaluation.frontier(),
        // A value that reaches the bound is proven, whatever stopped the search.
        stopped_by: stopped_by.filter(|_| winner.as_ref().is_none_or(|w| w.value != bound)),
        nodes: evaluation.nodes,
        winner,
        through,
        bound,
        diagnosis,
    }
}

/// Single changes that would make another shape win, smallest first. The same search again, with what planning does without.
pub fn flips(problem: &Problem, winner: &Candidate) -> Vec<Flip> {
    let evaluator = Evaluator::new(problem);
    let mut through = BTreeMap::new();
    let reduced = reduce(problem, &mut through);
    let views: Vec<&[Item]> = reduced.items.iter().map(Vec::as_slice).collect();
    let promise = promise(&evaluator, &views);
    let labels = Labels::build(&views, reduced.sense, reduced.limits, &promise);
    let rests = through::items(&evaluator, &reduced, &labels, &promise, &mut through, &mut 0);
    sensitivity::of_kept(&evaluator, winner, &reduced, &labels, &rests)
}

/// Labels of all groups and the complete plans that are kept.
fn held(labels: &Labels, plans: usize) -> SearchMemory {
    let labels = labels.held();
    SearchMemory {
        labels: labels as u64,
        label_bytes: (labels * size_of::<Label>()) as u64,
        plans: plans as u64,
        plan_bytes: (plans * size_of::<Found>()) as u64,
    }
}

/// Whether any plan keeps the limits. The same labels as [`solve`], nothing that explains.
pub fn feasible(problem: &Problem) -> bool {
    let evaluator = Evaluator::new(problem);
    let reduced = reduce(problem, &mut BTreeMap::new());
    let views: Vec<&[Item]> = reduced.items.iter().map(Vec::as_slice).collect();
    let labels = Labels::build(&views, reduced.sense, reduced.limits, &promise(&evaluator, &views));
    let shares: Vec<Shares> = labels.complete().iter().map(|l| Shares::of(&l.totals)).collect();
    let keeps = |f: usize| labels.complete().iter().zip(&shares).any(|(l, s)| evaluator.at(f, &l.totals, *s).violations == 0);
    (0..problem.frames.len()).any(keeps)
}

/// Items that no other of their group dominates; the others go to their dominator.
fn reduce(problem: &Problem, through: &mut BTreeMap<AlternativeId, Through>) -> Reduced {
    let sense = sense_of(problem);
    let mut out = Reduced {
        items: Vec::with_capacity(problem.groups.len()),
        kept: Vec::with_capacity(problem.groups.len()),
        sense,
        limits: LabelLimits { labels_max: problem.labels_max, compared_max: COMPARED_MAX },
    };
    for group in &problem.groups {
        let kept = undominated(group, sense);
        for (i, item) in group.iter().enumerate().filter(|(i, _)| kept.binary_search(i).is_err()) {
            let mine = Totals::default().with(item);
            let by = kept.iter().find(|&&k| dominates(&Totals::default().with(&group[k]), &mine, sense));
            through.insert(group[i].id, by.map_or(Through::Infeasible(u8::MAX), |&k| Through::Dominated(group[k].id)));
        }
        out.items.push(kept.iter().map(|&i| group[i]).collect());
        out.kept.push(kept);
    }
    out
}

/// Indices of the items that no other dominates, ascending; of equal ones the first.
pub(crate) fn undominated(group: &[Item], sense: Sense) -> Vec<usize> {
    let totals: Vec<Totals> = group.iter().map(|i| Totals::default().with(i)).collect();
    let mut order: Vec<usize> = (0..group.len()).collect();
    order.sort_by_key(|&i| {
        let t = &totals[i];
        (std::cmp::Reverse(t.evidence), t.loss, t.tokens, t.quota, t.latency_p50, t.latency_p90, t.cost, t.reads, i)
    });
    let mut kept: Vec<usize> = Vec::new();
    for i in order {
        if !kept.iter().any(|&k| dominates(&totals[k], &totals[i], sense)) {
            kept.push(i);
        }
    }
    kept.sort_unstable();
    kept
}

/// Where evidence cannot be assumed to help, less of it may be better; unless a limit asks for accuracy, that too prunes.
pub(crate) fn sense_of(problem: &Problem) -> Sense {
    if !problem.frames.iter().all(|f| score::brevity_helps(f, &problem.weights)) {
        return Sense::Exact;
    }
    if problem.frames.iter().all(|f| score::evidence_helps(f, &problem.weights)) {
        return Sense::More;
    }
    let wanted = problem.limits.min_accuracy.is_some() || problem.objective == Objective::MaxAccuracy;
    if wanted { Sense::Equal } else { Sense::Either }
}

/// Ranks what a full layer keeps: the value in the most promising frame that has room for it.
fn promise<'a>(evaluator: &'a Evaluator<'a>, groups: &[&[Item]]) -> impl Fn(&Totals) -> i64 + use<'a> {
    let ideal = ideal_of(groups);
    let frames = &evaluator.problem.frames;
    let best = (0..frames.len()).max_by_key(|&f| (evaluator.optimistic(f, &ideal).0, std::cmp::Reverse(f)));
    move |totals| {
        let Some(frame) = best else { return 0 };
        let over = (totals.quota - frames[frame].budget).get();
        evaluator.at(frame, totals, Shares::of(totals)).value.score.get().saturating_sub(i64::try_from(over).unwrap_or(i64::MAX))
    }
}

/// Best coordinates of any selection.
pub(crate) fn ideal_of(groups: &[&[Item]]) -> Ideal {
    let start = Ideal::of(std::iter::once(Totals::default()));
    groups.iter().fold(start, |ideal, group| ideal.joined(&Ideal::of(group.iter().map(|i| Totals::default().with(i)))))
}

/// What no feasible plan surpasses, when a limit stopped the labels: per frame the best of all coordinates at once, with no
/// more evidence than fits the pack budget.
fn bound(evaluator: &Evaluator<'_>, groups: &[&[Item]]) -> Value {
    let ideal = ideal_of(groups);
    let mut evidence: BTreeMap<u64, Option<MicroNats>> = BTreeMap::new();
    let mut best = Value { primary: i64::MIN, score: Score(i64::MIN) };
    for (f, frame) in evaluator.problem.frames.iter().enumerate() {
        let budget = frame.budget.get();
        let most = *evidence.entry(budget).or_insert_with(|| most_evidence(groups, i64::try_from(budget).unwrap_or(i64::MAX)));
        if let Some(most) = most {
            best = best.max(evaluator.optimistic(f, &ideal.with_evidence(most)).0);
        }
    }
    best
}

/// Most evidence within a quota, by the bound of the multiple-choice knapsack; `None`: nothing fits.
fn most_evidence(groups: &[&[Item]], budget: i64) -> Option<MicroNats> {
    use crate::linear::{LinearItem, LinearProblem, branch_and_bound};
    const NODES: u64 = 2_000;
    let linear = |i: &Item| LinearItem { value: i.evidence.get(), weights: vec![i64::try_from(i.quota.get()).unwrap_or(i64::MAX)] };
    let problem = LinearProblem { groups: groups.iter().map(|g| g.iter().map(linear).collect()).collect(), capacities: vec![budget] };
    branch_and_bound(&problem, NODES).bound.map(MicroNats)
}

impl<'a> Evaluation<'a> {
    fn new(evaluator: &'a Evaluator<'a>, reduced: &'a Reduced, labels: &'a Labels) -> Evaluation<'a> {
        Evaluation {
            shares: labels.complete().iter().map(|l| Shares::of(&l.totals)).collect(),
            frames: vec![None; evaluator.problem.frames.len()],
            top: Vec::with_capacity(BEST_PLANS_MAX + 1),
            shapes: [None, None],
            frontier: Frontier::default(),
            nodes: 0,
            evaluator,
            reduced,
            labels,
        }
    }

    /// Evaluates frames, most promising first, as long as one can still matter.
    fn run(&mut self, through: &mut BTreeMap<AlternativeId, Through>) {
        let problem = self.evaluator.problem;
        let ideal = Ideal::of(self.labels.complete().iter().map(|l| l.totals));
        let mut order: Vec<(Value, usize)> = Vec::with_capacity(problem.frames.len());
        let mut points = Vec::with_capacity(problem.frames.len());
        for f in 0..problem.frames.len() {
            let (value, point) = self.evaluator.optimistic(f, &ideal);
            order.push((value, f));
            points.push(point);
        }
        order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        for (bound, f) in order {
            let known = |id: &AlternativeId| matches!(through.get(id), Some(Through::Feasible(value)) if *value >= bound);
            let matters = self.top.len() < BEST_PLANS_MAX
                || self.top.last().is_some_and(|f| f.value <= bound)
                || self.shapes[1].as_ref().is_none_or(|(f, _)| f.value <= bound)
                || !problem.frames[f].alternatives.iter().all(known)
                || !self.frontier.covers(points[f]);
            if matters {
                self.frame(f, through);
            }
        }
    }

    fn frame(&mut self, frame: usize, through: &mut BTreeMap<AlternativeId, Through>) {
        let labels: &'a [Label] = self.labels.complete();
        let (mut best, mut violations): (Option<Value>, Option<u8>) = (None, None);
        for (l, label) in labels.iter().enumerate() {
            self.nodes += 1;
            let evaluated = self.evaluator.at(frame, &label.totals, self.shares[l]);
            if evaluated.violations != 0 {
                violations = Some(fewer(violations, evaluated.violations));
                continue;
            }
            best = best.max(Some(evaluated.value));
            let found = Found { value: evaluated.value, frame, label: l };
            self.frontier.offer(evaluated.point, found);
            self.place(found);
        }
        self.frames[frame] = Some(best);
        for id in &self.evaluator.problem.frames[frame].alternatives {
            note(through, *id, best, violations);
        }
    }

    fn rank(&self, f: &Found) -> Rank {
        rank(self.evaluator.problem, f.value, f.frame, &self.labels.complete()[f.label].totals, f.label)
    }

    /// Keeps the best plans and the best of two shapes.
    fn place(&mut self, found: Found) {
        let mine = self.rank(&found);
        if self.top.len() < BEST_PLANS_MAX || self.top.last().is_some_and(|last| self.rank(last) < mine) {
            let at = self.top.partition_point(|f| self.rank(f) > mine);
            self.top.insert(at, found);
            self.top.truncate(BEST_PLANS_MAX);
        }
        if self.shapes[1].as_ref().is_some_and(|(second, _)| self.rank(second) >= mine) {
            return;
        }
        let shape = self.shape(&found);
        let [first, second] = &self.shapes;
        let leads = first.as_ref().is_none_or(|(f, _)| self.rank(f) < mine);
        let same = first.as_ref().is_some_and(|(_, s)| *s == shape);
        self.shapes = match (leads, same) {
            (true, true) => [Some((found, shape)), second.clone()],
            (true, false) => [Some((found, shape)), first.clone()],
            (false, true) => return,
            (false, false) => [first.clone(), Some((found, shape))],
        };
    }

    fn shape(&self, found: &Found) -> Shape {
        shape_of(
            self.evaluator.problem,
            self.reduced,
            found.frame,
            &self.labels.complete()[found.label].totals,
            &self.labels.selection(found.label),
        )
    }

    fn candidate(&self, found: &Found) -> Candidate {
        Candidate {
            frame: found.frame,
            selection: self.labels.selection(found.label).iter().zip(&self.reduced.kept).map(|(i, kept)| kept[*i]).collect(),
            totals: self.labels.complete()[found.label].totals,
            value: found.value,
        }
    }

    /// The Pareto set, best plans first.
    fn frontier(&self) -> Vec<Candidate> {
        let mut found = self.frontier.members();
        found.sort_by_key(|f| std::cmp::Reverse(self.rank(f)));
        found.truncate(FRONTIER_MAX);
        found.iter().map(|f| self.candidate(f)).collect()
    }

    /// Usage and broken limits of every plan, for the diagnosis.
    fn usages(&self) -> Vec<(Usage, u8)> {
        let all = (0..self.evaluator.problem.frames.len()).flat_map(|f| self.labels.complete().iter().enumerate().map(move |l| (f, l)));
        all.map(|(f, (l, label))| {
            let evaluated = self.evaluator.at(f, &label.totals, self.shares[l]);
            (evaluated.usage, evaluated.violations)
        })
        .collect()
    }
}

/// What of a plan is not a number: the frame's operators and every item's.
pub(crate) fn shape_of(problem: &Problem, reduced: &Reduced, frame: usize, totals: &Totals, selection: &[usize]) -> Shape {
    let frame = &problem.frames[frame];
    let items = selection.iter().zip(&reduced.items).map(|(i, g)| g[*i].shape).collect();
    (if totals.reads < 2 { frame.shape_of_one } else { frame.shape }, items)
}

pub(crate) fn fewer(known: Option<u8>, violations: u8) -> u8 {
    match known {
        Some(k) if k.count_ones() <= violations.count_ones() => k,
        _ => violations,
    }
}

pub(crate) fn note(through: &mut BTreeMap<AlternativeId, Through>, id: AlternativeId, value: Option<Value>, violations: Option<u8>) {
    let entry = through.entry(id).or_insert(Through::Infeasible(u8::MAX));
    match (value, violations) {
        (Some(new), _) => match entry {
            Through::Feasible(old) if *old >= new => {}
            _ => *entry = Through::Feasible(new),
        },
        (None, Some(set)) => {
            if let Through::Infeasible(old) = entry {
                *old = fewer((*old != u8::MAX).then_some(*old), set);
            }
        }
        (None, None) => {}
    }
}

/// The oracle: every frame with every selection. For tests and small instances only.
pub fn brute_force(problem: &Problem) -> Option<Candidate> {
    let evaluator = Evaluator::new(problem);
    let mut best: Option<(Rank, Candidate)> = None;
    if problem.groups.iter().any(Vec::is_empty) {
        return None;
    }
    let mut selection = vec![0usize; problem.groups.len()];
    loop {
        let totals = selection.iter().zip(&problem.groups).fold(Totals::default(), |t, (&i, g)| t.with(&g[i]));
        let shares = Shares::of(&totals);
        for f in 0..problem.frames.len() {
            let evaluated = evaluator.at(f, &totals, shares);
            let rank = rank(problem, evaluated.value, f, &totals, 0);
            if evaluated.violations == 0 && best.as_ref().is_none_or(|(b, _)| rank > *b) {
                best = Some((rank, Candidate { frame: f, selection: selection.clone(), totals, value: evaluated.value }));
            }
        }
        let Some(at) = (0..selection.len()).rev().find(|&g| selection[g] + 1 < problem.groups[g].len()) else {
            return best.map(|(_, c)| c);
        };
        selection[at] += 1;
        selection[at + 1..].fill(0);
    }
}
