//! A session on the command line: one statement is executed, its result printed, its exit code given.

use super::print;
use crate::args::{Global, SessionArgs};
use crate::commands::explain;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, width};
use crate::progress::Progress;
use crate::session::{Session, engine_options};
use ctx_contracts::IndexEvent;
use ctx_embedded::EmbeddedHost;
use ctx_runtime::session::{Reply, Session as Statements, SessionError, SessionHost, SessionSettings, Watch};
use ctx_sql::setting::OutputKey;
use ctx_sql::{Ask, ExplainOption, Names, Output, Setting, Statement, Subject};
use ctx_types::{AccessPath, FuseMethod, Strategy};
use std::sync::Arc;
use std::time::Instant;

/// What one invocation executes statements on.
pub(crate) struct Console {
    /// For printing and for bringing sources up to date.
    pub(crate) files: Session,
    statements: Statements,
    host: Arc<EmbeddedHost>,
    base: Out,
}

/// A script's text and what it is called.
#[derive(Clone, Copy)]
pub(crate) struct Script<'a> {
    /// For messages.
    pub(crate) name: &'a str,
    /// All of it.
    pub(crate) text: &'a str,
}

impl Console {
    pub(crate) async fn open(global: &Global, args: &SessionArgs, out: &Out) -> Result<Console, Failure> {
        let files = Session::open(global, &args.sources, out).await?;
        let host = Arc::new(EmbeddedHost::new(Arc::clone(&files.engine), engine_options(), false));
        let principal = args.who.principal();
        let mut statements = Statements::new(files.runtime.clone())
            .with_host(Arc::clone(&host) as Arc<dyn SessionHost>)
            .with_principal(principal)
            .with_scope(files.named.clone());
        if args.no_index {
            statements.settings_mut().set(Setting::Output(Output::AutoRefresh(false)));
        }
        Ok(Console { files, statements, host, base: *out })
    }

    /// Settings, for commands that change how results are shown.
    pub(crate) fn settings_mut(&mut self) -> &mut SessionSettings {
        self.statements.settings_mut()
    }

    /// How results are shown now.
    pub(crate) fn shows(&self, key: OutputKey) -> bool {
        self.statements.settings().shows(key)
    }

    /// The streams with what was set.
    pub(crate) fn out(&self) -> Out {
        let json = self.base.json() || self.shows(OutputKey::Json);
        Out::new(json).expanded(self.shows(OutputKey::Expanded))
    }

    /// Executes and prints a statement of a script; gives its exit code.
    pub(crate) async fn execute(&mut self, statement: &Statement, script: Script<'_>, interrupt: &Interrupt) -> Result<u8, Failure> {
        let started = Instant::now();
        let done = self.run(statement, interrupt).await;
        if self.shows(OutputKey::Timing) {
            self.out().note(&format!("Time: {:.1} ms", started.elapsed().as_secs_f64() * 1e3));
        }
        done.map_err(|error| match error {
            Stopped::Failed(failure) => failure,
            Stopped::Refused(SessionError::Statement(error)) => Failure::statement(&error, script.name, script.text, width()),
            Stopped::Refused(SessionError::Cancelled) => Failure::cancelled(interrupt.code()),
            Stopped::Refused(other) => other.into(),
        })
    }

    async fn run(&mut self, statement: &Statement, interrupt: &Interrupt) -> Result<u8, Stopped> {
        let out = self.out();
        if let Statement::Explain(explained) = statement {
            let options: Vec<ExplainOption> = explained.options.iter().map(|option| option.value).collect();
            explain::check(&options)?;
        }
        if let Some((ask, runs)) = asked(statement) {
            self.freshen(ask, runs, &out, interrupt).await?;
        }
        let progress = Progress::new(&out);
        let show = |event: IndexEvent| progress.event(event);
        let watch = Watch { progress: &show, cancel: interrupt.token() };
        let reply = self.statements.execute(statement, &watch).await;
        drop(progress);
        // A peek leaves nothing behind; a run, and a cancelled run, leaves its trace.
        if asked(statement).is_some_and(|(_, runs)| runs) || matches!(statement, Statement::Analyze(_)) {
            self.files.close(&out).await;
        }
        let reply = reply?;
        if matches!(reply, Reply::Created(..) | Reply::Dropped(_)) {
            self.files.named = self.statements.scope().to_vec();
            self.files.adopt(self.statements.runtime().clone(), self.host.engine());
        }
        Ok(print::reply(&self.files, &reply, &out, interrupt)?)
    }

    /// Brings the sources of a goal up to date, as the commands do. Names are checked first: a misspelt one is no file.
    async fn freshen(&self, ask: &Ask, runs: bool, out: &Out, interrupt: &Interrupt) -> Result<(), Stopped> {
        self.statements.goal(ask).await?;
        if !self.shows(OutputKey::AutoRefresh) {
            return Ok(());
        }
        let named: Vec<_> = ask.sources.iter().map(|source| source.value.clone()).collect();
        let sources = if named.is_empty() { self.statements.sources() } else { named };
        match self.files.freshen_these(&sources, out, interrupt).await {
            // A run that was cancelled before it began leaves its trace too.
            Err(_) if runs && interrupt.token().is_cancelled() => Ok(()),
            other => Ok(other?),
        }
    }

    /// Names for completion.
    pub(crate) async fn names(&self) -> Names {
        let runtime = self.statements.runtime();
        let mut operators: Vec<String> = AccessPath::ALL.iter().map(|path| path.as_str().to_owned()).collect();
        operators.extend(FuseMethod::ALL.iter().map(|method| method.as_str().to_owned()));
        operators.extend(Strategy::ALL.iter().map(|strategy| strategy.as_str().to_owned()));
        operators.extend(runtime.parts().verifiers.iter().map(|verifier| verifier.describe().name));
        const TRACES: usize = 20;
        let traces = runtime.parts().store.traces(TRACES).await.unwrap_or_default();
        Names {
            sources: self.statements.sources().iter().map(ToString::to_string).collect(),
            models: runtime.parts().models.keys().map(ToString::to_string).collect(),
            operators,
            traces: traces.into_iter().map(|trace| trace.id).collect(),
        }
    }
}

/// Why a statement gave no result.
enum Stopped {
    Refused(SessionError),
    Failed(Failure),
}

impl From<SessionError> for Stopped {
    fn from(error: SessionError) -> Stopped {
        Stopped::Refused(error)
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        Stopped::Failed(failure)
    }
}

/// The goal of a statement, and whether it is run.
fn asked(statement: &Statement) -> Option<(&Ask, bool)> {
    match statement {
        Statement::Answer(ask) => Some((ask, true)),
        Statement::Simulate(ask) => Some((ask, false)),
        Statement::Explain(explain) => match &explain.subject {
            Subject::Answer(ask) => Some((ask, explain.options.iter().any(|option| option.value == ExplainOption::Analyze(true)))),
            Subject::Diff(..) => None,
        },
        _ => None,
    }
}
