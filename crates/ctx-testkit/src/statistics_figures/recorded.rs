//! Requests that were recorded at model endpoints, and what they show.

use crate::catalogs;
use ctx_cost::calls;
use ctx_cost::statistics::{Field, Observation, OperatorClass, StatKey};
use ctx_types::catalog::Locality;
use ctx_types::id::sha256_hex;
use ctx_types::{Bucket, Certainty, Estimated, Micros, ModelEntry, Tokens};

/// Tenant of everything recorded.
pub(crate) const TENANT: &str = "default";
/// When it was, for the statistics: all at once, nothing decays.
pub(crate) const AT: u64 = 1_702_000_000;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its id.
    pub id: String,
    /// Who served it.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// Tokens of the answer.
    pub output: Tokens,
    /// Time to the first token.
    pub first_token: Micros,
    /// Time of the whole call.
    pub elapsed: Micros,
    /// Whether it was refused or broke: then its times say nothing.
    pub failed: bool,
}

/// Rows of `requests.tsv` (`id provider model input_tokens output_tokens ttft_s inter_token_latency_s end_to_end_latency_s …
/// error_code`); `None` names the line that is not such a row.
pub fn requests(text: &str) -> Result<Vec<Request>, usize> {
    let seconds = |cell: &str| cell.parse::<f64>().ok().map(|s| Micros((s.max(0.0) * 1e6).round() as u64));
    let parse = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, provider, model, _, output, first, _, elapsed, _, rest @ ..] = cells.as_slice() else { return None };
        let failed = rest.first().is_some_and(|code| !code.trim().is_empty());
        Some(Request {
            id: (*id).to_owned(),
            provider: (*provider).to_owned(),
            model: (*model).to_owned(),
            output: Tokens(output.parse().unwrap_or(0)),
            first_token: seconds(first).unwrap_or_default(),
            elapsed: seconds(elapsed).unwrap_or_default(),
            failed,
        })
    };
    text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()).map(|(at, line)| parse(line).ok_or(at + 1)).collect()
}

/// Whether a request is on the train side of a split: the first 60 % by hash.
pub(crate) fn is_train(split: u32, id: &str) -> bool {
    let head = &sha256_hex(format!("{split}/{id}").as_bytes())[..16];
    (u64::from_str_radix(head, 16).unwrap_or(u64::MAX) as f64) < 0.6 * 2f64.powi(64)
}

/// The tier before anything was measured: what a remote endpoint of unknown speed is planned with.
pub(crate) fn tier() -> ModelEntry {
    let prior = |p50: u64, p90: u64| Estimated::new(Micros(p50), Micros(p50 / 10), Micros(p90), Certainty::Prior, "before any call");
    ModelEntry {
        locality: Locality::Remote,
        first_token: prior(700_000, 2_500_000),
        per_token: prior(15_000, 50_000),
        output_tokens: Estimated::new(Tokens(150), Tokens(30), Tokens(600), Certainty::Prior, "short cited answers"),
        ..catalogs::remote_model()
    }
}

impl Request {
    /// Provider and model: what a tier is.
    pub(crate) fn operator(&self) -> String {
        format!("{}-{}", self.provider, self.model)
    }

    pub(crate) fn key(&self) -> StatKey {
        StatKey::new(TENANT, Field::Latency, OperatorClass::Model, &self.operator(), Bucket::Unknown)
    }

    /// What it shows, as a run of the runtime would have it.
    pub(crate) fn observations(&self, tier: &ModelEntry) -> Vec<Observation> {
        let observe = |field: Field, estimate: u64, actual: u64| {
            let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            Observation::new(self.key().of(field), self.id.clone(), AT, whole(estimate), whole(actual))
        };
        let failure = observe(Field::Failure, 0, if self.failed { 1_000_000 } else { 0 });
        if self.failed {
            return vec![failure];
        }
        let per_token = self.elapsed.0.saturating_sub(self.first_token.0) / self.output.get().max(1);
        vec![
            failure,
            observe(Field::Latency, calls::prior_latency(tier).0, self.elapsed.0),
            observe(Field::FirstToken, tier.first_token.value.0, self.first_token.0),
            observe(Field::PerToken, tier.per_token.value.0, per_token),
            observe(Field::OutputTokens, tier.output_tokens.value.get(), self.output.get()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_refusals_told_apart() {
        let text = "id\tprovider\tmodel\tin\tout\tttft\titl\te2e\trate\terror_code\na-0\tp\tm\t550\t151\t0.5\t0.01\t1.5\t34\t\na-1\tp\tm\t550\t0\t0\t0\t0\t0\t429\n";
        let rows = requests(text).expect("two rows");
        assert_eq!((rows.len(), rows[0].failed, rows[1].failed), (2, false, true));
        assert_eq!((rows[0].elapsed, rows[0].first_token, rows[0].output), (Micros(1_500_000), Micros(500_000), Tokens(151)));
        assert_eq!(rows[1].observations(&tier()).len(), 1, "a refusal has no latency");
        assert_eq!(requests("head\nnot a row\n"), Err(2));
    }
}
