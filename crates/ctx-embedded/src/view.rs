//! One source in one generation, as readers see it: its segments, minus what is deleted.

use crate::error::EmbeddedError;
use crate::segment::OpenSegment;
use crate::statistics::SourceStatistics;
use ctx_embed::{EmbeddingIdentity, IdfTable, StaticModel};
use ctx_store::{Generation, PassageFilter, SegmentId, SegmentRef, SourceState};
use ctx_tantivy::MultiSearcher;
use ctx_types::SourceName;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A source as published.
pub(crate) struct SourceView {
    pub(crate) name: SourceName,
    pub(crate) state: SourceState,
    pub(crate) segments: Vec<ViewedSegment>,
    pub(crate) statistics: Option<SourceStatistics>,
    /// Keeps the generation's lease.
    pub(crate) generation: Arc<Generation>,
    searcher: OnceLock<MultiSearcher>,
}

/// A segment and what of it is deleted.
pub(crate) struct ViewedSegment {
    pub(crate) open: Arc<OpenSegment>,
    pub(crate) reference: SegmentRef,
    filter: OnceLock<PassageFilter>,
}

impl ViewedSegment {
    /// Which passages may be shown.
    pub(crate) fn filter(&self) -> Result<&PassageFilter, EmbeddedError> {
        match self.filter.get() {
            Some(filter) => Ok(filter),
            None => {
                let filter = self.open.ranges()?.filter(&self.reference.tombstones);
                Ok(self.filter.get_or_init(|| filter))
            }
        }
    }
}

impl SourceView {
    /// The text searcher over all segments, with statistics summed over them.
    pub(crate) fn searcher(&self) -> Result<&MultiSearcher, EmbeddedError> {
        if let Some(searcher) = self.searcher.get() {
            return Ok(searcher);
        }
        let readers = self.segments.iter().map(|segment| segment.open.text()).collect::<Result<_, _>>()?;
        Ok(self.searcher.get_or_init(|| MultiSearcher::new(readers)))
    }

    /// Whether `model` can search the stored vectors: their identity, or why not.
    pub(crate) fn embedding(&self, model: &StaticModel) -> Result<EmbeddingIdentity, String> {
        let Some(first) = self.segments.first() else { return Err("the source holds no passage".to_owned()) };
        let stored = first.open.note().map_err(|error| error.to_string())?.embedding.clone();
        let wanted = EmbeddingIdentity {
            model: model.identity().name.clone(),
            dimension: model.identity().dimension,
            hash: model.identity().hash.clone(),
            idf_version: stored.idf_version.clone(),
        };
        stored.check(&wanted).map_err(|error| error.to_string())?;
        for segment in &self.segments[1..] {
            let other = &segment.open.note().map_err(|error| error.to_string())?.embedding;
            other.check(&stored).map_err(|error| error.to_string())?;
        }
        Ok(stored)
    }

    /// The frozen weights of the stored vectors.
    pub(crate) fn idf(&self) -> Result<Option<&IdfTable>, EmbeddedError> {
        self.segments.first().map(|segment| segment.open.idf()).transpose()
    }

    /// Visible passages of all segments.
    pub(crate) fn live_passages(&self) -> Result<u64, EmbeddedError> {
        let live = |segment: &ViewedSegment| Ok(u64::from(segment.reference.passages) - u64::from(segment.filter()?.hidden()));
        self.segments.iter().map(live).sum()
    }
}

/// Views of the current generation, and open segments across generations.
#[derive(Default)]
pub(crate) struct Views {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    generation: u64,
    views: BTreeMap<SourceName, Arc<SourceView>>,
    segments: BTreeMap<SegmentId, Arc<OpenSegment>>,
}

impl Views {
    /// Forgets the views, so that the generation they hold can be swept.
    pub(crate) fn clear(&self) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).views.clear();
    }

    /// The source in this generation; `None` if it was never published.
    pub(crate) fn get(&self, generation: &Arc<Generation>, name: &SourceName) -> Option<Arc<SourceView>> {
        let state = generation.source(name)?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.generation != generation.number() {
            inner.generation = generation.number();
            inner.views.clear();
            let shown = generation.manifest().segment_ids();
            inner.segments.retain(|id, _| shown.contains(id));
        }
        if let Some(view) = inner.views.get(name) {
            return Some(Arc::clone(view));
        }
        let segments = state
            .segments
            .iter()
            .map(|reference| ViewedSegment {
                open: inner.segment(generation, &reference.id),
                reference: reference.clone(),
                filter: OnceLock::new(),
            })
            .collect();
        let view = Arc::new(SourceView {
            name: name.clone(),
            state: state.clone(),
            segments,
            statistics: SourceStatistics::of(state),
            generation: Arc::clone(generation),
            searcher: OnceLock::new(),
        });
        inner.views.insert(name.clone(), Arc::clone(&view));
        Some(view)
    }
}

impl Inner {
    fn segment(&mut self, generation: &Generation, id: &SegmentId) -> Arc<OpenSegment> {
        let open = self.segments.entry(id.clone());
        Arc::clone(open.or_insert_with(|| Arc::new(OpenSegment::new(id.clone(), generation.segment_path(id)))))
    }
}
