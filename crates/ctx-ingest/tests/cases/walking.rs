//! Folders as people have them: loops, pipes, ignored build output, secrets, links that leave.

use super::*;
use ctx_ingest::{Skip, SkipReason, Walk};

fn paths(found: &Walk) -> Vec<&str> {
    found.entries.iter().map(|e| e.path.as_str()).collect()
}

fn reason(found: &Walk, path: &str) -> Option<SkipReason> {
    found.skips.iter().find(|s| s.path == path).map(|s| s.reason)
}

#[cfg(unix)]
#[test]
fn loops_dangling_links_and_pipes_are_reported_and_survived() {
    use std::os::unix::fs::symlink;
    let dir = folder(&[("d/a.md", b"hi"), ("d/sub/keep.md", b"x"), ("passwd", b"root:x")]);
    let d = dir.path().join("d");
    symlink(".", d.join("self")).expect("link");
    symlink("..", d.join("sub/up")).expect("link");
    symlink("nowhere", d.join("dangling")).expect("link");
    symlink("../passwd", d.join("out")).expect("link");
    symlink("a.md", d.join("alias.md")).expect("link");
    symlink("loop", d.join("loop")).expect("link");
    let pipe = std::process::Command::new("mkfifo").arg(d.join("pipe")).status().is_ok_and(|s| s.success());
    let _socket = std::os::unix::net::UnixListener::bind(d.join("socket")).expect("a socket");
    let found = walk(&d, &WalkOptions::default()).expect("the root exists");
    assert_eq!(paths(&found), ["a.md", "sub/keep.md"]);
    assert_eq!(reason(&found, "self"), Some(SkipReason::LinkLoop));
    assert_eq!(reason(&found, "sub/up"), Some(SkipReason::LinkLoop));
    assert_eq!(reason(&found, "dangling"), Some(SkipReason::LinkDangling));
    assert_eq!(reason(&found, "out"), Some(SkipReason::LinkOutside));
    assert_eq!(reason(&found, "alias.md"), Some(SkipReason::LinkInside));
    assert_eq!(reason(&found, "socket"), Some(SkipReason::Special));
    assert!(reason(&found, "loop").is_some());
    assert!(!pipe || reason(&found, "pipe") == Some(SkipReason::Special));
}

#[test]
fn ignore_rules_hold_and_secrets_are_skipped_without_them() {
    let key: &[u8] = b"-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----";
    let dir = folder(&[
        (".env", b"API_KEY=sk-TESTCANARY-0008"),
        (".gitignore", b"target/\n*.log\n!keep.log\n"),
        ("target/x.rs", b"fn t(){}"),
        ("keep.log", b"k"),
        ("drop.log", b"d"),
        ("node_modules/a/i.js", b"x"),
        ("id_rsa", key),
        ("notes/deploy.txt", key),
        ("logo.png", b"\x89PNG\r\n\x1a\n"),
        ("data.bin2", &[0, 1, 2, 3, 200, 4, 0, 0]),
        ("src/a.rs", b"fn a(){}"),
    ]);
    let found = walk(dir.path(), &WalkOptions::default()).expect("the root exists");
    assert_eq!(paths(&found), [".gitignore", "keep.log", "src/a.rs"]);
    for secret in [".env", "id_rsa", "notes/deploy.txt"] {
        assert_eq!(reason(&found, secret), Some(SkipReason::Secret), "{secret}");
    }
    let counts = found.skip_counts();
    assert_eq!((counts[&SkipReason::Secret], counts[&SkipReason::Binary]), (3, 2));
}

#[test]
fn the_own_ignore_file_wins_over_gitignore_but_not_over_what_is_never_read() {
    let dir = folder(&[
        (".gitignore", b"*.log\n"),
        (".ctxrtignore", b"!app.log\n!target/\ndrafts/\n"),
        ("app.log", b"x"),
        ("drafts/a.md", b"x"),
        ("target/b.md", b"x"),
        ("store/segment.md", b"x"),
        ("c.md", b"x"),
    ]);
    let options = WalkOptions { exclude: vec![dir.path().join("store")], is_known: None };
    let found = walk(dir.path(), &options).expect("the root exists");
    assert_eq!(paths(&found), [".ctxrtignore", ".gitignore", "app.log", "c.md"]);
}

#[test]
fn known_files_are_not_opened_and_a_root_may_be_one_file() {
    let dir = folder(&[("a.txt", b"\x89PNG\r\n\x1a\n"), ("b.md", b"x")]);
    let known = |path: &str, stamp: &ctx_ingest::Stamp| path == "a.txt" && stamp.size == 8;
    let options = WalkOptions { exclude: Vec::new(), is_known: Some(&known) };
    assert_eq!(paths(&walk(dir.path(), &options).expect("exists")), ["a.txt", "b.md"]);
    let one = walk(&dir.path().join("b.md"), &WalkOptions::default()).expect("exists");
    assert_eq!(paths(&one), ["b.md"]);
    assert_eq!(one.root, dir.path().canonicalize().expect("exists"));
    assert!(matches!(walk(&dir.path().join("none"), &WalkOptions::default()), Err(IngestError::Root { .. })));
}

#[test]
fn a_file_that_became_a_secret_after_the_walk_is_refused_when_read() {
    let dir = folder(&[("a.md", b"x")]);
    let found = walk(dir.path(), &WalkOptions::default()).expect("exists");
    std::fs::write(dir.path().join("a.md"), "-----BEGIN PRIVATE KEY-----\n").expect("writes");
    let refused = ingest_file(&found.root, &found.entries[0], &options(220, 512), &Words);
    assert!(matches!(refused, Err(IngestError::Skipped { reason: SkipReason::Secret, .. })));
}

#[cfg(unix)]
#[test]
fn unreadable_files_and_odd_names_are_reported() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let dir = folder(&[("a.md", b"x"), ("locked.md", b"x"), ("長い名前.md", b"y"), ("a\tb\nc.md", b"z")]);
    let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"bad-\xff.md"));
    let has_odd = std::fs::write(odd, "x").is_ok();
    let locked = dir.path().join("locked.md");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).expect("chmod");
    let is_locked = std::fs::File::open(&locked).is_err();
    let found = walk(dir.path(), &WalkOptions::default()).expect("exists");
    assert!(paths(&found).contains(&"長い名前.md") && paths(&found).contains(&"a\tb\nc.md"));
    assert_eq!(reason(&found, "locked.md"), is_locked.then_some(SkipReason::Unreadable));
    let expected = Skip { path: "bad-\u{fffd}.md".into(), reason: SkipReason::NameNotUtf8 };
    assert_eq!(found.skips.contains(&expected), has_odd);
}
