//! Outcomes of models on questions, read from three sets into one form.

use crate::data::table;
use anyhow::Context;
use ctx_embed::{IdfBuilder, IdfTable, StaticModel};
use ctx_learn::kernel::Item;
use ctx_learn::right::Row;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// A question and what each model made of it.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its id in the set.
    pub id: String,
    /// Its text as the models saw it.
    pub text: String,
    /// Subject, category or task.
    pub group: String,
    /// Per model; `None`: not asked.
    pub outcomes: Vec<Option<f64>>,
    /// Per model, dollars; empty where the set has none.
    pub costs: Vec<f64>,
}

/// A set.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// Names of the models.
    pub models: Vec<String>,
    /// Questions in the set's order.
    pub questions: Vec<Question>,
}

impl Outcomes {
    /// The questions that satisfy a condition.
    pub fn only(&self, wanted: impl Fn(&Question) -> bool) -> Outcomes {
        Outcomes { models: self.models.clone(), questions: self.questions.iter().filter(|q| wanted(q)).cloned().collect() }
    }

    /// Number of each question's group.
    pub fn groups(&self) -> Vec<u32> {
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        self.questions
            .iter()
            .map(|q| {
                let next = numbers.len() as u32;
                *numbers.entry(&q.group).or_insert(next)
            })
            .collect()
    }

    /// Texts with their vectors.
    pub fn items(&self, idf: &IdfTable) -> Vec<Item> {
        let model = StaticModel::embedded();
        let read = |q: &Question| {
            let mut vector = vec![0.0_f32; model.dimension()];
            model.embed(&q.text, idf, &mut vector);
            Item::new(&q.text, vector.into_iter().map(f64::from).collect())
        };
        self.questions.iter().map(read).collect()
    }

    /// Training rows of these questions.
    pub fn rows<'a>(&'a self, items: &'a [Item], groups: &[u32], of: &[usize]) -> Vec<Row<'a>> {
        of.iter().map(|at| Row { item: &items[*at], outcomes: &self.questions[*at].outcomes, group: Some(groups[*at]) }).collect()
    }
}

/// Token weights of the static embedding, counted on texts that no figure is stated on (MMLU-Pro, train side).
pub fn weights(background: &Outcomes) -> IdfTable {
    let model = StaticModel::embedded();
    let mut counts = IdfBuilder::new(model.vocabulary_len());
    for q in background.questions.iter().filter(|q| crate::data::is_train(&q.id)) {
        counts.add_document(&model.tokenize(&q.text));
    }
    counts.finish()
}

/// `mmlu_pro_outcomes`: 29 models; the text is the question with its options.
pub fn mmlu_pro(data: &Path) -> anyhow::Result<Outcomes> {
    let folder = data.join("mmlu_pro_outcomes");
    let rows = table(&folder.join("outcomes.tsv"))?;
    let header = std::fs::read_to_string(folder.join("outcomes.tsv"))?;
    let models: Vec<String> = header.lines().next().unwrap_or_default().split('\t').skip(2).map(str::to_owned).collect();
    let by_id: BTreeMap<&str, &BTreeMap<String, String>> = rows.iter().map(|row| (row["id"].as_str(), row)).collect();
    let question = |value: &Value| {
        let id = value["id"].to_string();
        let row = by_id.get(id.as_str())?;
        let options = value["options"].as_array()?.iter().zip('A'..);
        let options: String = options.map(|(text, letter)| format!("\n{letter}. {}", text.as_str().unwrap_or_default())).collect();
        Some(Question {
            text: format!("{}{options}", value["text"].as_str()?.trim()),
            group: value["category"].as_str()?.to_owned(),
            outcomes: models.iter().map(|model| row[model].parse().ok()).collect(),
            costs: Vec::new(),
            id,
        })
    };
    let questions = compressed(&folder.join("queries.jsonl.zst"))?.iter().filter_map(question).collect();
    Ok(Outcomes { models, questions })
}

/// `routellm_outcomes`: the weak model first, the strong one second.
pub fn routellm(data: &Path) -> anyhow::Result<Outcomes> {
    let folder = data.join("routellm_outcomes");
    let rows = table(&folder.join("outcomes.tsv"))?;
    let by_id: BTreeMap<&str, &BTreeMap<String, String>> = rows.iter().map(|row| (row["id"].as_str(), row)).collect();
    let question = |value: &Value| {
        let id = value["id"].as_str()?.to_owned();
        let row = by_id.get(id.as_str())?;
        let group = if value["task"] == "gsm8k" { "gsm8k" } else { value["subject"].as_str()? };
        Some(Question {
            text: value["text"].as_str()?.to_owned(),
            group: group.to_owned(),
            outcomes: ["weak_correct", "strong_correct"].iter().map(|name| row[*name].parse().ok()).collect(),
            costs: Vec::new(),
            id,
        })
    };
    let questions = compressed(&folder.join("queries.jsonl.zst"))?.iter().filter_map(question).collect();
    Ok(Outcomes { models: vec!["mixtral-8x7b".to_owned(), "gpt-4-1106".to_owned()], questions })
}

/// `routerbench_subset`: 11 models with the cost of each call. The examples before the question are the same for all questions of
/// a task and left out.
pub fn routerbench(data: &Path) -> anyhow::Result<Outcomes> {
    let folder = data.join("routerbench_subset");
    let mut found: BTreeMap<String, BTreeMap<String, (f64, f64)>> = BTreeMap::new();
    for row in table(&folder.join("outcomes.tsv"))? {
        let (score, cost) = (row["score"].parse()?, row["total_cost_usd"].parse()?);
        found.entry(row["id"].clone()).or_default().insert(row["model"].clone(), (score, cost));
    }
    let models: Vec<String> = found.values().next().map(|row| row.keys().cloned().collect()).unwrap_or_default();
    let question = |value: &Value| {
        let id = value["id"].as_str()?.to_owned();
        let row = found.get(&id).filter(|row| row.len() == models.len())?;
        Some(Question {
            text: last_question(value["text"].as_str()?).to_owned(),
            group: value["task"].as_str()?.to_owned(),
            outcomes: models.iter().map(|model| Some(row[model].0)).collect(),
            costs: models.iter().map(|model| row[model].1).collect(),
            id,
        })
    };
    let questions = compressed(&folder.join("queries.jsonl.zst"))?.iter().filter_map(question).collect();
    Ok(Outcomes { models, questions })
}

/// What follows the last worked example ("Answer:", a letter, an empty line).
fn last_question(text: &str) -> &str {
    let examples = text.trim_end().strip_suffix("Answer:").unwrap_or(text);
    let Some(at) = examples.rfind("Answer:") else { return text };
    text[at..].find("\n\n").map_or(text, |gap| text[at + gap..].trim())
}

fn compressed(path: &Path) -> anyhow::Result<Vec<Value>> {
    let doing = || format!("reading {}", path.display());
    let file = std::fs::File::open(path).with_context(doing)?;
    let mut text = String::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(file).map_err(|e| anyhow::anyhow!("{}: {e}", doing()))?;
    decoder.read_to_string(&mut text).with_context(doing)?;
    text.split('\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).with_context(doing)).collect()
}

#[cfg(test)]
mod tests {
    use super::last_question;

    #[test]
    fn worked_examples_are_left_out() {
        assert_eq!(last_question("One?\nA) x\nAnswer:\nA\n\nTwo?\nB) y\nAnswer:"), "Two?\nB) y\nAnswer:");
        assert_eq!(last_question("Only one.\nAnswer:"), "Only one.\nAnswer:");
    }
}
