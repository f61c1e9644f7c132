//! Which commits tell most about where steps are, given what is known of all. A step lies for certain between neighbours that differ: the commit in their middle halves the
//! commits that may have made it. If no neighbours differ, the middle of the widest gap tells most: a change that another one cancelled may be there.

use std::cmp::Reverse;

/// Commits that are measured first, evenly spaced: enough for a search of steps in time.
const FIRST: usize = 13;

/// Gaps between equal neighbours that are halved at once.
const EQUAL_AT_ONCE: usize = 4;

/// What is known of a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Known {
    /// Nothing.
    Nothing,
    /// It cannot be measured.
    Unusable,
    /// Its value, with the interval of it; of an exact value, the value itself.
    Value {
        /// The lower end.
        low: f64,
        /// The value.
        median: f64,
        /// The upper end.
        high: f64,
    },
}

/// Neighbours that were measured, and the commits between them of which nothing is known.
struct Gap {
    unknown: Vec<usize>,
    differs: bool,
}

/// Positions of the commits to measure next, at most `most`, ascending. `least`: the smallest change that is a step, as a share. Empty if nothing is left.
pub(crate) fn next(known: &[Known], least: f64, most: usize) -> Vec<usize> {
    let last = known.len().saturating_sub(1);
    let ends = [0, last].into_iter().filter(|end| known.get(*end) == Some(&Known::Nothing));
    let mut wanted: Vec<usize> = match known.iter().any(|one| matches!(one, Known::Value { .. })) {
        true => ends.chain(halves(gaps(known, least))).collect(),
        false => (0..FIRST).map(|number| number * last / (FIRST - 1)).chain(first_unknown(known)).collect(),
    };
    wanted.retain(|position| known.get(*position) == Some(&Known::Nothing));
    let mut seen = std::collections::BTreeSet::new();
    wanted.retain(|position| seen.insert(*position));
    wanted.truncate(most);
    wanted.sort_unstable();
    wanted
}

/// The first commit of which nothing is known, for the case that none of the evenly spaced ones can be measured.
fn first_unknown(known: &[Known]) -> Option<usize> {
    known.iter().position(|one| *one == Known::Nothing)
}

/// The gaps between neighbours that were measured, and those before the first and after the last of them, in which only commits without a value are.
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

/// Whether two values are certain to differ, and by enough.
fn differ(a: &Known, b: &Known, least: f64) -> bool {
    let (Known::Value { low, median, high }, Known::Value { low: low_b, median: median_b, high: high_b }) = (a, b)
    else {
        return false;
    };
    let is_apart = high < low_b || high_b < low;
    is_apart && (median_b - median).abs() >= least * median.abs()
}

/// The middles of the gaps that tell most: of all with a step, otherwise of the widest.
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

    fn exact(value: f64) -> Known {
        Known::Value { low: value, median: value, high: value }
    }

    /// Measures commits with these values as they are picked, and returns what is known when so many were measured, or none is left. `None`: it cannot be measured.
    fn measured(truth: &[Option<f64>], most: usize) -> Vec<Known> {
        let mut known = vec![Known::Nothing; truth.len()];
        let mut left = most;
        loop {
            let picked = next(&known, 0.01, left);
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
        assert!(next(&[], 0.01, 5).is_empty());
        assert_eq!(next(&[Known::Nothing], 0.01, 5), [0]);
    }

    #[test]
    fn a_new_newest_commit_is_measured_first_and_intervals_that_meet_are_no_step() {
        let noisy = |median: f64| Known::Value { low: 0.9 * median, median, high: 1.1 * median };
        let mut known = vec![Known::Nothing; 20];
        (known[0], known[10]) = (noisy(1.0), noisy(1.15));
        assert_eq!(next(&known, 0.01, 1), [19]);
        known[19] = noisy(2.0);
        assert_eq!(next(&known, 0.01, 9), [15], "only between the tenth and the last a step is certain");
    }
}
