//! The best place for one step in a segment, and the variance that the step explains.
//!
//! Each side, and the segment as a whole, is constant or drifts along a line. The noise is
//! estimated from the residuals after the step, with the correlation of neighbours included,
//! because the range would otherwise be too narrow for autocorrelated noise.
//!
//! Sources: for the likelihood ratio J. Bai, Likelihood Ratio Tests for Multiple Structural
//! Changes, Journal of Econometrics 91, 1999; for the long-run variance D. W. K. Andrews,
//! Heteroskedasticity and Autocorrelation Consistent Covariance Matrix Estimation, Econometrica 59,
//! 1991.

use super::sums::{Fit, Sums};

/// Minimum number of points in a segment. The check beside its neighbours keeps segments of three
/// or four points only if they are far above the noise.
pub(crate) const SEGMENT_POINTS: usize = 3;

/// The variance that a line must explain in addition to a level, divided by the noise's variance.
const LINE_PENALTY: f64 = 10.5;

/// Greatest correlation of neighbours that is corrected for.
pub(crate) const LIKENESS_LIMIT: f64 = 0.9;

/// The estimated correlation of residuals is too small by this number divided by the number of
/// points, because fits follow the noise. From simulation.
const LIKENESS_BIAS: f64 = 16.0;

/// Minimum variance of values scaled to 1: the size of rounding errors.
pub(crate) const LEAST_VARIANCE: f64 = 1e-24;

/// A step in a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Split {
    /// The first point after it, counted from the beginning of the segment.
    pub(crate) at: usize,
    /// The variance that it explains, divided by the noise's variance.
    pub(crate) gain: f64,
    /// The noise's long-run variance.
    pub(crate) noise: f64,
    /// True if a line describes the whole segment better than a level.
    pub(crate) drifts: bool,
    /// Cost of a line, in squared deviations.
    line: f64,
}

/// The best split of the segment with these `sums`; `None` if it is too short.
pub(crate) fn split(sums: &Sums, points: usize) -> Option<Split> {
    if points < 2 * SEGMENT_POINTS {
        return None;
    }
    let places = SEGMENT_POINTS..=points - SEGMENT_POINTS;
    let whole = sums.fit(0, points);
    let steady =
        places.clone().map(|at| sums.about_level(0, at) + sums.about_level(at, points)).fold(f64::INFINITY, f64::min);
    let line = LINE_PENALTY * (steady.min(whole.about_line) / (points as f64 - 2.0)).max(LEAST_VARIANCE);
    let (without, drifts) = whole.cheaper(line);
    let mut best = (f64::INFINITY, SEGMENT_POINTS);
    for at in places {
        let cost = cost(sums, points, at, line);
        if cost < best.0 {
            best = (cost, at);
        }
    }
    let noise = long_run_variance(sums, points, best.1, line).max(LEAST_VARIANCE);
    Some(Split { at: best.1, gain: (without - best.0).max(0.0) / noise, noise, drifts, line })
}

fn cost(sums: &Sums, points: usize, at: usize, line: f64) -> f64 {
    sums.fit(0, at).cheaper(line).0 + sums.fit(at, points).cheaper(line).0
}

/// Variance of the residuals, times the factor (1 + ρ)/(1 − ρ) for sums of many values that keep ρ
/// of the one before.
fn long_run_variance(sums: &Sums, points: usize, at: usize, line: f64) -> f64 {
    let sides = [sums.fit(0, at), sums.fit(at, points)].map(|fit| (fit, fit.cheaper(line).1));
    let parameters = 2.0 + sides.iter().filter(|(_, drifts)| *drifts).count() as f64;
    let n = points as f64;
    let residual = |i: usize| {
        let (fit, drifts): (Fit, bool) = sides[usize::from(i >= at)];
        let (x, y) = sums.point(i);
        y - fit.at(x, drifts)
    };
    let (mut squares, mut products, mut before) = (0.0, 0.0, 0.0);
    for i in 0..points {
        let now = residual(i);
        squares += now * now;
        products += now * before;
        before = now;
    }
    let seen = if squares > 0.0 { products / squares } else { 0.0 };
    let likeness = ((seen + parameters / n).max(0.0) * (1.0 + LIKENESS_BIAS / n)).min(LIKENESS_LIMIT);
    squares / (n - parameters) * (1.0 + likeness) / (1.0 - likeness)
}

impl Split {
    /// The first and the last place that explain at most `margin` times the noise's variance less.
    pub(crate) fn places_within(&self, sums: &Sums, points: usize, margin: f64) -> (usize, usize) {
        let allowed = cost(sums, points, self.at, self.line) + margin * self.noise;
        let within = |at: &usize| cost(sums, points, *at, self.line) <= allowed;
        let mut places = SEGMENT_POINTS..=points - SEGMENT_POINTS;
        (places.find(within).unwrap_or(self.at), places.rfind(within).unwrap_or(self.at))
    }

    /// True for each side that drifts.
    pub(crate) fn sides_drift(&self, sums: &Sums, points: usize) -> [bool; 2] {
        [sums.fit(0, self.at), sums.fit(self.at, points)].map(|fit| fit.cheaper(self.line).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_of(values: &[f64]) -> Option<Split> {
        let positions: Vec<u64> = (0..values.len() as u64).collect();
        let mut sums = Sums::default();
        sums.take(&positions, values);
        split(&sums, values.len())
    }

    fn wobble(i: usize) -> f64 {
        [0.0, 1.0, -1.0, 0.5, -0.7, 0.3, -0.2][i * i % 7]
    }

    #[test]
    fn a_clear_step_is_placed_to_the_point() {
        let values: Vec<f64> = (0..40).map(|i| wobble(i) + if i < 17 { 0.0 } else { 8.0 }).collect();
        let found = split_of(&values).unwrap();
        assert!(found.at == 17 && found.gain > 100.0, "{found:?}");
    }

    #[test]
    fn a_line_needs_no_step() {
        let values: Vec<f64> = (0..60).map(|i| wobble(i) + i as f64).collect();
        let found = split_of(&values).unwrap();
        assert!(found.drifts && found.gain < 10.0, "{found:?}");
    }

    #[test]
    fn too_few_points_are_not_split() {
        assert_eq!(split_of(&[1.0; 5]), None);
    }
}
