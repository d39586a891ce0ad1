//! Intervals of latency on recorded requests: 20 splits, pooled.
//!
//! On each split the train side is absorbed and every request of the test side that was served is predicted: with the length
//! of its answer unknown, as when a plan is made, and with it known. Baselines see the same train side: the empirical 5 % and
//! 95 % quantiles and the median, per model as the data names it, and per provider and model.

use super::recorded::{AT, Request, TENANT, is_train, tier};
use super::{quantile, share, within};
use crate::optimizer_figures::Row;
use ctx_cost::calls;
use ctx_cost::statistics::{Field, Statistics};
use ctx_types::{Certainty, Estimated, Ppm};
use serde::Serialize;
use std::collections::BTreeMap;

/// Splits.
pub const SPLITS: u32 = 20;
/// Standard errors of a 99 % band.
const Z99: f64 = 2.576;

/// Predictions of one method.
#[derive(Default)]
struct Method {
    held: usize,
    n: usize,
    /// ln(high / low).
    widths: Vec<f64>,
    /// high − low, seconds.
    seconds: Vec<f64>,
    q_errors: Vec<f64>,
    /// Per provider: held, all, and distinct requests.
    providers: BTreeMap<String, (usize, usize)>,
}

impl Method {
    fn add(&mut self, request: &Request, (low, value, high): (f64, f64, f64)) {
        let actual = request.elapsed.0 as f64;
        let held = usize::from(low <= actual && actual <= high);
        self.held += held;
        self.n += 1;
        self.widths.push((high.max(1.0) / low.max(1.0)).ln());
        self.seconds.push((high - low) / 1e6);
        self.q_errors.push((actual.max(1.0) / value.max(1.0)).max(value.max(1.0) / actual.max(1.0)));
        let provider = self.providers.entry(request.provider.clone()).or_default();
        provider.0 += held;
        provider.1 += 1;
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    fn words(&mut self) -> String {
        let (covered, _) = share(self.held, self.n);
        let (p50, p95) = (quantile(&mut self.q_errors, 0.5), quantile(&mut self.q_errors, 0.95));
        let (ratio, seconds) = (Self::mean(&self.widths).exp(), Self::mean(&self.seconds));
        format!("coverage {:.1} %, ends {ratio:.2} × apart, {seconds:.2} s, q-error {p50:.3} / {p95:.3}", 100.0 * covered)
    }
}

/// Coverage of one provider.
#[derive(Clone, Debug, Serialize)]
pub struct Provider {
    /// Which.
    pub provider: String,
    /// Share that the intervals held, splits pooled.
    pub coverage: f64,
    /// Distinct requests that were served.
    pub n: usize,
    /// The 99 % binomial band around .9 at that n.
    pub band: (f64, f64),
}

/// The rows, and coverage by provider.
pub fn figures(requests: &[Request]) -> (Vec<Row>, Vec<Provider>) {
    let tier = tier();
    let [mut unknown, mut known, mut per_model, mut per_tier] = [(); 4].map(|()| Method::default());
    let mut failures = Failures::default();
    for split in 0..SPLITS {
        let (train, test): (Vec<&Request>, Vec<&Request>) = requests.iter().partition(|r| is_train(split, &r.id));
        let seen: Vec<_> = train.iter().flat_map(|r| r.observations(&tier)).collect();
        let statistics = Statistics::default().absorb(&seen, AT);
        let baseline_model = Empirical::of(&train, |r| r.model.clone());
        let baseline_tier = Empirical::of(&train, Request::operator);
        for request in &test {
            failures.add(&statistics, request);
            if request.failed {
                continue;
            }
            let exact = Estimated::exact(request.output, "known");
            let learned = statistics.corrected(&request.key().of(Field::OutputTokens), tier.output_tokens.clone());
            for (method, output) in [(&mut unknown, &learned), (&mut known, &exact)] {
                let told = calls::latency(&statistics, &request.key(), &tier, (ctx_types::Tokens(0), output));
                method.add(request, (told.low.0 as f64, told.value.0 as f64, told.high.0 as f64));
            }
            per_model.add(request, baseline_model.of_group(&request.model));
            per_tier.add(request, baseline_tier.of_group(&request.operator()));
        }
    }
    let providers = providers(requests, &unknown);
    let (model_words, tier_words) = (per_model.words(), per_tier.words());
    let how = |words: String| format!("{} requests served, {SPLITS} splits by hash, test sides pooled; {words}", served(requests));
    let beside = format!("per model: {model_words}; per provider and model: {tier_words}");
    let mut rows = Vec::new();
    for (name, method, bound) in [("answer's length unknown", &mut unknown, true), ("answer's length known", &mut known, false)] {
        let words = method.words();
        let (covered, _) = share(method.held, method.n);
        let row = within(format!("latency interval, {name}, coverage"), covered, 0.9, 0.02, how(words)).beside(beside.clone());
        // A plan is made before the answer: its interval holds whatever its length, and is no narrower for one that is known.
        rows.push(if bound { row } else { Row { at_most: None, ..row } });
        let width = Method::mean(&method.seconds);
        let note = format!("per provider and model: {:.3} s", Method::mean(&per_tier.seconds));
        rows.push(
            Row::new(format!("latency interval, {name}, mean width"), width, "s", how(note))
                .at_most(Method::mean(&per_model.seconds))
                .beside("per model"),
        );
        for (q, label) in [(0.5, "p50"), (0.95, "p95")] {
            let (own, other) = (quantile(&mut method.q_errors, q), quantile(&mut per_model.q_errors, q));
            let note = format!("median per provider and model: {:.4}", quantile(&mut per_tier.q_errors, q));
            rows.push(Row::new(format!("latency q-error {label}, {name}"), own, "", how(note)).at_most(other).beside("median per model"));
        }
    }
    let outside = providers.iter().filter(|p| p.coverage < p.band.0 || p.coverage > p.band.1).count();
    let list: Vec<String> = providers.iter().map(|p| format!("{} {:.1} % (n={})", p.provider, 100.0 * p.coverage, p.n)).collect();
    rows.push(Row::new("providers outside their 99 % binomial band", outside as f64, "", how(list.join(", "))).at_most(0.0));
    rows.push(failures.row(requests.len()));
    (rows, providers)
}

fn served(requests: &[Request]) -> usize {
    requests.iter().filter(|request| !request.failed).count()
}

fn providers(requests: &[Request], method: &Method) -> Vec<Provider> {
    let of = |(provider, (held, all)): (&String, &(usize, usize))| {
        let n = requests.iter().filter(|r| !r.failed && r.provider == *provider).count();
        let half = Z99 * (0.9 * 0.1 / n.max(1) as f64).sqrt();
        Provider { provider: provider.clone(), coverage: share(*held, *all).0, n, band: (0.9 - half, (0.9 + half).min(1.0)) }
    };
    method.providers.iter().map(of).collect()
}

/// Empirical quantiles by group: 5 %, median, 95 %.
struct Empirical(BTreeMap<String, (f64, f64, f64)>);

impl Empirical {
    fn of(train: &[&Request], group: impl Fn(&Request) -> String) -> Empirical {
        let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for request in train.iter().filter(|request| !request.failed) {
            groups.entry(group(request)).or_default().push(request.elapsed.0 as f64);
        }
        let of = |mut values: Vec<f64>| (quantile(&mut values, 0.05), quantile(&mut values, 0.5), quantile(&mut values, 0.95));
        Empirical(groups.into_iter().map(|(name, values)| (name, of(values))).collect())
    }

    /// A group that was never served in train has no quantiles: a point of a second.
    fn of_group(&self, name: &str) -> (f64, f64, f64) {
        self.0.get(name).copied().unwrap_or((1e6, 1e6, 1e6))
    }
}

/// Predicted against observed failures: squared errors, and those of the overall rate.
#[derive(Default)]
struct Failures {
    n: usize,
    failed: usize,
    predicted: f64,
    brier: f64,
}

impl Failures {
    fn add(&mut self, statistics: &Statistics, request: &Request) {
        let (value, low, high) = calls::FAILURE_PRIOR;
        let prior: Estimated<Ppm> = Estimated::new(value, low, high, Certainty::Prior, "published availabilities");
        let told = statistics.corrected(&request.key().of(Field::Failure), prior).value.share();
        let failed = if request.failed { 1.0 } else { 0.0 };
        self.n += 1;
        self.failed += usize::from(request.failed);
        self.predicted += told;
        self.brier += (told - failed) * (told - failed);
    }

    fn row(&self, requests: usize) -> Row {
        let n = self.n.max(1) as f64;
        let rate = self.failed as f64 / n;
        let how = format!(
            "{requests} requests of tenant {TENANT}, {SPLITS} splits pooled; mean predicted {:.4}, observed {rate:.4}; rate limits and errors",
            self.predicted / n
        );
        Row::new("failure probability, Brier score", self.brier / n, "", how).at_most(rate * (1.0 - rate)).beside("one rate for all")
    }
}
