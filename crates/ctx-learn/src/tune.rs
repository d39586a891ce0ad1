//! Offline tuning: which of many settings earns most on rows that are given, found by random search with successive halving
//! (Jamieson and Talwalkar 2016) and then made as simple as it may be without earning less.
//!
//! A state machine, so that who asks may take its time: [`Tuner::wanted`] says which points are to be tried on which rows,
//! [`Tuner::tell`] takes their rewards. The default is among the points to the end. Seeded: the same rewards give the same
//! choice. It knows no data beyond the rows whose rewards it is told, so what is held out cannot take part in the choice.
//!
//! ```
//! use ctx_learn::tune::{Space, Tuner};
//!
//! // Two settings of three values each; the second earns, at its third value.
//! let mut tuner = Tuner::new(Space::new(vec![3, 3]), 20, 30, 7);
//! while let Some(wanted) = tuner.wanted() {
//!     let earned = |point: &Vec<usize>| wanted.rows.iter().map(|_| if point[1] == 2 { 1.0 } else { 0.0 }).collect();
//!     let rewards = wanted.points.iter().map(earned).collect();
//!     tuner.tell(rewards);
//! }
//! assert_eq!(tuner.best(), [0, 2]);
//! ```

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;

/// One choice of every setting: an index per setting, 0 the default.
pub type Point = Vec<usize>;

/// Share of the points that a rung keeps, and by which the next one asks more rows: a third.
const KEEP_OF: usize = 3;
/// Fewest rows of the first rung: fewer say little of a mean.
const ROWS_MIN: usize = 8;
/// Draws per trial before a small space counts as exhausted.
const DRAWS_PER_TRIAL: usize = 20;
/// Sums of rewards that differ by no more are equal: they were added in another order.
const SAME: f64 = 1e-9;
/// Settings that every second draw changes at most: most settings are well where they are.
const CHANGES_MAX: usize = 2;

/// Settings by how many values each may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    values: Vec<usize>,
}

impl Space {
    /// Of settings with so many values each, the default among them.
    pub fn new(values: Vec<usize>) -> Space {
        Space { values: values.into_iter().map(|count| count.max(1)).collect() }
    }

    /// The default of every setting.
    pub fn default_point(&self) -> Point {
        vec![0; self.values.len()]
    }

    fn near(&self, random: &mut Xoshiro256PlusPlus) -> Point {
        let mut point = self.default_point();
        for _ in 0..random.random_range(1..=CHANGES_MAX) {
            let at = random.random_range(0..self.values.len());
            point[at] = random.random_range(0..self.values[at]);
        }
        point
    }

    fn anywhere(&self, random: &mut Xoshiro256PlusPlus) -> Point {
        self.values.iter().map(|count| random.random_range(0..*count)).collect()
    }

    /// Distinct points, the default first: half of them close to it.
    fn draw(&self, trials: usize, random: &mut Xoshiro256PlusPlus) -> Vec<Point> {
        let mut points = vec![self.default_point()];
        let mut seen: BTreeSet<Point> = points.iter().cloned().collect();
        if self.values.is_empty() {
            return points;
        }
        for draw in 0..trials.saturating_mul(DRAWS_PER_TRIAL) {
            if points.len() > trials {
                break;
            }
            let point = if draw % 2 == 0 { self.near(random) } else { self.anywhere(random) };
            if seen.insert(point.clone()) {
                points.push(point);
            }
        }
        points
    }
}

/// What is to be tried next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// These points.
    pub points: Vec<Point>,
    /// Each on these rows.
    pub rows: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Successive halving: so many rows are known of every point that is left.
    Halving {
        known: usize,
        next: usize,
    },
    /// The best point with one setting after the other put back to its default.
    Simplifying {
        at: usize,
    },
    Done,
}

/// The search.
#[derive(Clone, Debug)]
pub struct Tuner {
    /// Rows in the order in which they are asked.
    order: Vec<usize>,
    /// Points that are left with the sum of their rewards; the default first.
    left: Vec<(Point, f64)>,
    best: (Point, f64),
    trials: usize,
    stage: Stage,
}

impl Tuner {
    /// A search among `trials` points beside the default, over rows `0..rows`.
    pub fn new(space: Space, trials: usize, rows: usize, seed: u64) -> Tuner {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..rows).collect();
        for at in (1..rows).rev() {
            order.swap(at, random.random_range(0..=at));
        }
        let points = space.draw(trials, &mut random);
        let rungs = rungs(points.len());
        let first = rows.div_ceil(KEEP_OF.saturating_pow(rungs)).max(ROWS_MIN).min(rows);
        let stage = if rows == 0 || points.len() < 2 { Stage::Done } else { Stage::Halving { known: 0, next: first } };
        let best = (space.default_point(), 0.0);
        Tuner { order, trials: points.len() - 1, left: points.into_iter().map(|point| (point, 0.0)).collect(), best, stage }
    }

    /// What is to be tried next; `None`: the choice is made.
    pub fn wanted(&self) -> Option<Wanted> {
        match &self.stage {
            Stage::Halving { known, next } => Some(Wanted {
                points: self.left.iter().map(|(point, _)| point.clone()).collect(),
                rows: self.order[*known..*next].to_vec(),
            }),
            Stage::Simplifying { at } => Some(Wanted { points: vec![reverted(&self.best.0, *at)], rows: self.order.clone() }),
            Stage::Done => None,
        }
    }

    /// The rewards of what was wanted: per point, per row. What is no number counts as nothing earned.
    pub fn tell(&mut self, rewards: Vec<Vec<f64>>) {
        let sums: Vec<f64> = rewards.iter().map(|row| row.iter().filter(|reward| reward.is_finite()).sum()).collect();
        match self.stage {
            Stage::Halving { next, .. } => {
                for ((_, sum), more) in self.left.iter_mut().zip(sums) {
                    *sum += more;
                }
                self.halve(next);
            }
            Stage::Simplifying { at } => {
                if let Some(sum) = sums.first().filter(|sum| **sum >= self.best.1 - SAME) {
                    self.best = (reverted(&self.best.0, at), *sum);
                }
                self.simplify_from(at + 1);
            }
            Stage::Done => {}
        }
    }

    /// The point that earns most; the default where none earns more.
    pub fn best(&self) -> &[usize] {
        &self.best.0
    }

    /// Points that were drawn beside the default: fewer than asked for where the space holds no more.
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// The order is by what was earned, the default before all.
    fn halve(&mut self, known: usize) {
        let default = self.left[0].clone();
        let mut others = self.left.split_off(1);
        others.sort_by(|a, b| b.1.total_cmp(&a.1));
        if known < self.order.len() {
            others.truncate(others.len().div_ceil(KEEP_OF));
            self.left.extend(others);
            let next = known.saturating_mul(KEEP_OF).min(self.order.len());
            // One that is left needs no further rung.
            let next = if self.left.len() == 2 { self.order.len() } else { next };
            self.stage = Stage::Halving { known, next };
            return;
        }
        self.best = others.into_iter().next().filter(|(_, sum)| *sum > default.1 + SAME).unwrap_or(default);
        self.simplify_from(0);
    }

    fn simplify_from(&mut self, from: usize) {
        let changed = self.best.0.iter().enumerate().skip(from).find(|(_, value)| **value != 0);
        self.stage = changed.map_or(Stage::Done, |(at, _)| Stage::Simplifying { at });
    }
}

/// Rungs after the first until one point is left.
fn rungs(points: usize) -> u32 {
    std::iter::successors(Some(points.saturating_sub(1)), |left| (*left > 1).then(|| left.div_ceil(KEEP_OF))).skip(1).count() as u32
}

fn reverted(point: &Point, at: usize) -> Point {
    let mut simpler = point.clone();
    simpler[at] = 0;
    simpler
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rewards of a space where setting 1 earns at value 2, setting 3 costs away from its default, the rest is idle.
    fn earned(point: &[usize], row: usize) -> f64 {
        let noise = ((row * 7919) % 13) as f64 / 13.0;
        (if point[1] == 2 { 0.4 } else { 0.0 }) - (if point[3] != 0 { 0.3 } else { 0.0 }) + noise
    }

    fn search(seed: u64, trials: usize, rows: usize) -> (Tuner, usize, Vec<Wanted>) {
        let mut tuner = Tuner::new(Space::new(vec![4, 3, 5, 2]), trials, rows, seed);
        let (mut asked, mut log) = (0, Vec::new());
        while let Some(wanted) = tuner.wanted() {
            asked += wanted.points.len() * wanted.rows.len();
            tuner.tell(wanted.points.iter().map(|point| wanted.rows.iter().map(|row| earned(point, *row)).collect()).collect());
            log.push(wanted);
        }
        (tuner, asked, log)
    }

    #[test]
    fn what_earns_is_found_and_what_is_idle_stays_at_its_default() {
        for seed in 1..6 {
            let (tuner, asked, _) = search(seed, 30, 90);
            assert_eq!(tuner.best(), [0, 2, 0, 0], "seed {seed}");
            assert!(asked < 31 * 90, "halving asks less than everything: {asked}");
        }
    }

    #[test]
    fn the_same_seed_asks_the_same() {
        let (a, b) = (search(3, 20, 60), search(3, 20, 60));
        assert_eq!((a.0.best(), a.2), (b.0.best(), b.2));
    }

    #[test]
    fn where_nothing_earns_more_the_default_stays() {
        let mut tuner = Tuner::new(Space::new(vec![3, 3]), 10, 20, 1);
        while let Some(wanted) = tuner.wanted() {
            tuner.tell(wanted.points.iter().map(|point| vec![-(point.iter().sum::<usize>() as f64); wanted.rows.len()]).collect());
        }
        assert_eq!(tuner.best(), [0, 0]);
    }

    #[test]
    fn small_and_empty_spaces_end() {
        assert_eq!(Tuner::new(Space::new(Vec::new()), 10, 20, 1).wanted(), None);
        assert_eq!(Tuner::new(Space::new(vec![3]), 10, 0, 1).wanted(), None);
        let tuner = Tuner::new(Space::new(vec![2, 2]), 50, 5, 1);
        assert_eq!(tuner.trials(), 3, "no more points than there are");
    }

    #[test]
    fn rows_are_asked_once_per_point_while_halving() {
        let (_, _, log) = search(2, 27, 81);
        let of_default: Vec<usize> = log.iter().filter(|w| w.points[0] == [0, 0, 0, 0]).flat_map(|w| w.rows.clone()).collect();
        let distinct: BTreeSet<usize> = of_default.iter().copied().collect();
        assert_eq!((of_default.len(), distinct.len()), (81, 81));
    }
}
