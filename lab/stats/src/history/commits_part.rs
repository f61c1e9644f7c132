//! The part of the commits in a step at which the environment changed too.
//!
//! The step is that between two levels, and each quirk is bridged by a commit measured before and
//! after it. The commits of the levels show how much values vary between commits, and so the error
//! of a bridge's two values. docs/METHODOLOGY.md, §18.

use super::scatter::Sides;
use crate::bisect::Change;
use crate::estimate::Estimate;
use crate::history::causes::Bridge;
use crate::history::{HistoryPoint, HistoryStep, PointResult};
use crate::two_sample::welch;
use statrs::distribution::{ContinuousCDF, Normal};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Maximum and minimum number of builds of a level, from the commits nearest to the step.
const MOST: usize = 12;
const FEWEST: usize = 4;

/// One minus the confidence level of the interval.
const ERROR: f64 = 0.05;

/// The part of the commits in a step, the value after it divided by that before; `None` with too
/// few commits on one level. `environments`: before the step and after it. `bridges`: of the quirks
/// between these.
pub(super) fn commits_part(
    step: &HistoryStep,
    sides: &Sides,
    points: &[HistoryPoint],
    bridges: &[Bridge],
    environments: [usize; 2],
) -> Option<Change> {
    let [from, to] = environments;
    // Bridges are on neither level.
    let known = || bridges.iter().filter_map(|bridge| points.get(bridge.commit as usize).map(executed)).collect();
    let before = level(points, sides.before(), from, step.earliest, known());
    let after = level(points, sides.after(), to, step.latest, known());
    part(&[before, after], bridges, from < to)
}

/// The commit whose executions a point has: commits with equal builds share them.
fn executed(point: &HistoryPoint) -> &str {
    match &point.result {
        PointResult::Measured { same_as: Some(same_as), .. } => same_as,
        _ => &point.commit.id,
    }
}

/// Values of the commits nearest to the step in one environment, each build once. `known`: builds
/// to leave out.
fn level<'a>(
    points: &'a [HistoryPoint],
    side: RangeInclusive<u32>,
    environment: usize,
    end: u32,
    mut known: BTreeSet<&'a str>,
) -> Vec<Estimate> {
    let mut positions: Vec<u32> = side.collect();
    positions.sort_by_key(|position| position.abs_diff(end));
    let estimate = |position: u32| {
        let point = points.get(position as usize)?;
        let PointResult::Measured { estimate, .. } = &point.result else { return None };
        let is_new = point.environment as usize == environment && known.insert(executed(point));
        is_new.then_some(*estimate)
    };
    positions.into_iter().filter_map(estimate).take(MOST).collect()
}

/// The ratio of the levels without that of the bridges. Its logarithm is a sum of two means and of
/// two values for each bridge, with the variance between builds of the level on their side.
fn part(levels: &[Vec<Estimate>; 2], bridges: &[Bridge], is_forward: bool) -> Option<Change> {
    if levels.iter().any(|level| level.len() < FEWEST) {
        return None;
    }
    let [before, after] = levels.each_ref().map(|level| level.iter().map(|one| one.median.ln()).collect::<Vec<f64>>());
    let ends = |bridge: &Bridge| if is_forward { [bridge.before, bridge.now] } else { [bridge.now, bridge.before] };
    let of_side = |side: usize, logs: &[f64]| {
        let variance = welch::variance(logs);
        let of_end = |end: Estimate| (variance * times(&end, &levels[side])).max(own_square_error(&end));
        bridges.iter().map(|bridge| of_end(ends(bridge)[side])).sum()
    };
    let found = welch::difference_and(&before, &after, [of_side(0, &before), of_side(1, &after)]);
    let bridged: f64 = bridges.iter().map(ends).map(|[from, to]| (to.median / from.median).ln()).sum();
    let (difference, width) = (found.mean - bridged, found.half_width(ERROR));
    let change = Change {
        ratio: difference.exp(),
        low: (difference - width).exp(),
        high: (difference + width).exp(),
        units: bridges.iter().flat_map(ends).map(|one| one.n).min()?,
    };
    [change.ratio, change.low, change.high].iter().all(|ratio| ratio.is_finite() && *ratio > 0.0).then_some(change)
}

/// Upper limit of a value's variance relative to one of a level: inversely proportional to its
/// executions if it has fewer. Builds vary too, so the true factor is smaller.
fn times(one: &Estimate, level: &[Estimate]) -> f64 {
    let executions = level.iter().map(|one| f64::from(one.n)).sum::<f64>() / level.len() as f64;
    (executions / f64::from(one.n)).max(1.0)
}

/// Square of the standard error of the logarithm from its executions: the machine may have been
/// busier than for other builds.
fn own_square_error(one: &Estimate) -> f64 {
    let width = (one.high / one.low).ln() / 2.0;
    let quantile = Normal::standard().inverse_cdf(0.5 + one.coverage / 2.0);
    if width > 0.0 && quantile > 0.0 { (width / quantile).powi(2) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::example;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn estimate(median: f64) -> Estimate {
        Estimate { median, low: median, high: median, coverage: 0.95, n: 7 }
    }

    fn bridge(before: f64, now: f64) -> Bridge {
        let change = Change { ratio: now / before, low: now / before, high: now / before, units: 7 };
        Bridge { commit: 0, before: estimate(before), now: estimate(now), change }
    }

    /// Coverage of the interval for a part of 5 %, beside quirks of 10 % each. `commits` and
    /// `spread`: of the levels before and after; each quirk's bridge varies as they do.
    fn covered(commits: [usize; 2], spread: [f64; 2], quirks: usize, noise: &mut dyn FnMut() -> f64) -> usize {
        let mut value = |level: f64, spread: f64| (level + 0.01 * spread * noise()).exp();
        let once = |_: &usize| {
            let mut level =
                |side: usize, at: f64| (0..commits[side]).map(|_| estimate(value(at, spread[side]))).collect();
            let levels = [level(0, 0.0), level(1, 0.05 + 0.1 * quirks as f64)];
            let bridges: Vec<Bridge> =
                (0..quirks).map(|_| bridge(value(0.3, spread[0]), value(0.4, spread[1]))).collect();
            let change = part(&levels, &bridges, true).unwrap();
            (change.low..=change.high).contains(&0.05f64.exp())
        };
        (0..2000).filter(once).count()
    }

    #[test]
    fn the_interval_covers_the_true_part() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let equal = [1.0, 1.0];
        let worlds = [
            ([4, 4], equal, 1),
            ([12, 12], equal, 1),
            ([12, 12], equal, 2),
            ([12, 4], [1.0, 3.0], 1),
            ([4, 12], [3.0, 1.0], 1),
        ];
        for (commits, spread, quirks) in worlds {
            let flat = covered(commits, spread, quirks, &mut || uniform() - 0.5);
            let round = covered(commits, spread, quirks, &mut || uniform() + uniform() + uniform() - 1.5);
            // One commit in seven deviates three times as much.
            let mut odd = || (uniform() - 0.5) * if uniform() < 0.15 { 3.0 } else { 1.0 };
            let odd = covered(commits, spread, quirks, &mut odd);
            println!("{commits:?} commits, {spread:?}, {quirks} quirks: {flat}, {round}, {odd} of 2000");
            assert!([flat, round].into_iter().all(|covered| covered >= 1860), "{flat} {round}");
            assert!(odd >= 1840, "{odd}");
        }
    }

    /// While one end of the bridge was measured, its executions varied four times as much as the
    /// others.
    #[test]
    fn the_interval_covers_the_true_part_if_the_machine_was_busy_for_the_bridge() {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut measured = |level: f64, spread: f64| {
            let mut values: [f64; 6] =
                std::array::from_fn(|_| (level + 0.01 * spread * (uniform() + uniform() + uniform() - 1.5)).exp());
            values.sort_by(f64::total_cmp);
            let median = f64::midpoint(values[2], values[3]);
            Estimate { median, low: values[0], high: values[5], coverage: 0.96875, n: 6 }
        };
        let once = |_: &usize| {
            let mut level = |at: f64| (0..8).map(|_| measured(at, 1.0)).collect::<Vec<_>>();
            let levels = [level(0.0), level(0.15)];
            let busy = Bridge { before: measured(0.3, 4.0), now: measured(0.4, 1.0), ..bridge(1.0, 1.0) };
            let change = part(&levels, &[busy], true).unwrap();
            (change.low..=change.high).contains(&0.05f64.exp())
        };
        let covered = (0..2000).filter(once).count();
        println!("{covered} of 2000");
        assert!(covered >= 1860, "{covered}");
    }

    #[test]
    fn a_bridge_with_fewer_executions_than_the_commits_of_a_level_widens_the_interval() {
        let level = |at: f64| [0.99, 1.0, 1.01, 1.0].map(|value| estimate(at * value)).to_vec();
        let width = |n: u32| {
            let mut bridge = bridge(1.0, 1.2);
            bridge.now.n = n;
            let change = part(&[level(1.0), level(1.2)], &[bridge], true).unwrap();
            (change.high / change.low, change.units)
        };
        let ((same, _), (few, units), (many, _)) = (width(7), width(1), width(70));
        assert!(few.ln() > 1.7 * same.ln() && units == 1, "{few} {same}");
        assert_eq!(same, many);
    }

    #[test]
    fn commits_that_share_their_executions_count_once_and_those_of_a_bridge_do_not() {
        let point = |position: u32, same_as: Option<u32>, environment: u32| HistoryPoint {
            commit: example::commit(position),
            run: None,
            environment,
            result: PointResult::Measured {
                estimate: estimate(f64::from(position + 1)),
                least: None,
                same_as: same_as.map(|position| example::commit(position).id),
            },
        };
        let points =
            [point(0, None, 0), point(1, Some(2), 0), point(2, None, 0), point(3, Some(2), 0), point(4, None, 1)];
        let bridge = example::commit(0).id;
        let medians = |known: &[&str]| -> Vec<f64> {
            level(&points, 0..=4, 0, 4, known.iter().copied().collect()).iter().map(|one| one.median).collect()
        };
        assert_eq!((medians(&[]), medians(&[&bridge])), (vec![4.0, 1.0], vec![4.0]));
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
