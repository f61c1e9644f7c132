//! The best place for one step in a stretch, and what the step explains there.
//!
//! Either side, and the stretch as a whole, is steady or drifts along a line. The noise is measured on what the step leaves over, with neighbours'
//! likeness counted in, so that the range of places isn't too narrow where noise has a memory.
//!
//! Sources: for the likelihood ratio J. Bai, Likelihood Ratio Tests for Multiple Structural Changes, Journal of Econometrics 91, 1999; for the long-run
//! variance D. W. K. Andrews, Heteroskedasticity and Autocorrelation Consistent Covariance Matrix Estimation, Econometrica 59, 1991.

use super::sums::{Fit, Sums};

/// Fewest points of a segment: fewer could be one disturbance.
pub(crate) const SEGMENT_POINTS: usize = 5;

/// What a line has to explain more than a level, over the noise's variance.
const LINE_PENALTY: f64 = 10.5;

/// Greatest likeness of neighbours that is corrected for.
const LIKENESS_LIMIT: f64 = 0.9;

/// Points by which the likeness of residuals is too small: fits follow the noise, the more so the fewer points there are. From simulation.
const LIKENESS_BIAS: f64 = 16.0;

/// Least variance, of values scaled to 1: what is left by rounding.
pub(crate) const LEAST_VARIANCE: f64 = 1e-24;

/// A step in a stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Split {
    /// The first point after it, from the stretch's beginning.
    pub(crate) at: usize,
    /// What it explains, over the noise's variance.
    pub(crate) gain: f64,
    /// The noise's long-run variance.
    pub(crate) noise: f64,
    /// Whether the stretch as a whole is better told by a line than by a level.
    pub(crate) drifts: bool,
    /// Cost of a line, in squared deviations.
    line: f64,
}

/// The best split of a stretch whose `sums` these are; none if it is too short.
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

/// Variance of the residuals, times what neighbours' likeness makes of it in sums of many: (1 + ρ)/(1 − ρ), as for values that keep ρ of the one before.
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
    /// The first and the last place that explain less by no more than `margin` times the noise's variance.
    pub(crate) fn places_within(&self, sums: &Sums, points: usize, margin: f64) -> (usize, usize) {
        let allowed = cost(sums, points, self.at, self.line) + margin * self.noise;
        let within = |at: &usize| cost(sums, points, *at, self.line) <= allowed;
        let mut places = SEGMENT_POINTS..=points - SEGMENT_POINTS;
        (places.find(within).unwrap_or(self.at), places.rfind(within).unwrap_or(self.at))
    }

    /// Whether each side drifts.
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
        assert_eq!(split_of(&[1.0; 9]), None);
    }
}
