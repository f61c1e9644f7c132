//! Checks of steps: significance compared with the neighbouring segments, and reasons to report no
//! steps for a series.

use super::likelihood::{left, neighbours};
use super::prune::Selected;
use super::series::Series;
use crate::changes::ChangeCaution;
use crate::median::median;
use crate::two_sample::welch::difference;

/// A step is dropped if the p-value of the difference between its neighbouring segments, each with
/// its own variance, is above this.
const BESIDE_LEVEL: f64 = 0.002;

/// The difference of the medians must reach this share of the difference of the means, because a
/// few outliers move only means.
const MEDIAN_SHARE: f64 = 0.5;

/// With fewer points per step than this, a series is restless: its level changes all the time.
const RESTLESS_POINTS: usize = 20;

/// Number of steps that are allowed in any series.
const FEW_STEPS: usize = 5;

/// If neighbouring innovations are correlated by more than this, no kind of noise describes the
/// series.
const UNLIKE_ANY: f64 = 0.5;

/// Removes steps that are not significant compared with their neighbouring segments, the weakest
/// first.
pub(crate) fn keep_what_holds(series: &Series, selected: &mut Selected) {
    loop {
        let parts = segments(&selected.cuts, series.scaled.len()).collect::<Vec<_>>();
        let chance = |pair: &[(usize, usize)]| beside(series, pair[0], pair[1]);
        let weakest = parts.windows(2).map(chance).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        match weakest {
            Some((i, chance)) if chance > BESIDE_LEVEL => _ = selected.cuts.remove(i),
            _ => return,
        }
    }
}

/// The segments between cuts.
pub(crate) fn segments(cuts: &[usize], points: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let ends = cuts.iter().copied().chain([points]);
    [0].into_iter().chain(cuts.iter().copied()).zip(ends)
}

/// The p-value of the difference between two segments. 1 if the medians do not differ in the same
/// direction.
fn beside(series: &Series, a: (usize, usize), b: (usize, usize)) -> f64 {
    let (a, b) = (&series.scaled[a.0..a.1], &series.scaled[b.0..b.1]);
    let difference = difference(a, b);
    let medians = median(a).zip(median(b)).map_or(0.0, |(a, b)| b - a);
    if difference.mean == 0.0 || medians / difference.mean < MEDIAN_SHARE { 1.0 } else { difference.chance() }
}

/// Reason to report no steps for a series, if any.
pub(crate) fn untellable(series: &Series, selected: &Selected) -> Option<ChangeCaution> {
    let (points, steps) = (series.scaled.len(), selected.cuts.len());
    if steps > FEW_STEPS.max(points / RESTLESS_POINTS) {
        return Some(ChangeCaution::Restless { steps: steps as u32 });
    }
    let likeness = likeness(series, selected);
    (steps > 0 && likeness > UNLIKE_ANY).then_some(ChangeCaution::UnlikeAnyNoise { likeness })
}

/// Correlation of neighbouring innovations, over all segments.
fn likeness(series: &Series, selected: &Selected) -> f64 {
    let of = |(from, to): (usize, usize)| {
        let left = left(series.stretch(from, to), &selected.kind);
        let variance = left.about_level / (to - from).max(2) as f64;
        let line = if left.cheaper(variance.max(f64::MIN_POSITIVE)).1 { left.line } else { (left.level, 0.0) };
        neighbours(series.stretch(from, to), &selected.kind, line)
    };
    let sums = segments(&selected.cuts, series.scaled.len()).map(of);
    let (products, squares) = sums.fold((0.0, 0.0), |sums, one| (sums.0 + one.0, sums.1 + one.1));
    if squares > 0.0 { products / squares } else { 0.0 }
}
