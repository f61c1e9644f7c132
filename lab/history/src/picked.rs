//! Which of a branch's commits are measured.

use crate::commits::Walked;
use crate::declared::{Pick, Which};
use faultline_model::commit::CommitInfo;
use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// Positions of the commits that are picked, ascending. The newest always is.
pub(crate) fn picked(walked: &Walked, which: &Which) -> Vec<usize> {
    let commits = &walked.commits;
    let pick = match which {
        Which::Named(_) | Which::Releases(_) => Pick::Every(1),
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
        // What was measured decides it.
        Pick::Adaptive { .. } => false,
        Pick::Day | Pick::Week | Pick::Month => periods.get(position + 1) != periods.get(*position),
    };
    (0..commits.len()).filter(|position| *position == last || is_picked(position)).collect()
}

/// The day, week or month of each commit, counted from any begin. Clocks of committers differ, so a commit counts as no older than those before it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::Walk;

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
        // Friday 0 and 23, Saturday, Sunday (the first of February), Monday, and a commit whose clock was late.
        let hours = [0, 23, 24, 48, 72, 10, 73];
        assert_eq!(of(Pick::Day, &hours), [1, 2, 3, 6]);
        assert_eq!(of(Pick::Week, &hours), [3, 6]);
        assert_eq!(of(Pick::Month, &hours), [2, 6]);
    }
}
