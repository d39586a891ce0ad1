//! Puts the DuckDB library where cargo's loader path finds it: a hard link in `OUT_DIR`, printed as a search path.
//! Without the library the build stops with one sentence that says how to get it.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=DUCKDB_LIB_DIR");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        return;
    }
    let Some(folder) = env::var_os("DUCKDB_LIB_DIR").map(PathBuf::from) else { stop(Path::new("third_party/libduckdb")) };
    let library = folder.join(library_name());
    println!("cargo:rerun-if-changed={}", library.display());
    if !library.is_file() {
        stop(&folder);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let link = out.join(library_name());
    let _ = fs::remove_file(&link);
    if fs::hard_link(&library, &link).is_err() {
        fs::copy(&library, &link).unwrap_or_else(|error| panic!("copying {} to {}: {error}", library.display(), link.display()));
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    let rpath = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../build-support/rpath.rs");
    println!("cargo:rerun-if-changed={}", rpath.display());
    rpath::print();
}

#[path = "../../build-support/rpath.rs"]
mod rpath;

fn library_name() -> &'static str {
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => "libduckdb.dylib",
        Ok("windows") => "duckdb.dll",
        _ => "libduckdb.so",
    }
}

/// Exit code and plain text instead of a panic: no backtrace around the one sentence that matters.
fn stop(folder: &Path) -> ! {
    let name = library_name();
    println!(
        "cargo::error=the DuckDB library {name} is not in {}: run `cargo xtask fetch` once (or build with `--features bundled`, which compiles DuckDB for the better part of an hour)",
        folder.display()
    );
    std::process::exit(1);
}
