//! A step far above the noise among the newest two to four points, before the search can find it.
//!
//! The newest points must all lie farther from the level before them than any earlier point, on one
//! side. If the order of the points does not matter (no step, independent noise of any
//! distribution), the probability of that is at most 2 / (n choose m) for m of n points: exact, as
//! for a conformal p-value. They must also lie several spreads away, which protects against noise
//! with memory; no probability is stated for that.
//!
//! Source: V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World, Springer
//! 2005.

use super::series::{Series, spread};
use crate::median::median;

/// Numbers of newest points that are examined: one could be a single disturbance, and more are
/// segments for the search.
const NEWEST: std::ops::RangeInclusive<usize> = 2..=4;

/// Number of points before them that they are compared with, at most: a level does not stay
/// comparable for ever.
const COMPARED: usize = 50;

/// The probability above must be at most this part of the false-positive rate.
const PART_OF_RATE: f64 = 0.1;

/// Minimum distance from the level, in spreads.
const FAR: f64 = 5.0;

/// The first point after a step among the newest points of `series`, which has its last step before
/// the point `from`, or none for 0.
pub(crate) fn newest_step(series: &Series, from: usize, false_alarms: f64) -> Option<usize> {
    let values = &series.values;
    NEWEST.filter_map(|count| values.len().checked_sub(count)).find(|&at| {
        let from = from.max(at.saturating_sub(COMPARED));
        from < at
            && chance(values.len() - from, values.len() - at) <= PART_OF_RATE * false_alarms
            && stand_out(&values[from..at], &values[at..])
    })
}

/// 2 / (`points` choose `count`): the probability that the newest are the greatest or the least, if
/// the order does not matter.
fn chance(points: usize, count: usize) -> f64 {
    2.0 * (0..count).map(|i| (count - i) as f64 / (points - i) as f64).product::<f64>()
}

/// True if all `newest` lie on one side of the level of those before, and farther than any of them.
fn stand_out(before: &[f64], newest: &[f64]) -> bool {
    let level = median(before).expect("there are points before");
    let mut distances: Vec<f64> = before.iter().map(|value| (value - level).abs()).collect();
    let farthest = distances.iter().copied().fold(0.0, f64::max);
    let limit = (FAR * spread(&mut distances)).max(farthest);
    newest.iter().all(|value| value - level > limit) || newest.iter().all(|value| level - value > limit)
}

#[cfg(test)]
mod tests {
    use super::super::series::{Observation, series};
    use super::*;

    fn found(values: &[f64], from: usize, rate: f64) -> Option<usize> {
        let at = |(i, &value): (usize, &f64)| Observation { position: i as u64, value };
        newest_step(&series(&values.iter().enumerate().map(at).collect::<Vec<_>>()).unwrap(), from, rate)
    }

    fn noise(points: usize) -> Vec<f64> {
        (0..points).map(|i| 100.0 + 0.1 * (i * i % 11) as f64).collect()
    }

    #[test]
    fn two_points_far_above_the_noise_are_a_step_and_one_is_not() {
        for size in [10.0, -10.0] {
            let with = |more: &[f64]| [noise(40), more.iter().map(|one| 100.0 + one * size).collect()].concat();
            assert_eq!(found(&with(&[1.0]), 0, 0.1), None);
            assert_eq!(found(&with(&[1.0, 0.9]), 0, 0.1), Some(40));
            assert_eq!(found(&with(&[1.0, 0.9, 1.1]), 0, 0.1), Some(40));
            assert_eq!(found(&with(&[1.0, -0.9]), 0, 0.1), None, "on both sides");
            assert_eq!(found(&with(&[1.0, 0.1]), 0, 0.1), None, "within five spreads");
        }
    }

    #[test]
    fn few_points_before_need_more_points_after() {
        let values = |after: usize| [noise(14), vec![150.0; after]].concat();
        assert_eq!([2, 3].map(|after| found(&values(after), 0, 0.1)), [None, Some(14)]);
        assert_eq!(found(&values(3), 8, 0.1), None, "six points since the last step");
        assert_eq!(found(&values(3), 0, 0.001), None, "a rare rate");
        assert_eq!(found(&[1.0, 2.0], 0, 0.1), None);
    }

    #[test]
    fn an_earlier_outlier_of_the_size_makes_it_wait() {
        let mut values = [noise(40), vec![110.0, 111.0]].concat();
        values[20] = 112.0;
        assert_eq!(found(&values, 0, 0.1), None);
    }

    /// Over all orders of seven different values the two newest are the greatest or the least in
    /// 2 / (7 choose 2).
    #[test]
    fn the_chance_is_that_of_all_orders() {
        let ranks: Vec<usize> = (0..7).collect();
        let pairs = ranks.iter().flat_map(|a| ranks.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b);
        let all: Vec<_> = pairs.collect();
        let extreme = all.iter().filter(|(a, b)| (*a > 4 && *b > 4) || (*a < 2 && *b < 2)).count();
        assert!((chance(7, 2) - extreme as f64 / all.len() as f64).abs() < 1e-12);
    }
}
