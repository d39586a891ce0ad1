//! `ctxrt completions` and `ctxrt man`: made from the definition that parses.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::{Out, raw};
use clap::CommandFactory;
use serde_json::json;

pub(crate) fn completions(shell: clap_complete::Shell, out: &Out) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ctxrt", &mut bytes);
    show("completions", &bytes, out)
}

/// The page of the program, then one section per command.
pub(crate) fn manual(out: &Out) -> Result<u8, Failure> {
    let failed = |e: std::io::Error| Failure::internal(format!("writing the manual page: {e}"));
    let mut command = Cli::command();
    command.build();
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut bytes).map_err(failed)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let page = clap_mangen::Man::new(sub.clone());
        page.render_synopsis_section(&mut bytes).map_err(failed)?;
        page.render_description_section(&mut bytes).map_err(failed)?;
        page.render_options_section(&mut bytes).map_err(failed)?;
    }
    show("manual", &bytes, out)
}

/// As it is, or as one member of a document.
fn show(name: &str, bytes: &[u8], out: &Out) -> Result<u8, Failure> {
    let text = String::from_utf8_lossy(bytes);
    if out.json() {
        out.document(&json!({ "schema_version": 1, name: text }))?
    } else {
        raw(&text)?
    }
    Ok(0)
}
