//! Ridge-penalised logistic regression by Newton's method, with weights, fixed coefficients and signs that must hold.

use anyhow::bail;
use ctx_local::logistic::{Logistic, sigmoid};
use std::collections::{BTreeMap, BTreeSet};

/// One observation.
#[derive(Clone, Debug)]
pub struct Row {
    /// Features, in the order of the names.
    pub x: Vec<f64>,
    /// Label.
    pub y: bool,
    /// Weight.
    pub w: f64,
    /// What it is an observation of: intervals draw whole groups.
    pub group: usize,
    /// Its collection.
    pub collection: usize,
}

/// What a fit is told besides its rows.
#[derive(Clone, Debug, Default)]
pub struct Shape<'a> {
    /// Names of the features.
    pub names: &'a [&'a str],
    /// Coefficients that are not fitted.
    pub fixed: BTreeMap<&'a str, f64>,
    /// Coefficients that must not be negative.
    pub rising: BTreeSet<&'a str>,
    /// Coefficients that must not be positive.
    pub falling: BTreeSet<&'a str>,
}

const STEPS_MAX: usize = 60;

/// Fits; `ridge` is per feature of spread one, in units of observations.
pub fn fit(rows: &[&Row], shape: &Shape<'_>, ridge: f64) -> anyhow::Result<Logistic> {
    let mut fixed: BTreeMap<usize, f64> = BTreeMap::new();
    for (at, name) in shape.names.iter().enumerate() {
        if let Some(value) = shape.fixed.get(name) {
            fixed.insert(at, *value);
        }
    }
    loop {
        let free: Vec<usize> = (0..shape.names.len()).filter(|at| !fixed.contains_key(at)).collect();
        let beta = newton(rows, &free, &fixed, ridge)?;
        let wrong = |at: usize, value: f64| {
            let name = shape.names[at];
            if shape.rising.contains(name) {
                (-value).max(0.0)
            } else if shape.falling.contains(name) {
                value.max(0.0)
            } else {
                0.0
            }
        };
        let worst = free.iter().zip(&beta[1..]).map(|(&at, &v)| (at, wrong(at, v))).max_by(|a, b| a.1.total_cmp(&b.1));
        match worst {
            Some((at, by)) if by > 0.0 => {
                fixed.insert(at, 0.0);
            }
            _ => {
                let fitted = free.iter().copied().zip(beta[1..].iter().copied());
                let weights = fitted.chain(fixed).filter(|(_, v)| *v != 0.0).map(|(at, v)| (shape.names[at].to_owned(), rounded(v)));
                return Ok(Logistic { n: u32::try_from(rows.len())?, bias: rounded(beta[0]), weights: weights.collect() });
            }
        }
    }
}

/// Four decimals: more is not known, and files are read by people.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// [bias, free coefficients].
fn newton(rows: &[&Row], free: &[usize], fixed: &BTreeMap<usize, f64>, ridge: f64) -> anyhow::Result<Vec<f64>> {
    let d = free.len() + 1;
    let spread = spreads(rows, free);
    let mut beta = vec![0.0; d];
    let mut x = vec![1.0; d];
    for _ in 0..STEPS_MAX {
        let (mut gradient, mut hessian) = (vec![0.0; d], vec![vec![0.0; d]; d]);
        for row in rows {
            for (slot, &at) in x[1..].iter_mut().zip(free) {
                *slot = row.x[at];
            }
            let offset: f64 = fixed.iter().map(|(&at, value)| value * row.x[at]).sum();
            let z = offset + x.iter().zip(&beta).map(|(x, b)| x * b).sum::<f64>();
            let p = sigmoid(z.clamp(-40.0, 40.0));
            let (error, curve) = (row.w * (f64::from(u8::from(row.y)) - p), row.w * (p * (1.0 - p)).max(1e-9));
            for i in 0..d {
                gradient[i] += error * x[i];
                let scaled = curve * x[i];
                for j in 0..=i {
                    hessian[i][j] += scaled * x[j];
                }
            }
        }
        for i in 0..d {
            let penalty = if i == 0 { 1e-6 } else { ridge * spread[i - 1] };
            gradient[i] -= penalty * beta[i];
            hessian[i][i] += penalty + 1e-9;
        }
        let step = solve(hessian, gradient)?;
        let largest = step.iter().fold(0.0f64, |most, s| most.max(s.abs()));
        let scale = (largest / 4.0).max(1.0);
        beta.iter_mut().zip(&step).for_each(|(b, s)| *b += s / scale);
        if largest < 1e-7 {
            break;
        }
    }
    Ok(beta)
}

/// Weighted variances of the free features; 1 where one does not vary.
fn spreads(rows: &[&Row], free: &[usize]) -> Vec<f64> {
    let total: f64 = rows.iter().map(|r| r.w).sum();
    free.iter()
        .map(|&at| {
            let mean = rows.iter().map(|r| r.w * r.x[at]).sum::<f64>() / total;
            let variance = rows.iter().map(|r| r.w * (r.x[at] - mean).powi(2)).sum::<f64>() / total;
            if variance > 1e-12 { variance } else { 1.0 }
        })
        .collect()
}

/// Cholesky, lower triangle given.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> anyhow::Result<Vec<f64>> {
    let d = b.len();
    for i in 0..d {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            let value = a[i][j] - sum;
            if i == j {
                if value <= 0.0 {
                    bail!("the fit does not determine feature {i}");
                }
                a[i][i] = value.sqrt();
            } else {
                a[i][j] = value / a[j][j];
            }
        }
    }
    for i in 0..d {
        let sum: f64 = (0..i).map(|k| a[i][k] * b[k]).sum();
        b[i] = (b[i] - sum) / a[i][i];
    }
    for i in (0..d).rev() {
        let sum: f64 = (i + 1..d).map(|k| a[k][i] * b[k]).sum();
        b[i] = (b[i] - sum) / a[i][i];
    }
    Ok(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(x: &[f64], y: bool) -> Row {
        Row { x: x.to_vec(), y, w: 1.0, group: 0, collection: 0 }
    }

    #[test]
    fn a_known_table_is_recovered() {
        // P(y | x = 0) = ¼, P(y | x = 1) = ¾: bias −ln 3, slope 2 ln 3.
        let rows: Vec<Row> = (0..8).map(|n| row(&[f64::from(u8::from(n >= 4))], if n < 4 { n == 0 } else { n != 4 })).collect();
        let refs: Vec<&Row> = rows.iter().collect();
        let model = fit(&refs, &Shape { names: &["x"], ..Shape::default() }, 0.0).unwrap();
        assert!((model.bias + 3f64.ln()).abs() < 1e-3 && (model.weights["x"] - 2.0 * 3f64.ln()).abs() < 1e-3, "{model:?}");
    }

    #[test]
    fn signs_hold_and_fixed_coefficients_stay() {
        let rows: Vec<Row> = (0..8).map(|n| row(&[f64::from(n), 1.0 - f64::from(n % 2)], n < 4)).collect();
        let refs: Vec<&Row> = rows.iter().collect();
        let shape = Shape { names: &["a", "b"], fixed: BTreeMap::from([("b", -3.0)]), rising: BTreeSet::from(["a"]), ..Shape::default() };
        let model = fit(&refs, &shape, 1.0).unwrap();
        assert!(!model.weights.contains_key("a"));
        assert_eq!(model.weights["b"], -3.0);
    }
}
