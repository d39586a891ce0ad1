//! BM25 and identifier retrieval over sealed, immutable segments.
//!
//! A segment is one folder, written once by one [`SegmentWriter`] and read by any number of [`SegmentReader`]s, which need
//! no write permission. A [`MultiSearcher`] ranks over several segments with collection statistics summed over them.
//! What a user types is data: it is analyzed into terms, never parsed as a query language.
//!
//! Not here: chunking, storage of text (a segment holds ordinals only), vectors, fusion.
//!
//! ```text
//! let mut writer = SegmentWriter::create(&dir)?;                  // or create_with(&dir, WriterOptions { memory_bytes })
//! writer.add(ordinal: u32, title: &str, text: &str, language: &str)?;   // ordinals ascending; language "en", "rus", "" …
//! let sealed: SealedSegment = writer.seal()?;                     // { documents, tokens, languages: BTreeMap<String, u32>, terms, identifiers, bytes }
//!
//! let reader = Arc::new(SegmentReader::open(&dir)?);
//! reader.for_each_term(|term: &str, document_frequency: u32| …)?;        // sorted by bytes; the probe's term dictionary
//! reader.for_each_identifier(|normal: &str, document_frequency: u32| …)?;
//!
//! let searcher = MultiSearcher::new(vec![reader]);                // .with_statistics_over(all_permitted_readers)
//! let found: Found = searcher.search("plain user text", 10, &|segment: usize, ordinal: u32| deleted)?;
//! let found: Found = searcher.search_identifiers("What is SKU-73105?", 10, &|_, _| false)?;
//! // Found { hits: Vec<TextHit { segment, ordinal, score, matches }>, query: QuerySummary }
//!
//! analyze::Analyzer::new().tokens("text", Language::English, |token: &str| …);   // the same terms as indexing
//! analyze::query_words("text", &languages) -> Vec<QueryWord { forms: Vec<String> }>;
//! language::detect("text") -> Language;
//! ```
