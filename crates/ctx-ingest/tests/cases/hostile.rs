//! Input made to overflow or stall a parser is cut like any other.

use super::*;

fn survives(name: &str, content: &str) -> Document {
    let document = ingest_one(name, content.as_bytes(), &options(220, 512));
    assert_bounded(&document, 512);
    document
}

#[test]
fn markdown_of_marks_only() {
    for content in [">".repeat(10_000), "[".repeat(50_000), "*".repeat(100_000), "#".repeat(100_000), "`".repeat(100_000)] {
        assert_faithful(&survives("m.md", &content), content.as_bytes());
    }
    let headings: String = (0..20_000).map(|i| format!("{} h{i}\n", "#".repeat(1 + i % 6))).collect();
    assert_faithful(&survives("h.md", &headings), headings.as_bytes());
    survives("l.md", &"# [a](".repeat(20_000));
}

#[test]
fn pages_of_open_tags() {
    assert_eq!(survives("d.html", &format!("{}deep", "<div>".repeat(100_000))).passages[0].passage.text, "deep");
    for tag in ["<h1>", "<a \"", "<!--", "<script>", "&", "<p>x"] {
        survives("p.html", &tag.repeat(100_000));
    }
}

#[test]
fn a_table_of_a_million_columns() {
    let table = format!("{}\n{}\n", vec!["c"; 1_000_000].join(","), vec!["12"; 1_000_000].join(","));
    assert!(survives("wide.csv", &table).passages.len() > 1000);
    survives("quotes.csv", &format!("a,b\n{}", "\"".repeat(100_001)));
    survives("open.csv", &format!("a\n{}", "\"x\n".repeat(50_001)));
}

#[test]
fn json_nested_a_hundred_thousand_deep() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    survives("deep.json", &deep);
    survives("deep.jsonl", &format!("{deep}\n{{\"id\":1,\"text\":{deep}}}\n{}\n", "{\"a\":".repeat(50_000)));
}

#[cfg(feature = "code")]
#[test]
fn code_of_brackets_and_garbage() {
    for name in ["a.rs", "a.py", "a.js", "a.ts", "a.go", "a.java", "a.c", "a.cpp"] {
        for content in ["[".repeat(50_000), "(".repeat(20_000), "if (x) { ".repeat(5_000), "1+".repeat(20_000), "\u{1}<>é\"'`".repeat(1000)]
        {
            assert_faithful(&survives(name, &content), content.as_bytes());
        }
    }
}

#[test]
fn underlines_without_end() {
    let content = "=\n".repeat(50_000) + &"===\n".repeat(50_000);
    survives("u.rst", &content);
    survives("u.md", &content);
}
