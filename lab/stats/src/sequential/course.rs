//! The state of a running comparison: whether it continues, and how much time it has taken.

use super::concluded::concluded;
use crate::comparison::Settings;
use faultline_model::comparison::Ended;
use faultline_model::outcome::OutcomeCounts;
use faultline_model::record::{RunRecord, Session};
use faultline_model::time::UnixMillis;

/// Whether each workload has its answer. A workload that cannot be compared does not end the comparison, because the next blocks may provide what is missing.
pub fn is_settled(record: &RunRecord) -> bool {
    let compared = concluded(record, &Settings::default());
    compared.is_ok_and(|compared| compared.sequential.is_some_and(|sequential| sequential.ended == Ended::Settled))
}

/// Whether every attempt of a side failed, so that more attempts would add nothing. `by_side`: how its attempts ended.
pub fn is_hopeless(by_side: &[OutcomeCounts]) -> bool {
    by_side.iter().any(|ended| ended.done == 0)
}

/// Milliseconds from the start of each session to its last attempt, in total. The duration of that last attempt is not known, and not included.
/// `attempts`: when each began.
pub fn spent_ms(sessions: &[Session], attempts: &[UnixMillis]) -> u64 {
    let starts = sessions.iter().map(|session| session.started);
    let ends = starts.clone().skip(1).map(Some).chain([None]);
    let session_ms = |(start, end): (UnixMillis, Option<UnixMillis>)| {
        let within = |at: &UnixMillis| *at >= start && end.is_none_or(|end| *at < end);
        let last = attempts.iter().copied().filter(within).max();
        last.map_or(0, |last| last.0.abs_diff(start.0))
    };
    starts.zip(ends).map(session_ms).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_never_ended_well_is_hopeless_and_one_success_is_enough() {
        let ended = |done, failed| OutcomeCounts { done, failed, ..OutcomeCounts::default() };
        assert!(!is_hopeless(&[ended(3, 0), ended(3, 0)]));
        assert!(is_hopeless(&[ended(3, 0), ended(0, 3)]));
        assert!(is_hopeless(&[ended(0, 0), ended(3, 0)]));
        assert!(!is_hopeless(&[ended(3, 0), ended(1, 2)]));
    }

    #[test]
    fn the_time_between_sessions_is_not_counted() {
        let sessions = [1_000, 100_000, 200_000].map(|at| Session { started: UnixMillis(at), facts: Vec::new() });
        let attempts = [1_500, 3_000, 100_200, 100_900, 101_000, 102_500].map(UnixMillis);
        assert_eq!(spent_ms(&sessions, &attempts), 2_000 + 2_500);
        assert_eq!(spent_ms(&sessions, &[]), 0);
    }
}
