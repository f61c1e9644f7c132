//! The smallest step that a search finds with a stated probability.

use super::prune::penalty;
use super::series::{SHORTEST, Series};
use super::split::LIKENESS_LIMIT;
use crate::changes::Segment;

/// Number of points that a step of the smallest detectable size needs on either side.
pub(crate) const SEARCHED_POINTS: usize = 5;

/// Standard deviations of a step's gain above its cost that give the probability `POWER`: its
/// normal quantile.
const POWER_DEVIATIONS: f64 = 0.84;

/// Factor by which a step must be larger because noise with memory explains small steps too. It
/// agrees with the power in docs/METHODOLOGY.md, §15, and was not calibrated by itself.
const COMPETITION: f64 = 1.4;

/// The smallest step, in standard deviations of independent noise, found with the probability
/// `POWER` if [`SEARCHED_POINTS`] of `points` points are on one side. `penalty`: the cost of a
/// step. A step of d standard deviations with m and n points beside it gains d²·mn/(m + n).
fn detectable_deviations(points: f64, penalty: f64) -> f64 {
    let beside = SEARCHED_POINTS as f64;
    let sides = 1.0 / beside + 1.0 / (points - beside).max(beside);
    COMPETITION * (penalty.sqrt() + POWER_DEVIATIONS) * sides.sqrt()
}

/// The smallest step that a search of so many points finds, in standard deviations of their noise;
/// `None` if it takes more points.
pub(crate) fn detectable_of(points: u32, false_alarms: f64) -> Option<f64> {
    let points = points as usize;
    (points >= SHORTEST).then(|| detectable_deviations(points as f64, penalty(points, false_alarms)))
}

/// The smallest detectable step as a share of the level. The noise is that of the residuals, with
/// the correlation of neighbours.
pub(super) fn detectable(series: &Series, segments: &[Segment], penalty: f64) -> Option<f64> {
    let mut residuals = Vec::new();
    let mut from = 0;
    for segment in segments {
        let to = from + segment.points as usize;
        if segment.level == 0.0 {
            return None;
        }
        let middle = (segment.first as f64 + segment.last as f64) / 2.0;
        let fitted = |at: usize| segment.level + segment.drift.unwrap_or(0.0) * (series.positions[at] as f64 - middle);
        residuals.extend((from..to).map(|at| (series.values[at] - fitted(at)) / segment.level));
        from = to;
    }
    let points = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let likeness = if squares > 0.0 { (products / squares).clamp(0.0, LIKENESS_LIMIT) } else { 0.0 };
    let variance = squares / (points - segments.len() as f64).max(1.0) * (1.0 + likeness) / (1.0 - likeness);
    Some(detectable_deviations(points, penalty) * variance.sqrt())
}
