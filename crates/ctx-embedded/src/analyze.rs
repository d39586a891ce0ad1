//! ANALYZE: how long the access paths of a source take, timed on queries taken from the source itself.

use crate::error::EmbeddedError;
use crate::search::search;
use crate::statistics::{STATISTICS_NOTE, SourceStatistics, Timing};
use crate::view::SourceView;
use ctx_embed::StaticModel;
use ctx_store::{Change, SourceUpdate, Writer};
use ctx_types::{AccessPath, SourceName};
use std::collections::BTreeMap;
use std::time::Instant;

/// Queries per access path.
const QUERIES: u32 = 24;
/// Words of a query.
const QUERY_WORDS: usize = 8;
/// Passages asked for.
const QUERY_K: usize = 20;
/// Passages asked of the whole path.
const WHOLE_K: usize = 200;

/// Timings by access path. Hybrids take as long as the slower of their legs.
pub(crate) fn timings(view: &SourceView, model: &StaticModel) -> Result<BTreeMap<String, Timing>, EmbeddedError> {
    let passages = view.live_passages()?;
    let queries = queries(view)?;
    let mut timings = BTreeMap::new();
    if queries.is_empty() {
        return Ok(timings);
    }
    for path in [AccessPath::Identifier, AccessPath::Bm25, AccessPath::Dense, AccessPath::Whole] {
        let k = if path == AccessPath::Whole { WHOLE_K } else { QUERY_K };
        let mut times = Vec::with_capacity(queries.len());
        for query in &queries {
            let start = Instant::now();
            if search(view, model, path, query, k).is_err() {
                break;
            }
            times.push(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        if times.len() == queries.len() {
            timings.insert(path.as_str().to_owned(), timing(times, passages));
        }
    }
    let slower = [AccessPath::Bm25, AccessPath::Dense]
        .iter()
        .filter_map(|path| timings.get(path.as_str()))
        .max_by_key(|timing| timing.p50_us)
        .copied();
    if let Some(slower) = slower.filter(|_| timings.contains_key(AccessPath::Dense.as_str())) {
        for path in [AccessPath::HybridLinear, AccessPath::HybridRrf] {
            timings.insert(path.as_str().to_owned(), slower);
        }
    }
    Ok(timings)
}

fn timing(mut times: Vec<u64>, passages: u64) -> Timing {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    Timing { p50_us: at(50), p90_us: at(90), queries: times.len() as u32, passages }
}

/// The first words of passages spread evenly over the largest segment.
fn queries(view: &SourceView) -> Result<Vec<String>, EmbeddedError> {
    let Some(largest) = view.segments.iter().max_by_key(|segment| segment.reference.passages) else { return Ok(Vec::new()) };
    let passages = largest.reference.passages;
    let filter = largest.filter()?;
    let ordinals: Vec<u32> = (0..QUERIES).map(|n| u64::from(n) * u64::from(passages) / u64::from(QUERIES)).map(|at| at as u32).collect();
    let mut ordinals: Vec<u32> = ordinals.into_iter().filter(|at| filter.is_live(*at)).collect();
    ordinals.dedup();
    let words = |text: &str| text.split_whitespace().take(QUERY_WORDS).collect::<Vec<_>>().join(" ");
    let mut queries = Vec::with_capacity(ordinals.len());
    for ordinal in ordinals {
        queries.push(words(&largest.open.passages()?.read(ordinal, &view.name)?.text));
    }
    queries.retain(|query| !query.is_empty());
    Ok(queries)
}

/// Keeps timings with the source's statistics. The fingerprint does not change.
pub(crate) fn publish(writer: &mut Writer, name: &SourceName, timings: BTreeMap<String, Timing>) -> Result<(), EmbeddedError> {
    let Some(state) = writer.base().source(name).cloned() else { return Ok(()) };
    let Some(mut statistics) = SourceStatistics::of(&state) else { return Ok(()) };
    statistics.latencies = timings;
    let mut notes = state.notes.clone();
    notes.insert(STATISTICS_NOTE.to_owned(), statistics.to_note()?);
    let mut update = SourceUpdate::new(name.clone(), state.root);
    update.notes = Some(notes);
    writer.publish(vec![Change::Update(update)])?;
    Ok(())
}
