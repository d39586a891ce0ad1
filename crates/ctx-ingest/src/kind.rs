//! What a file is made of, by its name first and its content second; and whether it is text at all.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a file is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// Headings, paragraphs, fences.
    Markdown,
    /// Headings by underline.
    RestructuredText,
    /// Visible text of a page.
    Html,
    /// By the syntax tree.
    Code(CodeLanguage),
    /// One record a line.
    JsonLines,
    /// Rows under a header.
    Table,
    /// Line groups.
    Log,
    /// Paragraphs.
    Text,
}

/// Languages with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeLanguage {
    /// Rust.
    Rust,
    /// Python.
    Python,
    /// JavaScript, JSX.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C.
    C,
    /// C++.
    Cpp,
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DocumentKind::Markdown => "markdown",
            DocumentKind::RestructuredText => "restructured_text",
            DocumentKind::Html => "html",
            DocumentKind::Code(_) => "code",
            DocumentKind::JsonLines => "json_lines",
            DocumentKind::Table => "table",
            DocumentKind::Log => "log",
            DocumentKind::Text => "text",
        })
    }
}

/// Kind by the file's name; `None` if the extension says nothing (then the content decides between text and binary).
pub fn kind_of_name(path: &str) -> Option<DocumentKind> {
    use CodeLanguage as L;
    use DocumentKind as K;
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let extension = name.rsplit_once('.').map(|(_, e)| e)?;
    Some(match extension {
        "md" | "markdown" | "mdown" | "mkd" | "mdx" | "qmd" => K::Markdown,
        "rst" | "rest" => K::RestructuredText,
        "html" | "htm" | "xhtml" => K::Html,
        "jsonl" | "ndjson" | "jsonlines" => K::JsonLines,
        "csv" | "tsv" | "tab" => K::Table,
        "log" | "out" => K::Log,
        "rs" => K::Code(L::Rust),
        "py" | "pyi" | "pyw" => K::Code(L::Python),
        "js" | "jsx" | "mjs" | "cjs" => K::Code(L::JavaScript),
        "ts" | "mts" | "cts" => K::Code(L::TypeScript),
        "tsx" => K::Code(L::Tsx),
        "go" => K::Code(L::Go),
        "java" => K::Code(L::Java),
        "c" | "h" => K::Code(L::C),
        "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "c++" | "ipp" | "cu" => K::Code(L::Cpp),
        "txt" | "text" | "json" | "yaml" | "yml" | "toml" | "xml" | "svg" | "ini" | "cfg" | "conf" | "tex" | "adoc" | "asciidoc"
        | "org" | "sql" | "sh" | "bash" | "zsh" | "ps1" | "rb" | "php" | "cs" | "kt" | "swift" | "scala" | "lua" | "pl" | "r" | "jl"
        | "css" | "scss" | "proto" | "tf" | "ipynb" | "lock" | "eml" | "srt" | "vtt" | "diff" | "patch" | "properties" | "gradle"
        | "cmake" | "mk" | "dockerfile" | "trec" | "bib" => K::Text,
        _ => return None,
    })
}

/// Kind of a file whose name says nothing: a page if it starts like one, else text.
pub fn kind_of_content(head: &[u8]) -> DocumentKind {
    let start = &head[..head.len().min(256)].trim_ascii_start().to_ascii_lowercase();
    if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") { DocumentKind::Html } else { DocumentKind::Text }
}

/// Extensions whose files are never text. Their files are not opened.
const BINARY_EXTENSIONS: &[&str] = &[
    "7z",
    "a",
    "avi",
    "avif",
    "bin",
    "bmp",
    "bz2",
    "class",
    "db",
    "dll",
    "dmg",
    "doc",
    "docx",
    "duckdb",
    "dylib",
    "eot",
    "exe",
    "flac",
    "gif",
    "gz",
    "heic",
    "ico",
    "iso",
    "jar",
    "jpeg",
    "jpg",
    "lib",
    "m4a",
    "mkv",
    "mov",
    "mp3",
    "mp4",
    "npy",
    "npz",
    "o",
    "obj",
    "ogg",
    "onnx",
    "otf",
    "parquet",
    "pdf",
    "pkl",
    "png",
    "ppt",
    "pptx",
    "pyc",
    "pyo",
    "rar",
    "rlib",
    "rmeta",
    "safetensors",
    "so",
    "sqlite",
    "sqlite3",
    "tar",
    "tgz",
    "tif",
    "tiff",
    "ttf",
    "wasm",
    "wav",
    "webm",
    "webp",
    "woff",
    "woff2",
    "xls",
    "xlsx",
    "xz",
    "zip",
    "zst",
];

/// First bytes that only binaries have.
const BINARY_MAGIC: &[&[u8]] = &[
    b"\x7fELF",
    b"\x89PNG",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"%PDF-",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\xfd7zXZ",
    b"BZh",
    b"\x28\xb5\x2f\xfd",
    b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe",
    b"\xfe\xed\xfa",
    b"\0asm",
    b"SQLite format 3\0",
    b"OggS",
    b"RIFF",
    b"7z\xbc\xaf",
    b"Rar!",
    b"PAR1",
    b"MZ\x90\0",
];

/// Bytes looked at to tell text from binary.
pub const SNIFF_BYTES: usize = 8192;

/// Control bytes per thousand above which a file is binary; a stray NUL in a note is far below, a bitmap far above.
const CONTROL_PER_MILLE_MAX: usize = 100;
/// The same for a file whose extension promises text, of which there is too little to tell noise by.
const CONTROL_PER_MILLE_MAX_TEXT: usize = 300;
/// The same where there is enough and it is no UTF-8: of random bytes a tenth are control bytes.
const CONTROL_PER_MILLE_MAX_LONG_TEXT: usize = 60;
/// Bytes that are enough.
const LONG: usize = 512;

/// Whether the name alone says that the file is binary.
pub fn is_binary_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.rsplit_once('.').is_some_and(|(_, e)| BINARY_EXTENSIONS.binary_search(&e).is_ok())
}

/// Whether the first [`SNIFF_BYTES`] of a file say that it is binary. UTF-16 with a byte-order mark is text.
pub fn is_binary_content(path: &str, head: &[u8]) -> bool {
    // UTF-32 is decoded by nothing here; as UTF-16 it would be letters with blanks between.
    if head.starts_with(b"\xff\xfe\0\0") || head.starts_with(b"\0\0\xfe\xff") {
        return true;
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || head.is_empty() {
        return false;
    }
    if BINARY_MAGIC.iter().any(|magic| head.starts_with(magic)) {
        return true;
    }
    let head = &head[..head.len().min(SNIFF_BYTES)];
    let control = head.iter().filter(|b| matches!(b, 0..=7 | 14..=26 | 28..=31 | 127)).count();
    let limit = match kind_of_name(path) {
        None => CONTROL_PER_MILLE_MAX,
        Some(_) if head.len() < LONG || is_utf8(head) => CONTROL_PER_MILLE_MAX_TEXT,
        Some(_) => CONTROL_PER_MILLE_MAX_LONG_TEXT,
    };
    control * 1000 > head.len() * limit
}

/// Whether bytes are UTF-8 but for a character that their end cuts.
fn is_utf8(head: &[u8]) -> bool {
    std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_first() {
        assert_eq!(kind_of_name("docs/Setup.MD"), Some(DocumentKind::Markdown));
        assert_eq!(kind_of_name("src/lib.rs"), Some(DocumentKind::Code(CodeLanguage::Rust)));
        assert_eq!(kind_of_name("Makefile"), None);
        assert!(is_binary_name("a/b.PNG") && !is_binary_name("png"));
        assert!(BINARY_EXTENSIONS.is_sorted());
    }

    #[test]
    fn a_stray_nul_is_text_and_a_bitmap_is_not() {
        assert!(!is_binary_content("n.md", b"Good text\0with nul\n"));
        assert!(!is_binary_content("bad.txt", b"\x81\xfe\0abc"));
        assert!(!is_binary_content("x.txt", b"\xff\xfea\0b\0"));
        assert!(is_binary_content("blob", &[0, 1, 2, 3, 200, 4, 0, 0]));
        let noise: Vec<u8> = (0..2_048u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(is_binary_content("noise.txt", &noise));
        assert!(is_binary_content("x.txt", b"\xff\xfe\0\0t\0\0\0") && is_binary_content("x.txt", b"\0\0\xfe\xff\0\0\0t"));
        assert!(is_binary_content("x.md", b"\x89PNG\r\n\x1a\n"));
    }
}
