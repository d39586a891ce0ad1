//! What is known of a goal before a model is asked, on outcomes of models: `learning DATA OUT [calibration|tiers|many...]`.
//!
//! DATA holds `mmlu_pro_outcomes`, `routellm_outcomes` and `routerbench_subset`; OUT gets one table per group.

use anyhow::bail;
use ctx_benchmarks::figure::Figures;
use ctx_benchmarks::learning::{calibrated, many, outcomes, tiers};
use ctx_benchmarks::machine::Machine;
use serde_json::json;
use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, out, which @ ..] = arguments.as_slice() else { bail!("usage: learning DATA OUT [calibration|tiers|many...]") };
    let (data, out) = (PathBuf::from(data), PathBuf::from(out));
    let wanted = |name: &str| which.is_empty() || which.iter().any(|w| w == name);
    let pro = outcomes::mmlu_pro(&data)?;
    let idf = outcomes::weights(&pro);
    let pairs = outcomes::routellm(&data)?;
    let write =
        |name: &str, figures, details| Figures { name: name.to_owned(), machine: Machine::describe(), figures, details }.write(&out);
    if wanted("tiers") {
        let mmlu = pairs.only(|q| q.group != "gsm8k");
        let items = mmlu.items(&idf);
        let (mut figures, details) = tiers::mmlu(&mmlu, &items)?;
        figures.extend(tiers::controlled(&mmlu, &items)?);
        let gsm8k = pairs.only(|q| q.group == "gsm8k");
        figures.extend(tiers::gsm8k(&gsm8k, &gsm8k.items(&idf))?);
        write("routing_tiers", figures, details)?;
    }
    if wanted("many") {
        let set = outcomes::routerbench(&data)?;
        let (figures, details) = many::figures(&set, &set.items(&idf))?;
        write("routing_many", figures, details)?;
    }
    if wanted("calibration") {
        let (mut figures, routellm) = calibrated::figures("routellm_outcomes", &pairs, &pairs.items(&idf))?;
        let (more, mmlu_pro) = calibrated::figures("mmlu_pro_outcomes", &pro, &pro.items(&idf))?;
        figures.extend(more);
        write("calibration", figures, json!({"routellm_outcomes": routellm, "mmlu_pro_outcomes": mmlu_pro}))?;
    }
    Ok(())
}
