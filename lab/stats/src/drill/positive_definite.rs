//! Linear equations whose matrix is symmetric and positive definite, by Cholesky's decomposition.

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
