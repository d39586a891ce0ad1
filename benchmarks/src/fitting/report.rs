//! All fits of `ctx-local` in order, their thresholds, and what they are worth on *test*.

use super::claims::{self, Claim};
use super::contexts::Observation;
use super::gold::{self, Gold};
use super::local::{self, Answered, Case};
use super::measures::{self, auc, base_rate, below, calibration_error, threshold};
use crate::figure::Figure;
use ctx_contracts::ContextPassage;
use ctx_local::CLAIM;
use ctx_local::logistic::Logistic;
use ctx_local::reading::ANSWER;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Collections whose sentences are labelled.
pub const COLLECTIONS: [&str; 3] = ["scifact", "hotpotqa_200", "runbooks_prometheus"];
/// Seed of intervals.
const SEED: u64 = 20_261_129;
/// Operating points, chosen on train: shares of right answers that each test may withhold.
const EVIDENCE_WITHHOLDS: f64 = 0.01;
const SENTENCE_WITHHOLDS: f64 = 0.0025;
const ANSWER_REJECTS: f64 = 0.05;
const SUPPORT_REJECTS: f64 = 0.15;
/// Bytes of a thousand tokens of English.
const SHORT_BYTES: usize = 4_300;
/// Shapes that a quotation can answer.
const QUOTED: [&str; 5] = ["lookup", "explanation", "list", "yes_no", "action"];
/// Shapes of which counts of quoted sentences say nothing: no quotation adds up or compares.
const NOT_QUOTED: [(&str, u32); 2] = [("aggregate", 50_000), ("comparison", 100_000)];

/// What the fits give.
pub struct Fitted {
    /// `crates/ctx-local/coefficients/local.json`.
    pub local: Value,
    /// `extractive` of `crates/ctx-cost/coefficients/quality.json`.
    pub extractive: Value,
    /// The rows.
    pub figures: Vec<Figure>,
    /// Everything else.
    pub details: Value,
}

/// Thresholds in force.
struct Thresholds {
    evidence: f64,
    sentence: f64,
}

impl Thresholds {
    fn quotes(&self, case: &Case<'_>, answered: &Answered) -> bool {
        let exact = case.seen.passages.iter().any(|p| p.exact);
        (exact || f64::from(case.seen.evidence) / 1e6 >= self.evidence) && answered.best >= self.sentence
    }
}

/// Fits on train, measures on test.
pub fn run(data: &Path, observations: &[Observation]) -> anyhow::Result<Fitted> {
    let golds: BTreeMap<String, BTreeMap<String, Gold>> =
        COLLECTIONS.iter().map(|name| Ok(((*name).to_owned(), gold::read(data, name)?))).collect::<anyhow::Result<_>>()?;
    // Which sentence answers is learnt among all sentences that could be read, everything else on what a plan sends.
    let contexts: Vec<Vec<ContextPassage>> = observations.iter().map(Observation::context).collect::<anyhow::Result<_>>()?;
    let wide = local::cases(observations, &contexts, &golds);
    eprintln!("{} queries, {} sentences", wide.len(), wide.iter().map(|c| c.positive.len()).sum::<usize>());
    let (sentence, sentence_errors) = local::sentences(&wide)?;
    let observations: Vec<Observation> = observations.iter().map(Observation::sent).collect();
    let contexts: Vec<Vec<ContextPassage>> = observations.iter().map(Observation::context).collect::<anyhow::Result<_>>()?;
    let cases = local::cases(&observations, &contexts, &golds);
    let answered: Vec<Answered> = cases.iter().map(|case| case.answered(&sentence)).collect();
    let thresholds = thresholds(&cases, &answered);
    let (answer, answer_errors) = local::answers(&cases, &answered)?;
    let check = Check::choose(&cases, &answered, &answer, &thresholds);
    let claims = claims::observe(&observations, &gold::verdicts(data)?, &documents(data)?)?;
    let (support, support_errors) = claims::fit(&claims)?;
    let support_train = claims::scored(&claims, &support, true, &[]);
    let support_threshold = rounded_ppm(threshold(&support_train, SUPPORT_REJECTS));
    let support_rates = below(&support_train, f64::from(support_threshold) / 1e6);

    let mut figures = ranking_figures(&cases, &sentence);
    figures.extend(answer_figures(&cases, &answered, &answer, &check, &thresholds));
    figures.extend(support_figures(&claims, &support, support_threshold));
    let local = json!({
        "provenance": {
            "fit": "fit_local of the benchmarks",
            "data": "scifact (rationales, verdicts), hotpotqa_200 (supporting sentences, answers), runbooks_prometheus (the page that the alert links to), train queries of the others; contexts: of the documents of the first 50 passages of hybrid_linear within 8,000 tokens those that a plan sends; sentences: all of them",
            "split": "train: SHA-256 of the query id in the first 60 %",
            "n": counts(&cases),
            "loss": "weighted log loss, ridge of least leave-one-collection-out loss; collections weigh the same, questions that nothing answers a quarter of each",
            "priors": "sentence: exact, symbols, table_row (no code, tables or identifiers in the data); citations",
            "operating_points": format!(
                "on train: evidence_min withholds {} of right answers, sentence_min {} more, answers_question rejects {}, support rejects {}",
                percent(EVIDENCE_WITHHOLDS), percent(SENTENCE_WITHHOLDS), percent(ANSWER_REJECTS), percent(SUPPORT_REJECTS)
            ),
            "sentence_errors": sentence_errors,
            "answers_question_errors": answer_errors,
            "support_errors": support_errors,
        },
        "sentence": sentence,
        "evidence_min": rounded_ppm(thresholds.evidence),
        "sentence_min": rounded_ppm(thresholds.sentence),
        "answers_question": check_json(&answer, check.threshold, check.rates),
        "support": check_json(&support, support_threshold, support_rates),
        "citations": { "catches": { "ppm": 100_000, "n": 0 }, "rejects": { "ppm": 10_000, "n": 0 } },
    });
    let whole: Vec<Answered> = wide.iter().map(|case| case.answered(&sentence)).collect();
    let diluted = dilution(&wide, &whole, &sentence)?;
    let (extractive, details) = extractive(&cases, &answered, &thresholds, diluted);
    figures.extend(right_figures(&cases, &answered, &thresholds));
    Ok(Fitted { local, extractive, figures, details })
}

fn percent(share: f64) -> String {
    format!("{} %", share * 100.0)
}

fn rounded_ppm(p: f64) -> u32 {
    ((p * 1e3).floor() * 1e3) as u32
}

fn check_json(model: &Logistic, threshold: u32, (catches, rejects, wrong, right): (f64, f64, usize, usize)) -> Value {
    let ppm = |share: f64| (share * 1e6).round() as u32;
    json!({
        "model": model,
        "threshold": threshold,
        "catches": { "ppm": ppm(catches), "n": wrong },
        "rejects": { "ppm": ppm(rejects), "n": right },
    })
}

fn counts(cases: &[Case<'_>]) -> Value {
    let mut n: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.train()) {
        let kind = if case.gold.is_some() { "" } else { ", nothing answers" };
        *n.entry(format!("{}{kind}", case.seen.collection)).or_default() += 1;
    }
    json!(n)
}

fn documents(data: &Path) -> anyhow::Result<BTreeMap<String, (String, String)>> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let plain = data.join("scifact/corpus.jsonl");
    let rows = gold::rows(&if plain.is_file() { plain } else { data.join("scifact/corpus.jsonl.zst") })?;
    Ok(rows.iter().map(|row| (text(row, "id"), (text(row, "title"), text(row, "text")))).collect())
}

fn thresholds(cases: &[Case<'_>], answered: &[Answered]) -> Thresholds {
    let train = || cases.iter().zip(answered).filter(|(case, _)| case.train());
    let evidence: Vec<(f64, bool)> = train().map(|(case, a)| (f64::from(case.seen.evidence) / 1e6, a.right && case.holds)).collect();
    let evidence = threshold(&evidence, EVIDENCE_WITHHOLDS);
    let kept = train().filter(|(case, _)| f64::from(case.seen.evidence) / 1e6 >= evidence);
    let best: Vec<(f64, bool)> = kept.map(|(_, a)| (a.best, a.right)).collect();
    Thresholds { evidence, sentence: threshold(&best, SENTENCE_WITHHOLDS) }
}

struct Check {
    threshold: u32,
    rates: (f64, f64, usize, usize),
}

impl Check {
    /// On train, among the answers that are not withheld.
    fn choose(cases: &[Case<'_>], answered: &[Answered], model: &Logistic, thresholds: &Thresholds) -> Check {
        let pairs = checked(cases, answered, model, thresholds, |case| case.train());
        let threshold = rounded_ppm(threshold(&pairs, ANSWER_REJECTS));
        Check { threshold, rates: below(&pairs, f64::from(threshold) / 1e6) }
    }
}

/// P(right) by the check and whether it is, of the quoted answers.
fn checked(
    cases: &[Case<'_>],
    answered: &[Answered],
    model: &Logistic,
    thresholds: &Thresholds,
    of: impl Fn(&Case<'_>) -> bool,
) -> Vec<(f64, bool)> {
    let scorer = model.for_features(&ANSWER);
    let quoted = cases.iter().zip(answered).filter(|(case, a)| of(case) && thresholds.quotes(case, a));
    quoted.map(|(_, a)| (scorer.probability(&a.features), a.right)).collect()
}

fn ranking_figures(cases: &[Case<'_>], model: &Logistic) -> Vec<Figure> {
    let mut out = Vec::new();
    for name in COLLECTIONS.iter().map(|n| Some(*n)).chain([None]) {
        let test: Vec<&Case<'_>> = cases.iter().filter(|c| !c.train() && name.is_none_or(|n| c.seen.collection == n)).collect();
        let label = name.unwrap_or("all three");
        let systems = local::ranking(&test, model, SEED);
        let beside = |pick: fn(&(String, measures::Mean, measures::Mean)) -> f64| {
            systems[1..].iter().map(|s| format!("{} {:.3}", s.0, pick(s))).collect::<Vec<_>>().join(", ")
        };
        let how = |m: &measures::Mean| {
            format!("test, contexts that hold a sentence that answers; 95 % [{:.3}, {:.3}], n = {}", m.low, m.high, m.n)
        };
        let (_, area, first) = &systems[0];
        out.push(Figure::new(format!("sentences, AUC within a query, {label}"), area.mean, "", how(area)).beside(beside(|s| s.1.mean)));
        out.push(Figure::new(format!("best sentence answers, {label}"), first.mean, "", how(first)).beside(beside(|s| s.2.mean)));
    }
    out
}

fn answer_figures(cases: &[Case<'_>], answered: &[Answered], model: &Logistic, check: &Check, thresholds: &Thresholds) -> Vec<Figure> {
    let mut out = Vec::new();
    let at = |name: &str| ANSWER.iter().position(|n| *n == name).unwrap_or(0);
    for name in COLLECTIONS.iter().map(|n| Some(*n)).chain([None]) {
        let of = |case: &Case<'_>| !case.train() && name.is_none_or(|n| case.seen.collection == n);
        let pairs = checked(cases, answered, model, thresholds, of);
        let alone = |feature: usize| {
            let quoted = cases.iter().zip(answered).filter(|(case, a)| of(case) && thresholds.quotes(case, a));
            auc(&quoted.map(|(_, a)| (a.features[feature], a.right)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let (caught, rejected, wrong, right) = below(&pairs, f64::from(check.threshold) / 1e6);
        let passing: Vec<f64> =
            pairs.iter().filter(|p| p.0 >= f64::from(check.threshold) / 1e6).map(|p| f64::from(u8::from(p.1))).collect();
        let label = name.unwrap_or("all three");
        let how = format!("test, {} quoted answers, questions that nothing answers among them", pairs.len());
        if let Some(area) = measures::interval(&pairs, SEED, auc) {
            let row = Figure::new(
                format!("answers_question AUC, {label}"),
                area.mean,
                "",
                format!("{how}; 95 % [{:.3}, {:.3}]", area.low, area.high),
            );
            out.push(row.beside(format!("overlap {:.3}, best sentence {:.3}", alone(at("coverage")), alone(at("sentence")))));
        }
        out.push(Figure::new(format!("answers_question calibration error, {label}"), calibration_error(&pairs), "", how.clone()).beside(
            format!("Brier {:.3}, of the base rate {:.3}", measures::brier(&pairs), base_rate(&pairs) * (1.0 - base_rate(&pairs))),
        ));
        let row = Figure::new(
            format!("answers_question catches, {label}"),
            caught,
            "",
            format!("{how}; of {wrong} wrong ones, at P < {:.3}", f64::from(check.threshold) / 1e6),
        );
        out.push(row.beside(format!("rejects {rejected:.3} of {right} right ones; nothing checked: 0 and 0")));
        let precise = measures::mean(&passing, SEED);
        let row = Figure::new(
            format!("quoted answers that pass and are right, {label}"),
            precise.mean,
            "",
            format!("{how}; 95 % [{:.3}, {:.3}], n = {}", precise.low, precise.high, precise.n),
        );
        out.push(row.beside(format!("without the check {:.3}", base_rate(&pairs))));
    }
    out
}

fn support_figures(claims: &[Claim], model: &Logistic, threshold: u32) -> Vec<Figure> {
    let kinds: [(&str, &[&str]); 4] = [
        ("all", &[]),
        ("contradicted", &["SUPPORT", "CONTRADICT"]),
        ("not enough information", &["SUPPORT", "NOT_ENOUGH_INFO"]),
        ("another document cited", &["SUPPORT", claims::MISCITED]),
    ];
    let overlap = Logistic { n: 0, bias: 0.0, weights: BTreeMap::from([(CLAIM[0].to_owned(), 1.0)]) };
    let mut out = Vec::new();
    for (label, wanted) in kinds {
        let pairs = claims::scored(claims, model, false, wanted);
        let (caught, rejected, wrong, right) = below(&pairs, f64::from(threshold) / 1e6);
        let how = format!("test, scifact, {} claims beside what they cite", pairs.len());
        if let Some(area) = measures::interval(&pairs, SEED, auc) {
            let baseline = auc(&claims::scored(claims, &overlap, false, wanted)).unwrap_or(f64::NAN);
            let row = Figure::new(
                format!("support AUC, supported or {label}"),
                area.mean,
                "",
                format!("{how}; 95 % [{:.3}, {:.3}]", area.low, area.high),
            );
            out.push(row.beside(format!("overlap {baseline:.3}")));
        }
        if wanted.is_empty() {
            out.push(Figure::new("support calibration error", calibration_error(&pairs), "", how.clone()).beside(format!(
                "Brier {:.3}, of the base rate {:.3}",
                measures::brier(&pairs),
                base_rate(&pairs) * (1.0 - base_rate(&pairs))
            )));
        }
        let row = Figure::new(
            format!("support catches, supported or {label}"),
            caught,
            "",
            format!("{how}; of {wrong} wrong ones, at P < {:.3}", f64::from(threshold) / 1e6),
        );
        out.push(row.beside(format!("rejects {rejected:.3} of {right} supported ones")));
    }
    out
}

fn right_figures(cases: &[Case<'_>], answered: &[Answered], thresholds: &Thresholds) -> Vec<Figure> {
    let mut out = Vec::new();
    for name in COLLECTIONS {
        let of = |train: bool, holds: bool| {
            let picked =
                cases.iter().zip(answered).filter(move |(c, _)| c.train() == train && c.seen.collection == name && c.holds == holds);
            picked
                .map(|(c, a)| (f64::from(u8::from(a.right && thresholds.quotes(c, a))), f64::from(u8::from(!thresholds.quotes(c, a)))))
                .unzip::<f64, f64, Vec<_>, Vec<_>>()
        };
        let (right, _) = of(false, true);
        let (train, _) = of(true, true);
        let (_, withheld) = of(false, false);
        let right = measures::mean(&right, SEED);
        let row = Figure::new(
            format!("extractive right given evidence, {name}"),
            right.mean,
            "",
            format!("test; 95 % [{:.3}, {:.3}], n = {}", right.low, right.high, right.n),
        );
        out.push(row.beside(format!(
            "train {:.3}; withheld without evidence {:.3} of {}",
            measures::mean(&train, SEED).mean,
            measures::mean(&withheld, SEED).mean,
            withheld.len()
        )));
    }
    out
}

/// The block of `quality.json`, counted on train.
fn extractive(cases: &[Case<'_>], answered: &[Answered], thresholds: &Thresholds, diluted: (f64, usize)) -> (Value, Value) {
    let train: Vec<(&Case<'_>, &Answered)> = cases.iter().zip(answered).filter(|(c, _)| c.train()).collect();
    let (of, with): (Vec<&Case<'_>>, Vec<&Answered>) = train.iter().copied().unzip();
    let (rate, n) = local::right_given_evidence(&of, &with, &|c, a| thresholds.quotes(c, a));
    let ppm = |share: f64| (share * 1e6).round() as u32;
    let mut right: BTreeMap<&str, Value> = QUOTED.iter().map(|shape| (*shape, json!({ "ppm": ppm(rate), "n": n }))).collect();
    for (shape, prior) in NOT_QUOTED {
        right.insert(shape, json!({ "ppm": prior, "n": 0 }));
    }
    let withheld = |holds: bool| {
        let mine: Vec<f64> =
            train.iter().filter(|(c, _)| c.holds == holds).map(|(c, a)| f64::from(u8::from(!thresholds.quotes(c, a)))).collect();
        json!({ "ppm": ppm(measures::mean(&mine, SEED).mean), "n": mine.len() })
    };
    let by_collection: BTreeMap<&str, f64> = COLLECTIONS
        .iter()
        .map(|name| {
            let mine = train.iter().filter(|(c, _)| c.holds && c.seen.collection == *name);
            let rights: Vec<f64> = mine.map(|(c, a)| f64::from(u8::from(a.right && thresholds.quotes(c, a)))).collect();
            (*name, measures::mean(&rights, SEED).mean)
        })
        .collect();
    let block = json!({
        "right": right,
        "right_low": ppm(by_collection.values().copied().fold(1.0, f64::min)),
        "right_high": ppm(by_collection.values().copied().fold(0.0, f64::max)),
        "withheld_with_evidence": withheld(true),
        "withheld_without_evidence": withheld(false),
        "dilution": ppm(diluted.0),
    });
    (block, json!({ "right_by_collection_train": by_collection, "dilution_n": diluted.1 }))
}

/// Loss of right answers per doubling of the context beyond a thousand tokens, and the queries it was counted on: train queries
/// whose best thousand tokens hold the evidence already, answered from those and from all. Never negative.
pub fn dilution(cases: &[Case<'_>], answered: &[Answered], model: &Logistic) -> anyhow::Result<(f64, usize)> {
    let (mut short, mut long, mut doublings, mut n) = (0.0, 0.0, 0.0, 0);
    for (case, whole) in cases.iter().zip(answered).filter(|(case, _)| case.train() && case.holds) {
        let cut = case.seen.cut(SHORT_BYTES);
        let (ours, all): (usize, usize) = (cut.bytes(), case.seen.bytes());
        let Some(gold) = case.gold.filter(|gold| cut.holds(&gold.documents, gold.all) && all > ours) else { continue };
        let context = cut.context()?;
        let part = local::case(&cut, &context, Some(gold), 0).answered(model);
        short += f64::from(u8::from(part.right));
        long += f64::from(u8::from(whole.right));
        doublings += (all as f64 / SHORT_BYTES as f64).log2().max(0.0);
        n += 1;
    }
    let mean = doublings / f64::max(n as f64, 1.0);
    let kept = if short > 0.0 && mean > 0.0 { (long / short).powf(1.0 / mean) } else { 1.0 };
    Ok(((1.0 - kept).clamp(0.0, 0.1), n))
}
