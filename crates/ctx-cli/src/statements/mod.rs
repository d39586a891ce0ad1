//! Statements on the command line: `ctxrt -c`, `ctxrt -f` and `ctxrt shell`. They are executed by `ctx_runtime::session` and
//! printed by the code of the commands, so that `EXPLAIN ANSWER 'x'` and `ctxrt explain x` print the same bytes.
//!
//! Reading order: [`console`] (one statement) → [`mod@print`] (its result) → [`meta`] (commands with a backslash) → [`mod@batch`]
//! (scripts) → [`mod@shell`] (the prompt) → [`completion`].

mod batch;
mod completion;
mod console;
mod meta;
mod print;
mod shell;

pub(crate) use batch::batch;
pub(crate) use shell::shell;
