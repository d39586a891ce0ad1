// Included by the build script of every crate whose binaries, tests or examples link DuckDB:
//
//     #[path = "../../build-support/rpath.rs"]
//     mod rpath;
//     fn main() { rpath::print(); }
//
// A dependency's search path does not reach a binary, so each one is told where the library may stand: beside the
// program, in `../lib/ctxrt` as an installer would put it, and, in debug builds only, in the folder it was linked from.

use std::env;

/// Prints the link arguments; none on Windows (the loader looks beside the program) or when DuckDB is compiled in.
pub(crate) fn print() {
    println!("cargo:rerun-if-env-changed=DUCKDB_LIB_DIR");
    println!("cargo:rerun-if-changed=build.rs");
    let origin = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("windows") => return,
        Ok("macos") => "@loader_path",
        _ => "$ORIGIN",
    };
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        return;
    }
    println!("cargo:rustc-link-arg=-Wl,-rpath,{origin}");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{origin}/../lib/ctxrt");
    if env::var("PROFILE").as_deref() == Ok("debug")
        && let Ok(folder) = env::var("DUCKDB_LIB_DIR")
    {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
