//! Prints the optimizer's figures as JSON lines, one row each. `benchmarks` writes the same rows as a dated result.
#![allow(clippy::print_stdout)] // a program talks on stdout

fn main() {
    for row in ctx_testkit::optimizer_figures::measure() {
        let met = row.met().map_or("", |met| if met { "met" } else { "NOT MET" });
        println!("{}", serde_json::json!({ "row": row, "met": met }));
    }
}
