//! Tells this package's programs where the DuckDB library may stand at run time.

#[path = "../build-support/rpath.rs"]
mod rpath;

fn main() {
    rpath::print();
}
