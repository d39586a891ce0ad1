//! How alike two goals are: cosines of tf-idf weighted n-grams, nearness of meaning where vectors are given, and nearness of form.
//!
//! The space (document frequencies, centre of the vectors, scales of the cues) is fitted on the training texts alone.

use crate::linear::dot;
use crate::text::{CUES, Sparse, TextFeatures};
use serde::{Deserialize, Serialize};

/// A text to compare, with a vector of its meaning (any static or contextual embedding) or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What was read from it.
    pub features: TextFeatures,
    /// Its vector; empty for all items of a fit, or for none.
    pub meaning: Vec<f64>,
}

impl Item {
    /// Reads a text.
    pub fn new(text: &str, meaning: Vec<f64>) -> Item {
        Item { features: TextFeatures::of(text), meaning }
    }
}

/// Weights of the parts. The defaults were set on other splits of `routellm_outcomes` than those that figures are stated on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelWeights {
    /// Of words and word pairs.
    pub words: f64,
    /// Of character n-grams.
    pub chars: f64,
    /// Of meaning.
    pub meaning: f64,
    /// Of form.
    pub form: f64,
    /// 1 − cosine at which nearness of meaning falls to 1/e.
    pub meaning_width: f64,
}

impl Default for KernelWeights {
    fn default() -> KernelWeights {
        KernelWeights { words: 1.0, chars: 1.0, meaning: 2.0, form: 1.0, meaning_width: 0.3 }
    }
}

/// Postings of one kind of term, flat: for each term, ascending, its weight and the training items that hold it.
#[derive(Clone, Debug, Default)]
struct Postings {
    terms: Vec<u32>,
    idf: Vec<f64>,
    /// Where a term's holders begin; one more than there are terms.
    starts: Vec<usize>,
    holders: Vec<(u32, f64)>,
    /// Where the terms with these upper bits begin: terms are hashes, so that few share them.
    index: Vec<u32>,
    unseen: f64,
}

/// Upper bits of a term that the index knows.
const INDEX_BITS: u32 = 16;

impl Postings {
    fn fit<'a>(vectors: impl Iterator<Item = &'a Sparse> + Clone) -> Postings {
        let n = vectors.clone().count() as f64;
        let mut all: Vec<(u32, u32, f64)> = Vec::new();
        for (at, vector) in vectors.clone().enumerate() {
            all.extend(vector.iter().map(|(term, weight)| (*term, at as u32, *weight)));
        }
        all.sort_unstable_by_key(|(term, at, _)| (*term, *at));
        let mut postings = Postings { unseen: libm::log(n + 1.0), ..Postings::default() };
        for run in all.chunk_by(|a, b| a.0 == b.0) {
            postings.terms.push(run[0].0);
            postings.idf.push(libm::log((n + 1.0) / (run.len() as f64 + 1.0)));
            postings.starts.push(postings.holders.len());
            postings.holders.extend(run.iter().map(|(_, at, weight)| (*at, *weight)));
        }
        postings.starts.push(postings.holders.len());
        let upper = |bits: u32| postings.terms.partition_point(|term| (term >> (32 - INDEX_BITS)) < bits) as u32;
        postings.index = (0..=1 << INDEX_BITS).map(upper).collect();
        let norms: Vec<f64> = vectors.map(|vector| postings.norm(vector)).collect();
        for term in 0..postings.terms.len() {
            let (range, idf) = (postings.starts[term]..postings.starts[term + 1], postings.idf[term]);
            postings.holders[range].iter_mut().for_each(|(at, weight)| *weight *= idf / norms[*at as usize]);
        }
        postings
    }

    fn find(&self, term: u32) -> Option<usize> {
        let bits = (term >> (32 - INDEX_BITS)) as usize;
        let range = *self.index.get(bits)? as usize..*self.index.get(bits + 1)? as usize;
        let start = range.start;
        self.terms[range].iter().position(|other| *other == term).map(|at| start + at)
    }

    fn norm(&self, vector: &Sparse) -> f64 {
        let idf = |term: u32| self.find(term).map_or(self.unseen, |at| self.idf[at]);
        let square: f64 = vector.iter().map(|(term, weight)| weight * idf(*term)).map(|x| x * x).sum();
        square.sqrt().max(1e-9)
    }

    /// Adds `weight` × cosine with every training item.
    fn add(&self, vector: &Sparse, weight: f64, out: &mut [f64]) {
        if weight == 0.0 {
            return;
        }
        let scale = weight / self.norm(vector);
        for (term, count) in vector {
            let Some(at) = self.find(*term) else { continue };
            let own = count * self.idf[at] * scale;
            self.holders[self.starts[at]..self.starts[at + 1]].iter().for_each(|(at, other)| out[*at as usize] += own * other);
        }
    }
}

/// A fitted space with its training items.
#[derive(Clone, Debug)]
pub struct KernelSpace {
    weights: KernelWeights,
    words: Postings,
    chars: Postings,
    centre: Vec<f64>,
    meanings: Vec<Vec<f64>>,
    scales: [(f64, f64); CUES],
    forms: Vec<[f64; CUES]>,
}

impl KernelSpace {
    /// Fits the space on training items.
    pub fn fit(items: &[&Item], weights: KernelWeights) -> KernelSpace {
        let n = items.len().max(1) as f64;
        let mut centre = vec![0.0; items.first().map_or(0, |item| item.meaning.len())];
        for item in items {
            centre.iter_mut().zip(&item.meaning).for_each(|(sum, x)| *sum += x / n);
        }
        let scales = std::array::from_fn(|cue| {
            let mean = items.iter().map(|item| item.features.cues[cue]).sum::<f64>() / n;
            let variance = items.iter().map(|item| (item.features.cues[cue] - mean) * (item.features.cues[cue] - mean)).sum::<f64>() / n;
            (mean, if variance > 1e-12 { 1.0 / variance.sqrt() } else { 0.0 })
        });
        let mut space = KernelSpace {
            weights,
            words: Postings::fit(items.iter().map(|item| &item.features.words)),
            chars: Postings::fit(items.iter().map(|item| &item.features.chars)),
            centre,
            meanings: Vec::new(),
            scales,
            forms: Vec::new(),
        };
        space.meanings = items.iter().map(|item| space.centred(item)).collect();
        space.forms = items.iter().map(|item| space.form(item)).collect();
        space
    }

    /// Training items.
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether it was fitted on nothing.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Likeness of an item to every training item.
    pub fn row(&self, item: &Item) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        self.words.add(&item.features.words, self.weights.words, &mut out);
        self.chars.add(&item.features.chars, self.weights.chars, &mut out);
        let form = self.form(item);
        for (value, other) in out.iter_mut().zip(&self.forms) {
            let distance: f64 = form.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum();
            *value += self.weights.form * libm::exp(-distance / (2.0 * CUES as f64));
        }
        if !self.centre.is_empty() {
            let meaning = self.centred(item);
            for (value, other) in out.iter_mut().zip(&self.meanings) {
                *value += self.weights.meaning * libm::exp((dot(&meaning, other) - 1.0) / self.weights.meaning_width);
            }
        }
        out
    }

    fn centred(&self, item: &Item) -> Vec<f64> {
        let mut out: Vec<f64> = self.centre.iter().enumerate().map(|(at, c)| item.meaning.get(at).copied().unwrap_or(0.0) - c).collect();
        let length = dot(&out, &out).sqrt().max(1e-9);
        out.iter_mut().for_each(|x| *x /= length);
        out
    }

    fn form(&self, item: &Item) -> [f64; CUES] {
        std::array::from_fn(|cue| (item.features.cues[cue] - self.scales[cue].0) * self.scales[cue].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items() -> Vec<Item> {
        ["What is the capital of France?", "What is the capital of Spain?", "Integrate x^2 + 3x from 0 to 4.", "Prove that 7 is prime."]
            .iter()
            .enumerate()
            .map(|(at, text)| Item::new(text, vec![f64::from(at < 2), f64::from(at >= 2), 0.1 * at as f64]))
            .collect()
    }

    #[test]
    fn a_text_is_most_like_itself_and_then_like_its_kin() {
        let items = items();
        let space = KernelSpace::fit(&items.iter().collect::<Vec<_>>(), KernelWeights::default());
        let row = space.row(&items[0]);
        let whole = 1.0 + 1.0 + 2.0 + 1.0;
        assert!((row[0] - whole).abs() < 1e-9, "{row:?}");
        assert!(row[1] > row[2] && row[1] > row[3], "{row:?}");
    }

    #[test]
    fn likeness_is_symmetric() {
        let items = items();
        let space = KernelSpace::fit(&items.iter().collect::<Vec<_>>(), KernelWeights::default());
        let rows: Vec<Vec<f64>> = items.iter().map(|item| space.row(item)).collect();
        for (i, row) in rows.iter().enumerate() {
            assert!(row.iter().enumerate().all(|(j, value)| (value - rows[j][i]).abs() < 1e-9), "{row:?}");
        }
    }
}
