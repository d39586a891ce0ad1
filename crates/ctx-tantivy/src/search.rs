//! Ranking over several segments with collection statistics summed over them.
//!
//! BM25 with tantivy's constants (k1 = 1.2, b = .75). Deleted passages are never returned but count in the statistics
//! until their segment is merged away. Terms are looked up, never parsed.

use std::collections::BTreeMap;
use std::sync::Arc;

use ctx_intent::identifiers::query_identifiers;
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, DisjunctionMaxQuery, EnableScoring, Occur};
use tantivy::query::{Query, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, TERMINATED, Term};

use crate::error::{TextIndexError, contained};
use crate::language::{Language, prefix_at_boundary};
use crate::query::{QUERY_BYTES_MAX, QUERY_WORDS_MAX, QueryWord, analyze_query};
use crate::reader::{Part, SegmentReader};
use crate::top_k::{TextHit, TopK, rounded};

/// Identifiers looked up per query.
pub const QUERY_IDENTIFIERS_MAX: usize = 64;

/// Pairs that a single character of a script without spaces is widened to, per segment.
pub const PREFIX_TERMS_MAX: usize = 64;

/// Up to so many words, passages that cannot reach the best k are skipped (block-max WAND); beyond, the bookkeeping costs
/// more than it saves and every posting is read. Chosen on CISI, where the slowest query took 13 ms with skipping and .65 ms without.
const PRUNED_WORDS_MAX: usize = 24;

/// Says whether a passage (segment, ordinal) is deleted.
pub type Deleted<'a> = &'a dyn Fn(usize, u32) -> bool;

/// What a search returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Best first; ties by segment, then ordinal.
    pub hits: Vec<TextHit>,
    /// What was searched for.
    pub summary: QuerySummary,
}

/// How a query was understood, for traces and for an honest "nothing found".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuerySummary {
    /// Words that were searched, each with its document frequency over the statistics' segments.
    pub words: Vec<WordSummary>,
    /// Normal forms of the identifiers that were searched, each with its document frequency.
    pub identifiers: Vec<(String, u64)>,
    /// Languages whose stemmers were tried.
    pub languages: Vec<Language>,
    /// Words beyond [`QUERY_WORDS_MAX`].
    pub words_dropped: usize,
    /// Bytes beyond [`QUERY_BYTES_MAX`].
    pub bytes_dropped: usize,
}

/// One word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordSummary {
    /// Its terms; a passage is scored for the best one.
    pub forms: Vec<String>,
    /// Passages that hold the most frequent of them; 0 where no passage holds any.
    pub document_frequency: u64,
}

/// Searches segments together.
#[derive(Clone)]
pub struct MultiSearcher {
    segments: Vec<Arc<SegmentReader>>,
    collection: Vec<Arc<SegmentReader>>,
    languages: BTreeMap<Language, u32>,
}

/// A word with the frequencies of its forms.
struct ScoredWord {
    word: QueryWord,
    frequencies: Vec<u64>,
}

impl ScoredWord {
    fn document_frequency(&self) -> u64 {
        self.frequencies.iter().copied().max().unwrap_or(0)
    }
}

impl MultiSearcher {
    /// Searches `segments`, with statistics over the same segments.
    pub fn new(segments: Vec<Arc<SegmentReader>>) -> MultiSearcher {
        let mut languages = BTreeMap::new();
        for (language, count) in segments.iter().flat_map(|segment| segment.languages()) {
            *languages.entry(language).or_insert(0) += count;
        }
        MultiSearcher { collection: segments.clone(), segments, languages }
    }

    /// Takes collection statistics from `collection` instead, so that scores of several sources compare. It should hold
    /// the searched segments and those of every other source that the principal may read.
    #[must_use]
    pub fn with_statistics_over(mut self, collection: Vec<Arc<SegmentReader>>) -> MultiSearcher {
        self.collection = collection;
        self
    }

    /// The best `k` passages by BM25. Any text is a query; text without words finds nothing.
    ///
    /// # Errors
    /// Only if a segment cannot be read.
    pub fn search(&self, query: &str, k: usize, deleted: Deleted<'_>) -> Result<Found, TextIndexError> {
        let (words, summary) = self.words(query)?;
        let mut top = TopK::new(k);
        if k > 0 && !words.is_empty() {
            let statistics = self.statistics(&words);
            for (at, segment) in self.segments.iter().enumerate() {
                self.search_segment(at, segment, &words, &statistics, deleted, &mut top)?;
            }
        }
        Ok(Found { hits: top.into_sorted(), summary })
    }

    /// The best `k` passages that hold identifiers of the query, whole: by number of identifiers, then BM25.
    ///
    /// # Errors
    /// Only if a segment cannot be read.
    pub fn search_identifiers(&self, query: &str, k: usize, deleted: Deleted<'_>) -> Result<Found, TextIndexError> {
        let names = distinct_identifiers(query);
        if names.is_empty() || k == 0 {
            return Ok(Found { hits: Vec::new(), summary: QuerySummary::default() });
        }
        let (words, mut summary) = self.words(query)?;
        let statistics = self.statistics(&words);
        let mut top = TopK::new(k);
        for (at, segment) in self.segments.iter().enumerate() {
            if let Some(part) = segment.part() {
                self.match_segment(at, segment, part, &names, &words, &statistics, deleted, &mut top)?;
            }
        }
        for name in names {
            let frequency = self.frequency(|segment| segment.fields.identifiers, &name)?;
            summary.identifiers.push((name, frequency));
        }
        Ok(Found { hits: top.into_sorted(), summary })
    }

    /// The query's words with frequencies; at most [`QUERY_WORDS_MAX`], rarest kept, in the query's order.
    fn words(&self, query: &str) -> Result<(Vec<ScoredWord>, QuerySummary), TextIndexError> {
        let analysis = analyze_query(query, &self.languages);
        let mut words = Vec::with_capacity(analysis.words.len());
        for word in analysis.words {
            words.push(self.scored(word)?);
        }
        let words_dropped = words.len().saturating_sub(QUERY_WORDS_MAX);
        if words_dropped > 0 {
            let mut order: Vec<usize> = (0..words.len()).collect();
            order.sort_by_key(|at| (words[*at].document_frequency() == 0, words[*at].document_frequency(), *at));
            order.truncate(QUERY_WORDS_MAX);
            order.sort_unstable();
            let mut rest = words.into_iter().enumerate();
            words = order.iter().filter_map(|keep| rest.find(|(at, _)| at == keep)).map(|(_, word)| word).collect();
        }
        let summaries =
            words.iter().map(|scored| WordSummary { forms: scored.word.forms.clone(), document_frequency: scored.document_frequency() });
        let summary = QuerySummary {
            words: summaries.collect(),
            identifiers: Vec::new(),
            languages: analysis.languages,
            words_dropped,
            bytes_dropped: analysis.bytes_dropped,
        };
        words.retain(|scored| scored.document_frequency() > 0);
        Ok((words, summary))
    }

    fn scored(&self, mut word: QueryWord) -> Result<ScoredWord, TextIndexError> {
        if word.is_prefix {
            let prefix = word.forms.concat();
            word.forms.clear();
            for segment in &self.segments {
                word.forms.extend(segment.terms_beginning(&prefix, PREFIX_TERMS_MAX)?);
            }
            word.forms.sort();
            word.forms.dedup();
            if word.forms.is_empty() {
                word.forms.push(prefix);
            }
        }
        let frequencies: Result<Vec<u64>, _> = word.forms.iter().map(|form| self.frequency(|segment| segment.fields.body, form)).collect();
        Ok(ScoredWord { word, frequencies: frequencies? })
    }

    fn frequency(&self, field: impl Fn(&SegmentReader) -> Field, term: &str) -> Result<u64, TextIndexError> {
        let mut total = 0;
        for segment in &self.collection {
            total += segment.document_frequency(field(segment), term)?;
        }
        Ok(total)
    }

    fn statistics(&self, words: &[ScoredWord]) -> Statistics {
        let forms = words.iter().flat_map(|scored| scored.word.forms.iter().cloned().zip(scored.frequencies.iter().copied()));
        Statistics {
            documents: self.collection.iter().map(|segment| u64::from(segment.documents())).sum(),
            tokens: self.collection.iter().filter_map(|segment| segment.part()).map(|part| part.body.total_num_tokens()).sum(),
            frequencies: forms.collect(),
        }
    }

    fn search_segment(
        &self,
        at: usize,
        segment: &SegmentReader,
        words: &[ScoredWord],
        statistics: &Statistics,
        deleted: Deleted<'_>,
        top: &mut TopK,
    ) -> Result<(), TextIndexError> {
        let (Some(part), Some(weight)) = (segment.part(), weight(segment, words, statistics)?) else {
            return Ok(());
        };
        let reader = segment.searcher.segment_reader(0);
        let floor = top.threshold();
        let mut see = |document, score| {
            let ordinal = part.ordinal(document);
            if score > top.threshold() && !deleted(at, ordinal) {
                top.offer(TextHit { segment: at, ordinal, score: rounded(score), matches: 0 });
            }
            top.threshold()
        };
        contained("searching", segment.path(), || match words.len() {
            0..=PRUNED_WORDS_MAX => weight.for_each_pruning(floor, reader, &mut see),
            _ => weight.for_each(reader, &mut |document, score| {
                see(document, score);
            }),
        })
    }

    #[allow(clippy::too_many_arguments)] // one call, one loop; a struct would only rename them
    fn match_segment(
        &self,
        at: usize,
        segment: &SegmentReader,
        part: &Part,
        names: &[String],
        words: &[ScoredWord],
        statistics: &Statistics,
        deleted: Deleted<'_>,
        top: &mut TopK,
    ) -> Result<(), TextIndexError> {
        let weight = weight(segment, words, statistics)?;
        contained("looking up identifiers in", segment.path(), || {
            let mut lists = Vec::new();
            for name in names {
                let term = Term::from_field_text(segment.fields.identifiers, name);
                lists.extend(part.identifiers.read_postings(&term, IndexRecordOption::Basic)?);
            }
            let reader = segment.searcher.segment_reader(0);
            let mut scorer = weight.map(|weight| weight.scorer(reader, 1.0)).transpose()?;
            while let Some(document) = lists.iter().map(DocSet::doc).min().filter(|document| *document != TERMINATED) {
                let mut matches = 0;
                for list in lists.iter_mut().filter(|list| list.doc() == document) {
                    matches += 1;
                    list.advance();
                }
                let ordinal = part.ordinal(document);
                if top.admits(matches) && !deleted(at, ordinal) {
                    let score = scorer.as_mut().map_or(0.0, |scorer| score_of(scorer.as_mut(), document));
                    top.offer(TextHit { segment: at, ordinal, score: rounded(score), matches });
                }
            }
            Ok(())
        })
    }
}

/// The score of `document`, which must not precede an earlier one's; 0 where no word of the query occurs in it.
fn score_of(scorer: &mut dyn tantivy::query::Scorer, document: u32) -> f32 {
    if scorer.doc() < document {
        scorer.seek(document);
    }
    if scorer.doc() == document { scorer.score() } else { 0.0 }
}

fn distinct_identifiers(query: &str) -> Vec<String> {
    let mut names = Vec::new();
    for identifier in query_identifiers(prefix_at_boundary(query, QUERY_BYTES_MAX)) {
        if names.len() < QUERY_IDENTIFIERS_MAX && !names.contains(&identifier.normal) {
            names.push(identifier.normal);
        }
    }
    names
}

/// The query over the words that occur in the statistics; nothing if none does.
fn weight(segment: &SegmentReader, words: &[ScoredWord], statistics: &Statistics) -> Result<Option<Box<dyn Weight>>, TextIndexError> {
    let clauses: Vec<(Occur, Box<dyn Query>)> = words.iter().map(|scored| (Occur::Should, clause(segment.fields.body, scored))).collect();
    if clauses.is_empty() || segment.part().is_none() {
        return Ok(None);
    }
    contained("preparing a search of", segment.path(), || {
        let scoring = EnableScoring::enabled_from_statistics_provider(statistics, &segment.searcher);
        BooleanQuery::new(clauses).weight(scoring).map(Some)
    })
}

fn clause(body: Field, scored: &ScoredWord) -> Box<dyn Query> {
    let known = scored.word.forms.iter().zip(&scored.frequencies).filter(|(_, frequency)| **frequency > 0);
    let mut forms: Vec<Box<dyn Query>> = known
        .map(|(form, _)| {
            let term = Term::from_field_text(body, form);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>
        })
        .collect();
    let query = match forms.pop() {
        Some(only) if forms.is_empty() => only,
        last => {
            forms.extend(last);
            Box::new(DisjunctionMaxQuery::new(forms))
        }
    };
    match scored.word.occurrences {
        1 => query,
        occurrences => Box::new(BoostQuery::new(query, occurrences as f32)),
    }
}

/// Sums over the collection, taken once per query.
struct Statistics {
    documents: u64,
    tokens: u64,
    frequencies: BTreeMap<String, u64>,
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(self.tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let value = term.value();
        let frequency = value.as_str().and_then(|text| self.frequencies.get(text)).copied().unwrap_or(0);
        // A collection that leaves out a searched segment may count fewer documents than the term has.
        Ok(frequency.min(self.documents))
    }
}
