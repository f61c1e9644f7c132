//! What a run's record says of the commits that it measures.

use crate::progress::{Standing, standings};
use crate::tried;
use faultline_model::drill::{TrialResult, Unusable};
use faultline_model::history::{CommitOutcome, CommitResult, FailedBuild, HistoryNext, HistoryResults, NotMeasured};
use faultline_model::plan::{HistorySettings, PlanItem};
use faultline_model::record::RunRecord;
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::BTreeMap;

/// What to do next in a run, once all that was planned has ended; `None` of a run that measures no history. First all commits are built, in their order.
/// Then each is executed once, and those that succeeded as often as was asked for. In each block every commit is executed, so a machine that becomes slower
/// over time does so for all of them.
pub fn next_of_record(record: &RunRecord) -> Option<HistoryNext> {
    let history = record.settings.history()?;
    // Subjects are added in the order of what is wanted.
    if let Some(&position) = history.wanted.get(record.subjects.len()) {
        return Some(HistoryNext::Build { position });
    }
    let planned = record.plan.last().map_or(0, |last| last.block + 1);
    let wanted = if planned == 0 { 1 } else { record.settings.repeats };
    let subjects = measurable(record);
    Some(match wanted.saturating_sub(planned) {
        blocks if blocks > 0 && !subjects.is_empty() => HistoryNext::Measure { subjects, blocks },
        _ => HistoryNext::Nothing,
    })
}

/// The subjects that can be executed: of those with one build, the first.
fn measurable(record: &RunRecord) -> Vec<SubjectIndex> {
    let own = by_subject(record);
    let first = first_by_directory(record);
    let is_measurable = |(index, subject): &(SubjectIndex, &Subject)| {
        let standings = own.get(index).map_or(&[][..], Vec::as_slice);
        let usable = tried::result(subject, standings.iter().map(|(_, standing)| standing)) == TrialResult::Usable;
        usable && directory(subject).is_none_or(|directory| first.get(directory) == Some(index))
    };
    indexed(record).filter(is_measurable).map(|(index, _)| index).collect()
}

/// The results that a record has so far; `None` of a run that measures no history.
pub fn results_of_record(record: &RunRecord) -> Option<HistoryResults> {
    let history = record.settings.history()?;
    let own = by_subject(record);
    let first = first_by_directory(record);
    let result = |(index, subject): (SubjectIndex, &Subject)| {
        let commit = subject.commit.as_ref()?.id.clone();
        let measured = directory(subject).and_then(|directory| first.get(directory).copied()).unwrap_or(index);
        let same_as = (measured != index).then(|| id(record, measured)).flatten();
        let executions = own.get(&measured).map_or(&[][..], Vec::as_slice);
        Some(CommitResult { commit, outcome: outcome(record, history, subject, executions, same_as)? })
    };
    Some(HistoryResults { commits: indexed(record).filter_map(result).collect() })
}

/// What came of a commit; `None` if it has no result yet.
fn outcome(
    record: &RunRecord,
    history: &HistorySettings,
    subject: &Subject,
    executions: &[(&PlanItem, Standing<'_>)],
    same_as: Option<String>,
) -> Option<CommitOutcome> {
    if let Some(BuildResult::Failed { how, output }) = &subject.build {
        let build = Some(FailedBuild { how: how.clone(), output: output.clone() });
        return Some(CommitOutcome::Unusable(NotMeasured { why: Unusable::Build, build, execution: None }));
    }
    let value = |(item, standing): &(&PlanItem, Standing<'_>)| match standing {
        Standing::Done(attempt) => tried::value(record, &history.measure, item, attempt),
        Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
    };
    let values: Vec<f64> = executions.iter().filter_map(value).filter(|value| value.is_finite()).collect();
    if !values.is_empty() {
        return Some(CommitOutcome::Measured { values, same_as });
    }
    executions.iter().find_map(|(_, standing)| match standing {
        Standing::Failed(attempt) => {
            let (why, execution) = (tried::why(attempt), attempt.outcome.clone());
            Some(CommitOutcome::Unusable(NotMeasured { why, build: None, execution }))
        }
        Standing::Done(_) | Standing::Skipped | Standing::Left => None,
    })
}

/// The executions of each subject that has any.
fn by_subject(record: &RunRecord) -> BTreeMap<SubjectIndex, Vec<(&PlanItem, Standing<'_>)>> {
    let mut own: BTreeMap<SubjectIndex, Vec<(&PlanItem, Standing<'_>)>> = BTreeMap::new();
    for (item, standing) in standings(record) {
        own.entry(item.subject).or_default().push((item, standing));
    }
    own
}

/// The first subject with each build.
fn first_by_directory(record: &RunRecord) -> BTreeMap<&str, SubjectIndex> {
    let mut first = BTreeMap::new();
    for (index, subject) in indexed(record) {
        if let Some(directory) = directory(subject) {
            first.entry(directory).or_insert(index);
        }
    }
    first
}

fn indexed(record: &RunRecord) -> impl Iterator<Item = (SubjectIndex, &Subject)> {
    (0..).map(SubjectIndex).zip(&record.subjects)
}

fn directory(subject: &Subject) -> Option<&str> {
    subject.setup.directory.as_deref()
}

fn id(record: &RunRecord, index: SubjectIndex) -> Option<String> {
    record.subject(index)?.commit.as_ref().map(|commit| commit.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::example::{self, build};
    use faultline_model::outcome::Outcome;

    #[test]
    fn all_commits_are_built_before_any_is_measured() {
        let mut record = example::begun(&[0, 2, 3], 5);
        assert_eq!(next_of_record(&record), Some(HistoryNext::Build { position: 0 }));
        build(&mut record, Some("/a"));
        build(&mut record, None);
        assert_eq!(next_of_record(&record), Some(HistoryNext::Build { position: 3 }));
        build(&mut record, Some("/c"));
        let subjects = vec![SubjectIndex(0), SubjectIndex(2)];
        assert_eq!(next_of_record(&record), Some(HistoryNext::Measure { subjects, blocks: 1 }));
    }

    #[test]
    fn a_commit_that_fails_is_executed_once_and_a_build_is_measured_once() {
        let mut record = example::begun(&[0, 1, 2], 4);
        [Some("/a"), Some("/b"), Some("/a")].into_iter().for_each(|directory| build(&mut record, directory));
        example::execute(&mut record, 0, Ok(2.0));
        example::execute(&mut record, 1, Err(Outcome::TimedOut { limit_ms: 9 }));
        let subjects = vec![SubjectIndex(0)];
        assert_eq!(next_of_record(&record), Some(HistoryNext::Measure { subjects, blocks: 3 }));
        (0..3).for_each(|_| example::block(&mut record, &[(0, Ok(4.0))]));
        assert_eq!(next_of_record(&record), Some(HistoryNext::Nothing));
        let results = results_of_record(&record).unwrap().commits;
        let values = vec![2.0, 4.0, 4.0, 4.0];
        assert_eq!(results[0].outcome, CommitOutcome::Measured { values: values.clone(), same_as: None });
        let same_as = Some(results[0].commit.clone());
        assert_eq!(results[2].outcome, CommitOutcome::Measured { values, same_as });
        let CommitOutcome::Unusable(not) = &results[1].outcome else { panic!("{results:?}") };
        assert_eq!(not.why, Unusable::Hang);
    }

    #[test]
    fn without_a_commit_that_can_be_built_nothing_is_measured() {
        let mut record = example::begun(&[1], 4);
        build(&mut record, None);
        assert_eq!(next_of_record(&record), Some(HistoryNext::Nothing));
        let CommitOutcome::Unusable(not) = &results_of_record(&record).unwrap().commits[0].outcome else { panic!() };
        assert_eq!(not.why, Unusable::Build);
    }
}
