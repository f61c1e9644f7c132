//! Whether steps hold on their own, beside their neighbours only, and whether a series is one in which steps can be told at all.

use super::likelihood::{left, neighbours};
use super::prune::Selected;
use super::series::Series;
use crate::median::median;
use crate::two_sample::welch::difference;
use faultline_model::changes::ChangeCaution;

/// Chance of so great a difference between the segments beside a step, each with a variance of its own, above which it is none.
const BESIDE_LEVEL: f64 = 0.002;

/// Share of the means' difference that the medians' has to reach: a few extremes move means only.
const MEDIAN_SHARE: f64 = 0.5;

/// Points per step below which a series is restless: it changes its level all the time.
const RESTLESS_POINTS: usize = 20;

/// Steps that any series may have.
const FEW_STEPS: usize = 5;

/// Likeness of neighbouring innovations above which no kind of noise describes a series.
const UNLIKE_ANY: f64 = 0.5;

/// Removes steps that don't hold beside their neighbours, the weakest first.
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

/// The chance of a difference as great between two segments. 1 if the medians don't differ the same way.
fn beside(series: &Series, a: (usize, usize), b: (usize, usize)) -> f64 {
    let (a, b) = (&series.scaled[a.0..a.1], &series.scaled[b.0..b.1]);
    let difference = difference(a, b);
    let medians = median(a).zip(median(b)).map_or(0.0, |(a, b)| b - a);
    if difference.mean == 0.0 || medians / difference.mean < MEDIAN_SHARE { 1.0 } else { difference.chance() }
}

/// Why no steps are told of a series, if so.
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
