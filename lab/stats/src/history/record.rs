//! What a run's record says of the commits that it measures.

use crate::datasets::boot;
use crate::drill::are_same;
use crate::progress::{Standing, standings};
use crate::thresholds::CHANGE_LEAST;
use crate::tried;
use faultline_model::drill::{TrialResult, Unusable};
use faultline_model::history::{CommitOutcome, CommitResult, FailedBuild, HistoryNext, HistoryResults, NotMeasured};
use faultline_model::plan::{HistorySettings, LineMeasure, PlanItem};
use faultline_model::record::RunRecord;
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::{BTreeMap, BTreeSet};

/// What to do next in a run, once all that was planned has ended; `None` of a run that measures no history. First all commits are built, in their order.
/// Then each is executed once, and those that succeeded as often as was asked for. In each block every commit is executed, so a machine that becomes slower
/// over time does so for all of them. Counts are executed with one seed, or with several.
pub fn next_of_record(record: &RunRecord) -> Option<HistoryNext> {
    let history = record.settings.history()?;
    // Subjects are added in the order of what is wanted.
    if let Some(&position) = history.wanted.get(record.subjects.len()) {
        return Some(HistoryNext::Build { position });
    }
    if let LineMeasure::Counted(_) = history.measure {
        return Some(next_counts(record, history));
    }
    let planned = record.plan.last().map_or(0, |last| last.block + 1);
    let wanted = if planned == 0 { 1 } else { record.settings.repeats };
    let subjects = measurable(record);
    Some(match wanted.saturating_sub(planned) {
        blocks if blocks > 0 && !subjects.is_empty() => HistoryNext::Measure { subjects, blocks },
        _ => HistoryNext::Nothing,
    })
}

/// What to count next: each commit with the first seed; then the ends with a second one, if these decide; then, if counts depend on the seed, or if several
/// seeds were asked for, each commit with all seeds.
fn next_counts(record: &RunRecord, history: &HistorySettings) -> HistoryNext {
    let subjects = measurable(record);
    let counted: BTreeSet<(SubjectIndex, u32)> =
        record.plan.iter().map(|item| (item.subject, seed_number(record, item))).collect();
    let lacking = |seed: u32, of: &[SubjectIndex]| -> (u32, Vec<SubjectIndex>) {
        (seed, of.iter().copied().filter(|subject| !counted.contains(&(*subject, seed))).collect())
    };
    let count = |seeds: Vec<(u32, Vec<SubjectIndex>)>| {
        let seeds: Vec<_> = seeds.into_iter().filter(|(_, subjects)| !subjects.is_empty()).collect();
        (!seeds.is_empty()).then_some(HistoryNext::Count { seeds })
    };
    if let Some(first) = count(vec![lacking(0, &subjects)]) {
        return first;
    }
    let all = record.settings.repeats.max(1);
    if history.seeds_by_ends && all > 1 {
        let mut ends: Vec<SubjectIndex> = subjects.first().into_iter().chain(subjects.last()).copied().collect();
        ends.dedup();
        if let Some(second) = count(vec![lacking(1, &ends)]) {
            return second;
        }
        if ends.iter().all(|end| counts_are_same(record, history, *end)) {
            return HistoryNext::Nothing;
        }
    }
    count((0..all).map(|seed| lacking(seed, &subjects)).collect()).unwrap_or(HistoryNext::Nothing)
}

/// The number of an item's seed, from 0.
fn seed_number(record: &RunRecord, item: &PlanItem) -> u32 {
    let number = item.seed.and_then(|seed| seed.checked_sub(record.settings.seed));
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(item.block)
}

/// Whether a subject has the same count with each seed. One with which it failed has none.
fn counts_are_same(record: &RunRecord, history: &HistorySettings, subject: SubjectIndex) -> bool {
    let own = by_subject(record);
    let standings = own.get(&subject).map_or(&[][..], Vec::as_slice);
    let counts: Vec<f64> = standings.iter().filter_map(|standing| value(record, history, standing)).collect();
    counts.len() == standings.len() && are_same(&counts, CHANGE_LEAST)
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
    let value = |execution| Some((value(record, history, execution)?, execution));
    let (values, done): (Vec<f64>, Vec<&(&PlanItem, Standing<'_>)>) =
        executions.iter().filter_map(value).filter(|(value, _)| value.is_finite()).unzip();
    if !values.is_empty() {
        let boots = if history.measure.counted().is_some() { Vec::new() } else { boots(record, &done) };
        return Some(CommitOutcome::Measured { values, same_as, boots });
    }
    executions.iter().find_map(|(_, standing)| match standing {
        Standing::Failed(attempt) => {
            let (why, execution) = (tried::why(attempt), attempt.outcome.clone());
            Some(CommitOutcome::Unusable(NotMeasured { why, build: None, execution }))
        }
        Standing::Done(_) | Standing::Skipped | Standing::Left => None,
    })
}

/// The boot of each execution, as a number from 0 in the order in which they came; nothing if it was one boot for all, or if one is not known.
fn boots(record: &RunRecord, done: &[&(&PlanItem, Standing<'_>)]) -> Vec<u32> {
    let name = |(item, standing): &&(&PlanItem, Standing<'_>)| match standing {
        Standing::Done(attempt) => boot(record, item.subject, attempt),
        Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
    };
    let Some(names) = done.iter().map(name).collect::<Option<Vec<String>>>() else { return Vec::new() };
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for name in &names {
        let next = numbers.len() as u32;
        numbers.entry(name).or_insert(next);
    }
    if numbers.len() < 2 { Vec::new() } else { names.iter().map(|name| numbers[name.as_str()]).collect() }
}

/// The value of an execution that succeeded.
fn value(record: &RunRecord, history: &HistorySettings, (item, standing): &(&PlanItem, Standing<'_>)) -> Option<f64> {
    match standing {
        Standing::Done(attempt) => tried::value(record, &history.measure, item, attempt),
        Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
    }
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
    use crate::lens;
    use faultline_model::count::Count;
    use faultline_model::outcome::Outcome;
    use faultline_model::plan::{CountedSettings, RunKind};

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
        assert_eq!(
            results[0].outcome,
            CommitOutcome::Measured { values: values.clone(), same_as: None, boots: Vec::new() }
        );
        let same_as = Some(results[0].commit.clone());
        assert_eq!(results[2].outcome, CommitOutcome::Measured { values, same_as, boots: Vec::new() });
        let CommitOutcome::Unusable(not) = &results[1].outcome else { panic!("{results:?}") };
        assert_eq!(not.why, Unusable::Hang);
    }

    #[test]
    fn executions_in_several_boots_are_told_apart_by_numbers() {
        let mut record = example::begun(&[0], 4);
        build(&mut record, Some("/a"));
        (0..4).for_each(|_| example::block(&mut record, &[(0, Ok(2.0))]));
        let boots_of = |record: &RunRecord| match &results_of_record(record).unwrap().commits[0].outcome {
            CommitOutcome::Measured { boots, .. } => boots.clone(),
            CommitOutcome::Unusable(not) => panic!("{not:?}"),
        };
        assert!(boots_of(&record).is_empty(), "one boot, or an unknown one");
        let session = |boot: &str| {
            let mut facts = faultline_model::facts::Facts::default();
            facts.text("boot.id", boot);
            faultline_model::record::Session { started: faultline_model::time::UnixMillis(0), facts: vec![facts] }
        };
        record.head.sessions = vec![session("x"), session("y"), session("x")];
        for (attempt, session) in record.attempts.iter_mut().zip([0, 1, 1, 2]) {
            attempt.session = session;
        }
        assert_eq!(boots_of(&record), [0, 1, 1, 0]);
        record.head.sessions[1].facts.clear();
        assert!(boots_of(&record).is_empty(), "a boot that is not known");
    }

    /// A run of three commits that were built, with counts: commit, number of the seed, transfers.
    fn counted(counts: &[(u32, u32, f64)], seeds: u32, seeds_by_ends: bool) -> RunRecord {
        let mut begun = example::begun(&[0, 1, 2], seeds);
        ["/a", "/b", "/c"].into_iter().for_each(|directory| build(&mut begun, Some(directory)));
        let cells: Vec<(u32, f64)> = counts.iter().map(|&(_, _, transfers)| (2, transfers)).collect();
        let mut record = lens::example::record(&cells);
        let (RunKind::Lens(lens), RunKind::History(mut history)) =
            (record.settings.kind.clone(), begun.settings.kind.clone())
        else {
            panic!("both are")
        };
        history.measured.measure = LineMeasure::Counted(Box::new(CountedSettings { what: Count::Transfers, lens }));
        history.seeds_by_ends = seeds_by_ends;
        record.head.subjects = begun.head.subjects;
        record.head.settings.kind = RunKind::History(history);
        record.head.settings.repeats = seeds;
        for (item, &(subject, number, _)) in record.plan.iter_mut().zip(counts) {
            item.subject = SubjectIndex(subject);
            item.seed = Some(record.head.settings.seed + u64::from(number));
        }
        record.plan.truncate(counts.len());
        record.attempts.truncate(counts.len());
        record
    }

    fn next(record: &RunRecord) -> Vec<(u32, Vec<u32>)> {
        let number = |(seed, subjects): &(u32, Vec<SubjectIndex>)| (*seed, subjects.iter().map(|at| at.0).collect());
        match next_of_record(record) {
            Some(HistoryNext::Count { seeds }) => seeds.iter().map(number).collect(),
            Some(HistoryNext::Nothing) => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_seeds_at_the_ends_show_whether_counts_depend_on_the_seed() {
        let mut counts = vec![(0, 0, 5.0), (1, 0, 6.0), (2, 0, 7.0)];
        assert_eq!(next(&counted(&counts[..1], 3, true)), [(0, vec![1, 2])]);
        assert_eq!(next(&counted(&counts, 3, true)), [(1, vec![0, 2])]);
        counts.extend([(0, 1, 5.0), (2, 1, 7.0)]);
        assert_eq!(next(&counted(&counts, 3, true)), [], "they do not");
        counts[4].2 = 7.5;
        let record = counted(&counts, 3, true);
        assert_eq!(next(&record), [(1, vec![1]), (2, vec![0, 1, 2])], "they do");
        let results = results_of_record(&record).unwrap().commits;
        assert_eq!(
            results[2].outcome,
            CommitOutcome::Measured { values: vec![7.0, 7.5], same_as: None, boots: Vec::new() }
        );
    }

    #[test]
    fn seeds_that_are_asked_for_are_counted_whatever_the_ends_show() {
        let counts = [(0, 0, 5.0), (1, 0, 6.0), (2, 0, 7.0)];
        assert_eq!(next(&counted(&counts, 1, false)), []);
        assert_eq!(next(&counted(&counts, 3, false)), [(1, vec![0, 1, 2]), (2, vec![0, 1, 2])]);
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
