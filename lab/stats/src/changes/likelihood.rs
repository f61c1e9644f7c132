//! Likelihood of a level or a line with a kind of noise in a segment: generalised least squares by
//! a Kalman filter, in linear time.
//!
//! Source: A. C. Harvey, Forecasting, Structural Time Series Models and the Kalman Filter,
//! Cambridge University Press 1989.

use super::noise::{NoiseKind, NoisePart};

/// Maximum number of parts in a filter.
const PARTS: usize = 4;

/// The filter's variances have settled if they change by less than this.
const SETTLED: f64 = 1e-9;

/// The residuals of a segment after fitting a level or a line, for noise of variance 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Left {
    /// Sum of squared innovations around the best level.
    pub(crate) about_level: f64,
    /// Sum of squared innovations around the best line.
    pub(crate) about_line: f64,
    /// Logarithm of the covariance's determinant.
    pub(crate) log_determinant: f64,
    /// The best level.
    pub(crate) level: f64,
    /// The best line: its value in the middle of the positions, and its rise from there to the end.
    pub(crate) line: (f64, f64),
}

/// The innovations of a value, of a level of 1, and of a rise, point by point.
struct Filter<const N: usize> {
    parts: [NoisePart; N],
    white: f64,
    variance: [[f64; N]; N],
    gain: [f64; N],
    settled: bool,
    weight: f64,
    log_variance: f64,
    state: [[f64; N]; 3],
}

impl<const N: usize> Filter<N> {
    fn new(kind: &NoiseKind) -> Self {
        let mut parts = [NoisePart { share: 0.0, kept: 0.0 }; N];
        parts[..kind.parts.len()].copy_from_slice(&kind.parts);
        let mut variance = [[0.0; N]; N];
        for (i, part) in parts.iter().enumerate() {
            variance[i][i] = part.share;
        }
        let white = (1.0 - parts.iter().map(|part| part.share).sum::<f64>()).max(0.0);
        Filter {
            parts,
            white,
            variance,
            gain: [0.0; N],
            settled: false,
            weight: 1.0,
            log_variance: 0.0,
            state: [[0.0; N]; 3],
        }
    }

    /// Variance of the next innovation, and the gain after it.
    fn predict(&mut self) {
        let with_sum: [f64; N] = std::array::from_fn(|i| self.variance[i].iter().sum());
        let of_innovation = self.white + with_sum.iter().sum::<f64>();
        self.weight = 1.0 / of_innovation;
        self.log_variance = of_innovation.ln();
        self.gain = with_sum.map(|covariance| covariance * self.weight);
        let mut change = 0.0f64;
        for i in 0..N {
            for j in 0..N {
                let (a, b) = (self.parts[i], self.parts[j]);
                let fresh = if i == j { a.share * (1.0 - a.kept * a.kept) } else { 0.0 };
                let now = a.kept * b.kept * (self.variance[i][j] - with_sum[i] * with_sum[j] * self.weight) + fresh;
                change = change.max((now - self.variance[i][j]).abs());
                self.variance[i][j] = now;
            }
        }
        self.settled = change < SETTLED;
    }

    /// The innovations of the observations at the next point.
    #[inline]
    fn innovations(&mut self, seen: [f64; 3]) -> [f64; 3] {
        if !self.settled {
            self.predict();
        }
        let mut innovations = seen;
        for (state, innovation) in self.state.iter_mut().zip(&mut innovations) {
            *innovation -= state.iter().sum::<f64>();
            for ((value, gain), part) in state.iter_mut().zip(self.gain).zip(&self.parts) {
                *value = part.kept * (*value + gain * *innovation);
            }
        }
        innovations
    }
}

/// The residuals of a segment. `points` are positions in −1…1 and values.
pub(crate) fn left(points: impl Iterator<Item = (f64, f64)>, kind: &NoiseKind) -> Left {
    match kind.parts.len() {
        0 => with_filter(points, Filter::<0>::new(kind)),
        1 => with_filter(points, Filter::<1>::new(kind)),
        _ => with_filter(points, Filter::<PARTS>::new(kind)),
    }
}

fn with_filter<const N: usize>(points: impl Iterator<Item = (f64, f64)>, mut filter: Filter<N>) -> Left {
    let (mut yy, mut y1, mut yx, mut oo, mut ox, mut xx, mut log_determinant) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let mut first = None;
    for (x, y) in points {
        let origin = *first.get_or_insert(y);
        let [y, one, x] = filter.innovations([y - origin, 1.0, x]);
        let weight = filter.weight;
        yy += weight * y * y;
        y1 += weight * y * one;
        yx += weight * y * x;
        oo += weight * one * one;
        ox += weight * one * x;
        xx += weight * x * x;
        log_determinant += filter.log_variance;
    }
    let level = y1 / oo;
    let about_level = (yy - y1 * level).max(0.0);
    let (spread, common) = (xx - ox * ox / oo, yx - ox * level);
    let rise = if spread > 1e-12 * xx.max(1e-300) { common / spread } else { 0.0 };
    let origin = first.unwrap_or(0.0);
    Left {
        about_level,
        about_line: (about_level - rise * common).max(0.0),
        log_determinant,
        level: origin + level,
        line: (origin + level - rise * ox / oo, rise),
    }
}

/// Sums of the products of neighbouring innovations and of their squares, for a segment around a
/// line with this middle and rise.
pub(crate) fn neighbours(
    points: impl Iterator<Item = (f64, f64)>,
    kind: &NoiseKind,
    (middle, rise): (f64, f64),
) -> (f64, f64) {
    let mut filter = Filter::<PARTS>::new(kind);
    let (mut products, mut squares, mut before) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        let [innovation, ..] = filter.innovations([y - middle - rise * x, 0.0, 0.0]);
        let now = innovation * filter.weight.sqrt();
        products += now * before;
        squares += now * now;
        before = now;
    }
    (products, squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> impl Iterator<Item = (f64, f64)> {
        let last = values.len() as f64 - 1.0;
        values.iter().enumerate().map(move |(i, &value)| (2.0 * i as f64 / last - 1.0, value))
    }

    fn kind(parts: &[(f64, f64)]) -> NoiseKind {
        NoiseKind { parts: parts.iter().map(|&(share, kept)| NoisePart { share, kept }).collect() }
    }

    #[test]
    fn white_noise_is_ordinary_least_squares() {
        let found = left(points(&[1.0, 3.0, 2.0, 6.0]), &NoiseKind::default());
        assert!((found.level - 3.0).abs() < 1e-12 && (found.about_level - 14.0).abs() < 1e-12);
        assert!((found.about_line - 4.2).abs() < 1e-9 && found.log_determinant == 0.0, "{found:?}");
        assert!((found.line.0 - 3.0).abs() < 1e-9 && (found.line.1 - 2.1).abs() < 1e-9);
    }

    /// The quadratic form with the inverse of the covariance, by Gaussian elimination, and the
    /// logarithm of its determinant.
    fn exact(values: &[f64], kind: &NoiseKind) -> (f64, f64) {
        let n = values.len();
        let covariance = |i: usize, j: usize| {
            let white = 1.0 - kind.parts.iter().map(|part| part.share).sum::<f64>();
            let kept: f64 = kind.parts.iter().map(|part| part.share * part.kept.powi(i.abs_diff(j) as i32)).sum();
            kept + if i == j { white } else { 0.0 }
        };
        let mut rows: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| covariance(i, j)).chain([values[i], 1.0]).collect()).collect();
        let mut log_determinant = 0.0;
        for i in 0..n {
            log_determinant += rows[i][i].ln();
            for j in i + 1..n {
                let factor = rows[j][i] / rows[i][i];
                let pivot = rows[i][i..].to_vec();
                for (entry, above) in rows[j][i..].iter_mut().zip(pivot) {
                    *entry -= factor * above;
                }
            }
        }
        let form = |a: usize, b: usize| (0..n).map(|i| rows[i][n + a] * rows[i][n + b] / rows[i][i]).sum::<f64>();
        (form(0, 0) - form(0, 1) * form(0, 1) / form(1, 1), log_determinant)
    }

    #[test]
    fn a_filter_gives_what_the_covariance_gives() {
        let values = [0.3, -1.2, 0.8, 0.1, 2.0, -0.4, 0.9, 1.1, -0.2];
        for kind in
            [kind(&[(0.4, 0.9)]), kind(&[(1.0, 0.5)]), kind(&[(0.2, 0.5), (0.1, 0.85), (0.1, 0.97), (0.3, 0.995)])]
        {
            let found = left(points(&values), &kind);
            let (about_level, log_determinant) = exact(&values, &kind);
            assert!((found.about_level - about_level).abs() < 1e-6, "{kind:?}: {found:?}, {about_level}");
            assert!((found.log_determinant - log_determinant).abs() < 1e-6, "{kind:?}");
        }
    }

    #[test]
    fn innovations_of_the_right_kind_are_unlike_their_neighbours() {
        let mut random = 7u64;
        let mut uniform = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let mut value = 0.0;
        let values: Vec<f64> = (0..2000)
            .map(|_| {
                value = 0.9 * value + uniform();
                value
            })
            .collect();
        let likeness = |kind: &NoiseKind| {
            let (products, squares) = neighbours(points(&values), kind, (0.0, 0.0));
            products / squares
        };
        assert!(likeness(&kind(&[(1.0, 0.9)])).abs() < 0.06 && likeness(&NoiseKind::default()) > 0.8);
    }
}
