//! The linear subset as a mixed-integer program: one item per group, additive value, additive capacities. A cross-check
//! of the search, never its replacement: it is orders of magnitude slower.

use crate::linear::LinearProblem;
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, variable};

/// Why there is no optimum.
#[derive(Debug, thiserror::Error)]
pub enum MilpError {
    /// No selection fits.
    #[error("choosing one item per group by MILP: no selection fits the capacities")]
    Infeasible,
    /// The solver gave up.
    #[error("choosing one item per group by MILP: {0}")]
    Solver(String),
}

/// Best choice of one item per group within every capacity, as item indices.
pub fn solve_linear(problem: &LinearProblem) -> Result<Vec<usize>, MilpError> {
    let LinearProblem { groups, capacities } = problem;
    let mut variables = ProblemVariables::new();
    let picks: Vec<Vec<good_lp::Variable>> =
        groups.iter().map(|g| g.iter().map(|_| variables.add(variable().binary())).collect()).collect();
    let mut value = Expression::from(0.0);
    for (group, vars) in groups.iter().zip(&picks) {
        for (item, var) in group.iter().zip(vars) {
            value += item.value as f64 * *var;
        }
    }
    let mut model = variables.maximise(value).using(good_lp::microlp);
    for vars in &picks {
        let sum: Expression = vars.iter().copied().sum();
        model = model.with(constraint!(sum == 1));
    }
    for (c, capacity) in capacities.iter().enumerate() {
        let mut used = Expression::from(0.0);
        for (group, vars) in groups.iter().zip(&picks) {
            for (item, var) in group.iter().zip(vars) {
                used += item.weights[c] as f64 * *var;
            }
        }
        model = model.with(constraint!(used <= *capacity as f64));
    }
    let solution = model.solve().map_err(|e| match e {
        good_lp::ResolutionError::Infeasible => MilpError::Infeasible,
        other => MilpError::Solver(other.to_string()),
    })?;
    Ok(picks
        .iter()
        .map(|vars| {
            let values = vars.iter().map(|v| solution.value(*v));
            values.enumerate().fold((0, f64::MIN), |best, (i, v)| if v > best.1 { (i, v) } else { best }).0
        })
        .collect())
}
