//! The legs of retrieval: identifier, BM25, dense, whole. Each stands alone: one that fails fails by itself.
//!
//! Copies of a passage (equal bytes at several places) are one hit that lists its other paths; passages of deleted
//! documents are never found; ties are broken by place, so that a list is the same every time.

use crate::error::EmbeddedError;
use crate::rows::{self, Spot};
use crate::view::SourceView;
use ctx_contracts::ExecMetrics;
use ctx_embed::StaticModel;
use ctx_intent::identifiers::query_identifiers;
use ctx_types::{AccessPath, Hit, Passage};
use std::collections::BTreeSet;

/// More candidates than asked for, because copies collapse: this many times and this many more.
const SPARE_FACTOR: usize = 2;
const SPARE: usize = 8;
/// Candidates of one search.
const CANDIDATES_MAX: usize = 20_000;
/// Passages holding an identifier that are told apart from others; beyond it a hit is not marked.
const EXACT_MAX: usize = 1_000;
/// Other paths listed per passage.
const COPIES_MAX: usize = 16;

/// A candidate before its row is read.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    spot: Spot,
    score: f64,
}

/// What a leg found.
pub struct Found {
    /// Ranked passages.
    pub hits: Vec<Hit>,
    /// What it took, time apart.
    pub metrics: ExecMetrics,
}

/// One leg over one source.
pub(crate) fn search(view: &SourceView, model: &StaticModel, path: AccessPath, query: &str, k: usize) -> Result<Found, EmbeddedError> {
    let most = if path == AccessPath::Whole { usize::MAX } else { CANDIDATES_MAX };
    let mut wanted = k.saturating_mul(SPARE_FACTOR).saturating_add(SPARE).min(most);
    loop {
        let candidates = candidates(view, model, path, query, wanted)?;
        let visited = candidates.len();
        let kept = distinct(view, candidates, k)?;
        // Fewer than asked for and the list was full: copies took the places.
        if kept.len() < k && visited >= wanted && wanted < most {
            wanted = wanted.saturating_mul(4).min(most);
            continue;
        }
        return hits(view, path, query, kept, visited);
    }
}

fn candidates(view: &SourceView, model: &StaticModel, path: AccessPath, query: &str, k: usize) -> Result<Vec<Candidate>, EmbeddedError> {
    match path {
        AccessPath::Bm25 => text(view, query, k, false),
        AccessPath::Identifier => text(view, query, k, true),
        AccessPath::Dense => dense(view, model, query, k),
        AccessPath::Whole => whole(view, k),
        AccessPath::Table => {
            let reason = "its passages are text, not rows".to_owned();
            Err(EmbeddedError::PathUnavailable { name: view.name.to_string(), path: path.to_string(), reason })
        }
        AccessPath::HybridLinear | AccessPath::HybridRrf => {
            let reason = "a hybrid is two legs and a fusion, not one request".to_owned();
            Err(EmbeddedError::PathUnavailable { name: view.name.to_string(), path: path.to_string(), reason })
        }
    }
}

/// Opens every filter first: the search asks it for each candidate and cannot report an error.
fn text(view: &SourceView, query: &str, k: usize, by_identifier: bool) -> Result<Vec<Candidate>, EmbeddedError> {
    let filters = view.segments.iter().map(|segment| segment.filter()).collect::<Result<Vec<_>, _>>()?;
    let deleted = |segment: usize, ordinal: u32| !filters[segment].is_live(ordinal);
    let searcher = view.searcher()?;
    let found = if by_identifier { searcher.search_identifiers(query, k, &deleted)? } else { searcher.search(query, k, &deleted)? };
    Ok(found.hits.iter().map(|hit| Candidate { spot: (hit.segment, hit.ordinal), score: f64::from(hit.score) }).collect())
}

fn dense(view: &SourceView, model: &StaticModel, query: &str, k: usize) -> Result<Vec<Candidate>, EmbeddedError> {
    let unavailable = |reason| EmbeddedError::PathUnavailable { name: view.name.to_string(), path: "dense".to_owned(), reason };
    if view.segments.is_empty() {
        return Ok(Vec::new());
    }
    view.embedding(model).map_err(unavailable)?;
    let Some(idf) = view.idf()? else { return Ok(Vec::new()) };
    let mut vector = vec![0.0; model.dimension()];
    if !model.embed(query, idf, &mut vector) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (at, segment) in view.segments.iter().enumerate() {
        let filter = segment.filter()?;
        let near = segment.open.vectors()?.search(&vector, k, |ordinal| filter.is_live(ordinal))?;
        found.extend(near.into_iter().map(|n| (std::cmp::Reverse(n.similarity_e4), (at, n.ordinal))));
    }
    found.sort_unstable();
    found.truncate(k);
    Ok(found.into_iter().map(|(similarity, spot)| Candidate { spot, score: f64::from(similarity.0) / 1e4 }).collect())
}

/// Every passage in the order of paths and places in the file.
fn whole(view: &SourceView, k: usize) -> Result<Vec<Candidate>, EmbeddedError> {
    let files = view.generation.files(&view.name)?;
    let mut found = Vec::new();
    for (_, file) in files.iter() {
        let Some(at) = file.segment.as_ref().and_then(|id| view.segments.iter().position(|segment| segment.open.id == *id)) else {
            continue;
        };
        let ranges = view.segments[at].open.ranges()?;
        for document in file.document_range() {
            for ordinal in ranges.of(document) {
                if found.len() == k {
                    return Ok(found);
                }
                found.push(Candidate { spot: (at, ordinal), score: 0.0 });
            }
        }
    }
    Ok(found)
}

/// The first of each group of copies, at most `k`.
fn distinct(view: &SourceView, candidates: Vec<Candidate>, k: usize) -> Result<Vec<Candidate>, EmbeddedError> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::with_capacity(k.min(candidates.len()));
    for candidate in candidates {
        let content = view.segments[candidate.spot.0].open.keys()?.content(candidate.spot.1);
        if seen.insert(content) {
            kept.push(candidate);
            if kept.len() == k {
                break;
            }
        }
    }
    Ok(kept)
}

fn hits(view: &SourceView, path: AccessPath, query: &str, kept: Vec<Candidate>, visited: usize) -> Result<Found, EmbeddedError> {
    let spots: Vec<Spot> = kept.iter().map(|candidate| candidate.spot).collect();
    let exact = exact(view, path, query, &spots)?;
    let mut bytes = 0;
    let mut hits = Vec::with_capacity(kept.len());
    for (at, candidate) in kept.iter().enumerate() {
        let mut passage = rows::passage(view, candidate.spot)?;
        bytes += passage.text.len() as u64;
        passage.locator.also_at = copies(view, candidate.spot, &passage)?;
        hits.push(Hit { passage, score: candidate.score, rank: at as u32 + 1, path, exact: exact.contains(&candidate.spot) });
    }
    let metrics = ExecMetrics { rows: Some(hits.len() as u64), bytes: Some(bytes), chunks: Some(visited as u64), ..ExecMetrics::default() };
    Ok(Found { hits, metrics })
}

/// Which of these places hold an identifier of the query.
fn exact(view: &SourceView, path: AccessPath, query: &str, spots: &[Spot]) -> Result<BTreeSet<Spot>, EmbeddedError> {
    if path == AccessPath::Identifier {
        return Ok(spots.iter().copied().collect());
    }
    if spots.is_empty() || query_identifiers(query).is_empty() {
        return Ok(BTreeSet::new());
    }
    Ok(text(view, query, EXACT_MAX, true)?.into_iter().map(|candidate| candidate.spot).collect())
}

/// Paths of the other places at which the same bytes stand.
fn copies(view: &SourceView, spot: Spot, passage: &Passage) -> Result<Vec<String>, EmbeddedError> {
    let content = view.segments[spot.0].open.keys()?.content(spot.1);
    let mut spots = Vec::new();
    for (at, segment) in view.segments.iter().enumerate() {
        let filter = segment.filter()?;
        let same = segment.open.keys()?.with_content(content).iter();
        spots.extend(same.filter(|ordinal| filter.is_live(**ordinal)).map(|ordinal| (at, *ordinal)));
    }
    spots.retain(|other| *other != spot);
    spots.truncate(COPIES_MAX);
    let mut paths = Vec::with_capacity(spots.len());
    for other in spots {
        let other = rows::passage(view, other)?;
        if other.fingerprint == passage.fingerprint && other.locator.path != passage.locator.path {
            paths.push(other.locator.path);
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}
