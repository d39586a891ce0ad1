//! Fetch, then let cargo build and run.

use crate::fetch::fetch;
use crate::workspace::{self, Workspace};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

/// Fetches, builds `ctxrt` and runs it in the current folder. The development profile gives the first answer soonest:
/// crates with inner loops are optimised in it, the rest compiles quickly, and `cargo test` shares the build.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let (release, args) = run_args(args)?;
    fetch(None)?;
    let (profile, folder) = if release { ("release", "release") } else { ("dev", "debug") };
    let program = program(folder)?;
    let mut build = workspace::cargo();
    build.current_dir(workspace::root()).args(["build", "--package", "ctx-cli", "--profile", profile]);
    if program.is_file() {
        build.arg("--quiet");
    } else {
        eprintln!("building ctxrt; the first time takes minutes …");
    }
    let status = build.status().context("running cargo build")?;
    if !status.success() {
        bail!("building ctxrt failed");
    }
    exit(Command::new(&program).args(args).status().with_context(|| format!("running {}", program.display()))?)
}

fn program(folder: &str) -> Result<PathBuf> {
    let name = format!("ctxrt{}", std::env::consts::EXE_SUFFIX);
    Ok(Workspace::load()?.target.join(folder).join(name))
}

/// `[--release] [--] ARGS`.
fn run_args(args: &[String]) -> Result<(bool, &[String])> {
    let (release, rest) = match args {
        [flag, rest @ ..] if flag == "--release" => (true, rest),
        _ => (false, args),
    };
    match rest {
        [] => Ok((release, rest)),
        [dashes, rest @ ..] if dashes == "--" => Ok((release, rest)),
        [other, ..] => bail!("write `--` before the arguments of ctxrt; {other:?} is no flag of `cargo xtask run`"),
    }
}

/// Fetches and runs all tests.
pub(crate) fn test(args: &[String]) -> Result<ExitCode> {
    fetch(None)?;
    let mut command = workspace::cargo();
    exit(command.current_dir(workspace::root()).args(["test", "--workspace"]).args(args).status().context("running cargo test")?)
}

/// Rewrites the golden plans and the JSON Schemas. Both are in the light set: no DuckDB.
pub(crate) fn plans() -> Result<ExitCode> {
    let mut command = workspace::cargo();
    command
        .current_dir(workspace::root())
        .args(["test", "--package", "ctx-testkit", "--test", "plans", "--test", "schemas"])
        .env("REWRITE", "1");
    let code = exit(command.status().context("running the tests of plans")?)?;
    eprintln!("plans/ and tests/schemas/ are rewritten: review the diff, and say in the commit why a shape or a format changed");
    Ok(code)
}

/// The child's exit code; 128 and the signal for one that was killed.
fn exit(status: ExitStatus) -> Result<ExitCode> {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::run_args;

    #[test]
    fn arguments_of_ctxrt_follow_the_dashes() {
        let args = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(run_args(&args(&["--", "run", "--release"])).unwrap(), (false, &args(&["run", "--release"])[..]));
        assert_eq!(run_args(&args(&["--release", "--", "doctor"])).unwrap(), (true, &args(&["doctor"])[..]));
        assert!(run_args(&args(&["doctor"])).is_err());
    }
}
