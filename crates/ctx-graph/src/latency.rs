//! How latencies add up: quantiles along a path, the largest q^(1/m)-quantile at a join of m branches.
//!
//! The rule bounds: along a path the sum of q-quantiles is at least the q-quantile of the sum for independent steps of this
//! kind when q is high, and equals it for fully dependent ones; at a join of m independent branches
//! P(all have ended by t) = Π P(branch ended by t), so t is taken where each branch reaches q^(1/m). Feasibility under a
//! latency limit uses it at q = 0.9; printed intervals come from simulation instead.
//!
//! Assumption: a step's latency is lognormal, fitted to its median and its ninth decile (latencies are positive, skewed,
//! and that is what is measured of them). Plain numbers in and out, so that cost composition can use it too.

use crate::{ExecutionGraph, GraphError, Node, Topology};
use ctx_types::Micros;
use std::collections::BTreeMap;

/// Standard normal quantile of 0.9.
pub const Z90: f64 = 1.281_551_565_544_600_4;
/// Standard normal quantile of 0.95: half width of a 90 % interval.
pub const Z95: f64 = 1.644_853_626_951_472_7;
/// Beyond this product of branch counts a nested join is as good as certain; the rule goes no higher.
const BRANCHES_MAX: u32 = 4096;

/// A step's latency: median and ninth decile.
pub type MedianAndNinth = (Micros, Micros);

/// The `q`-quantile of a lognormal latency with this median and ninth decile. `q` is clamped to 10⁻⁶..1 − 10⁻⁶. A ninth decile
/// below the median counts as equal to it; a zero median under a positive ninth decile counts as one microsecond.
pub fn quantile(step: MedianAndNinth, q: f64) -> Micros {
    Micros(real_quantile(step, normal_quantile(q)).round() as u64)
}

fn real_quantile((median, ninth): MedianAndNinth, z: f64) -> f64 {
    if ninth <= median {
        return median.0 as f64;
    }
    let m = (median.0 as f64).max(1.0);
    let sigma = libm::log((ninth.0 as f64).max(m) / m) / Z90;
    m * libm::exp(sigma * z)
}

/// The `q`-quantile of steps one after the other: their quantiles added.
pub fn path_quantile(steps: &[MedianAndNinth], q: f64) -> Micros {
    let z = normal_quantile(q);
    Micros(steps.iter().map(|s| real_quantile(*s, z)).sum::<f64>().round() as u64)
}

/// The `q`-quantile of the moment when all of m independent branches have ended: the largest q^(1/m)-quantile. Zero without branches.
pub fn join_quantile(branches: &[MedianAndNinth], q: f64) -> Micros {
    let z = normal_quantile(join_level(q, u32::try_from(branches.len()).unwrap_or(BRANCHES_MAX)));
    Micros(branches.iter().map(|b| real_quantile(*b, z)).fold(0.0, f64::max).round() as u64)
}

/// q^(1/m): the level each of m parallel branches must reach for all to have reached it with probability q.
pub fn join_level(q: f64, m: u32) -> f64 {
    libm::pow(q, 1.0 / f64::from(m.max(1)))
}

/// Median and ninth decile that a node's estimate states; zero where it states none.
pub fn of_node(node: &Node) -> MedianAndNinth {
    node.estimate.latency.as_ref().map_or((Micros(0), Micros(0)), |e| (e.value, e.high))
}

/// Median and ninth decile of the time until everything that runs when nothing fails has ended, by the rule above.
pub fn critical_path(graph: &ExecutionGraph) -> Result<MedianAndNinth, GraphError> {
    let topology = Topology::of(graph)?;
    let primary = topology.primary(graph);
    Ok((completion(graph, &topology, &primary, 0.5), completion(graph, &topology, &primary, 0.9)))
}

/// The sinks of the primary path are one more join.
fn completion(graph: &ExecutionGraph, topology: &Topology, primary: &[bool], q: f64) -> Micros {
    let mut walk = Completion { graph, topology, primary, q, known: BTreeMap::new() };
    let sinks: Vec<usize> = (0..primary.len()).filter(|n| primary[*n] && !topology.successors(*n).any(|s| primary[s])).collect();
    Micros(walk.latest(&sinks, 1).round() as u64)
}

struct Completion<'a> {
    graph: &'a ExecutionGraph,
    topology: &'a Topology,
    primary: &'a [bool],
    q: f64,
    known: BTreeMap<(usize, u32), f64>,
}

impl Completion<'_> {
    /// When all of `nodes` have ended, below joins of `branches` branches in all.
    fn latest(&mut self, nodes: &[usize], branches: u32) -> f64 {
        let m = u32::try_from(nodes.len().max(1)).unwrap_or(BRANCHES_MAX);
        let branches = branches.saturating_mul(m).min(BRANCHES_MAX);
        nodes.iter().map(|n| self.end_of(*n, branches)).fold(0.0, f64::max)
    }

    /// Depth is bounded by the number of nodes, work by nodes × distinct products of branch counts.
    fn end_of(&mut self, node: usize, branches: u32) -> f64 {
        if let Some(known) = self.known.get(&(node, branches)) {
            return *known;
        }
        let mut before: Vec<usize> = self.topology.predecessors(node).filter(|p| self.primary[*p]).collect();
        before.sort_unstable();
        before.dedup();
        let own = real_quantile(of_node(&self.graph.nodes[node]), normal_quantile(join_level(self.q, branches)));
        let end = own + self.latest(&before, branches);
        self.known.insert((node, branches), end);
        end
    }
}

/// Inverse of the standard normal distribution function: Acklam's rational approximation, relative error below 1.2 × 10⁻⁹.
/// `p` is clamped to 10⁻⁶..1 − 10⁻⁶; NaN counts as one half.
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] =
        [-54.476_098_798_224_06, 161.585_836_858_040_9, -155.698_979_859_886_6, 66.801_311_887_719_72, -13.280_681_552_885_72];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [0.007_784_695_709_041_462, 0.322_467_129_070_039_8, 2.445_134_137_142_996, 3.754_408_661_907_416];
    const TAIL: f64 = 0.024_25;
    let p = if p.is_nan() { 0.5 } else { p.clamp(1e-6, 1.0 - 1e-6) };
    let polynomial = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, a| sum * x + a);
    let tail = |p: f64| {
        let q = libm::sqrt(-2.0 * libm::log(p));
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    if p < TAIL {
        tail(p)
    } else if p > 1.0 - TAIL {
        -tail(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        q * polynomial(&A, r) / (polynomial(&B, r) * r + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: MedianAndNinth = (Micros(1_000), Micros(4_000));

    #[test]
    fn the_fit_goes_through_its_two_points() {
        assert_eq!(quantile(STEP, 0.5), Micros(1_000));
        assert!(quantile(STEP, 0.9).0.abs_diff(4_000) <= 1);
        assert_eq!(quantile((Micros(7), Micros(3)), 0.99), Micros(7), "a ninth decile below the median");
        assert_eq!(quantile((Micros(0), Micros(0)), 0.99), Micros(0));
    }

    #[test]
    fn known_normal_quantiles() {
        for (p, z) in [(0.5, 0.0), (0.9, Z90), (0.95, Z95), (0.975, 1.959_963_985), (0.001, -3.090_232_306), (0.02, -2.053_748_911)] {
            assert!((normal_quantile(p) - z).abs() < 1e-7, "{p}: {} instead of {z}", normal_quantile(p));
        }
        assert!(normal_quantile(f64::NAN) == 0.0 && normal_quantile(0.0).is_finite() && normal_quantile(2.0).is_finite());
    }

    #[test]
    fn a_join_is_later_than_its_branches_and_exact_for_equal_ones() {
        assert_eq!(join_quantile(&[], 0.9), Micros(0));
        assert_eq!(join_quantile(&[STEP], 0.9), quantile(STEP, 0.9));
        let both = join_quantile(&[STEP, STEP], 0.9);
        assert_eq!(both, quantile(STEP, libm::sqrt(0.9)), "P(max ≤ t) = P(one ≤ t)²");
        assert!(both > quantile(STEP, 0.9));
        assert_eq!(path_quantile(&[STEP, STEP], 0.5), Micros(2_000));
    }
}
