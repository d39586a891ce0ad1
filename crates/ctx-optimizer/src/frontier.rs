//! The Pareto set over accuracy, cost and latency: what no other plan beats in all three at once.

use crate::evaluate::Point;

/// Points that none of the others covers, with what they stand for. Of equal points the first offered stays.
#[derive(Clone, Debug)]
pub(crate) struct Frontier<T> {
    points: Vec<(Point, T)>,
}

impl<T> Default for Frontier<T> {
    fn default() -> Self {
        Frontier { points: Vec::new() }
    }
}

fn covers(a: &Point, b: &Point) -> bool {
    a.0 <= b.0 && a.1 <= b.1 && a.2 <= b.2
}

impl<T: Copy> Frontier<T> {
    /// Whether a point of the set is at least as good in everything.
    pub(crate) fn covers(&self, point: Point) -> bool {
        self.points.iter().any(|(p, _)| covers(p, &point))
    }

    /// Adds a point unless it is covered; drops what it covers. The point that covered last is asked first next time:
    /// neighbours in the search are neighbours here.
    pub(crate) fn offer(&mut self, point: Point, what: T) {
        if let Some(at) = self.points.iter().position(|(p, _)| covers(p, &point)) {
            self.points.swap(0, at);
            return;
        }
        self.points.retain(|(p, _)| !covers(&point, p));
        self.points.push((point, what));
    }

    /// What the set stands for.
    pub(crate) fn members(&self) -> Vec<T> {
        self.points.iter().map(|(_, what)| *what).collect()
    }
}
