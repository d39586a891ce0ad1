//! One statement after the other: what each does.

use super::{Reply, Session, SessionError, Watch};
use crate::ExplainOptions;
use ctx_contracts::IndexOptions;
use ctx_sql::statement::Of;
use ctx_sql::{Ask, ExplainOption, Located, Problem, SettingKey, Show, SqlError, Statement, Subject};
use ctx_types::{SourceName, Trace};
use std::future::Future;

/// Most traces read from the store.
const TRACES_MAX: usize = 100_000;
/// Traces that `SHOW TRACES` shows.
const TRACES_SHOWN: usize = 20;

impl Session {
    /// Executes a statement.
    pub async fn execute(&mut self, statement: &Statement, watch: &Watch<'_>) -> Result<Reply, SessionError> {
        match statement {
            Statement::Answer(ask) => self.answer(ask, watch).await,
            Statement::Explain(explain) => match &explain.subject {
                Subject::Answer(ask) => self.explain(ask, &explain.options, watch).await,
                Subject::Diff(a, b) => {
                    let (a, b) = (Box::new(self.trace(a).await?), Box::new(self.trace(b).await?));
                    Ok(Reply::Compared { a, b, options: options(&explain.options) })
                }
            },
            Statement::Simulate(ask) => {
                let goal = self.goal(ask).await?;
                let quote = unless_stopped(watch, async { Ok(self.runtime.simulate(&goal).await?) }).await?;
                Ok(Reply::Quoted(Box::new(quote)))
            }
            Statement::Analyze(sources) => unless_stopped(watch, self.analyze(sources, watch)).await,
            Statement::Refresh(sources) => {
                self.known(sources).await?;
                let work = async { Ok(self.runtime.refresh(&self.chosen(sources), watch.progress).await?) };
                Ok(Reply::Indexed(unless_stopped(watch, work).await?))
            }
            Statement::Index { sources, purge } => {
                self.known(sources).await?;
                let store = &self.runtime.parts().store;
                let options = IndexOptions { purge: *purge, ..IndexOptions::default() };
                let work = async { Ok(store.index(&self.chosen(sources), options, watch.progress).await?) };
                let reports = unless_stopped(watch, work).await?;
                if *purge {
                    self.runtime.clear_result_cache().await?;
                }
                Ok(Reply::Indexed(reports))
            }
            Statement::Show(show) => unless_stopped(watch, self.show(show)).await,
            Statement::Set(setting) => {
                self.settings.set(*setting);
                let in_force = self.settings.line(setting.key(), self.runtime.config()).value.filter(|value| *value != setting.value());
                Ok(Reply::Set { setting: *setting, in_force })
            }
            Statement::Reset(key) => {
                self.settings.reset(*key);
                Ok(Reply::Reset(*key))
            }
            Statement::CreateSource(create) => {
                let created = self.create(create).await?;
                Ok(Reply::Created(create.name.value.clone(), created))
            }
            Statement::DropSource { names, if_exists } => Ok(Reply::Dropped(self.forget(names, *if_exists).await?)),
        }
    }

    async fn answer(&self, ask: &Ask, watch: &Watch<'_>) -> Result<Reply, SessionError> {
        let goal = self.goal(ask).await?;
        Ok(Reply::Answered(Box::new(self.runtime.run_until(&goal, watch.cancel.clone()).await?)))
    }

    async fn explain(&self, ask: &Ask, given: &[Located<ExplainOption>], watch: &Watch<'_>) -> Result<Reply, SessionError> {
        let goal = self.goal(ask).await?;
        let given = options(given);
        let analyze = given.contains(&ExplainOption::Analyze(true));
        let generic = given.contains(&ExplainOption::GenericPlan(true));
        let asked = ExplainOptions { analyze, generic, ..ExplainOptions::default() };
        let inputs = unless_stopped(watch, async { Ok(self.runtime.explain(&goal, asked).await?) }).await?;
        Ok(Reply::Explained { inputs: Box::new(inputs), options: given })
    }

    async fn analyze(&self, names: &[Located<SourceName>], watch: &Watch<'_>) -> Result<Reply, SessionError> {
        self.known(names).await?;
        let chosen = self.chosen(names);
        let reports = self.runtime.parts().store.index(&chosen, IndexOptions::default(), watch.progress).await?;
        let failed: Vec<&str> = reports.iter().filter(|r| r.failure.is_some()).map(|r| r.source.as_str()).collect();
        let fit: Vec<SourceName> = chosen.iter().filter(|name| !failed.contains(&name.as_str())).cloned().collect();
        if !fit.is_empty() {
            self.measure(&fit).await?;
        }
        self.runtime.publish().await?;
        let mut sources = self.visible().await?;
        sources.retain(|name, _| chosen.contains(name));
        Ok(Reply::Analyzed { reports, sources })
    }

    async fn show(&self, show: &Show) -> Result<Reply, SessionError> {
        let tenant = self.principal.tenant.as_str();
        Ok(match show {
            Show::Sources => {
                let (mut sources, hidden) = self.seen().await?;
                sources.retain(|name, _| self.scope.is_empty() || self.scope.contains(name));
                Reply::Sources(sources, hidden)
            }
            Show::Models => {
                let mut models = std::collections::BTreeMap::new();
                for (name, model) in &self.runtime.parts().models {
                    models.insert(name.clone(), model.describe().await);
                }
                Reply::Models(models)
            }
            Show::PlanCache => {
                let (mut rows, counters) = self.runtime.plan_cache();
                rows.retain(|row| row.tenant == tenant);
                let pins = self.runtime.pinned_plans().into_iter().filter(|(_, pin)| pin.tenant == tenant).collect();
                Reply::PlanCache(rows, counters, pins)
            }
            Show::Statistics(Some(Of::Source(name))) => {
                let mut sources = self.visible().await?;
                let known = sources.keys().map(SourceName::to_string).collect::<Vec<_>>();
                let entry = sources
                    .remove(&name.value)
                    .ok_or_else(|| SqlError::unknown("source", name.value.as_str(), name.at, known.iter().map(String::as_str)))?;
                Reply::SourceStatistics(name.value.clone(), Box::new(entry))
            }
            Show::Statistics(of) => {
                if let Some(Of::Model(model)) = of
                    && !self.runtime.parts().models.contains_key(&model.value)
                {
                    return Err(self.no_model(&model.value, model.at).into());
                }
                let mut rows = self.runtime.statistics().await?.rows();
                rows.retain(|row| row.tenant == tenant);
                if let Some(Of::Model(model)) = of {
                    rows.retain(|row| row.class == "model" && row.operator.as_deref() == Some(model.value.as_str()));
                    return Ok(Reply::Statistics(rows, None));
                }
                let mut accounts = self.runtime.accounts().await?;
                accounts.retain(|account| account.tenant == tenant);
                Reply::Statistics(rows, Some(accounts))
            }
            Show::Traces => Reply::Traces(self.traces(TRACES_SHOWN).await?),
            Show::Trace(id) => Reply::Trace(Box::new(self.trace(id).await?)),
            Show::Settings => Reply::Settings(self.settings.changed(self.runtime.config())),
            Show::All => Reply::Settings(SettingKey::all().map(|key| self.settings.line(key, self.runtime.config())).collect()),
            Show::Setting(key) => Reply::Settings(vec![self.settings.line(*key, self.runtime.config())]),
        })
    }

    /// Traces of this tenant, newest first.
    async fn traces(&self, limit: usize) -> Result<Vec<Trace>, SessionError> {
        let mut traces = self.runtime.parts().store.traces(TRACES_MAX).await?;
        traces.retain(|trace| trace.tenant == self.principal.tenant);
        traces.truncate(limit);
        Ok(traces)
    }

    /// The trace with this id or this beginning of one, with or without `run_`; a plan's id is its latest run.
    async fn trace(&self, id: &Located<String>) -> Result<Trace, SessionError> {
        let mut traces = self.traces(TRACES_MAX).await?;
        let begins = |text: &str| text.starts_with(&id.value) || text.split_once('_').is_some_and(|(_, rest)| rest.starts_with(&id.value));
        let found: Vec<usize> = (0..traces.len()).filter(|at| begins(&traces[*at].id)).collect();
        let by_plan = || traces.iter().position(|trace| begins(&trace.plan.0));
        let exact = found.iter().copied().find(|at| traces[*at].id == id.value);
        match (found.as_slice(), exact) {
            (_, Some(at)) => Ok(traces.swap_remove(at)),
            ([at], None) => Ok(traces.swap_remove(*at)),
            ([], None) => match by_plan() {
                Some(at) => Ok(traces.swap_remove(at)),
                None => Err(no_trace("no run or plan of this store begins with it", "SHOW TRACES lists the latest runs", id)),
            },
            (several, None) => Err(no_trace(&format!("{} runs begin with it", several.len()), "write more of the id", id)),
        }
    }
}

fn no_trace(cause: &str, hint: &str, id: &Located<String>) -> SessionError {
    let shown: String = id.value.chars().take(40).collect();
    SqlError::new(Problem::Value { key: format!("{shown:?}"), cause: cause.to_owned() }, id.at).with_hint(hint).into()
}

fn options(given: &[Located<ExplainOption>]) -> Vec<ExplainOption> {
    given.iter().map(|option| option.value).collect()
}

/// The work, unless it is stopped first. Dropping it stops it: that is part of every contract.
async fn unless_stopped<T>(watch: &Watch<'_>, work: impl Future<Output = Result<T, SessionError>>) -> Result<T, SessionError> {
    tokio::select! {
        biased;
        () = watch.cancel.cancelled() => Err(SessionError::Cancelled),
        done = work => done,
    }
}
