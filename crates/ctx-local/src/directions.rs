//! Similarity of meaning: the static embedding, its tokens weighted by what is rare in the context at hand.

use ctx_embed::{IdfBuilder, IdfTable, StaticModel, cosine_e4};

/// Tokens of a text under the embedded model.
pub(crate) fn tokens(text: &str) -> Vec<u32> {
    StaticModel::embedded().tokenize(text)
}

/// Embeds texts of one context.
pub(crate) struct Directions {
    idf: IdfTable,
}

impl Directions {
    /// Counts each token once per text.
    pub(crate) fn over<'t>(texts: impl Iterator<Item = &'t Vec<u32>>) -> Directions {
        let mut counts = IdfBuilder::new(StaticModel::embedded().vocabulary_len());
        texts.for_each(|text| counts.add_document(text));
        Directions { idf: counts.finish() }
    }

    /// The unit vector of a text; `None` without a known word.
    pub(crate) fn of(&self, tokens: &[u32]) -> Option<Vec<f32>> {
        let model = StaticModel::embedded();
        let mut vector = vec![0.0; model.dimension()];
        model.embed_tokens(tokens, &self.idf, &mut vector).then_some(vector)
    }
}

/// Cosine in 0..=1; 0 where one has no direction.
pub(crate) fn similarity(a: Option<&Vec<f32>>, b: Option<&Vec<f32>>) -> f64 {
    match (a, b) {
        (Some(a), Some(b)) => (f64::from(cosine_e4(a, b)) / 1e4).clamp(0.0, 1.0),
        _ => 0.0,
    }
}
