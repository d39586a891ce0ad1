//! Code cut by its syntax tree: definitions with their symbol path.
//!
//! The tree decides where a definition begins, the text decides the rest: blocks cover the file without gaps, comments
//! and attributes above a definition stay with it, and what is too large is opened (an `impl`, a class) or cut at lines.

use super::layout::{DEPTH_MAX, Join, Layout};
use crate::kind::CodeLanguage;
use std::ops::{ControlFlow, Range};
use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

/// Larger files are cut as text: they are generated or data.
pub(crate) const CODE_BYTES_MAX: usize = 1 << 20;
/// Bytes per progress report of the parser (one per hundred operations) below which it is stopped, and reports that are
/// free. Measured on 200 Rust files of tantivy: at least 58 bytes a report, 137 on average. A count, not a time: the same
/// file is always cut the same way.
const BYTES_PER_PROGRESS_MIN: usize = 8;
const PROGRESS_FREE: usize = 2_000;
/// A container of more bytes than this per target token is opened.
const BYTES_PER_TOKEN: usize = 4;

/// Cuts `text` by its syntax tree; the error says why that is not possible.
pub(crate) fn code(text: &str, language: CodeLanguage, target_tokens: u32) -> Result<Layout, String> {
    if text.len() > CODE_BYTES_MAX {
        return Err(format!("{} bytes of code, more than {CODE_BYTES_MAX}", text.len()));
    }
    let tree = parse(text, language)?;
    let open_above = target_tokens as usize * BYTES_PER_TOKEN;
    let mut cutter = Cutter { text, layout: Layout::new(Join::Symbols), open_above };
    cutter.body(tree.root_node(), 0..text.len(), 0);
    Ok(cutter.layout)
}

fn grammar(language: CodeLanguage) -> Language {
    match language {
        CodeLanguage::Rust => tree_sitter_rust::LANGUAGE.into(),
        CodeLanguage::Python => tree_sitter_python::LANGUAGE.into(),
        CodeLanguage::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        CodeLanguage::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        CodeLanguage::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        CodeLanguage::Go => tree_sitter_go::LANGUAGE.into(),
        CodeLanguage::Java => tree_sitter_java::LANGUAGE.into(),
        CodeLanguage::C => tree_sitter_c::LANGUAGE.into(),
        CodeLanguage::Cpp => tree_sitter_cpp::LANGUAGE.into(),
    }
}

fn parse(text: &str, language: CodeLanguage) -> Result<Tree, String> {
    let mut parser = Parser::new();
    parser.set_language(&grammar(language)).map_err(|e| format!("the grammar does not load: {e}"))?;
    let mut left = text.len() / BYTES_PER_PROGRESS_MIN + PROGRESS_FREE;
    let mut progress = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or(&[]);
    parser.parse_with_options(&mut read, None, Some(options)).ok_or_else(|| "the parser's step limit was reached".to_owned())
}

struct Cutter<'a> {
    text: &'a str,
    layout: Layout,
    open_above: usize,
}

/// A definition found among the children of a body.
struct Definition<'t> {
    node: Node<'t>,
    /// Comments and attributes above it included.
    start: usize,
    name: String,
}

impl Cutter<'_> {
    /// Cuts `range`, whose definitions are children of `body`, under `section`.
    fn body(&mut self, body: Node<'_>, range: Range<usize>, section: u32) {
        let depth = self.layout.sections.depth(section);
        let mut start = range.start;
        for definition in self.definitions(body) {
            let begin = self.line_start(definition.start, start);
            let end = self.line_end(definition.node.end_byte(), range.end);
            if begin < start || end <= begin {
                continue;
            }
            self.layout.push(start..begin, section);
            let symbol = self.layout.sections.below(section, depth + 1, &definition.name);
            self.definition(definition.node, begin..end, symbol, depth + 1);
            start = end;
        }
        self.layout.push(start..range.end, section);
    }

    fn definition(&mut self, node: Node<'_>, range: Range<usize>, symbol: u32, depth: usize) {
        let inner = if range.len() > self.open_above && depth < DEPTH_MAX { container_body(node) } else { None };
        match inner {
            Some(inner) => self.body(inner, range, symbol),
            None => self.layout.push(range, symbol),
        }
    }

    fn definitions<'t>(&self, body: Node<'t>) -> Vec<Definition<'t>> {
        let mut found = Vec::new();
        let mut above = None;
        let mut cursor = body.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let node = cursor.node();
            if is_attached(node.kind()) {
                above.get_or_insert(node.start_byte());
            } else if let Some(name) = definition_name(node, self.text) {
                found.push(Definition { node, start: above.unwrap_or(node.start_byte()), name });
                above = None;
            } else if node.is_named() {
                above = None;
            }
            more = cursor.goto_next_sibling();
        }
        found
    }

    /// The start of the line if nothing but blanks stands before `at` (and after `floor`).
    fn line_start(&self, at: usize, floor: usize) -> usize {
        let line = self.text[..at].rfind('\n').map_or(0, |n| n + 1);
        if line >= floor && self.text[line..at].trim().is_empty() { line } else { at }
    }

    /// The end of the line and of blank lines below it, if nothing else follows in the line.
    fn line_end(&self, at: usize, limit: usize) -> usize {
        let rest = &self.text[at.min(limit)..limit];
        let body = rest.trim_start_matches([' ', '\t', ';', ',']);
        if !body.starts_with('\n') && !body.is_empty() {
            return at;
        }
        let blank = rest.len() - body.trim_start().len();
        let line = rest[..blank].rfind('\n').map_or(blank, |n| n + 1);
        at + line
    }
}

/// Comments, attributes and decorators belong to what follows.
fn is_attached(kind: &str) -> bool {
    kind.contains("comment") || matches!(kind, "attribute_item" | "decorator" | "annotation" | "marker_annotation")
}

/// The name under which a node is cited; `None` if it is not a definition.
fn definition_name(node: Node<'_>, text: &str) -> Option<String> {
    let field = |node: Node<'_>, name: &str| node.child_by_field_name(name).map(|n| text[n.byte_range()].to_owned());
    match node.kind() {
        "impl_item" => {
            let target = field(node, "type")?;
            Some(match field(node, "trait") {
                Some(of) => format!("impl {of} for {target}"),
                None => format!("impl {target}"),
            })
        }
        "mod_item"
        | "struct_item"
        | "enum_item"
        | "union_item"
        | "trait_item"
        | "function_item"
        | "macro_definition"
        | "function_signature_item"
        | "function_declaration"
        | "generator_function_declaration"
        | "class_declaration"
        | "class_definition"
        | "class_specifier"
        | "struct_specifier"
        | "enum_specifier"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        | "constructor_declaration"
        | "abstract_class_declaration"
        | "method_definition"
        | "type_alias_declaration"
        | "internal_module"
        | "module"
        | "namespace_definition"
        | "concept_definition" => field(node, "name"),
        "method_declaration" => Some(match field(node, "receiver") {
            Some(receiver) => format!("{} {}", receiver, field(node, "name")?),
            None => field(node, "name")?,
        }),
        "function_definition" => field(node, "name").or_else(|| declared_name(node, text)),
        "type_declaration" => first_named(node).and_then(|spec| field(spec, "name")),
        "decorated_definition" => node.child_by_field_name("definition").and_then(|n| definition_name(n, text)),
        "export_statement" => node.child_by_field_name("declaration").and_then(|n| definition_name(n, text)),
        "template_declaration" => last_named(node).and_then(|n| definition_name(n, text)),
        "lexical_declaration" | "variable_declaration" => first_named(node).and_then(|declarator| {
            let value = declarator.child_by_field_name("value")?;
            matches!(value.kind(), "arrow_function" | "function_expression" | "class").then(|| field(declarator, "name"))?
        }),
        _ => None,
    }
}

/// C and C++: the name sits inside nested declarators (`*f(int)`, `Ledger::reserve(…)`).
fn declared_name(node: Node<'_>, text: &str) -> Option<String> {
    let mut declarator = node.child_by_field_name("declarator")?;
    for _ in 0..DEPTH_MAX {
        match declarator.child_by_field_name("declarator") {
            Some(inner) => declarator = inner,
            None => break,
        }
    }
    Some(text[declarator.byte_range()].to_owned())
}

fn first_named(node: Node<'_>) -> Option<Node<'_>> {
    node.named_child(0)
}

fn last_named(node: Node<'_>) -> Option<Node<'_>> {
    let count = u32::try_from(node.named_child_count()).ok()?;
    node.named_child(count.checked_sub(1)?)
}

/// The node whose children are the definitions inside a container.
fn container_body(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "decorated_definition" => node.child_by_field_name("definition").and_then(container_body),
        "export_statement" => node.child_by_field_name("declaration").and_then(container_body),
        "template_declaration" => last_named(node).and_then(container_body),
        "impl_item"
        | "mod_item"
        | "trait_item"
        | "class_declaration"
        | "class_definition"
        | "class_specifier"
        | "struct_specifier"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "internal_module"
        | "module"
        | "namespace_definition"
        | "abstract_class_declaration" => node.child_by_field_name("body"),
        _ => None,
    }
}
