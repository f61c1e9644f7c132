//! Which commits of a history are measured: by a rule, or adaptively.
//!
//! Adaptive picking halves gaps between measured neighbours. If neighbours differ, a step lies
//! between them, and the commit in the middle halves the commits that may have made it. If no
//! neighbours differ, the middle of the widest gap is most informative: changes that cancel each
//! other may be there.

use crate::commits::{Pick, Walked, Which};
use faultline_record::commit::CommitInfo;
use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use std::cmp::Reverse;

/// Seconds per day.
const DAY_S: i64 = 86_400;

/// Positions of the picked commits, ascending, including the newest.
pub(crate) fn picked(walked: &Walked, which: &Which) -> Vec<usize> {
    let commits = &walked.commits;
    let pick = match which {
        Which::Named(_) | Which::Releases => Pick::Every(1),
        Which::Branch { pick, .. } => *pick,
    };
    let last = commits.len().saturating_sub(1);
    let periods = match pick {
        Pick::Every(_) | Pick::Tags | Pick::Adaptive { .. } => Vec::new(),
        Pick::Day | Pick::Week | Pick::Month => periods(commits, pick),
    };
    let is_picked = |position: &usize| match pick {
        Pick::Every(number) => position.is_multiple_of(number as usize),
        Pick::Tags => walked.tagged.contains(&commits[*position].id),
        // Decided by the measured values.
        Pick::Adaptive { .. } => false,
        Pick::Day | Pick::Week | Pick::Month => periods.get(position + 1) != periods.get(*position),
    };
    (0..commits.len()).filter(|position| *position == last || is_picked(position)).collect()
}

/// Day, week or month of each commit, from an arbitrary origin. Clocks of committers differ, so a
/// commit counts as no older than those before it.
fn periods(commits: &[CommitInfo], pick: Pick) -> Vec<i64> {
    let mut latest = i64::MIN;
    let mut periods = Vec::with_capacity(commits.len());
    for commit in commits {
        latest = latest.max(commit.committed_s);
        periods.push(period(latest, pick));
    }
    periods
}

fn period(at_s: i64, pick: Pick) -> i64 {
    let day = at_s.div_euclid(DAY_S);
    match (pick, Timestamp::from_second(at_s)) {
        (Pick::Month, Ok(moment)) => {
            let date = moment.to_zoned(TimeZone::UTC).date();
            i64::from(date.year()) * 12 + i64::from(date.month())
        }
        // The first day of 1970 was a Thursday.
        (Pick::Week, _) => (day + i64::from(Weekday::Thursday.to_monday_zero_offset())).div_euclid(7),
        _ => day,
    }
}

/// Number of evenly spaced commits to measure first: enough for the step search.
const FIRST: usize = 13;

/// Number of gaps between equal neighbours that are halved at once.
const EQUAL_AT_ONCE: usize = 4;

/// Knowledge about a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Known {
    /// Not measured.
    Nothing,
    /// The commit cannot be measured.
    Unusable,
    /// Value with its interval; an exact value is its own interval.
    Value {
        /// Lower end.
        low: f64,
        /// Median.
        median: f64,
        /// Upper end.
        high: f64,
    },
}

/// The unmeasured commits between two measured neighbours.
struct Gap {
    unknown: Vec<usize>,
    differs: bool,
}

/// Positions of the commits to measure next, at most `most`, ascending; empty if none are left.
/// `least`: smallest change that counts as a step, as a share.
pub(crate) fn next_adaptive(known: &[Known], least: f64, most: usize) -> Vec<usize> {
    let last = known.len().saturating_sub(1);
    let ends = [0, last].into_iter().filter(|end| known.get(*end) == Some(&Known::Nothing));
    let mut wanted: Vec<usize> = match known.iter().any(|one| matches!(one, Known::Value { .. })) {
        true => ends.chain(halves(gaps(known, least))).collect(),
        // All of them fit.
        false if known.len() <= most => (0..known.len()).collect(),
        false => (0..FIRST).map(|number| number * last / (FIRST - 1)).chain(first_unknown(known)).collect(),
    };
    wanted.retain(|position| known.get(*position) == Some(&Known::Nothing));
    let mut seen = std::collections::BTreeSet::new();
    wanted.retain(|position| seen.insert(*position));
    wanted.truncate(most);
    wanted.sort_unstable();
    wanted
}

/// The first unmeasured commit, for the case that none of the evenly spaced ones is usable.
fn first_unknown(known: &[Known]) -> Option<usize> {
    known.iter().position(|one| *one == Known::Nothing)
}

/// The gaps between measured neighbours, before the first and after the last of them.
fn gaps(known: &[Known], least: f64) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut before: Option<Known> = None;
    let mut unknown = Vec::new();
    for (position, one) in known.iter().enumerate() {
        match one {
            Known::Nothing => unknown.push(position),
            Known::Unusable => {}
            Known::Value { .. } => {
                let differs = before.is_some_and(|before| differ(&before, one, least));
                gaps.push(Gap { unknown: std::mem::take(&mut unknown), differs });
                before = Some(*one);
            }
        }
    }
    gaps.push(Gap { unknown, differs: false });
    gaps
}

/// True if two values differ certainly and by enough.
fn differ(a: &Known, b: &Known, least: f64) -> bool {
    let (Known::Value { low, median, high }, Known::Value { low: low_b, median: median_b, high: high_b }) = (a, b)
    else {
        return false;
    };
    let is_apart = high < low_b || high_b < low;
    is_apart && (median_b - median).abs() >= least * median.abs()
}

/// The middles of the most informative gaps: all with a step, otherwise the widest.
fn halves(mut gaps: Vec<Gap>) -> Vec<usize> {
    gaps.retain(|gap| !gap.unknown.is_empty());
    gaps.sort_by_key(|gap| (Reverse(gap.differs), Reverse(gap.unknown.len())));
    let with_step = gaps.iter().filter(|gap| gap.differs).count();
    let taken = if with_step > 0 { with_step } else { EQUAL_AT_ONCE };
    gaps.iter().take(taken).map(|gap| gap.unknown[gap.unknown.len() / 2]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commits::Walk;

    const HOUR_S: i64 = 3600;

    /// 2026-01-30 00:00 UTC, a Friday.
    const FRIDAY_S: i64 = 1_769_731_200;

    fn of(pick: Pick, hours: &[i64]) -> Vec<usize> {
        let commit = |(position, hours): (usize, &i64)| CommitInfo {
            id: position.to_string(),
            committed_s: FRIDAY_S + hours * HOUR_S,
            ..CommitInfo::default()
        };
        let commits = hours.iter().enumerate().map(commit).collect();
        let walked = Walked { commits, tagged: ["1".to_owned(), "elsewhere".to_owned()].into() };
        let which = Which::Branch { newest: "main".to_owned(), since: None, pick, walk: Walk::FirstParent };
        picked(&walked, &which)
    }

    #[test]
    fn every_nth_counts_from_the_oldest_and_the_newest_is_always_there() {
        assert_eq!(of(Pick::Every(3), &[0; 8]), [0, 3, 6, 7]);
        assert_eq!(of(Pick::Every(1), &[0; 3]), [0, 1, 2]);
        assert_eq!(of(Pick::Tags, &[0; 4]), [1, 3]);
        assert_eq!(of(Pick::Every(5), &[]), [0_usize; 0]);
    }

    #[test]
    fn the_last_of_each_period_is_picked() {
        // Friday 0 and 23 h, Saturday, Sunday (1 February), Monday, and a commit with a late clock.
        let hours = [0, 23, 24, 48, 72, 10, 73];
        assert_eq!(of(Pick::Day, &hours), [1, 2, 3, 6]);
        assert_eq!(of(Pick::Week, &hours), [3, 6]);
        assert_eq!(of(Pick::Month, &hours), [2, 6]);
    }

    fn exact(value: f64) -> Known {
        Known::Value { low: value, median: value, high: value }
    }

    /// Measures commits with these values as they are picked, at most `most`. `None`: not
    /// measurable.
    fn measured(truth: &[Option<f64>], most: usize) -> Vec<Known> {
        let mut known = vec![Known::Nothing; truth.len()];
        let mut left = most;
        loop {
            let picked = next_adaptive(&known, 0.01, left);
            if picked.is_empty() {
                return known;
            }
            left -= picked.len();
            for position in picked {
                assert_eq!(known[position], Known::Nothing, "nothing is measured twice");
                known[position] = truth[position].map_or(Known::Unusable, exact);
            }
        }
    }

    fn number(known: &[Known]) -> usize {
        known.iter().filter(|one| **one != Known::Nothing).count()
    }

    #[test]
    fn all_commits_of_a_short_history_are_measured_at_once() {
        assert_eq!(next_adaptive(&[Known::Nothing; 20], 0.01, 32), (0..20).collect::<Vec<_>>());
        assert_eq!(next_adaptive(&[Known::Nothing; 20], 0.01, 19).len(), FIRST);
    }

    #[test]
    fn steps_in_a_thousand_commits_are_found_to_the_commit() {
        let steps = [137, 138, 700, 901];
        let value = |position: usize| Some(100.0 * (1 + steps.iter().filter(|step| **step <= position).count()) as f64);
        let truth: Vec<Option<f64>> = (0..1000).map(value).collect();
        let known = measured(&truth, 40);
        for step in steps {
            let sides = [known[step - 1], known[step]];
            assert!(sides.iter().all(|side| matches!(side, Known::Value { .. })), "the step at {step}: {sides:?}");
        }
        assert_eq!(number(&known), 40);
    }

    #[test]
    fn without_steps_the_commits_are_spread() {
        let known = measured(&vec![Some(1.0); 1000], 50);
        let at: Vec<usize> = (0..1000).filter(|position| known[*position] != Known::Nothing).collect();
        assert_eq!((at.len(), at[0], at[49]), (50, 0, 999));
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] <= 84 / 2), "{at:?}");
    }

    #[test]
    fn commits_that_cannot_be_measured_are_passed_by() {
        let truth: Vec<Option<f64>> =
            (0..200).map(|position| (position % 3 != 0).then_some(if position < 90 { 1.0 } else { 2.0 })).collect();
        let known = measured(&truth, 200);
        assert_eq!(number(&known), 200, "all are tried if there is time");
        let known = measured(&truth, 30);
        assert!(known[89] == exact(1.0) && known[91] == exact(2.0), "{:?}", &known[85..95]);
        assert_eq!(number(&measured(&[None; 20], 60)), 20);
        assert!(next_adaptive(&[], 0.01, 5).is_empty());
        assert_eq!(next_adaptive(&[Known::Nothing], 0.01, 5), [0]);
    }

    #[test]
    fn a_new_newest_commit_is_measured_first_and_intervals_that_meet_are_no_step() {
        let noisy = |median: f64| Known::Value { low: 0.9 * median, median, high: 1.1 * median };
        let mut known = vec![Known::Nothing; 20];
        (known[0], known[10]) = (noisy(1.0), noisy(1.15));
        assert_eq!(next_adaptive(&known, 0.01, 1), [19]);
        known[19] = noisy(2.0);
        assert_eq!(next_adaptive(&known, 0.01, 9), [15], "only between the tenth and the last a step is certain");
    }
}
