//! A pinned plan: of everything that is possible, what has the shape of a given gist.
//!
//! A gist is a hash, so it is not read but searched: shapes are combinations of one frame without its numbers and one
//! operator without its numbers per source, few enough to be tried.

use crate::{PlanError, write};
use ctx_candidates::{FrameChoice, PlanSpace, Pruned};
use ctx_types::goal::Hint;
use ctx_types::{ContentId, Goal, Operator};
use std::collections::{BTreeMap, BTreeSet};

/// Most shapes tried: some tenths of a second.
const SHAPES_MAX: u64 = 200_000;
/// Rule that what does not belong to the pinned plan is pruned by.
const RULE: &str = "hints";

/// Leaves only what has the pinned shape. `false`: nothing has it.
pub(crate) fn restrict(goal: &Goal, space: &mut PlanSpace) -> Result<bool, PlanError> {
    let Some(gist) = goal.hints.iter().find_map(|h| if let Hint::Gist(g) = h { Some(g) } else { None }) else { return Ok(true) };
    let Some((frames, operators)) = find(gist, space)? else { return Ok(false) };
    let reason = format!("hint pins `{gist}`");
    space.frames.retain(|f| frames.contains(&frame_shape(space.alternatives.as_slice(), f)));
    let mut keep: BTreeSet<usize> = space.frames.iter().flat_map(|f| [f.fuse, f.rerank, f.pack, f.compress, f.answer, f.verify]).collect();
    for ((_, members), operator) in space.groups.iter().zip(&operators) {
        keep.extend(members.iter().filter(|&&m| space.alternatives[m].operator.shape() == *operator));
    }
    drop_others(space, &keep, &reason);
    Ok(true)
}

type Shape = (BTreeSet<Vec<String>>, Vec<String>);

/// The frames' shapes and one operator per source whose plan has the gist.
fn find(gist: &ContentId, space: &PlanSpace) -> Result<Option<Shape>, PlanError> {
    let of_group = |members: &[usize]| -> Vec<(String, bool)> {
        let all = members.iter().map(|&m| &space.alternatives[m].operator);
        all.map(|o| (o.shape(), *o != Operator::Skip)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let groups: Vec<Vec<(String, bool)>> = space.groups.iter().map(|(_, m)| of_group(m)).collect();
    let mut frames: BTreeMap<Vec<String>, &FrameChoice> = BTreeMap::new();
    for frame in &space.frames {
        frames.entry(frame_shape(&space.alternatives, frame)).or_insert(frame);
    }
    let shapes = groups.iter().map(|g| g.len() as u64).fold(frames.len() as u64, u64::saturating_mul);
    if shapes > SHAPES_MAX {
        return Err(PlanError::TooManyShapes { shapes, most: SHAPES_MAX });
    }
    if groups.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let mut at = vec![0usize; groups.len()];
    loop {
        let picked: Vec<&(String, bool)> = at.iter().zip(&groups).map(|(&i, g)| &g[i]).collect();
        let reads = picked.iter().filter(|(_, reads)| *reads).count();
        let mut found = BTreeSet::new();
        for (shape, frame) in &frames {
            let accesses = space.groups.iter().zip(&picked).map(|((name, _), (operator, _))| format!("{name}:{operator}"));
            let stages = write::frame_parts(&space.alternatives, frame, reads);
            let words = accesses.chain(stages).collect::<Vec<_>>().join(" → ");
            if write::gist_of(&words)? == *gist {
                found.insert(shape.clone());
            }
        }
        if !found.is_empty() {
            return Ok(Some((found, picked.into_iter().map(|(operator, _)| operator.clone()).collect())));
        }
        let Some(turn) = (0..at.len()).rev().find(|&g| at[g] + 1 < groups[g].len()) else { return Ok(None) };
        at[turn] += 1;
        at[turn + 1..].fill(0);
    }
}

/// Operators of a frame without their numbers.
fn frame_shape(alternatives: &[ctx_types::Alternative], frame: &FrameChoice) -> Vec<String> {
    [frame.fuse, frame.rerank, frame.pack, frame.compress, frame.answer, frame.verify].map(|i| alternatives[i].operator.shape()).to_vec()
}

/// Prunes everything that is not kept, and renumbers what is.
fn drop_others(space: &mut PlanSpace, keep: &BTreeSet<usize>, reason: &str) {
    let mut renumbered = vec![usize::MAX; space.alternatives.len()];
    let mut kept = Vec::with_capacity(keep.len());
    for (i, alternative) in std::mem::take(&mut space.alternatives).into_iter().enumerate() {
        if keep.contains(&i) {
            renumbered[i] = kept.len();
            kept.push(alternative);
        } else {
            space.pruned.push(Pruned { alternative, rule: RULE, reason: reason.to_owned() });
        }
    }
    space.alternatives = kept;
    space.pruned.sort_by_key(|p| p.alternative.id);
    for (_, members) in &mut space.groups {
        members.retain(|&m| renumbered[m] != usize::MAX);
        members.iter_mut().for_each(|m| *m = renumbered[*m]);
    }
    for frame in &mut space.frames {
        for slot in [&mut frame.fuse, &mut frame.rerank, &mut frame.pack, &mut frame.compress, &mut frame.answer, &mut frame.verify] {
            *slot = renumbered[*slot];
        }
    }
}
