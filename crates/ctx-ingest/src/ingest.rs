//! One file to its passages: opens, decodes block by block, cuts by kind, hands each piece over.

use crate::chunk::layout::{Layout, lines};
use crate::chunk::table::Header;
use crate::chunk::{ChunkOptions, code_layout, html, json, markdown, pack::pack, plain};
use crate::confine::open_below;
use crate::decode::{Decoded, decode_block};
use crate::document::{Document, DocumentHead, Piece, Warning};
use crate::emit::{Emitter, Place, Unit};
use crate::error::IngestError;
use crate::kind::{DocumentKind, kind_of_content, kind_of_name};
use crate::language::{UNKNOWN, detect, detect_document};
use crate::offsets::{LineCounter, OffsetMap};
use crate::segments::{CutAt, SEGMENT_BYTES_MAX, Segments};
use crate::tokens::TokenCounter;
use crate::walk::{Entry, judge_content};
use ctx_types::SourceName;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// What the caller decides about a source's passages.
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// The source that the passages' locators name.
    pub source: SourceName,
    /// Bounds of a passage.
    pub chunk: ChunkOptions,
}

impl IngestOptions {
    /// Default bounds for a source.
    pub fn new(source: SourceName) -> Self {
        Self { source, chunk: ChunkOptions::default() }
    }
}

/// What a receiver of pieces may fail with.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Receives the pieces of a file in file order.
pub type Sink<'a> = &'a mut dyn FnMut(Piece) -> Result<(), SinkError>;

/// Cuts one file and keeps all of it in memory. `root` is [`crate::Walk::root`].
pub fn ingest_file(root: &Path, entry: &Entry, options: &IngestOptions, counter: &dyn TokenCounter) -> Result<Document, IngestError> {
    let mut passages = Vec::new();
    let head = ingest_file_streaming(root, entry, options, counter, &mut |piece| {
        passages.push(piece);
        Ok(())
    })?;
    Ok(Document { head, passages })
}

/// Cuts one file and hands each passage to `sink` as soon as it is cut; memory is bounded whatever the file's size.
///
/// The head is known at the end, the title and language of each piece at once. After an error the pieces delivered so
/// far are to be discarded.
pub fn ingest_file_streaming(
    root: &Path,
    entry: &Entry,
    options: &IngestOptions,
    counter: &dyn TokenCounter,
    sink: Sink<'_>,
) -> Result<DocumentHead, IngestError> {
    let bounds = options.chunk.check()?;
    let path = entry.path.as_str();
    let (file, mut stamp) = open_below(root, path)?;
    let mut segments = Segments::open(file, path)?;
    if let Some(reason) = judge_content(path, segments.head()) {
        return Err(IngestError::Skipped { path: path.to_owned(), reason });
    }
    let mut warnings = Warnings::default();
    let kind = choose_kind(path, segments.head(), stamp.size, &mut warnings);
    segments.cut_at(cut_at(kind));
    let encoding = segments.charset().encoding;
    if encoding != encoding_rs::UTF_8 {
        warnings.add(Warning::Transcoded { encoding: encoding.name().to_owned() });
    }
    let mut file = FileCutter {
        path,
        kind,
        bounds,
        counter,
        emitter: Emitter::new(&options.source, path, sink),
        warnings,
        header: None,
        title: String::new(),
        languages: BTreeMap::new(),
        units: 0,
        line: 1,
    };
    while let Some(segment) = segments.next()? {
        let mut decoded = decode_block(segment.bytes, encoding, segment.base);
        decoded.warnings.drain(..).for_each(|warning| file.warnings.add(warning));
        file.block(&decoded, segment.bytes, segment.base)?;
    }
    let (content_hash, size) = segments.finish();
    stamp.size = size;
    Ok(file.finish(content_hash, stamp))
}

fn choose_kind(path: &str, head: &[u8], size: u64, warnings: &mut Warnings) -> DocumentKind {
    let kind = kind_of_name(path).unwrap_or_else(|| kind_of_content(head));
    if cut_at(kind) == CutAt::End && size > SEGMENT_BYTES_MAX as u64 {
        warnings.add(Warning::FellBackToText { because: format!("{size} bytes of {kind}, more than {SEGMENT_BYTES_MAX}") });
        return DocumentKind::Text;
    }
    kind
}

fn cut_at(kind: DocumentKind) -> CutAt {
    match kind {
        DocumentKind::Text | DocumentKind::Log => CutAt::Line,
        DocumentKind::JsonLines => CutAt::Record,
        DocumentKind::Table => CutAt::QuotedRecord,
        DocumentKind::Markdown | DocumentKind::RestructuredText | DocumentKind::Html | DocumentKind::Code(_) => CutAt::End,
    }
}

/// Warnings, equal kinds added up.
#[derive(Default)]
struct Warnings(Vec<Warning>);

impl Warnings {
    fn add(&mut self, new: Warning) {
        for old in &mut self.0 {
            match (old, &new) {
                (Warning::Lossy { count, .. }, Warning::Lossy { count: more, .. })
                | (Warning::NulReplaced { count }, Warning::NulReplaced { count: more })
                | (Warning::MalformedRecords { count, .. }, Warning::MalformedRecords { count: more, .. }) => {
                    *count += more;
                    return;
                }
                (old, new) if old == new => return,
                _ => {}
            }
        }
        self.0.push(new);
    }
}

/// One file on its way through.
struct FileCutter<'a, 'b> {
    path: &'a str,
    kind: DocumentKind,
    bounds: ChunkOptions,
    counter: &'a dyn TokenCounter,
    emitter: Emitter<'a, 'b>,
    warnings: Warnings,
    header: Option<Header>,
    title: String,
    languages: BTreeMap<&'static str, u64>,
    units: u64,
    /// 1-based line at which the next block begins.
    line: u32,
}

impl FileCutter<'_, '_> {
    fn block(&mut self, decoded: &Decoded<'_>, bytes: &[u8], base: u64) -> Result<(), IngestError> {
        let text = decoded.text.as_ref();
        let lines = LineCounter::new(self.line);
        let mut place = Place { text, map: &decoded.map, bytes, base, lines };
        match self.kind {
            DocumentKind::JsonLines => self.records(&mut place)?,
            DocumentKind::Table => self.rows(&mut place)?,
            DocumentKind::Html => {
                let page = html::html(text);
                self.whole(&mut place, &page.text, Some(&page.map), &page.layout)?;
            }
            _ => {
                let layout = self.layout(text);
                self.whole(&mut place, text, None, &layout)?;
            }
        }
        self.line = place.lines.line_at(text, text.len());
        Ok(())
    }

    fn layout(&mut self, text: &str) -> Layout {
        match self.kind {
            DocumentKind::Markdown => markdown::markdown(text),
            DocumentKind::RestructuredText => plain::restructured_text(text),
            DocumentKind::Log => plain::log(text),
            DocumentKind::Code(language) => code_layout(text, language, self.bounds).unwrap_or_else(|because| {
                self.warnings.add(Warning::FellBackToText { because });
                plain::text(text)
            }),
            _ => plain::text(text),
        }
    }

    /// Cuts a block that is (part of) one document.
    fn whole(&mut self, place: &mut Place<'_>, text: &str, map: Option<&OffsetMap>, layout: &Layout) -> Result<(), IngestError> {
        if self.title.is_empty() {
            self.title = layout.title.clone().unwrap_or_else(|| file_name(self.path).to_owned());
        }
        self.units = 1;
        let language = detect_document(text);
        *self.languages.entry(language).or_insert(0) += 1;
        let unit = Unit { title: &self.title, ordinal: 0, language };
        let emitter = &mut self.emitter;
        pack(text, layout, self.bounds, self.counter, |cut, _| {
            let range = cut.range.clone();
            let at = map.map_or(range.clone(), |map| through(map, &range, 0));
            emitter.emit(place, at, &text[range], cut, &unit)
        })
    }

    fn rows(&mut self, place: &mut Place<'_>) -> Result<(), IngestError> {
        let start = match self.header {
            Some(_) => 0,
            None => {
                let (header, start) = Header::read(place.text, self.path);
                self.header = Some(header);
                start
            }
        };
        let Some(header) = &self.header else { return Ok(()) };
        let rows = header.rows(place.text, start);
        self.whole(place, &rows.text, Some(&rows.map), &rows.layout)
    }

    fn records(&mut self, place: &mut Place<'_>) -> Result<(), IngestError> {
        if self.title.is_empty() {
            self.title = file_name(self.path).to_owned();
        }
        for line in lines(place.text) {
            let body = place.text[line.clone()].trim();
            if body.is_empty() {
                continue;
            }
            let start = line.start + (place.text[line.clone()].len() - place.text[line].trim_start().len());
            self.record(place, start..start + body.len())?;
        }
        Ok(())
    }

    fn record(&mut self, place: &mut Place<'_>, range: Range<usize>) -> Result<(), IngestError> {
        let line = &place.text[range.clone()];
        let record = json::record(line).unwrap_or_else(|| {
            let line_first = place.lines.line_at(place.text, range.start);
            self.warnings.add(Warning::MalformedRecords { count: 1, line_first });
            json::Record::plain(line)
        });
        let language = detect(&record.text);
        *self.languages.entry(language).or_insert(0) += 1;
        let unit = Unit { title: &record.title, ordinal: self.units, language };
        self.units += 1;
        let layout = plain::text(&record.text);
        let (emitter, mut is_first) = (&mut self.emitter, true);
        pack(&record.text, &layout, self.bounds, self.counter, |mut cut, is_last| {
            let mut at = through(&record.map, &cut.range, range.start);
            // The first and last piece reach to the ends of the record, so that nothing of it can change unseen.
            if std::mem::take(&mut is_first) {
                at.start = range.start;
            }
            if is_last {
                at.end = range.end;
            }
            cut.section.clone_from(&record.id);
            emitter.emit(place, at, &record.text[cut.range.clone()], cut, &unit)
        })
    }

    fn finish(self, content_hash: String, stamp: crate::walk::Stamp) -> DocumentHead {
        let known = self.languages.iter().filter(|(language, _)| **language != UNKNOWN);
        let language = known.max_by_key(|(language, count)| (**count, std::cmp::Reverse(**language)));
        let title = if self.title.is_empty() { file_name(self.path).to_owned() } else { self.title };
        let mut warnings = self.warnings.0;
        warnings.sort();
        DocumentHead {
            path: self.path.to_owned(),
            title,
            language: language.map_or(UNKNOWN, |(language, _)| language).to_owned(),
            kind: self.kind,
            content_hash,
            stamp,
            passages: self.emitter.count,
            units: self.units,
            warnings,
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A range of rendered text as a range of the decoded text it was made from, which begins at `base`.
fn through(map: &OffsetMap, range: &Range<usize>, base: usize) -> Range<usize> {
    let place = |offset: u64| base + usize::try_from(offset).expect("offsets of a text in memory fit");
    let start = place(map.start(range.start));
    start..place(map.end(range.end)).max(start)
}
