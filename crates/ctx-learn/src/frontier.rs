//! Many models: the choice per goal at a price for money, the hull of fixed models, and the area between them.

use serde::{Deserialize, Serialize};

/// A point of quality and cost, means per goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Mean cost, dollars.
    pub cost: f64,
    /// Mean quality.
    pub quality: f64,
}

/// Per goal and model: expected or actual quality and cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// Quality.
    pub quality: f64,
    /// Cost, dollars.
    pub cost: f64,
}

/// The model with the largest quality − price · cost; the first on ties.
pub fn choose(offers: &[Offer], price: f64) -> Option<usize> {
    let value = |offer: &Offer| offer.quality - price * offer.cost;
    (0..offers.len()).reduce(|best, at| if value(&offers[at]) > value(&offers[best]) { at } else { best })
}

/// What choosing by `expected` yields in `actual`, at one price.
pub fn achieved(expected: &[Vec<Offer>], actual: &[Vec<Offer>], price: f64) -> Point {
    let n = expected.len().max(1) as f64;
    let got = expected.iter().zip(actual).filter_map(|(expected, actual)| actual.get(choose(expected, price)?));
    got.fold(Point { cost: 0.0, quality: 0.0 }, |sum, offer| Point {
        cost: sum.cost + offer.cost / n,
        quality: sum.quality + offer.quality / n,
    })
}

/// What each model yields on every goal.
pub fn fixed(actual: &[Vec<Offer>]) -> Vec<Point> {
    let models = actual.first().map_or(0, Vec::len);
    let n = actual.len().max(1) as f64;
    let mean = |m: usize| {
        actual.iter().fold(Point { cost: 0.0, quality: 0.0 }, |sum, row| Point {
            cost: sum.cost + row[m].cost / n,
            quality: sum.quality + row[m].quality / n,
        })
    };
    (0..models).map(mean).collect()
}

/// Best quality for money: the upper concave hull from the cheapest point to the best one, by cost ascending. Points between
/// two of its corners are reached by choosing between the two at random.
pub fn hull(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(b.quality.total_cmp(&a.quality)));
    let mut out: Vec<Point> = Vec::new();
    for point in sorted {
        if out.last().is_some_and(|last| point.quality <= last.quality) {
            continue;
        }
        while let [.., a, b] = out.as_slice() {
            if (b.quality - a.quality) * (point.cost - a.cost) > (point.quality - a.quality) * (b.cost - a.cost) {
                break;
            }
            out.pop();
        }
        out.push(point);
    }
    out
}

/// Quality of a hull at a cost; below its cheapest point none.
pub fn quality_at(hull: &[Point], cost: f64) -> Option<f64> {
    let after = hull.iter().position(|point| point.cost >= cost);
    match after {
        _ if hull.first().is_none_or(|first| cost < first.cost) => None,
        None => hull.last().map(|last| last.quality),
        Some(0) => hull.first().map(|first| first.quality),
        Some(at) => {
            let (a, b) = (hull[at - 1], hull[at]);
            Some(a.quality + (b.quality - a.quality) * (cost - a.cost) / (b.cost - a.cost))
        }
    }
}

/// Mean difference of two hulls' quality over ln(cost), where both are defined: money is spent in factors, not in steps.
pub fn area_between(upper: &[Point], lower: &[Point]) -> f64 {
    const GRID: usize = 400;
    let ends = |hull: &[Point]| Some((hull.first()?.cost, hull.last()?.cost));
    let (Some(a), Some(b)) = (ends(upper), ends(lower)) else { return f64::NAN };
    let (from, to) = (libm::log(a.0.max(b.0)), libm::log(a.1.max(b.1)));
    let difference = |step: usize| {
        let cost = libm::exp(from + (to - from) * step as f64 / GRID as f64) * (1.0 + 1e-12);
        Some(quality_at(upper, cost)? - quality_at(lower, cost)?)
    };
    let found: Vec<f64> = (0..=GRID).filter_map(difference).collect();
    found.iter().sum::<f64>() / found.len().max(1) as f64
}

/// Prices to sweep: from "quality alone" to "cost alone", in factors.
pub fn prices() -> Vec<f64> {
    std::iter::once(0.0).chain((0..=160).map(|step| libm::pow(10.0, -1.0 + f64::from(step) * 0.04))).collect()
}

/// The cheapest of points whose quality is at least `quality`.
pub fn cheapest(points: &[Point], quality: f64) -> Option<usize> {
    let fits = (0..points.len()).filter(|at| points[*at].quality >= quality - 1e-12);
    fits.min_by(|a, b| points[*a].cost.total_cmp(&points[*b].cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(cost: f64, quality: f64) -> Point {
        Point { cost, quality }
    }

    #[test]
    fn the_hull_leaves_out_what_mixing_beats() {
        let points = [p(1.0, 0.5), p(2.0, 0.55), p(3.0, 0.9), p(2.5, 0.4), p(4.0, 0.9)];
        assert_eq!(hull(&points), [p(1.0, 0.5), p(3.0, 0.9)]);
        assert_eq!(quality_at(&hull(&points), 2.0), Some(0.7));
        assert_eq!(quality_at(&hull(&points), 0.5), None);
        assert_eq!(quality_at(&hull(&points), 9.0), Some(0.9));
    }

    #[test]
    fn area_of_a_hull_with_itself_is_none() {
        let h = hull(&[p(1.0, 0.5), p(3.0, 0.9)]);
        assert!(area_between(&h, &h).abs() < 1e-12);
        let better = hull(&[p(1.0, 0.6), p(3.0, 1.0)]);
        assert!((area_between(&better, &h) - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_price_moves_the_choice_from_best_to_cheapest() {
        let offers = [Offer { quality: 0.9, cost: 1.0 }, Offer { quality: 0.6, cost: 0.1 }];
        assert_eq!(choose(&offers, 0.0), Some(0));
        assert_eq!(choose(&offers, 1.0), Some(1));
        assert_eq!(choose(&[], 1.0), None);
        let actual = vec![offers.to_vec()];
        assert_eq!(achieved(&actual, &actual, 0.0), p(1.0, 0.9));
        assert_eq!(fixed(&actual), [p(1.0, 0.9), p(0.1, 0.6)]);
        assert_eq!(cheapest(&fixed(&actual), 0.55), Some(1));
    }
}
