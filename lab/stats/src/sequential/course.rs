//! The state of a running comparison: whether it continues, and how much time it has taken.

use super::concluded::concluded;
use crate::comparison::{Ended, Settings};
use crate::progress::{Standing, standings};
use faultline_record::record::{RunRecord, Session};

/// True if every workload has its answer. A workload that cannot be compared does not end the
/// comparison, because later blocks may provide the missing values.
pub fn is_settled(record: &RunRecord) -> bool {
    let compared = concluded(record, &Settings::default());
    compared.is_ok_and(|compared| compared.sequential.is_some_and(|sequential| sequential.ended == Ended::Settled))
}

/// True if no attempt of a side has succeeded, so that more attempts would add nothing.
pub fn is_hopeless(record: &RunRecord) -> bool {
    let mut has_succeeded = vec![false; record.subjects.len()];
    for (item, standing) in standings(record) {
        has_succeeded[item.subject.at()] |= matches!(standing, Standing::Done(_));
    }
    has_succeeded.contains(&false)
}

/// Milliseconds from the start of each session to its last attempt, in total, without the duration
/// of that last attempt, which is unknown. If the clock was set back within a session, the time to
/// its latest attempt before that.
pub fn spent_ms(record: &RunRecord) -> u64 {
    let session_ms = |(number, session): (usize, &Session)| {
        let own = record.attempts.iter().filter(|attempt| attempt.session as usize == number);
        let last = own.map(|attempt| attempt.started).filter(|&at| at >= session.started).max();
        last.map_or(0, |last| last.0.abs_diff(session.started.0))
    };
    record.sessions.iter().enumerate().map(session_ms).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_record::outcome::Outcome;
    use faultline_record::subject::SubjectIndex;
    use faultline_record::time::UnixMillis;

    /// Two sides in three blocks.
    fn record() -> RunRecord {
        example::Run::new(&["load"]).tasks(&[1]).repeats(3).against(|_, _| 1_000).record()
    }

    #[test]
    fn a_side_without_any_success_is_hopeless_and_one_success_is_enough() {
        let mut record = record();
        assert!(!is_hopeless(&record));
        let second: Vec<usize> = (0..record.attempts.len())
            .filter(|&index| record.plan[record.attempts[index].ordinal as usize].subject == SubjectIndex::B)
            .collect();
        let [last, others @ ..] = second.as_slice() else { panic!() };
        others.iter().for_each(|&index| record.attempts[index].outcome = Some(Outcome::TimedOut { limit_ms: 1 }));
        assert!(!is_hopeless(&record));
        record.attempts[*last].outcome = Some(Outcome::TimedOut { limit_ms: 1 });
        assert!(is_hopeless(&record));
        record.attempts.clear();
        assert!(is_hopeless(&record));
    }

    #[test]
    fn the_time_between_sessions_is_not_counted() {
        let mut record = record();
        let began = [1_500, 3_000, 100_200, 100_900, 101_000, 102_500];
        record.head.sessions =
            [1_000, 100_000, 200_000].map(|at| Session { started: UnixMillis(at), facts: Vec::new() }).into();
        let sessions = [0, 0, 1, 1, 1, 1];
        record.attempts.iter_mut().zip(began).zip(sessions).for_each(|((attempt, at), session)| {
            (attempt.started, attempt.session) = (UnixMillis(at), session);
        });
        assert_eq!(record.attempts.len(), began.len());
        assert_eq!(spent_ms(&record), 2_000 + 2_500);
        record.attempts.clear();
        assert_eq!(spent_ms(&record), 0);
    }
}
