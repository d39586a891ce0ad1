//! Files as people have them: encodings, links, binaries, secrets, long lines.
#![allow(clippy::unwrap_used)] // a test that cannot be set up has failed

mod support;

use ctx_types::AccessPath::Bm25;
use support::World;

#[test]
fn one_odd_encoding_does_not_stop_the_folder() {
    // Windows-1252: a mail with umlaut and dashes; and bytes that are nothing in particular.
    let world = World::new(&[("ok.md", b"good"), ("mail.txt", b"R\xe9sum\xe9 \xa7 97 \x96 dash"), ("bad.txt", b"\x81\xff\xfe\x00abc")]);
    let report = world.index();
    assert_eq!(world.paths(Bm25, "good"), ["ok.md"]);
    assert_eq!(world.paths(Bm25, "dash"), ["mail.txt"]);
    assert!(report.warnings.iter().any(|warning| warning.starts_with("mail.txt: ")), "{:?}", report.warnings);
    let bad =
        report.skipped.iter().any(|skip| skip.path == "bad.txt") || report.warnings.iter().any(|warning| warning.starts_with("bad.txt"));
    assert!(bad, "{report:?}");
    assert!(world.refresh().is_empty(), "a file that was left out is not tried again");
}

#[test]
fn marks_and_line_ends_do_not_shift_what_is_cited() {
    let markdown: &[u8] = b"\xef\xbb\xbf---\r\ntitle: Plan\r\n---\r\n# First\r\nbody\r\n";
    let world = World::new(&[("bom.md", markdown), ("bom.csv", b"\xef\xbb\xbfid,name\r\n1,a\r\n")]);
    world.index();
    let hit = world.search(Bm25, "body").remove(0);
    assert_eq!(hit.passage.title, "Plan");
    assert_eq!(hit.passage.locator.section, "First");
    let bytes = hit.passage.locator.bytes;
    let cited = &markdown[bytes.start as usize..bytes.end as usize];
    assert!(cited.windows(4).any(|window| window == b"body") && !hit.passage.text.contains('\r'), "{cited:?}");
    let rows = world.whole();
    let row = rows.iter().find(|hit| hit.passage.locator.path == "bom.csv").unwrap();
    assert!(row.passage.text.contains("id") && !row.passage.text.contains('\u{feff}'), "{}", row.passage.text);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_survived_and_reported() {
    use std::os::unix::fs::symlink;
    let world = World::new(&[("a.md", b"hi")]);
    std::fs::create_dir(world.path("sub")).unwrap();
    symlink(".", world.path("self")).unwrap();
    symlink("..", world.path("sub/up")).unwrap();
    symlink("nowhere", world.path("dangling")).unwrap();
    symlink("/etc/passwd", world.path("outside")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(world.path("pipe")).status().unwrap();
    assert!(made.success());
    let report = world.index();
    assert_eq!(report.indexed, 1);
    for path in ["dangling", "pipe", "outside"] {
        assert!(report.skipped.iter().any(|skip| skip.path == path), "{path}: {:?}", report.skipped);
    }
    assert_eq!(world.whole().len(), 1);
}

#[test]
fn ignored_and_secret_files_are_not_indexed() {
    let world = World::new(&[
        (".env", b"API_KEY=sk-TESTCANARY-0008"),
        (".gitignore", b"target/\n*.log\n!keep.log\n"),
        ("target/x.rs", b"fn t(){}"),
        ("keep.log", b"k"),
        ("drop.log", b"d"),
        ("node_modules/a/i.js", b"x"),
        ("id_rsa", b"-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----"),
        ("src/a.rs", b"fn a(){}"),
    ]);
    let report = world.index();
    let mut paths: Vec<String> = world.whole().into_iter().map(|hit| hit.passage.locator.path).collect();
    paths.retain(|path| path != ".gitignore");
    paths.dedup();
    assert_eq!(paths, ["keep.log", "src/a.rs"]);
    for path in [".env", "id_rsa"] {
        assert!(report.skipped.iter().any(|skip| skip.path == path && skip.reason.contains("secret")), "{path}: {:?}", report.skipped);
    }
    assert!(!holds(world.store.path(), b"TESTCANARY"), "the secret stands in the store");
}

fn holds(folder: &std::path::Path, needle: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holds(&path, needle)
        } else {
            std::fs::read(&path).unwrap_or_default().windows(needle.len()).any(|window| window == needle)
        }
    })
}

#[test]
fn a_nul_in_good_text_is_harmless() {
    let world = World::new(&[("n.md", b"Good text\0with nul\n")]);
    world.index();
    world.write("m.md", b"later text");
    world.index();
    assert_eq!(world.paths(Bm25, "later"), ["m.md"]);
    for hit in world.search(Bm25, "good nul") {
        assert!(!hit.passage.text.contains('\0'));
    }
}

#[test]
fn long_lines_are_cut_within_the_bound() {
    let json: String = (0..1200).map(|n| format!("{{\"id\":{n},\"name\":\"thing number {n}\"}}")).collect::<Vec<_>>().join(",");
    let minified = "var a=1;".repeat(300 * 1024 / 8);
    let emoji = "👩‍👩‍👧".repeat(100 * 1024 / "👩‍👩‍👧".len());
    let world =
        World::new(&[("one.json", format!("[{json}]").as_bytes()), ("min.js", minified.as_bytes()), ("emoji.txt", emoji.as_bytes())]);
    world.index();
    let counter = ctx_embedded::O200k::new();
    let hits = world.engine.search(&world.docs, ctx_types::AccessPath::Whole, "", 1_000_000).unwrap().hits;
    assert!(hits.len() > 50);
    for hit in hits {
        let passage = hit.passage;
        assert!(
            passage.tokens <= 512 && counter.tokens(&passage.text) == passage.tokens,
            "{} tokens at {:?}",
            passage.tokens,
            passage.locator
        );
    }
}
