//! Where a comparison under way stands: whether it goes on, and what time it has taken.

use super::concluded::concluded;
use crate::comparison::Settings;
use faultline_model::comparison::Ended;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunRecord;
use faultline_model::subject::SubjectIndex;
use faultline_model::time::UnixMillis;

/// Whether each workload has its answer. What can't be compared at all is no reason to stop: the next blocks may hold what is missing.
pub fn is_settled(record: &RunRecord) -> bool {
    let compared = concluded(record, &Settings::default());
    compared.is_ok_and(|compared| compared.sequential.is_some_and(|sequential| sequential.ended == Ended::Settled))
}

/// Whether a side failed in everything it was asked for: more of the same would tell nothing.
pub fn is_hopeless(record: &RunRecord) -> bool {
    let ended_well = |item: &PlanItem| {
        record.final_attempt(item.ordinal).is_some_and(|attempt| attempt.outcome == Some(Outcome::Done))
    };
    SubjectIndex::SIDES.into_iter().any(|side| !record.plan.iter().any(|item| item.subject == side && ended_well(item)))
}

/// Milliseconds from the start of each session to its last attempt, added up. The last attempt's own time is not known, and left out.
pub fn spent_ms(record: &RunRecord) -> u64 {
    let starts = record.sessions.iter().map(|session| session.started);
    let ends = starts.clone().skip(1).map(Some).chain([None]);
    let session_ms = |(start, end): (UnixMillis, Option<UnixMillis>)| {
        let within = |at: &UnixMillis| *at >= start && end.is_none_or(|end| *at < end);
        let last = record.attempts.iter().map(|attempt| attempt.started).filter(within).max();
        last.map_or(0, |last| last.0.abs_diff(start.0))
    };
    starts.zip(ends).map(session_ms).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_model::record::Session;

    fn record() -> RunRecord {
        example::Run::new(&["load"]).tasks(&[1]).repeats(3).against(|_, _| 1_000_000).record()
    }

    #[test]
    fn a_side_that_never_ended_well_is_hopeless_and_one_success_is_enough() {
        let mut record = record();
        assert!(!is_hopeless(&record));
        let second = |record: &RunRecord, ordinal: u32| record.plan[ordinal as usize].subject == SubjectIndex::B;
        let ordinals: Vec<u32> = record.attempts.iter().map(|attempt| attempt.ordinal).collect();
        for (index, ordinal) in ordinals.into_iter().enumerate() {
            if second(&record, ordinal) {
                record.attempts[index].outcome = Some(Outcome::TimedOut { limit_ms: 1 });
            }
        }
        assert!(is_hopeless(&record));
        let last = record.attempts.iter_mut().rev().find(|attempt| attempt.outcome != Some(Outcome::Done));
        last.unwrap().outcome = Some(Outcome::Done);
        assert!(!is_hopeless(&record));
    }

    #[test]
    fn the_time_between_sessions_is_not_counted() {
        let mut record = record();
        let begin = |at| Session { started: UnixMillis(at), facts: vec![example::quiet_facts()] };
        record.sessions = vec![begin(1_000), begin(100_000), begin(200_000)];
        let starts = [1_500, 3_000, 100_200, 100_900, 101_000, 102_500];
        for (attempt, at) in record.attempts.iter_mut().zip(starts) {
            attempt.started = UnixMillis(at);
        }
        assert_eq!(spent_ms(&record), 2_000 + 2_500);
        record.attempts.clear();
        assert_eq!(spent_ms(&record), 0);
    }
}
