//! What the commits at a step changed, where the surroundings changed at the same place.
//!
//! The step is that between two levels, and each quirk is bridged by a commit that was measured before and after it. The commits of the levels say how much values
//! vary from one commit to the next, and so how much a bridge's two values may be off. docs/METHODOLOGY.md, §18.

use super::scatter::Sides;
use faultline_model::drill::Change;
use faultline_model::estimate::Estimate;
use faultline_model::history::quirk::Bridge;
use faultline_model::history::{HistoryPoint, HistoryStep, PointResult};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::ops::RangeInclusive;

/// Commits of a level, the nearest ones to the step: as many as are asked for, and fewest.
const MOST: usize = 12;
const FEWEST: usize = 4;

/// One minus the confidence level of the interval.
const ERROR: f64 = 0.05;

/// The part of a step that its commits changed, the value after it divided by that before; `None` if there are too few commits on one of the levels. `surroundings`: before
/// the step and after it. `bridges`: of the quirks that lead from one to the other.
pub(super) fn commits_part(
    step: &HistoryStep,
    sides: &Sides,
    points: &[HistoryPoint],
    bridges: &[Bridge],
    surroundings: [usize; 2],
) -> Option<Change> {
    let [from, to] = surroundings;
    // What bridges itself is on neither level.
    let level = |side, wanted, end| level(points, side, wanted, end, bridges);
    let levels = [level(sides.before(), from, step.earliest), level(sides.after(), to, step.latest)];
    part(&levels, bridges, from < to)
}

/// The nearest commits to the step that were measured in these surroundings.
fn level(
    points: &[HistoryPoint],
    side: RangeInclusive<u32>,
    surroundings: usize,
    end: u32,
    bridges: &[Bridge],
) -> Vec<Estimate> {
    let estimate = |position: u32| {
        let point = points.get(position as usize)?;
        let PointResult::Measured { estimate, .. } = &point.result else { return None };
        let is_of_level = point.surroundings as usize == surroundings;
        (is_of_level && bridges.iter().all(|bridge| bridge.commit != position)).then_some(*estimate)
    };
    let mut positions: Vec<u32> = side.collect();
    positions.sort_by_key(|position| position.abs_diff(end));
    positions.into_iter().filter_map(estimate).take(MOST).collect()
}

/// The ratio of the levels without that of the bridges. Its logarithm is a sum of two means and of two values for each bridge, all with the variance between commits of a level.
fn part(levels: &[Vec<Estimate>; 2], bridges: &[Bridge], is_forward: bool) -> Option<Change> {
    if levels.iter().any(|level| level.len() < FEWEST) {
        return None;
    }
    let [before, after] = levels.each_ref().map(|level| level.iter().map(|one| one.median.ln()).collect::<Vec<f64>>());
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares = |values: &[f64]| values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>();
    let (of_before, of_after) = (before.len() as f64, after.len() as f64);
    let degrees = of_before + of_after - 2.0;
    let variance = (squares(&before) + squares(&after)) / degrees;
    let terms = of_before.recip() + of_after.recip() + 2.0 * bridges.len() as f64;
    let student = StudentsT::new(0.0, 1.0, degrees).expect("each level has several commits");
    let width = student.inverse_cdf(1.0 - ERROR / 2.0) * (variance * terms).sqrt();
    let bridged: f64 = bridges.iter().map(|bridge| (bridge.now.median / bridge.before.median).ln()).sum();
    let difference = mean(&after) - mean(&before) - if is_forward { bridged } else { -bridged };
    let ends = bridges.iter().flat_map(|bridge| [bridge.before, bridge.now]);
    let units = levels.iter().flatten().copied().chain(ends).map(|one| one.n).min()?;
    let change =
        Change { ratio: difference.exp(), low: (difference - width).exp(), high: (difference + width).exp(), units };
    [change.ratio, change.low, change.high].iter().all(|ratio| ratio.is_finite() && *ratio > 0.0).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn estimate(median: f64) -> Estimate {
        Estimate { median, low: median, high: median, coverage: 0.95, n: 7 }
    }

    fn bridge(before: f64, now: f64) -> Bridge {
        let change = Change { ratio: now / before, low: now / before, high: now / before, units: 7 };
        Bridge { commit: 0, before: estimate(before), now: estimate(now), change }
    }

    /// How often the interval covers a part of 5 %, beside quirks of 10 % each.
    fn covered(commits: usize, quirks: usize, noise: &mut dyn FnMut() -> f64) -> usize {
        let mut value = |level: f64| (level + 0.01 * noise()).exp();
        let once = |_: &usize| {
            let mut level = |at: f64| (0..commits).map(|_| estimate(value(at))).collect::<Vec<_>>();
            let levels = [level(0.0), level(0.05 + 0.1 * quirks as f64)];
            let bridges: Vec<Bridge> = (0..quirks).map(|_| bridge(value(0.3), value(0.4))).collect();
            let change = part(&levels, &bridges, true).unwrap();
            (change.low..=change.high).contains(&0.05f64.exp())
        };
        (0..2000).filter(once).count()
    }

    #[test]
    fn the_interval_covers_the_true_part() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        for (commits, quirks) in [(4, 1), (12, 1), (12, 2)] {
            let flat = covered(commits, quirks, &mut || uniform() - 0.5);
            let round = covered(commits, quirks, &mut || uniform() + uniform() + uniform() - 1.5);
            // One commit in seven is off by three times as much.
            let odd = covered(commits, quirks, &mut || (uniform() - 0.5) * if uniform() < 0.15 { 3.0 } else { 1.0 });
            println!("{commits} commits, {quirks} quirks: {flat}, {round}, {odd} of 2000");
            assert!([flat, round].into_iter().all(|covered| covered >= 1880), "{flat} {round}");
            assert!(odd >= 1840, "{odd}");
        }
    }

    #[test]
    fn few_commits_and_impossible_values_tell_nothing() {
        let level = |n: usize, value: f64| vec![estimate(value); n];
        assert_eq!(part(&[level(3, 1.0), level(12, 1.0)], &[bridge(1.0, 1.0)], true), None);
        assert_eq!(part(&[level(4, 0.0), level(4, 1.0)], &[bridge(1.0, 1.0)], true), None);
        assert_eq!(part(&[level(4, 1.0), level(4, 1.0)], &[bridge(0.0, 1.0)], true), None);
        for (is_forward, expected) in [(true, 1.2), (false, 0.8)] {
            let now = if is_forward { 1.25 } else { 0.8 };
            let after = if is_forward { 1.5 } else { 1.0 };
            let change = part(&[level(4, 1.0), level(4, after)], &[bridge(1.0, now)], is_forward).unwrap();
            assert!((change.ratio - expected).abs() < 1e-9 && change.units == 7, "{change:?}");
        }
    }
}
