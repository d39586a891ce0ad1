//! Symmetric positive definite systems: Cholesky, in place, one triangle.

/// A square matrix was not positive definite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("factoring a {size}×{size} matrix: pivot {pivot} is not positive; regularise more or check the inputs for NaN")]
pub struct NotPositiveDefinite {
    /// Rows.
    pub size: usize,
    /// Where.
    pub pivot: usize,
}

/// The lower factor of A = L Lᵀ.
#[derive(Clone, Debug)]
pub struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a matrix given row by row; only its lower triangle is read.
    pub fn new(size: usize, mut matrix: Vec<f64>) -> Result<Cholesky, NotPositiveDefinite> {
        assert_eq!(matrix.len(), size * size, "a square matrix");
        for i in 0..size {
            let (above, rest) = matrix.split_at_mut(i * size);
            let row = &mut rest[..size];
            for j in 0..i {
                let other = &above[j * size..j * size + j];
                row[j] = (row[j] - dot(&row[..j], other)) / above[j * size + j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            if pivot.is_nan() || pivot <= 0.0 {
                return Err(NotPositiveDefinite { size, pivot: i });
            }
            row[i] = pivot.sqrt();
        }
        Ok(Cholesky { size, lower: matrix })
    }

    /// The x of A x = b.
    pub fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        assert_eq!(b.len(), self.size, "one entry per row");
        for i in 0..self.size {
            let row = &self.lower[i * self.size..i * self.size + i];
            b[i] = (b[i] - dot(row, &b[..i])) / self.lower[i * self.size + i];
        }
        for i in (0..self.size).rev() {
            let x = b[i] / self.lower[i * self.size + i];
            b[i] = x;
            let row = &self.lower[i * self.size..i * self.size + i];
            for (rest, l) in b[..i].iter_mut().zip(row) {
                *rest -= l * x;
            }
        }
        b
    }
}

/// Inner product; eight partial sums, so that the compiler may use vector registers, always in the same order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_system_is_solved() {
        let a = vec![4.0, 12.0, -16.0, 12.0, 37.0, -43.0, -16.0, -43.0, 98.0];
        let factor = Cholesky::new(3, a.clone()).expect("positive definite");
        let x = factor.solve(vec![1.0, 2.0, 3.0]);
        for (row, b) in a.chunks(3).zip([1.0, 2.0, 3.0]) {
            assert!((dot(row, &x) - b).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        let error = Cholesky::new(2, vec![1.0, 2.0, 2.0, 1.0]).expect_err("indefinite");
        assert_eq!(error, NotPositiveDefinite { size: 2, pivot: 1 });
        assert!(Cholesky::new(1, vec![f64::NAN]).is_err());
    }

    #[test]
    fn inner_products_of_any_length() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let expected: f64 = a.iter().map(|x| x * x).sum();
            assert_eq!(dot(&a, &a), expected);
        }
    }
}
