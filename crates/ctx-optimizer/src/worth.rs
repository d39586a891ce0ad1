//! Where a context stops paying. What fits into a budget need not be sent: a further passage adds to P(evidence) what the ones
//! before it have left open, and its length dilutes the answer and costs its tokens.
//!
//! Not a search: [`crate::packing`] decides what fits; of that, [`paying`] keeps what earns its place.

use crate::problem::DILUTION_FREE_TOKENS;
use ctx_types::intent::EvidenceShape;
use ctx_types::{Intent, Ppm};

/// How much evidence a goal needs: probabilities that sum to at most one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// One relevant passage is enough.
    pub one: f64,
    /// Two are needed, each a half.
    pub two: f64,
    /// Every relevant passage counts, as in a list or an overview.
    pub every: f64,
}

impl Need {
    /// Of a goal.
    pub fn of(intent: &Intent) -> Need {
        let of = |shape: EvidenceShape| intent.evidence.of(shape).share();
        let two = of(EvidenceShape::MultiHop) + of(EvidenceShape::ManyPassages);
        let every = of(EvidenceShape::WholeCorpus);
        Need { one: (1.0 - two - every).max(0.0), two, every }
    }
}

/// What length costs, in P(right | evidence).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Share lost per doubling beyond [`DILUTION_FREE_TOKENS`], charged at the rate of that length below it.
    pub dilution: f64,
    /// Share that a token costs by its price.
    pub per_token: f64,
}

impl Length {
    /// What `more` tokens beside `tokens` cost of this P(evidence).
    fn cost(&self, evidence: f64, tokens: f64, more: f64) -> f64 {
        evidence * self.dilution * more / (std::f64::consts::LN_2 * tokens.max(DILUTION_FREE_TOKENS)) + self.per_token * more
    }
}

/// A passage that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// P(relevant).
    pub relevance: Ppm,
    /// Tokens.
    pub tokens: u64,
    /// Sent whatever it adds: it holds what the goal names.
    pub fixed: bool,
}

/// How much of the needed evidence is there, if passages are relevant or not independently of each other.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    need: Need,
    /// P(no relevant passage so far), P(exactly one).
    none: f64,
    one: f64,
    /// Expected relevant passages.
    count: f64,
}

impl Evidence {
    /// Of an empty context.
    pub fn new(need: Need) -> Evidence {
        Evidence { need, none: 1.0, one: 0.0, count: 0.0 }
    }

    /// Of these passages.
    pub fn of(need: Need, passages: impl IntoIterator<Item = Ppm>) -> Evidence {
        passages.into_iter().fold(Evidence::new(need), |so_far, relevance| so_far.with(relevance))
    }

    /// With one more passage.
    #[must_use]
    pub fn with(self, relevance: Ppm) -> Evidence {
        let p = relevance.share();
        Evidence { none: self.none * (1.0 - p), one: self.one * (1.0 - p) + self.none * p, count: self.count + p, ..self }
    }

    /// What one more passage would add.
    pub fn gain(&self, relevance: Ppm) -> f64 {
        relevance.share() * (self.need.one * self.none + self.need.two * (self.none + self.one) / 2.0 + self.need.every)
    }

    /// P(evidence); every relevant passage counts as found so far as their expected number goes, at most one.
    pub fn share(&self) -> f64 {
        let two = ((1.0 - self.none) + (1.0 - self.none - self.one)) / 2.0;
        self.need.one * (1.0 - self.none) + self.need.two * two + self.need.every * self.count.min(1.0)
    }
}

/// Indices of the passages that pay, ascending. The likeliest are looked at first; the very first is always sent.
pub fn paying(passages: &[Passage], need: Need, length: Length) -> Vec<usize> {
    let mut order: Vec<usize> = (0..passages.len()).collect();
    order.sort_by_key(|&at| (!passages[at].fixed, std::cmp::Reverse(passages[at].relevance), at));
    let mut evidence = Evidence::new(need);
    let (mut tokens, mut chosen) = (0u64, Vec::new());
    for at in order {
        let Passage { relevance, tokens: more, fixed } = passages[at];
        let cost = length.cost(evidence.share(), tokens as f64, more as f64);
        if chosen.is_empty() || fixed || evidence.gain(relevance) >= cost {
            evidence = evidence.with(relevance);
            tokens = tokens.saturating_add(more);
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Ranks at which [`expected`] asks; between them P(evidence) is taken to rise evenly.
const RANKS: [u32; 13] = [1, 2, 3, 4, 5, 6, 8, 11, 15, 20, 28, 38, RANK_MAX];
/// The rank up to which planning asks: no list is read deeper.
pub const RANK_MAX: u32 = 50;

/// How many passages of a list are sent on average, before any is read: one more is sent as long as what is needed is not
/// among those before it. `within` is P(evidence) of the first so many. An average: a clear list sends one, a doubtful one most.
pub fn expected(within: &dyn Fn(u32) -> Ppm, need: Need) -> f64 {
    // Both halves of two are found less often than one of them.
    let open = |found: f64| need.one * (1.0 - found) + need.two * (1.0 - found * found) + need.every;
    let (mut sent, mut rank, mut before) = (1.0, 1, within(1).share());
    for next in RANKS.into_iter().skip(1) {
        let found = within(next).share().max(before);
        sent += f64::from(next - rank) * (open(before) + open(found)) / 2.0;
        (rank, before) = (next, found);
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: Need = Need { one: 1.0, two: 0.0, every: 0.0 };
    const TWO: Need = Need { one: 0.0, two: 1.0, every: 0.0 };
    const EVERY: Need = Need { one: 0.0, two: 0.0, every: 1.0 };
    const LENGTH: Length = Length { dilution: 0.02, per_token: 0.0 };

    fn passages(relevances: &[f64]) -> Vec<Passage> {
        relevances.iter().map(|p| Passage { relevance: Ppm::from_share(*p), tokens: 200, fixed: false }).collect()
    }

    #[test]
    fn a_sure_answer_is_sent_alone_and_doubt_sends_more() {
        assert_eq!(paying(&passages(&[0.98, 0.1, 0.1, 0.1]), ONE, LENGTH), [0]);
        assert_eq!(paying(&passages(&[0.3, 0.2, 0.1, 0.1]), ONE, LENGTH), [0, 1, 2, 3]);
        assert_eq!(paying(&passages(&[0.0, 0.0]), ONE, LENGTH), [0, 1], "nothing is known: nothing is lost by length");
        assert!(paying(&[], ONE, LENGTH).is_empty());
    }

    #[test]
    fn who_needs_two_passages_gets_the_second() {
        assert_eq!(paying(&passages(&[0.99, 0.3, 0.001]), TWO, LENGTH), [0, 1]);
        assert_eq!(paying(&passages(&[0.99, 0.3, 0.1]), EVERY, LENGTH), [0, 1, 2]);
    }

    #[test]
    fn what_is_expected_to_be_sent_follows_how_soon_evidence_is_found() {
        let flat = |rank: u32| Ppm::from_share(1.0 - libm::pow(0.9, f64::from(rank)));
        let steep = |rank: u32| Ppm::from_share(0.99 + 0.0001 * f64::from(rank));
        let (few, many) = (expected(&steep, ONE), expected(&flat, ONE));
        assert!((1.0..1.6).contains(&few) && (9.0..11.0).contains(&many), "{few} and {many}");
        assert!(expected(&flat, TWO) > many, "two are found later than one");
        let all = f64::from(RANK_MAX);
        assert!((expected(&|_| Ppm(0), ONE) - all).abs() < 1e-9 && (expected(&steep, EVERY) - all).abs() < 1e-9);
    }

    #[test]
    fn a_dear_token_and_a_long_passage_must_earn_more() {
        let dear = Length { per_token: 0.0005, ..LENGTH };
        assert_eq!(paying(&passages(&[0.6, 0.2, 0.2]), ONE, dear), [0]);
        let mut long = passages(&[0.6, 0.2, 0.2]);
        long[1].tokens = 5_000;
        assert_eq!(paying(&long, ONE, LENGTH), [0, 2]);
    }

    #[test]
    fn what_the_goal_names_is_sent_whatever_it_adds() {
        let mut named = passages(&[0.99, 0.01]);
        named[1].fixed = true;
        assert_eq!(paying(&named, ONE, LENGTH), [0, 1]);
    }

    proptest! {
        #[test]
        fn dearer_tokens_never_send_more_evidence(relevances in prop::collection::vec(0.0f64..1.0, 1..20), dilution in 0.0f64..0.2) {
            let all = passages(&relevances);
            let cheap = paying(&all, ONE, Length { dilution, per_token: 0.0 });
            let dear = paying(&all, ONE, Length { dilution, per_token: 1e-4 });
            prop_assert!(dear.len() <= cheap.len());
            let share = |chosen: &[usize]| Evidence::of(ONE, chosen.iter().map(|&at| all[at].relevance)).share();
            prop_assert!(share(&dear) <= share(&cheap) + 1e-12);
            prop_assert!((0.0..=1.0 + 1e-12).contains(&share(&cheap)));
        }

        #[test]
        fn a_gain_is_what_the_share_grows_by(relevances in prop::collection::vec(0.0f64..1.0, 1..9), next in 0.0f64..1.0, two in 0.0f64..1.0) {
            let need = Need { one: 1.0 - two, two, every: 0.0 };
            let so_far = Evidence::of(need, relevances.iter().map(|p| Ppm::from_share(*p)));
            let next = Ppm::from_share(next);
            prop_assert!((so_far.with(next).share() - so_far.share() - so_far.gain(next)).abs() < 1e-9);
        }
    }
}
