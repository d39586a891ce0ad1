//! A sealed segment, each part opened when it is first needed and then kept: a damaged part fails what needs it and
//! nothing else.

use super::keys::Keys;
use super::note::{SegmentNote, identity_bytes};
use super::{IDF_FILE, KEYS_FILE, NOTE_FILE, PASSAGES_FILE, RANGES_FILE, TERMS_FILE, TEXT_FOLDER, VECTORS_FILE};
use crate::error::EmbeddedError;
use ctx_duckdb::{SEGMENT_FILE, SegmentDb};
use ctx_embed::IdfTable;
use ctx_store::{Dictionary, PassageFile, PassageRanges, SegmentId, VectorFile};
use ctx_tantivy::SegmentReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// One sealed segment.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    pub(crate) id: SegmentId,
    folder: PathBuf,
    text: Part<TextPart>,
    terms: Part<Dictionary>,
    vectors: Part<VectorFile>,
    ranges: Part<PassageRanges>,
    keys: Part<Keys>,
    note: Part<SegmentNote>,
    idf: Part<IdfTable>,
    passages: Part<PassageFile>,
    rows: Part<SegmentDb>,
}

/// A text index that can be printed.
struct TextPart(Arc<SegmentReader>);

impl std::fmt::Debug for TextPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TextPart")
    }
}

/// Opened once; a failure is not kept, so that a passing one passes.
#[derive(Debug)]
struct Part<T>(OnceLock<T>);

impl<T> Default for Part<T> {
    fn default() -> Self {
        Part(OnceLock::new())
    }
}

impl<T> Part<T> {
    fn get(&self, open: impl FnOnce() -> Result<T, EmbeddedError>) -> Result<&T, EmbeddedError> {
        match self.0.get() {
            Some(part) => Ok(part),
            None => {
                let part = open()?;
                Ok(self.0.get_or_init(|| part))
            }
        }
    }
}

impl OpenSegment {
    pub(crate) fn new(id: SegmentId, folder: PathBuf) -> OpenSegment {
        OpenSegment {
            id,
            folder,
            text: Part::default(),
            terms: Part::default(),
            vectors: Part::default(),
            ranges: Part::default(),
            keys: Part::default(),
            note: Part::default(),
            idf: Part::default(),
            passages: Part::default(),
            rows: Part::default(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn text(&self) -> Result<Arc<SegmentReader>, EmbeddedError> {
        let part = self.text.get(|| Ok(TextPart(Arc::new(SegmentReader::open(&self.file(TEXT_FOLDER))?))))?;
        Ok(Arc::clone(&part.0))
    }

    pub(crate) fn terms(&self) -> Result<&Dictionary, EmbeddedError> {
        self.terms.get(|| Ok(Dictionary::open(&self.file(TERMS_FILE))?))
    }

    /// The vectors, which must be those that the note describes.
    pub(crate) fn vectors(&self) -> Result<&VectorFile, EmbeddedError> {
        let identity = identity_bytes(&self.note()?.embedding);
        self.vectors.get(|| {
            let path = self.file(VECTORS_FILE);
            let vectors = VectorFile::open(&path)?;
            if vectors.identity() != identity || vectors.len() != self.ranges()?.passages() as usize {
                return Err(EmbeddedError::Damaged { path, problem: "its vectors are not those of this segment".to_owned() });
            }
            Ok(vectors)
        })
    }

    pub(crate) fn ranges(&self) -> Result<&PassageRanges, EmbeddedError> {
        self.ranges.get(|| Ok(PassageRanges::open(&self.file(RANGES_FILE))?))
    }

    pub(crate) fn keys(&self) -> Result<&Keys, EmbeddedError> {
        self.keys.get(|| Keys::read(&self.file(KEYS_FILE)))
    }

    pub(crate) fn note(&self) -> Result<&SegmentNote, EmbeddedError> {
        self.note.get(|| SegmentNote::read(&self.file(NOTE_FILE)))
    }

    /// The weights of the vectors, checked against the note.
    pub(crate) fn idf(&self) -> Result<&IdfTable, EmbeddedError> {
        self.idf.get(|| {
            let path = self.file(IDF_FILE);
            let bytes = std::fs::read(&path).map_err(EmbeddedError::io("reading", &path))?;
            let idf = IdfTable::from_bytes(&bytes)?;
            if idf.version() != self.note()?.embedding.idf_version {
                return Err(EmbeddedError::Damaged { path, problem: "these are not the weights of this segment's vectors".to_owned() });
            }
            Ok(idf)
        })
    }

    /// The passages, as many as the segment has.
    pub(crate) fn passages(&self) -> Result<&PassageFile, EmbeddedError> {
        self.passages.get(|| {
            let path = self.file(PASSAGES_FILE);
            let passages = PassageFile::open(&path)?;
            if passages.len() != self.ranges()?.passages() {
                return Err(EmbeddedError::Damaged { path, problem: "its passages are not those of this segment".to_owned() });
            }
            Ok(passages)
        })
    }

    /// The database.
    pub(crate) fn rows(&self) -> Result<&SegmentDb, EmbeddedError> {
        self.rows.get(|| Ok(SegmentDb::open(&self.file(SEGMENT_FILE))?))
    }

    /// Opens every part and reads every passage: what an indexing run does before it trusts a segment.
    pub(crate) fn check(&self) -> Result<(), EmbeddedError> {
        self.text()?;
        self.terms()?;
        self.vectors()?;
        self.keys()?;
        self.idf()?;
        self.passages()?.verify()?;
        let (rows, ranges) = (self.rows()?, self.ranges()?);
        if rows.passages_len() != ranges.passages() || rows.documents_len() != ranges.documents() {
            let problem = "database and passage ranges disagree".to_owned();
            return Err(EmbeddedError::Damaged { path: self.folder.clone(), problem });
        }
        Ok(())
    }

    /// Whether its files are there; cheap enough for every look at a source.
    pub(crate) fn is_complete(&self) -> Result<(), EmbeddedError> {
        for name in [SEGMENT_FILE, PASSAGES_FILE, TEXT_FOLDER, TERMS_FILE, RANGES_FILE, KEYS_FILE, NOTE_FILE] {
            exists(&self.file(name))?;
        }
        Ok(())
    }
}

fn exists(path: &Path) -> Result<(), EmbeddedError> {
    path.metadata().map(drop).map_err(EmbeddedError::io("reading", path))
}
