//! Project tasks: `cargo xtask fetch | run | test | tidy | plans`. No task of the product itself.
//!
//! Reading order: `fetch` (the DuckDB library), `tasks` (build and run with it), `tidy` (what a machine can check of
//! ARCHITECTURE.md), `workspace` (what cargo says about the packages).

mod fetch;
mod platform;
mod tasks;
mod tidy;
mod workspace;

use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  fetch [--libduckdb PATH]   get the DuckDB library for this platform, or take the one at PATH
  run [--release] -- ARGS    fetch, build ctxrt, run it with ARGS
  test [ARGS]                fetch, then all tests (cargo test --workspace ARGS)
  tidy                       check the architecture's rules
  plans                      regenerate the golden plans; review the diff";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[String]) -> Result<ExitCode> {
    let (task, rest) = args.split_first().map_or(("help", args), |(task, rest)| (task.as_str(), rest));
    match task {
        "fetch" => fetch::fetch(library_path(rest)?.as_deref()).map(|()| ExitCode::SUCCESS),
        "run" => tasks::run(rest),
        "test" => tasks::test(rest),
        "tidy" => tidy::tidy(),
        "plans" => tasks::plans(),
        "help" | "--help" | "-h" => {
            eprintln!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("there is no task {other:?}\n\n{USAGE}"),
    }
}

fn library_path(args: &[String]) -> Result<Option<PathBuf>> {
    match args {
        [] => Ok(None),
        [flag, path] if flag == "--libduckdb" => Ok(Some(path.into())),
        _ => bail!("fetch takes nothing or --libduckdb PATH\n\n{USAGE}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_may_follow_the_flag() {
        let args = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(library_path(&args(&[])).unwrap(), None);
        assert_eq!(library_path(&args(&["--libduckdb", "x.so"])).unwrap(), Some("x.so".into()));
        assert!(library_path(&args(&["--libduckdb"])).is_err());
        assert!(dispatch(&args(&["tydy"])).unwrap_err().to_string().contains("usage"));
    }
}
