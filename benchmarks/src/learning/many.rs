//! Eleven models on `routerbench_subset`: cost at a point and at two points below the best single model, the area above the hull
//! of fixed models, the distance to an oracle.

use super::outcomes::Outcomes;
use crate::data::is_train;
use crate::figure::Figure;
use ctx_learn::calibration::bootstrap;
use ctx_learn::frontier::{Offer, Point, achieved, area_between, cheapest, fixed, hull, prices};
use ctx_learn::kernel::Item;
use ctx_learn::right::{RightModel, RightOptions, Row, shuffle};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde_json::{Value, json};

const SEED: u64 = 20_261_130;
const DRAWS: usize = 300;
const SPLITS: u64 = 10;

/// Figures of the set.
pub fn figures(set: &Outcomes, items: &[Item]) -> anyhow::Result<(Vec<Figure>, Value)> {
    let (train, test): (Vec<usize>, Vec<usize>) = (0..items.len()).partition(|at| is_train(&set.questions[*at].id));
    let routed = Routed::new(set, items, &train, &test)?;
    let all: Vec<usize> = (0..test.len()).collect();
    let mut out = Vec::new();
    for (points_lost, bar) in [(0.01, 90.0), (0.02, 75.0)] {
        let on_curve = routed.cost_share(&all, points_lost);
        let interval = bootstrap(test.len(), DRAWS, 0.95, SEED, |drawn| routed.cost_share(drawn, points_lost));
        let priced = routed.at_fixed_price(points_lost);
        let mut splits = Vec::new();
        for seed in SEED..SEED + SPLITS {
            let mut order: Vec<usize> = (0..items.len()).collect();
            shuffle(&mut order, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
            let (train, test) = order.split_at(order.len() * 3 / 5);
            let other = Routed::new(set, items, train, test)?;
            splits.push(other.cost_share(&(0..test.len()).collect::<Vec<_>>(), points_lost));
        }
        let how = format!(
            "test {} questions (train {}); on the test curve, 95 % bootstrap {:.1} to {:.1}; {}; price fixed on train: cost {:.1} %, quality {:+.2} points",
            test.len(),
            train.len(),
            interval.0,
            interval.1,
            over_splits(splits),
            priced.0,
            priced.1
        );
        out.push(
            Figure::new(format!("11 models: cost at {points_lost} below the best single model, share of its cost"), on_curve, "%", how)
                .at_most(bar)
                .beside("best single model 100"),
        );
    }
    let area = |drawn: &[usize]| routed.area(drawn);
    let interval = bootstrap(test.len(), DRAWS, 0.95, SEED, area);
    out.push(
        Figure::new(
            "11 models: quality above the hull of fixed models, mean over ln(cost): lower end of its interval",
            interval.0,
            "",
            format!("area {:.4}, 95 % bootstrap {:.4} to {:.4}, {DRAWS} draws", area(&all), interval.0, interval.1),
        )
        .at_least(0.0),
    );
    let (oracle, best) = (routed.oracle(), routed.best(&all));
    let reached = routed.curve(&all).into_iter().map(|p| p.quality).fold(0.0, f64::max);
    out.push(Figure::new(
        "11 models: quality of the oracle less the best that is reached",
        oracle.quality - reached,
        "",
        format!(
            "oracle {:.4} at ${:.6}, reached {reached:.4}, best single model {:.4} at ${:.6}",
            oracle.quality, oracle.cost, best.quality, best.cost
        ),
    ));
    let points = |points: Vec<Point>| points.iter().map(|p| json!([p.cost, p.quality])).collect::<Vec<_>>();
    Ok((out, json!({"routed_hull": points(hull(&routed.curve(&all))), "fixed_hull": points(hull(&fixed(&routed.actual)))})))
}

/// Median and ends over splits; where a curve nowhere comes that close to the best single model its share is infinite.
fn over_splits(mut shares: Vec<f64>) -> String {
    shares.sort_by(f64::total_cmp);
    let reached: Vec<f64> = shares.iter().copied().filter(|share| share.is_finite()).collect();
    let (Some(least), Some(most)) = (reached.first(), reached.last()) else {
        return format!("never reached in {SPLITS} random 60:40 splits");
    };
    let median = (shares[(shares.len() - 1) / 2] + shares[shares.len() / 2]) / 2.0;
    format!(
        "reached in {} of {SPLITS} random 60:40 splits, median of all {median:.1} (of those reached {least:.1} to {most:.1})",
        reached.len()
    )
}

/// What was expected and what came of it, on test; and, for the price, on train by fits that had not seen it.
struct Routed {
    expected: Vec<Vec<Offer>>,
    actual: Vec<Vec<Offer>>,
    train_expected: Vec<Vec<Offer>>,
    train_actual: Vec<Vec<Offer>>,
}

impl Routed {
    fn new(set: &Outcomes, items: &[Item], train: &[usize], test: &[usize]) -> anyhow::Result<Routed> {
        let groups = set.groups();
        let models = set.models.len();
        let rows = set.rows(items, &groups, train);
        // Two groups only (the tasks): their means say little about a question.
        let options = RightOptions { group_share: 0.2, ..RightOptions::default() };
        let right = RightModel::fit(&rows, models, &options)?;
        let scale = set.questions.iter().flat_map(|q| q.costs.iter().copied()).fold(1e-12, f64::max);
        let costs: Vec<Vec<Option<f64>>> =
            train.iter().map(|at| set.questions[*at].costs.iter().map(|c| Some(c / scale)).collect()).collect();
        let cost_rows: Vec<Row<'_>> = rows.iter().zip(&costs).map(|(row, outcomes)| Row { outcomes, group: None, ..*row }).collect();
        let cost = RightModel::fit(&cost_rows, models, &RightOptions { folds: 0, ..options })?;
        let offers = |p: Vec<f64>, at: usize| {
            let dollars = cost.score(&items[at]);
            p.into_iter().zip(dollars).map(|(quality, c)| Offer { quality, cost: (c * scale).max(0.0) }).collect::<Vec<_>>()
        };
        let actual = |at: &usize| {
            let q = &set.questions[*at];
            q.outcomes.iter().zip(&q.costs).map(|(o, cost)| Offer { quality: o.unwrap_or(0.0), cost: *cost }).collect::<Vec<_>>()
        };
        Ok(Routed {
            expected: test.iter().map(|at| offers(right.probability(&items[*at]), *at)).collect(),
            actual: test.iter().map(actual).collect(),
            train_expected: train.iter().zip(right.unseen()).map(|(at, scores)| offers(right.calibrated(scores), *at)).collect(),
            train_actual: train.iter().map(actual).collect(),
        })
    }

    fn drawn(&self, of: &[usize]) -> (Vec<Vec<Offer>>, Vec<Vec<Offer>>) {
        of.iter().map(|at| (self.expected[*at].clone(), self.actual[*at].clone())).unzip()
    }

    fn curve(&self, of: &[usize]) -> Vec<Point> {
        let (expected, actual) = self.drawn(of);
        prices().into_iter().map(|price| achieved(&expected, &actual, price)).collect()
    }

    fn best(&self, of: &[usize]) -> Point {
        best_of(&fixed(&self.drawn(of).1))
    }

    /// Cost of the cheapest point of the curve that loses no more, in percent of the best single model's.
    fn cost_share(&self, of: &[usize], lost: f64) -> f64 {
        let (curve, best) = (self.curve(of), self.best(of));
        cheapest(&curve, best.quality - lost).map_or(f64::INFINITY, |at| 100.0 * curve[at].cost / best.cost)
    }

    /// The price that train says is right, applied to test: cost in percent, quality in points against the best single model.
    fn at_fixed_price(&self, lost: f64) -> (f64, f64) {
        let on_train: Vec<Point> = prices().into_iter().map(|price| achieved(&self.train_expected, &self.train_actual, price)).collect();
        let wanted = best_of(&fixed(&self.train_actual)).quality - lost;
        let price = cheapest(&on_train, wanted).map_or(0.0, |at| prices()[at]);
        let (got, best) = (achieved(&self.expected, &self.actual, price), best_of(&fixed(&self.actual)));
        (100.0 * got.cost / best.cost, 100.0 * (got.quality - best.quality))
    }

    fn area(&self, of: &[usize]) -> f64 {
        area_between(&hull(&self.curve(of)), &hull(&fixed(&self.drawn(of).1)))
    }

    /// The cheapest of the best models of each question.
    fn oracle(&self) -> Point {
        achieved(&self.actual, &self.actual, 1e-3)
    }
}

fn best_of(points: &[Point]) -> Point {
    points.iter().copied().fold(Point { cost: 0.0, quality: -1.0 }, |best, p| if p.quality > best.quality { p } else { best })
}
