//! Catalogs and probes for tests: values that look like what the embedded engine describes.

use ctx_types::catalog::{
    AccessCapability, Availability, Capabilities, CompressionRatio, CompressorEntry, EmbeddingInventory, Locality, ModelEntry, Prices,
    RerankGain, RerankerEntry, SourceEntry, SourceState, TableEntry, TokenizerFamily, VerifierEntry,
};
use ctx_types::probe::{IdentifierHits, SourceProbe, TableProbe, TermFrequency};
use ctx_types::{
    AccessPath, Catalog, Certainty, Estimated, FuseMethod, Layout, Micros, ModelName, PicoUsd, Ppm, Probe, Sensitivity, SourceKind,
    SourceName, Strategy, Tokens,
};
use std::collections::{BTreeMap, BTreeSet};

/// A source name; panics on a bad literal, which is what a test wants.
pub fn source(name: &str) -> SourceName {
    SourceName::new(name).expect("a literal name")
}

/// A model name; panics on a bad literal.
pub fn model(name: &str) -> ModelName {
    ModelName::new(name).expect("a literal name")
}

/// An indexed source of files with so many passages of 200 tokens and every access path.
pub fn files(passages: u64) -> SourceEntry {
    let access = |path, p50: u64, p90: u64| AccessCapability {
        path,
        latency_p50: Estimated::new(Micros(p50), Micros(p50 / 2), Micros(p90), Certainty::Measured { n: 32 }, "analyze"),
        latency_p90: Estimated::new(Micros(p90), Micros(p50), Micros(p90 * 2), Certainty::Measured { n: 32 }, "analyze"),
    };
    SourceEntry {
        kind: SourceKind::Files,
        state: SourceState::Ready,
        documents: passages / 4 + 1,
        passages,
        bytes: passages * 900,
        tokens: Tokens(passages * 200),
        passage_tokens: [40, 200, 380, 512],
        vocabulary: 12_000,
        languages: BTreeMap::from([("en".to_owned(), passages)]),
        embedding: Some(EmbeddingInventory {
            model: "all-minilm-static".into(),
            dimension: 256,
            model_hash: "m0".into(),
            idf_version: "i0".into(),
            vectors: passages,
        }),
        sensitivity: Sensitivity::Internal,
        sensitive_values: BTreeMap::new(),
        readable_by: BTreeSet::new(),
        fingerprint: format!("f{passages}"),
        generation: 1,
        tables: Vec::new(),
        access: vec![
            access(AccessPath::Identifier, 120, 300),
            access(AccessPath::Bm25, 400, 900),
            access(AccessPath::Dense, 600, 1_200),
            access(AccessPath::HybridLinear, 900, 1_900),
            access(AccessPath::HybridRrf, 900, 1_900),
            access(AccessPath::Whole, 2_000, 6_000),
        ],
    }
}

/// A source without statistics: the cold start that users meet first.
pub fn without_statistics(mut entry: SourceEntry) -> SourceEntry {
    entry.state = SourceState::NoStatistics;
    (entry.documents, entry.passages, entry.bytes, entry.tokens, entry.vocabulary) = (0, 0, 0, Tokens(0), 0);
    entry.passage_tokens = [0; 4];
    entry.languages.clear();
    entry.embedding = None;
    entry
}

/// A local model: free, accepts everything.
pub fn local_model() -> ModelEntry {
    ModelEntry {
        model: "smollm2-135m".into(),
        provider: "openai_compatible".into(),
        locality: Locality::Local,
        accepts: Sensitivity::Restricted,
        context_window: Some(Tokens(8_192)),
        max_output: Some(Tokens(512)),
        prices: Prices {
            input: Some(PicoUsd(0)),
            cached_input: Some(PicoUsd(0)),
            cache_write: Some(PicoUsd(0)),
            output: Some(PicoUsd(0)),
            provenance: "configured: local".into(),
            ..Prices::default()
        },
        first_token: Estimated::new(Micros(300_000), Micros(50_000), Micros(2_000_000), Certainty::Prior, "test"),
        per_token: Estimated::new(Micros(20_000), Micros(5_000), Micros(80_000), Certainty::Prior, "test"),
        output_tokens: Estimated::new(Tokens(150), Tokens(30), Tokens(400), Certainty::Prior, "test"),
        tokenizer: TokenizerFamily::Other { multiplier_milli: Estimated::new(1_100, 850, 1_350, Certainty::Prior, "test") },
        availability: Availability::Available,
        good_for: vec!["draft".into()],
    }
}

/// A remote model: $3 and $15 per million tokens, accepts internal data.
pub fn remote_model() -> ModelEntry {
    ModelEntry {
        model: "premium-1".into(),
        locality: Locality::Remote,
        accepts: Sensitivity::Internal,
        context_window: Some(Tokens(200_000)),
        max_output: Some(Tokens(8_192)),
        prices: Prices {
            input: Some(PicoUsd(3_000_000)),
            cached_input: Some(PicoUsd(300_000)),
            cache_write: Some(PicoUsd(3_750_000)),
            output: Some(PicoUsd(15_000_000)),
            provenance: "built-in table".into(),
            ..Prices::default()
        },
        first_token: Estimated::new(Micros(600_000), Micros(200_000), Micros(1_500_000), Certainty::Prior, "test"),
        per_token: Estimated::new(Micros(12_000), Micros(6_000), Micros(30_000), Certainty::Prior, "test"),
        tokenizer: TokenizerFamily::O200k,
        good_for: vec!["hard".into()],
        ..local_model()
    }
}

/// The verifiers of the embedded default.
pub fn verifiers() -> Vec<VerifierEntry> {
    let verifier = |name: &str, checks: &[Strategy], catches: u32, rejects: u32| VerifierEntry {
        name: name.into(),
        checks: checks.to_vec(),
        catches: Estimated::new(Ppm(catches), Ppm(catches / 2), Ppm(catches + 200_000), Certainty::Measured { n: 300 }, "test"),
        rejects_right: Estimated::new(Ppm(rejects), Ppm(rejects / 2), Ppm(rejects * 2), Certainty::Measured { n: 300 }, "test"),
        latency: Estimated::new(Micros(500), Micros(100), Micros(2_000), Certainty::Prior, "test"),
        proves_citations: true,
    };
    vec![
        verifier("answers_question", &[Strategy::Extractive], 400_000, 60_000),
        verifier("citations", &[Strategy::Extractive, Strategy::SingleShot], 100_000, 10_000),
        verifier("support", &[Strategy::SingleShot], 500_000, 80_000),
    ]
}

/// The in-process reranker and the compressors, with round numbers.
pub fn refinements() -> (Vec<RerankerEntry>, Vec<CompressorEntry>) {
    let share =
        |value: u32| Estimated::new(Ppm(value), Ppm(value / 2), Ppm((value * 3 / 2).min(1_000_000)), Certainty::Prior, "test catalog");
    let time = |p50: u64, p90: u64| Estimated::new(Micros(p50), Micros(0), Micros(p90), Certainty::Prior, "test catalog");
    let reranker = RerankerEntry {
        name: "features".into(),
        depth: 50,
        gains: vec![RerankGain { up_to: Tokens(1_000), gain: share(60_000) }, RerankGain { up_to: Tokens(4_000), gain: share(20_000) }],
        latency: time(3_000, 12_000),
        locality: Locality::Local,
        accepts: Sensitivity::Restricted,
        price: Some(PicoUsd(0)),
        calls: 0,
    };
    let compressor = |name: &str, keep: u32, sent: u32, survives: u32| CompressorEntry {
        name: name.into(),
        ratios: vec![CompressionRatio { keep: Ppm(keep), sent: share(sent), survives: share(survives) }],
        latency_per_ktoken: time(400, 1_600),
    };
    let extractive = compressor("extractive", 350_000, 500_000, 350_000);
    (
        vec![reranker],
        vec![compressor("structural", 500_000, 600_000, 600_000), extractive, compressor("learned", 500_000, 550_000, 900_000)],
    )
}

/// A catalog with the capabilities of the embedded default and these sources and models.
pub fn catalog(sources: &[(&str, SourceEntry)], models: &[(&str, ModelEntry)]) -> Catalog {
    let mut catalog = Catalog {
        sources: sources.iter().map(|(n, e)| (source(n), e.clone())).collect(),
        models: models.iter().map(|(n, e)| (model(n), e.clone())).collect(),
        capabilities: Capabilities {
            fuse: FuseMethod::ALL.to_vec(),
            layouts: Layout::ALL.to_vec(),
            strategies: if models.is_empty() { vec![Strategy::Extractive] } else { vec![Strategy::Extractive, Strategy::SingleShot] },
            verifiers: verifiers(),
            ..Capabilities::default()
        },
    };
    if catalog.sources.values().any(|entry| entry.kind == SourceKind::Tables) {
        computes(&mut catalog.capabilities);
    }
    catalog
}

/// Adds what computes answers from tables and checks them.
pub fn computes(capabilities: &mut Capabilities) {
    if !capabilities.strategies.contains(&Strategy::Computed) {
        capabilities.strategies.push(Strategy::Computed);
        capabilities.verifiers.push(VerifierEntry {
            name: "recomputed".into(),
            checks: vec![Strategy::Computed],
            catches: Estimated::new(Ppm(20_000), Ppm(0), Ppm(100_000), Certainty::Prior, "test"),
            rejects_right: Estimated::new(Ppm(0), Ppm(0), Ppm(1_000), Certainty::Prior, "test"),
            latency: Estimated::new(Micros(1_500), Micros(300), Micros(20_000), Certainty::Prior, "test"),
            proves_citations: true,
        });
    }
}

/// One table of so many rows, read by SQL.
pub fn tables(rows: u64) -> SourceEntry {
    let prior = |us: u64| Estimated::new(Micros(us), Micros(us / 4), Micros(us * 4), Certainty::Prior, "test");
    let table = TableEntry { name: "rows".into(), rows, ..TableEntry::default() };
    SourceEntry {
        kind: SourceKind::Tables,
        documents: 1,
        vocabulary: 0,
        embedding: None,
        access: vec![AccessCapability { path: AccessPath::Table, latency_p50: prior(3_000), latency_p90: prior(20_000) }],
        tables: vec![table],
        ..files(rows)
    }
}

/// What tables say about a goal: the reading with its probability, or why there is none.
pub fn table_probe(reading: &str, probability: Ppm, refusal: Option<&str>) -> SourceProbe {
    let sql = "SELECT count(*) FROM \"rows\"".to_owned();
    let refusal = refusal.map(str::to_owned);
    let table = TableProbe { table: "rows".into(), reading: reading.to_owned(), sql, probability, refusal, ..TableProbe::default() };
    SourceProbe { table: Some(table), lookups: 1, ..SourceProbe::default() }
}

/// What a source says about a goal: (term, passages) and (identifier, passages).
pub fn source_probe(terms: &[(&str, u64)], identifiers: &[(&str, u64)]) -> SourceProbe {
    SourceProbe {
        terms: terms.iter().map(|(t, n)| TermFrequency { term: (*t).to_owned(), passages: *n }).collect(),
        identifiers: identifiers.iter().map(|(i, n)| IdentifierHits { identifier: (*i).to_owned(), passages: *n }).collect(),
        centroid_similarity: Some(3_000),
        table: None,
        lookups: (terms.len() + identifiers.len()) as u32,
    }
}

/// A probe of several sources.
pub fn probe(sources: &[(&str, SourceProbe)]) -> Probe {
    let sources = sources.iter().map(|(n, p)| (source(n), p.clone())).collect();
    Probe { goal_tokens: Tokens(12), sources, ..Probe::default() }
}
