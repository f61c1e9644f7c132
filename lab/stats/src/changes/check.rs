//! Checks of steps: significance compared with the neighbouring segments, and stretches in which
//! the rates do not hold.

use super::likelihood::{left, neighbours};
use super::prune::Selected;
use super::series::Series;
use crate::median::median;
use crate::two_sample::welch::moderated;
use std::ops::Range;

/// A step is dropped if the p-value of the difference between its neighbouring segments is above
/// this. Chosen with the tuning parts of the marked series in view, together with the weight below.
const BESIDE_LEVEL: f64 = 0.0005;

/// The weight of the common variance in that of each segment, in points: with its own alone, a step
/// with five points after it would need five standard deviations; with more, bursts become steps.
const WEIGHT_OF_ALL: f64 = 2.0;

/// The difference of the medians must reach this share of the difference of the means, because a
/// few outliers move only means.
const MEDIAN_SHARE: f64 = 0.5;

/// Steps that are at most this many points apart belong to one stretch.
const RESTLESS_POINTS: usize = 20;

/// With more steps than this, a stretch is restless: its level changes all the time.
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
    let difference = moderated(a, b, WEIGHT_OF_ALL);
    let medians = median(a).zip(median(b)).map_or(0.0, |(a, b)| b - a);
    if difference.mean == 0.0 || medians / difference.mean < MEDIAN_SHARE { 1.0 } else { difference.chance() }
}

/// The restless stretches among steps at these points, as ranges of steps.
pub(crate) fn restless(cuts: &[usize]) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut from = 0;
    for together in cuts.chunk_by(|a, b| b - a <= RESTLESS_POINTS) {
        let to = from + together.len();
        if together.len() > FEW_STEPS {
            stretches.push(from..to);
        }
        from = to;
    }
    stretches
}

/// The correlation of neighbouring residuals, if it is too large for any kind of noise.
pub(crate) fn unlike_any_noise(series: &Series, selected: &Selected) -> Option<f64> {
    let likeness = likeness(series, selected);
    (!selected.cuts.is_empty() && likeness > UNLIKE_ANY).then_some(likeness)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_with_many_steps_is_restless_and_other_steps_are_not() {
        let flapping: Vec<usize> = (0..8).map(|i| 10 + 7 * i).collect();
        let clean = [120, 150];
        assert_eq!(restless(&[&flapping[..], &clean].concat()), vec![0..8]);
        assert_eq!(restless(&flapping[..5]), Vec::<Range<usize>>::new());
        assert_eq!(restless(&(1..30).map(|i| 25 * i).collect::<Vec<_>>()), Vec::<Range<usize>>::new());
        assert_eq!(restless(&[]), Vec::<Range<usize>>::new());
    }
}
