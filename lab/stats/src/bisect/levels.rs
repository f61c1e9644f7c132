//! The level of each build, from values of blocks without the common effect of each block.
//!
//! Each logarithm is the sum of a level of its build, an effect of its block, and noise with
//! Student's t distribution of 4 degrees of freedom. So a slow change of the machine moves no
//! level, and an outlier moves it little. The fit is by reweighted least squares; the variance of
//! its levels is Huber's for M-estimators, pooled over all values. Pairwise variances are reduced
//! to one per level (quasi-variances). Linear equations with a symmetric positive definite matrix
//! are solved by Cholesky's decomposition.
//!
//! Sources: K. L. Lange, R. J. A. Little, J. M. G. Taylor, Robust Statistical Modeling Using the t
//! Distribution, Journal of the American Statistical Association 84, 1989; P. J. Huber, E. M.
//! Ronchetti, Robust Statistics, Wiley, 2009; D. Firth, R. X. de Menezes, Quasi-variances,
//! Biometrika 91, 2004.

/// Degrees of freedom of the noise.
const DEGREES: f64 = 4.0;

/// Rounds of reweighting.
const ROUNDS: usize = 25;

/// Relative change of the noise between rounds below which the weights are final.
const SETTLED: f64 = 1e-3;

/// Precision, in values, of a prior at 0 for every level: it only matters to levels that no block
/// connects.
const TIE: f64 = 1e-7;

/// Minimum noise, from rounding.
const LEAST_NOISE: f64 = 1e-9;

/// Factor on the variance with too few values for an estimate of the noise.
const UNKNOWN_NOISE: f64 = 3.0;

/// Minimum part of the variance of a difference for either level.
const LEAST_PART: f64 = 0.1;

/// A value: build and block (both counted from 0), logarithm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    pub(super) build: usize,
    pub(super) block: usize,
    pub(super) value: f64,
}

/// Comparable levels.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    /// Logarithms, up to a common constant.
    pub(super) level: Vec<f64>,
    /// Variances; the variance of a difference is the sum of two.
    pub(super) variance: Vec<f64>,
    /// Standard deviation of one value about its level, robust to outliers.
    pub(super) noise: f64,
}

/// The levels of `builds` builds with values in `blocks` blocks.
pub(super) fn levels(observations: &[Observation], builds: usize, blocks: usize) -> Levels {
    let members = members(observations, blocks);
    let ones = vec![1.0; observations.len()];
    let mut weights = ones.clone();
    let mut level = vec![0.0; builds];
    let mut residuals = Vec::new();
    let free = observations.len() as f64 - (builds + blocks) as f64 + 1.0;
    let free = free.max(1.0);
    let mut scale = 0.0;
    for round in 0..ROUNDS {
        level = fit(observations, &weights, builds, &members);
        residuals = residuals_of(observations, &weights, &level, &members);
        let squares: f64 = residuals.iter().zip(&weights).map(|(residual, weight)| weight * residual * residual).sum();
        let now = (squares / free).sqrt().max(LEAST_NOISE);
        let is_settled = round > 0 && (now / scale - 1.0).abs() < SETTLED;
        scale = now;
        for (weight, residual) in weights.iter_mut().zip(&residuals) {
            *weight = (DEGREES + 1.0) / (DEGREES + (residual / scale).powi(2));
        }
        if is_settled {
            break;
        }
    }
    let variance_of_one = spread(&residuals, scale, free);
    let information = inverse(&normal_matrix(observations, &ones, builds, &members));
    let difference =
        |p: usize, q: usize| variance_of_one * (information[p][p] + information[q][q] - 2.0 * information[p][q]);
    Levels { level, variance: quasi_variances(builds, difference), noise: variance_of_one.sqrt() }
}

/// The variance of one value: Huber's, with a factor because the noise is estimated.
fn spread(residuals: &[f64], scale: f64, free: f64) -> f64 {
    let influence = |residual: &f64| (DEGREES + 1.0) * residual / (DEGREES + (residual / scale).powi(2));
    let slope = |residual: &f64| {
        let square = (residual / scale).powi(2);
        (DEGREES + 1.0) * (DEGREES - square) / (DEGREES + square).powi(2)
    };
    let squares: f64 = residuals.iter().map(|residual| influence(residual).powi(2)).sum();
    let mean_slope = residuals.iter().map(slope).sum::<f64>() / residuals.len().max(1) as f64;
    let unknown = if free > 3.0 { (free / (free - 2.0)).min(UNKNOWN_NOISE) } else { UNKNOWN_NOISE };
    (unknown * squares / free / mean_slope.max(0.1).powi(2)).max(LEAST_NOISE * LEAST_NOISE)
}

/// Indices of the observations of each block.
fn members(observations: &[Observation], blocks: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); blocks];
    for (i, observation) in observations.iter().enumerate() {
        members[observation.block].push(i);
    }
    members
}

/// The normal equations' matrix of the levels, after the effects of the blocks are eliminated.
fn normal_matrix(
    observations: &[Observation],
    weights: &[f64],
    builds: usize,
    members: &[Vec<usize>],
) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![0.0; builds]; builds];
    for (i, row) in matrix.iter_mut().enumerate() {
        row[i] = TIE;
    }
    for block in members {
        let total: f64 = block.iter().map(|i| weights[*i]).sum();
        for one in block {
            let row = &mut matrix[observations[*one].build];
            row[observations[*one].build] += weights[*one];
            for other in block {
                row[observations[*other].build] -= weights[*one] * weights[*other] / total;
            }
        }
    }
    matrix
}

/// The weighted mean of each block.
fn block_means(weights: &[f64], members: &[Vec<usize>], value: impl Fn(usize) -> f64) -> Vec<f64> {
    let mean = |block: &Vec<usize>| {
        let total: f64 = block.iter().map(|i| weights[*i]).sum();
        block.iter().map(|i| weights[*i] * value(*i)).sum::<f64>() / total
    };
    members.iter().map(mean).collect()
}

fn fit(observations: &[Observation], weights: &[f64], builds: usize, members: &[Vec<usize>]) -> Vec<f64> {
    let means = block_means(weights, members, |i| observations[i].value);
    let mut right = vec![0.0; builds];
    for (observation, weight) in observations.iter().zip(weights) {
        right[observation.build] += weight * (observation.value - means[observation.block]);
    }
    solution(&normal_matrix(observations, weights, builds, members), &right)
}

fn residuals_of(observations: &[Observation], weights: &[f64], level: &[f64], members: &[Vec<usize>]) -> Vec<f64> {
    let above = |observation: &Observation| observation.value - level[observation.build];
    let effects = block_means(weights, members, |i| above(&observations[i]));
    observations.iter().map(|observation| above(observation) - effects[observation.block]).collect()
}

/// One variance per level, with sums closest to the variances of the differences.
fn quasi_variances(builds: usize, difference: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    if builds < 2 {
        return vec![0.0; builds];
    }
    let others = |p: usize| (0..builds).filter(move |q| *q != p);
    if builds == 2 {
        return vec![difference(0, 1) / 2.0; 2];
    }
    let rows: Vec<f64> = (0..builds).map(|p| others(p).map(|q| difference(p, q)).sum()).collect();
    let all = rows.iter().sum::<f64>() / (2.0 * (builds - 1) as f64);
    let least = |p: usize| others(p).map(|q| difference(p, q)).fold(f64::INFINITY, f64::min) * LEAST_PART;
    rows.iter().enumerate().map(|(p, row)| ((row - all) / (builds - 2) as f64).max(least(p))).collect()
}

/// The x with `matrix`·x = `right`.
pub(super) fn solution(matrix: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    solved(&cholesky(matrix), right)
}

/// The inverse of `matrix`.
pub(super) fn inverse(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let lower = cholesky(matrix);
    let unit = |column: usize| -> Vec<f64> { (0..n).map(|i| f64::from(u8::from(i == column))).collect() };
    // The inverse is symmetric, so its columns are its rows.
    (0..n).map(|column| solved(&lower, &unit(column))).collect()
}

/// The x with L·Lᵀ·x = `right`, where L is `lower`.
fn solved(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let n = right.len();
    let mut solution = right.to_vec();
    for i in 0..n {
        let known: f64 = (0..i).map(|k| lower[i][k] * solution[k]).sum();
        solution[i] = (solution[i] - known) / lower[i][i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| lower[k][i] * solution[k]).sum();
        solution[i] = (solution[i] - known) / lower[i][i];
    }
    solution
}

/// The lower triangle whose product with its transpose is `matrix`.
fn cholesky(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - known;
            lower[i][j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / lower[j][j] };
        }
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// Noise of at most 1 %, drawn from a seed of its own.
    fn noise(seed: usize) -> f64 {
        let draw = ChaCha8Rng::seed_from_u64(seed as u64).next_u64();
        0.02 * ((draw >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    }

    #[test]
    fn drift_and_an_outlier_move_no_level() {
        let observation = |(build, block): (usize, usize)| {
            let drift = 0.05 * block as f64;
            let outlier = if (build, block) == (1, 7) { 3.0 } else { 0.0 };
            Observation { build, block, value: 0.1 * build as f64 + drift + outlier + noise(3 * block + build) }
        };
        // The third build is measured later than the first one.
        let cells = (0..12).flat_map(|block| [(0, block), (1, block)]).chain((12..24).flat_map(|b| [(1, b), (2, b)]));
        let observations: Vec<Observation> = cells.map(observation).collect();
        let levels = levels(&observations, 3, 24);
        for (pair, expected) in [((0, 1), 0.1), ((1, 2), 0.1), ((0, 2), 0.2)] {
            let found = levels.level[pair.1] - levels.level[pair.0];
            let deviation = (levels.variance[pair.0] + levels.variance[pair.1]).sqrt();
            assert!((found - expected).abs() < 4.0 * deviation && deviation < 0.01, "{pair:?}: {found} ± {deviation}");
        }
    }

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        let matrix = vec![vec![4.0, 1.0, -2.0], vec![1.0, 3.0, 0.5], vec![-2.0, 0.5, 5.0]];
        let inverse = inverse(&matrix);
        for (i, row) in matrix.iter().enumerate() {
            for (j, column) in inverse.iter().enumerate() {
                let product: f64 = row.iter().zip(column).map(|(x, y)| x * y).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12, "{i} {j}: {product}");
            }
        }
        let solution = solution(&matrix, &[1.0, 2.0, 3.0]);
        for (row, right) in matrix.iter().zip([1.0, 2.0, 3.0]) {
            let product: f64 = row.iter().zip(&solution).map(|(x, y)| x * y).sum();
            assert!((product - right).abs() < 1e-12, "{product}");
        }
    }
}
