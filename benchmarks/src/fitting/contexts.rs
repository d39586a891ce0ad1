//! Contexts of the queries of labelled collections: the observations of the fits, one JSON object a line.

use anyhow::Context as _;
use ctx_contracts::ContextPassage;
use ctx_types::passage::Locator;
use ctx_types::{ByteRange, Passage, Ppm, SourceName};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::Path;

/// A query with the context that a plan would pack for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observation {
    /// Collection that was asked.
    pub collection: String,
    /// Id of the query.
    pub query: String,
    /// Its words.
    pub text: String,
    /// Detected language.
    pub language: String,
    /// Whether fits may see it.
    pub train: bool,
    /// Asked of a collection that cannot answer it.
    pub stranger: bool,
    /// Answer shapes with their probabilities, ppm.
    pub shapes: Vec<(String, u32)>,
    /// P(evidence in the context), calibrated on the scores seen, ppm.
    pub evidence: u32,
    /// Documents judged relevant.
    pub relevant: Vec<String>,
    /// What fits, in prompt order; a plan sends a part of it.
    pub passages: Vec<Packed>,
}

/// A packed passage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Packed {
    /// Document it was cut from.
    pub document: String,
    /// Its title.
    pub title: String,
    /// Its section.
    pub section: String,
    /// Its text.
    pub text: String,
    /// Calibrated relevance, ppm.
    pub relevance: u32,
    /// Whether it holds an identifier of the query.
    pub exact: bool,
    /// Whether a plan sends it.
    pub sent: bool,
}

impl Observation {
    /// The same with what a plan sends.
    pub fn sent(&self) -> Observation {
        Observation { passages: self.passages.iter().filter(|p| p.sent).cloned().collect(), ..self.clone() }
    }

    /// The context as an answerer gets it; labels count from 1.
    pub fn context(&self) -> anyhow::Result<Vec<ContextPassage>> {
        self.passages.iter().zip(1..).map(|(packed, label)| packed.passage(label)).collect()
    }

    /// Bytes of the context.
    pub fn bytes(&self) -> usize {
        self.passages.iter().map(|p| p.text.len()).sum()
    }

    /// The most relevant passages within so many bytes, in prompt order.
    pub fn cut(&self, bytes: usize) -> Observation {
        let mut order: Vec<usize> = (0..self.passages.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(self.passages[*at].relevance), *at));
        let (mut left, mut kept) = (bytes, Vec::new());
        for at in order {
            let size = self.passages[at].text.len();
            if size <= left {
                left -= size;
                kept.push(at);
            }
        }
        kept.sort_unstable();
        Observation { passages: kept.into_iter().map(|at| self.passages[at].clone()).collect(), ..self.clone() }
    }

    /// Whether the context holds one of these documents; with `all`, every one.
    pub fn holds(&self, documents: &[String], all: bool) -> bool {
        let held = |id: &String| self.passages.iter().any(|p| p.document == *id);
        !documents.is_empty() && if all { documents.iter().all(held) } else { documents.iter().any(held) }
    }
}

impl Packed {
    /// As a passage of a context. Its path has no ending: collections hold prose.
    pub fn passage(&self, label: u32) -> anyhow::Result<ContextPassage> {
        let locator = Locator {
            source: SourceName::new("collection")?,
            path: self.document.replace('.', "_"),
            bytes: ByteRange { start: 0, end: self.text.len() as u64 },
            line_start: 1,
            line_end: 1,
            section: self.section.clone(),
            also_at: Vec::new(),
        };
        let passage = Passage {
            id: format!("p{label}"),
            locator,
            title: self.title.clone(),
            text: self.text.clone(),
            fingerprint: String::new(),
            tokens: 0,
        };
        Ok(ContextPassage { label, passage, relevance: Ppm(self.relevance), exact: self.exact })
    }
}

/// Reads a file of observations.
pub fn read(path: &Path) -> anyhow::Result<Vec<Observation>> {
    let file = std::fs::File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let lines = std::io::BufReader::new(file).lines();
    lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// Writes them.
pub fn write(path: &Path, observations: &[Observation]) -> anyhow::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).with_context(|| format!("creating {}", path.display()))?);
    for observation in observations {
        writeln!(file, "{}", serde_json::to_string(observation)?)?;
    }
    Ok(file.flush()?)
}
