//! Decisions of other requests: the same words, the same kind of goal, and what is made anew where none serves.

use crate::RuntimeError;
use crate::prepare::{Choice, Decided, Mode, Request, inputs, key_input, label};
use crate::runtime::Inner;
use ctx_plan_cache::{CachedPlan, CurrentStamps, EntryKind, Lookup, MissCause, PlanKey, Scope, Stamps, Template, TemplateKey, Verdict};
use ctx_planner::{Inputs, PlanError, Planned};
use ctx_types::goal::Hint;
use ctx_types::plan::Known;
use ctx_types::{ContentId, Intent, Micros, Plan, Probe, Sensitivity};
use std::sync::Arc;

/// A decision that no cached plan of these very words gave.
pub(crate) struct Made {
    pub(crate) decided: Decided,
    /// What planning took; nothing where a template was bound.
    pub(crate) planning: Micros,
    /// If it was planned on its own: the key of its kind, and how the nearest decision of the kind would have done.
    pub(crate) custom: Option<(TemplateKey, Option<Verdict>)>,
}

impl Inner {
    /// The key that goals of the same kind share. None for goals whose words raise their label: nothing made for them serves
    /// another.
    pub(crate) fn template(&self, request: &Request<'_>, probe: &Probe) -> Option<(TemplateKey, Intent)> {
        let open = request.limits.sensitivity.is_none_or(|label| label < Sensitivity::Confidential);
        if !open || probe.sources.is_empty() || !self.config.runtime.plan_cache.enabled {
            return None;
        }
        let intent = self.planner.analyze(request.goal);
        if intent.sensitivity >= Sensitivity::Confidential {
            return None;
        }
        let ctx_planner::Signature { exact, inputs } = ctx_planner::signature(&request.snapshot.catalog, request.sources, probe, &intent);
        let question = request.goal.text.contains('?');
        let words = Template { intent: &intent, question, signature: &exact, inputs: &inputs, goal_tokens: probe.goal_tokens };
        let key = TemplateKey::of(&key_input(request), &words);
        Some((key, intent))
    }

    /// Whether a shape is pinned for such goals, by a person or after a regression.
    pub(crate) fn is_held(&self, request: &Request<'_>, probe: &Probe) -> bool {
        let own = || Scope::of_goal(&PlanKey::literal(&key_input(request)));
        let scope = self.template(request, probe).map_or_else(own, |(template, _)| Scope::of_family(&template));
        self.cache().pinned(&scope).is_some()
    }

    /// What the kind's decisions say to this goal.
    fn look_up_template(&self, key: &TemplateKey, tenant: &str, stamps: &Stamps, mode: Mode) -> Lookup {
        let (current, now) = (CurrentStamps::of(stamps), self.now());
        if mode.leaves_traces() {
            self.cache().lookup_template(key, tenant, &current, now)
        } else {
            self.cache().peek_template(key, tenant, &current, now)
        }
    }

    /// The cached plan of a hit. A goal that differs in form only (outer white space, composed characters, order of sources) gets
    /// the decision with its own words.
    pub(crate) fn reuse(&self, request: &Request<'_>, found: &Lookup) -> Result<Option<Arc<Planned>>, RuntimeError> {
        let Some(entry) = found.hit() else { return Ok(None) };
        if entry.made_for(request.goal) {
            return Ok(Some(self.finished(&entry.plan)?));
        }
        Ok(Some(Arc::new(self.bound(&entry.plan, request, self.planner.analyze(request.goal))?)))
    }

    /// A cached decision for this request's words.
    fn bound(&self, plan: &Arc<Plan>, request: &Request<'_>, intent: Intent) -> Result<Planned, RuntimeError> {
        let template = self.finished(plan)?;
        Ok(self.planner.bind(&template, request.goal, intent, &request.settings.configuration_digest)?)
    }

    /// Single flight: of several requests with one key, one plans and the others take its entry.
    pub(crate) async fn plan_once(
        &self,
        request: &Request<'_>,
        key: PlanKey,
        stamps: &Stamps,
        told: String,
    ) -> Result<Decided, RuntimeError> {
        let flight = self.flights.join(key.hash());
        let _turn = flight.turn().await;
        let found = self.look_up(&key, stamps, Mode::Peek);
        if let Some(planned) = self.reuse(request, &found)? {
            let scope = found.hit().map(|entry| entry.scope.clone());
            let told = format!("{told}; planned by a concurrent request");
            return Ok(Decided { choice: Choice::Planned(planned), probe: Probe::default(), told, scope, exploration: None });
        }
        let Made { decided, planning, custom } = self.make(request, &key, stamps, told, Mode::Run).await?;
        if let Choice::Planned(planned) = &decided.choice {
            let entry = CachedPlan {
                kind: EntryKind::Literal,
                plan: Arc::new(planned.plan.clone()),
                label: label(&request.snapshot.catalog, Some(planned)),
                planning,
                planned_at: self.now(),
                goal_tokens: decided.probe.goal_tokens,
                scope: decided.scope.clone().unwrap_or_default(),
            };
            let current = CurrentStamps::of(stamps);
            let mut cache = self.cache();
            if let Some((template, verdict)) = custom.filter(|_| entry.sensitivity() < Sensitivity::Confidential) {
                cache.custom(&template, &entry, request.goal.weights.cost_of_time(planning), verdict.as_ref(), &current);
            }
            cache.insert(key, entry, &current);
        }
        Ok(decided)
    }

    /// The decision for words that are new: of their kind, or planned.
    pub(crate) async fn make(
        &self,
        request: &Request<'_>,
        key: &PlanKey,
        stamps: &Stamps,
        told: String,
        mode: Mode,
    ) -> Result<Made, RuntimeError> {
        let probe = self.probe(request).await;
        let Some((template, intent)) = self.template(request, &probe) else {
            let scope = Scope::of_goal(key);
            let (choice, told, planning) = self.plan_held(request, &probe, &scope, told)?;
            return Ok(Made { decided: Decided { choice, probe, told, scope: Some(scope), exploration: None }, planning, custom: None });
        };
        let (scope, tenant) = (Scope::of_family(&template), &request.goal.principal.tenant);
        let found = self.look_up_template(&template, tenant, stamps, mode);
        let shared = match &found {
            Lookup::Near { known, .. } => self.plan_of(request, &probe, known)?,
            Lookup::Hit(entry) => Some(self.bound(&entry.plan, request, intent)?),
            Lookup::Miss(_) => None,
        };
        if let Some(planned) = shared {
            let choice = Choice::Planned(Arc::new(planned));
            let decided = Decided { choice, probe, told: found.to_string(), scope: Some(scope), exploration: None };
            return Ok(Made { decided, planning: Micros(0), custom: None });
        }
        let told = match &found {
            Lookup::Miss(MissCause::Absent) => told,
            Lookup::Miss(MissCause::Unproven { .. }) => format!("{told}; {found}"),
            found => format!("{told}; template: {}", found.cause()),
        };
        let (choice, told, planning) = self.plan_held(request, &probe, &scope, told)?;
        let verdict =
            if mode.leaves_traces() && found.wants_verdict() { self.verdict(request, &template, &probe, &choice, stamps)? } else { None };
        let decided = Decided { choice, probe, told, scope: Some(scope), exploration: None };
        Ok(Made { decided, planning, custom: Some((template, verdict)) })
    }

    /// How the nearest decision of the kind would have done for this goal, which was planned on its own.
    fn verdict(
        &self,
        request: &Request<'_>,
        template: &TemplateKey,
        probe: &Probe,
        choice: &Choice,
        stamps: &Stamps,
    ) -> Result<Option<Verdict>, RuntimeError> {
        let Choice::Planned(cold) = choice else { return Ok(None) };
        let nearest = self.cache().nearest(template, &CurrentStamps::of(stamps), self.now());
        let Some(proposal) = nearest else { return Ok(None) };
        let score = |planned: &Planned| planned.plan.score.total.0;
        let proposed = match &proposal.known {
            None if proposal.entry.plan.decides_as(&cold.plan) => Some(score(cold)),
            None => self.plan_as(request, probe, &proposal.entry.plan.gist)?.as_ref().map(score),
            // Where its parts make no plan, nothing is proposed.
            Some(known) => match self.plan_of(request, probe, known)? {
                Some(planned) => Some(score(&planned)),
                None => return Ok(None),
            },
        };
        Ok(Some(proposal.verdict(score(cold), proposed)))
    }

    /// The best plan that is made of what is known, if one is possible.
    fn plan_of(&self, request: &Request<'_>, probe: &Probe, known: &Known) -> Result<Option<Planned>, RuntimeError> {
        match self.planner.plan_of(&inputs(request, probe), known) {
            Ok(planned) => Ok(Some(planned)),
            Err(PlanError::Infeasible(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The decision, held to the shape that is pinned for the scope if there is one and it is possible; and what was told of it.
    fn plan_held(
        &self,
        request: &Request<'_>,
        probe: &Probe,
        scope: &Scope,
        told: String,
    ) -> Result<(Choice, String, Micros), RuntimeError> {
        let start = self.parts.clock.monotonic();
        let pin = self.cache().pinned(scope).cloned();
        let (choice, told) = match pin {
            None => (Choice::of(self.planner.plan(&inputs(request, probe)))?, told),
            Some(pin) => match self.plan_as(request, probe, &pin.gist)? {
                Some(planned) => {
                    let intent = planned.plan.intent.clone();
                    let bound = self.planner.bind(&planned, request.goal, intent, &request.settings.configuration_digest)?;
                    (Choice::Planned(Arc::new(bound)), format!("{told}; held to {} by {}", pin.gist, pin.by))
                }
                None => {
                    let choice = Choice::of(self.planner.plan(&inputs(request, probe)))?;
                    (choice, format!("{told}; {} is held by {}, and no plan of it is possible", pin.gist, pin.by))
                }
            },
        };
        Ok((choice, told, self.parts.clock.monotonic() - start))
    }

    /// The best plan of a shape for this goal, if one is possible.
    pub(crate) fn plan_as(&self, request: &Request<'_>, probe: &Probe, gist: &ContentId) -> Result<Option<Planned>, RuntimeError> {
        let mut goal = request.goal.clone();
        goal.hints.push(Hint::Gist(gist.clone()));
        match self.planner.plan(&Inputs { goal: &goal, ..inputs(request, probe) }) {
            Ok(planned) => Ok(Some(planned)),
            Err(PlanError::Infeasible(_) | PlanError::TooManyShapes { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
