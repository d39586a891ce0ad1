//! Scores as functions of one change, and where one overtakes another.

/// Score of one plan when a number is multiplied by 1 + x:
/// `base + slope·x − weight·t/(t + scale)` with `t = start + step·x`, for `low ≤ x ≤ high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    pub base: f64,
    pub slope: f64,
    pub weight: f64,
    pub start: f64,
    pub step: f64,
    pub scale: f64,
    pub low: f64,
    pub high: f64,
    pub alive: bool,
}

/// Largest factor looked at is ten, smallest zero.
pub(super) const HIGHEST: f64 = 9.0;
pub(super) const LOWEST: f64 = -1.0;
/// A challenger is better by this, in units of score.
const BETTER: f64 = 1.0;
/// Times that a plan of the winner's own shape may take over before the search along a change gives up.
const TAKEOVERS_MAX: usize = 16;

impl Curve {
    pub(super) fn constant(score: f64) -> Curve {
        Curve { base: score, slope: 0.0, weight: 0.0, start: 0.0, step: 0.0, scale: 1.0, low: LOWEST, high: HIGHEST, alive: true }
    }

    /// Dead where a limit is broken that no change of this kind can mend.
    pub(super) fn unless(self, broken: bool) -> Curve {
        Curve { alive: self.alive && !broken, ..self }
    }

    /// Only where `total + part·x ≤ most`.
    pub(super) fn within(self, total: f64, part: f64, most: f64) -> Curve {
        let room = most - total;
        if part.abs() < 1e-12 {
            return self.unless(room < 0.0);
        }
        let at = room / part;
        if part > 0.0 { Curve { high: self.high.min(at), ..self } } else { Curve { low: self.low.max(at), ..self } }
    }

    fn saturated(&self, x: f64) -> f64 {
        let t = self.start + self.step * x;
        if t <= 0.0 { 0.0 } else { t / (t + self.scale) }
    }

    fn at(&self, x: f64) -> f64 {
        self.base + self.slope * x - self.weight * self.saturated(x)
    }

    fn holds(&self, x: f64) -> bool {
        self.alive && self.low <= x && x <= self.high
    }

    fn same_as(&self, other: &Curve) -> bool {
        self.slope == other.slope
            && self.weight == other.weight
            && (self.weight == 0.0 || (self.start == other.start && self.step == other.step))
    }
}

/// The plans along one change.
#[derive(Default)]
pub(super) struct Plans {
    /// Shape of each.
    pub shapes: Vec<u32>,
    /// Which one wins now.
    pub winner: Option<usize>,
}

/// The factor, in millionths, nearest to one at which a plan of another shape wins.
pub(super) fn first_flip(plans: &Plans, (lowest, highest): (f64, f64), curve: &dyn Fn(usize) -> Curve) -> Option<u64> {
    let curves: Vec<Curve> = (0..plans.shapes.len()).map(curve).collect();
    let winner = plans.winner?;
    let mine = plans.shapes[winner];
    let up = toward(&curves, &plans.shapes, mine, winner, 1.0).filter(|x| *x <= highest).map(|x| ((1.0 + x) * 1e6).ceil() as u64);
    let down =
        toward(&curves, &plans.shapes, mine, winner, -1.0).filter(|x| *x >= lowest).map(|x| ((1.0 + x) * 1e6).floor().max(0.0) as u64);
    up.into_iter().chain(down).min_by_key(|f| f.abs_diff(1_000_000))
}

/// The nearest x in one direction at which another shape is better than every plan of the winner's shape.
fn toward(curves: &[Curve], shapes: &[u32], mine: u32, winner: usize, direction: f64) -> Option<f64> {
    let (mut at, mut holder) = (0.0f64, winner);
    for _ in 0..TAKEOVERS_MAX {
        let held = &curves[holder];
        // Where the holder breaks a limit, somebody else must take over.
        let ends = if direction > 0.0 { held.high } else { held.low };
        let end = ((if direction > 0.0 { HIGHEST } else { LOWEST }) - ends).abs() > 1e-12;
        let mut next: Option<f64> = end.then_some(ends + direction * 1e-6).filter(|x| (x - at) * direction > 0.0);
        for (i, curve) in curves.iter().enumerate() {
            if shapes[i] == mine || !curve.alive {
                continue;
            }
            if let Some(x) = overtakes(curve, held, at, direction)
                && next.is_none_or(|n| (n - x) * direction > 0.0)
            {
                next = Some(x);
            }
        }
        let x = next?;
        let best = |same: bool| {
            (0..curves.len())
                .filter(|&i| (shapes[i] == mine) == same && curves[i].holds(x))
                .map(|i| (curves[i].at(x), i))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
        };
        match (best(true), best(false)) {
            (None, None) => return None,
            (None, Some(_)) => return Some(x),
            (Some((own, _)), Some((other, _))) if other >= own + BETTER * 0.999 => return Some(x),
            (Some((_, i)), _) if i != holder => (at, holder) = (x, i),
            // The holder is still the best of its shape and no one is better by a unit: look beyond.
            _ => at = x + direction * 1e-6,
        }
        if !(LOWEST..=HIGHEST).contains(&at) {
            return None;
        }
    }
    None
}

/// The nearest x beyond `from` at which `challenger` is better than `holder` by a unit.
fn overtakes(challenger: &Curve, holder: &Curve, from: f64, direction: f64) -> Option<f64> {
    if challenger.same_as(holder) && challenger.base - holder.base < BETTER {
        return None;
    }
    let linear = challenger.weight == 0.0 && holder.weight == 0.0;
    if linear && challenger.low <= LOWEST && challenger.high >= HIGHEST {
        // By far the most frequent case: two lines, no limit in the way.
        let gain = challenger.slope - holder.slope;
        let x = from + (BETTER - (challenger.base - holder.base + gain * from)) / gain;
        let ahead = gain * direction > 0.0 && (x - from) * direction >= 0.0;
        let x = x + direction * (x.abs() * 1e-7 + 1e-9);
        return (ahead && (LOWEST..=HIGHEST).contains(&x)).then_some(x);
    }
    let better = |x: f64| challenger.holds(x) && challenger.at(x) - holder.at(x) >= BETTER;
    let mut places = [f64::NAN; 5];
    places[0] = from;
    // Where it begins to keep the limits.
    places[1] = if direction > 0.0 { challenger.low } else { challenger.high };
    if linear || challenger.scale != holder.scale && challenger.weight != 0.0 && holder.weight != 0.0 {
        places[2] = from + (BETTER - (challenger.at(from) - holder.at(from))) / (challenger.slope - holder.slope);
    } else {
        let [a, b] = meet(challenger, holder);
        (places[2], places[3]) = (a, b);
    }
    places
        .into_iter()
        .filter(|x| x.is_finite() && (x - from) * direction >= 0.0 && (LOWEST..=HIGHEST).contains(x))
        .map(|x| (x + direction * (x.abs() * 1e-7 + 1e-9)).clamp(LOWEST, HIGHEST))
        .filter(|x| better(*x))
        .min_by(|a, b| ((a - from) * direction).total_cmp(&((b - from) * direction)))
}

/// Roots of `challenger − holder = 1` where a saturating term decides: with u = t + scale of either,
/// `D·u·v + weight·scale·(v/… )` becomes a quadratic in x.
fn meet(c: &Curve, h: &Curve) -> [f64; 2] {
    // A plan without the term is one whose t never moves.
    let (scale, weight) = if c.weight != 0.0 { (c.scale, c.weight) } else { (h.scale, h.weight) };
    // w·t/(t + s) = w − w·s/(t + s); a plan without the term has its value in the base already.
    let of = |k: &Curve| if k.weight != 0.0 { (k.base - weight, weight * scale, k.start + scale, k.step) } else { (k.base, 0.0, 1.0, 0.0) };
    let (cb, cw, cu, cs) = of(c);
    let (hb, hw, hu, hs) = of(h);
    let d = cb - hb - BETTER;
    // d + cw/(cu + cs·x) − hw/(hu + hs·x) = 0, times both denominators.
    let (qa, qb, qc) = (d * cs * hs, d * (cu * hs + hu * cs) + cw * hs - hw * cs, d * cu * hu + cw * hu - hw * cu);
    if qa.abs() < 1e-12 * (qb.abs() + qc.abs()).max(1e-12) {
        return [-qc / qb, f64::NAN];
    }
    let disc = qb * qb - 4.0 * qa * qc;
    if disc < 0.0 {
        return [f64::NAN; 2];
    }
    let root = disc.sqrt();
    let q = -0.5 * (qb + qb.signum() * root);
    [q / qa, qc / q]
}
