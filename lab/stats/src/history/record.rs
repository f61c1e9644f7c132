//! The next work and the results of a run that measures commits, from its record.

use super::executions::{Boots, Execution, RandomLayouts, by_subject, finite, indexed, value};
use super::series::least;
use crate::bisect::{TrialResult, are_same};
use crate::commit_runs::{self, LineNext};
use crate::history::{CommitOutcome, CommitResult, HistoryResults};
use crate::mean_load::mean_load;
use crate::median::{median, sorted};
use crate::thresholds::CHANGE_LEAST;
use faultline_record::plan::{HistorySettings, LineMeasure, PlanItem};
use faultline_record::quantity::Quantity;
use faultline_record::record::RunRecord;
use faultline_record::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::{BTreeMap, BTreeSet};

/// The next work of a run after its plan ended; `None` for a run without a history.
///
/// First all commits are built, in their order. Then each is executed once, and successful ones up
/// to the requested number. Every block executes all commits, so a machine that slows down over
/// time affects all of them. Counts use one seed, or several. With random layouts, successful
/// commits are linked in them, and executed in one of them beside their own in each further block,
/// or counted in all of them.
pub fn next_of_record(record: &RunRecord) -> Option<LineNext> {
    let history = record.settings.history()?;
    // Subjects are added in the requested order; layouts follow.
    if let Some(&position) = history.wanted.get(record.subjects.len()) {
        return Some(LineNext::Build { position, execute: false });
    }
    Some(match history.measure {
        LineMeasure::Counted(_) => next_counts(record, history),
        LineMeasure::Timed { .. } => next_blocks(record, history),
    })
}

/// The next blocks: one without layouts, which shows which commits run, then the others, with every
/// layout at least once.
fn next_blocks(record: &RunRecord, history: &HistorySettings) -> LineNext {
    let planned = record.plan.last().map_or(0, |last| last.block + 1);
    let subjects = measurable(record);
    if subjects.is_empty() {
        return LineNext::Nothing;
    }
    if planned == 0 {
        return LineNext::execute([subjects]);
    }
    let random = RandomLayouts::of(record);
    if let Some(relink) = random.next(record, history, &subjects) {
        return relink;
    }
    let layouts: Vec<Vec<(u32, SubjectIndex)>> = subjects
        .iter()
        .map(|&subject| record.subject(subject).map_or_else(Vec::new, |subject| random.executed(subject)))
        .collect();
    let most = layouts.iter().map(Vec::len).max().unwrap_or(0) as u32;
    let block = |number: u32| {
        let of_block = |own: &Vec<(u32, SubjectIndex)>| {
            let at = number as usize - 1;
            (!own.is_empty()).then(|| own[at % own.len()].1)
        };
        subjects.iter().copied().chain(layouts.iter().filter_map(of_block)).collect()
    };
    let wanted = record.settings.repeats.max(most + 1);
    let wanted = if has_unsettled_cpu_times(record, history, &subjects, planned) {
        wanted.max(planned + record.settings.repeats.max(1))
    } else {
        wanted
    };
    let blocks: Vec<Vec<SubjectIndex>> = (planned..wanted).map(block).collect();
    if blocks.is_empty() { LineNext::Nothing } else { LineNext::execute(blocks) }
}

/// Maximum number of executions of a commit on a busy host, as a multiple of the requested number.
const MOST_OFTEN: u32 = 8;

/// Typical distance between the two least CPU times of a commit, as a share of the least, above
/// which more executions are expected to lower the least.
const UNSETTLED: f64 = 0.01;

/// True if the run compares CPU times, of which the least counts, and more executions would lower
/// it: on a host whose other programs, or other virtual machines, slow this one down.
fn has_unsettled_cpu_times(
    record: &RunRecord,
    history: &HistorySettings,
    subjects: &[SubjectIndex],
    planned: u32,
) -> bool {
    let repeats = record.settings.repeats;
    if !history.measure.quantity().is_cpu_time() || planned < repeats.max(2) || planned >= MOST_OFTEN * repeats {
        return false;
    }
    let own = by_subject(record);
    let distance = |subject: &SubjectIndex| {
        let values: Vec<f64> = own.get(subject)?.iter().filter_map(|one| finite(record, history, one)).collect();
        let sorted = sorted(&values);
        let [least, next, ..] = sorted[..] else { return None };
        (least > 0.0).then(|| next / least - 1.0)
    };
    let distances: Vec<f64> = subjects.iter().filter_map(distance).collect();
    median(&distances).is_some_and(|typical| typical > UNSETTLED)
}

/// The next counts: each commit with the first seed; the ends with a second one, if these decide;
/// each commit with all seeds, if counts depend on the seed or if several were requested; each
/// random layout with one seed.
fn next_counts(record: &RunRecord, history: &HistorySettings) -> LineNext {
    let subjects = measurable(record);
    match next_own_counts(record, history, &subjects) {
        Ok(seeds) => next_counts_of_layouts(record, history, &subjects, seeds),
        Err(next) => next,
    }
}

/// The next counts of the commits' own layouts, or their number of seeds after the last.
fn next_own_counts(record: &RunRecord, history: &HistorySettings, subjects: &[SubjectIndex]) -> Result<u32, LineNext> {
    let counted: BTreeSet<(SubjectIndex, u32)> =
        record.plan.iter().map(|item| (item.subject, seed_number(record, item))).collect();
    let lacking = |seed: u32, of: &[SubjectIndex]| -> (u32, Vec<SubjectIndex>) {
        (seed, of.iter().copied().filter(|subject| !counted.contains(&(*subject, seed))).collect())
    };
    let count = |seeds: Vec<(u32, Vec<SubjectIndex>)>| {
        let seeds: Vec<_> = seeds.into_iter().filter(|(_, subjects)| !subjects.is_empty()).collect();
        (!seeds.is_empty()).then_some(LineNext::Execute { blocks: seeds })
    };
    if let Some(first) = count(vec![lacking(0, subjects)]) {
        return Err(first);
    }
    let all = record.settings.repeats.max(1);
    if history.seeds_by_ends && all > 1 {
        let mut ends: Vec<SubjectIndex> = subjects.first().into_iter().chain(subjects.last()).copied().collect();
        ends.dedup();
        if let Some(second) = count(vec![lacking(1, &ends)]) {
            return Err(second);
        }
        if ends.iter().all(|end| counts_are_same(record, history, *end)) {
            return Ok(1);
        }
    }
    count((0..all).map(|seed| lacking(seed, subjects)).collect()).map_or(Ok(all), Err)
}

/// The next counts of random layouts. If counts depend on the seed, each layout has its own seed,
/// so that an unusual schedule affects one layout only.
fn next_counts_of_layouts(
    record: &RunRecord,
    history: &HistorySettings,
    subjects: &[SubjectIndex],
    seeds: u32,
) -> LineNext {
    let random = RandomLayouts::of(record);
    if let Some(relink) = random.next(record, history, subjects) {
        return relink;
    }
    let counted: BTreeSet<SubjectIndex> = record.plan.iter().map(|item| item.subject).collect();
    let mut by_seed: BTreeMap<u32, Vec<SubjectIndex>> = BTreeMap::new();
    for own in subjects.iter().filter_map(|&subject| record.subject(subject)) {
        for (layout, subject) in random.executed(own) {
            if !counted.contains(&subject) {
                by_seed.entry(layout % seeds).or_default().push(subject);
            }
        }
    }
    if by_seed.is_empty() { LineNext::Nothing } else { LineNext::Execute { blocks: by_seed.into_iter().collect() } }
}

/// The number of an item's seed, from 0.
fn seed_number(record: &RunRecord, item: &PlanItem) -> u32 {
    let number = item.seed.and_then(|seed| seed.checked_sub(record.settings.seed));
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(item.block)
}

/// True if a subject has equal counts with all seeds. A failed execution has none.
fn counts_are_same(record: &RunRecord, history: &HistorySettings, subject: SubjectIndex) -> bool {
    let own = by_subject(record);
    let standings = own.get(&subject).map_or(&[][..], Vec::as_slice);
    let counts: Vec<f64> = standings.iter().filter_map(|standing| value(record, history, standing)).collect();
    counts.len() == standings.len() && are_same(&counts, CHANGE_LEAST)
}

/// The executable commits: of those with equal builds, the first.
fn measurable(record: &RunRecord) -> Vec<SubjectIndex> {
    let own = by_subject(record);
    let first = first_by_directory(record);
    let is_measurable = |(index, subject): &(SubjectIndex, &Subject)| {
        let standings = own.get(index).map_or(&[][..], Vec::as_slice);
        let usable =
            commit_runs::result(subject, standings.iter().map(|(_, standing)| standing)) == TrialResult::Usable;
        let is_own = !matches!(subject.build, Some(BuildResult::Relinked { .. }));
        is_own && usable && directory(subject).is_none_or(|directory| first.get(directory) == Some(index))
    };
    indexed(record).filter(is_measurable).map(|(index, _)| index).collect()
}

/// The results of a record so far; `None` for a run without a history.
pub fn results_of_record(record: &RunRecord) -> Option<HistoryResults> {
    let history = record.settings.history()?;
    let own = by_subject(record);
    let first = first_by_directory(record);
    let random = RandomLayouts::of(record);
    let result = |(index, subject): (SubjectIndex, &Subject)| {
        if let Some(BuildResult::Relinked { .. }) = subject.build {
            return None;
        }
        let commit = subject.commit.as_ref()?.id.clone();
        let measured = directory(subject).and_then(|directory| first.get(directory).copied()).unwrap_or(index);
        let same_as = (measured != index).then(|| id(record, measured)).flatten();
        let executions = own.get(&measured).map_or(&[][..], Vec::as_slice);
        let mut outcome = outcome(record, history, subject, executions)?;
        if let CommitOutcome::Measured { same_as: other, boots, layouts, .. } = &mut outcome {
            *other = same_as;
            let of = record.subject(measured)?;
            let in_layouts = random.executed(of).into_iter().filter_map(|(_, index)| own.get(&index)).flatten();
            let all = Boots::of(record, history, executions.iter().chain(in_layouts));
            *boots = all.numbers(record, history, executions);
            *layouts = random.results(record, history, of, &own, &all);
        }
        Some(CommitResult { commit, outcome })
    };
    let commits: Vec<CommitResult> = indexed(record).filter_map(result).collect();
    let cpu_times = cpu_times(record, history, &commits, &own);
    Some(HistoryResults { commits, cpu_times, load: mean_load(record) })
}

/// The least CPU time of each measured commit; none unless the run compares time.
fn cpu_times(
    record: &RunRecord,
    history: &HistorySettings,
    commits: &[CommitResult],
    own: &BTreeMap<SubjectIndex, Vec<Execution<'_>>>,
) -> BTreeMap<String, f64> {
    let mut history = history.clone();
    match &mut history.measured.measure {
        LineMeasure::Timed { quantity, .. } if *quantity == Quantity::Time => *quantity = Quantity::CpuTime,
        _ => return BTreeMap::new(),
    }
    let mut of_executed = BTreeMap::new();
    for (index, executions) in own {
        let is_own = record.subject(*index).is_some_and(|subject| subject.build == Some(BuildResult::Built));
        let values: Vec<f64> = executions.iter().filter_map(|one| finite(record, &history, one)).collect();
        let least = least(&values);
        if let (true, Some(id), Some(least)) = (is_own, id(record, *index), least) {
            of_executed.insert(id, least);
        }
    }
    let of_commit = |result: &CommitResult| match &result.outcome {
        CommitOutcome::Measured { same_as, .. } => {
            let executed = same_as.as_ref().unwrap_or(&result.commit);
            Some((result.commit.clone(), *of_executed.get(executed)?))
        }
        CommitOutcome::Unusable(_) => None,
    };
    commits.iter().filter_map(of_commit).collect()
}

/// The result of a commit in its own layout; `None` if it has none yet.
fn outcome(
    record: &RunRecord,
    history: &HistorySettings,
    subject: &Subject,
    executions: &[Execution<'_>],
) -> Option<CommitOutcome> {
    let values: Vec<f64> = executions.iter().filter_map(|execution| finite(record, history, execution)).collect();
    if !values.is_empty() {
        return Some(CommitOutcome::Measured { values, same_as: None, boots: Vec::new(), layouts: None });
    }
    let standings = executions.iter().map(|(_, standing)| standing);
    commit_runs::not_measured(subject, standings).map(CommitOutcome::Unusable)
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

fn directory(subject: &Subject) -> Option<&str> {
    subject.setup.directory.as_deref()
}

fn id(record: &RunRecord, index: SubjectIndex) -> Option<String> {
    record.subject(index)?.commit.as_ref().map(|commit| commit.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit_runs::RelinkNext;
    use crate::history::causes::{LayoutResults, LayoutSample};
    use crate::history::example::{self, build};
    use crate::lens;
    use faultline_record::bisect::Unusable;
    use faultline_record::outcome::Outcome;
    use faultline_record::plan::{CountedSettings, RunKind};
    use faultline_record::quantity::Quantity;
    use faultline_record::relink::RelinkResult;

    #[test]
    fn all_commits_are_built_before_any_is_measured() {
        let mut record = example::begun(&[0, 2, 3], 5);
        assert_eq!(next_of_record(&record), Some(LineNext::Build { position: 0, execute: false }));
        build(&mut record, Some("/a"));
        build(&mut record, None);
        assert_eq!(next_of_record(&record), Some(LineNext::Build { position: 3, execute: false }));
        build(&mut record, Some("/c"));
        let subjects = vec![SubjectIndex(0), SubjectIndex(2)];
        assert_eq!(next_of_record(&record), Some(LineNext::execute(vec![subjects])));
    }

    #[test]
    fn a_commit_that_fails_is_executed_once_and_a_build_is_measured_once() {
        let mut record = example::begun(&[0, 1, 2], 4);
        [Some("/a"), Some("/b"), Some("/a")].into_iter().for_each(|directory| build(&mut record, directory));
        example::execute(&mut record, 0, Ok(2.0));
        example::execute(&mut record, 1, Err(Outcome::TimedOut { limit_ms: 9 }));
        let subjects = vec![SubjectIndex(0)];
        assert_eq!(next_of_record(&record), Some(LineNext::execute(vec![subjects; 3])));
        (0..3).for_each(|_| example::block(&mut record, &[(0, Ok(4.0))]));
        assert_eq!(next_of_record(&record), Some(LineNext::Nothing));
        let results = results_of_record(&record).unwrap().commits;
        let values = vec![2.0, 4.0, 4.0, 4.0];
        assert_eq!(
            results[0].outcome,
            CommitOutcome::Measured { values: values.clone(), same_as: None, boots: Vec::new(), layouts: None }
        );
        let same_as = Some(results[0].commit.clone());
        assert_eq!(results[2].outcome, CommitOutcome::Measured { values, same_as, boots: Vec::new(), layouts: None });
        let CommitOutcome::Unusable(not) = &results[1].outcome else { panic!("{results:?}") };
        assert_eq!(not.why, Unusable::Hang);
    }

    #[test]
    fn unsettled_cpu_times_are_measured_again_up_to_a_multiple() {
        const REPEATS: u32 = 3;
        let blocks_until_the_end = |quantity: Quantity, distance: f64| {
            let mut record = example::begun(&[0, 1], REPEATS);
            let RunKind::History(history) = &mut record.head.settings.kind else { panic!("it is a history") };
            let LineMeasure::Timed { quantity: saved, .. } = &mut history.measured.measure else { panic!("timed") };
            *saved = quantity;
            ["/a", "/b"].into_iter().for_each(|directory| build(&mut record, Some(directory)));
            for number in 0..1000 {
                let Some(LineNext::Execute { blocks }) = next_of_record(&record) else { return number };
                // Each execution is a little faster than all before it, so the least never settles.
                let value = 2.0 * (1.0 + distance).powi(-(number as i32));
                blocks.iter().take(1).for_each(|_| example::block(&mut record, &[(0, Ok(value)), (1, Ok(value))]));
            }
            panic!("it does not end")
        };
        assert_eq!(blocks_until_the_end(Quantity::CpuTime, 0.001), REPEATS, "the least is settled");
        assert_eq!(blocks_until_the_end(Quantity::CpuTime, 0.05), MOST_OFTEN * REPEATS);
        assert_eq!(blocks_until_the_end(Quantity::Time, 0.05), REPEATS, "a median does not settle");
    }

    #[test]
    fn executions_in_several_boots_are_distinguished_by_numbers() {
        let mut record = example::begun(&[0], 4);
        build(&mut record, Some("/a"));
        (0..4).for_each(|_| example::block(&mut record, &[(0, Ok(2.0))]));
        let boots_of = |record: &RunRecord| match &results_of_record(record).unwrap().commits[0].outcome {
            CommitOutcome::Measured { boots, .. } => boots.clone(),
            CommitOutcome::Unusable(not) => panic!("{not:?}"),
        };
        assert!(boots_of(&record).is_empty(), "one boot, or an unknown one");
        let session = |boot: &str| {
            let mut facts = faultline_record::facts::Facts::default();
            facts.text("boot.id", boot);
            faultline_record::record::Session { started: faultline_record::time::UnixMillis(0), facts: vec![facts] }
        };
        record.head.sessions = vec![session("x"), session("y"), session("x")];
        for (attempt, session) in record.attempts.iter_mut().zip([0, 1, 1, 2]) {
            attempt.session = session;
        }
        assert_eq!(boots_of(&record), [0, 1, 1, 0]);
        record.head.sessions[1].facts.clear();
        assert!(boots_of(&record).is_empty(), "a boot that is not known");
    }

    /// A run of three built commits with counts: commit, number of the seed, transfers.
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
        history.measured.measure = LineMeasure::Counted(Box::new(CountedSettings { what: Quantity::Transfers, lens }));
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
            Some(LineNext::Execute { blocks }) => blocks.iter().map(number).collect(),
            Some(LineNext::Nothing) => Vec::new(),
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
            CommitOutcome::Measured { values: vec![7.0, 7.5], same_as: None, boots: Vec::new(), layouts: None }
        );
    }

    #[test]
    fn seeds_that_are_asked_for_are_counted_whatever_the_ends_show() {
        let counts = [(0, 0, 5.0), (1, 0, 6.0), (2, 0, 7.0)];
        assert_eq!(next(&counted(&counts, 1, false)), []);
        assert_eq!(next(&counted(&counts, 3, false)), [(1, vec![0, 1, 2]), (2, vec![0, 1, 2])]);
    }

    /// This record with requested random layouts.
    fn in_layouts(mut record: RunRecord, layouts: u32) -> RunRecord {
        let RunKind::History(history) = &mut record.head.settings.kind else { panic!("it is one") };
        history.layouts = layouts;
        record
    }

    /// Links the next layouts, with the given places for a commit and a layout, until other work
    /// follows; returns the linked layouts.
    fn relink(record: &mut RunRecord, places: impl Fn(u32, u32) -> RelinkResult) -> Vec<(u32, u32)> {
        let mut linked = Vec::new();
        while let Some(LineNext::Relink { layouts }) = next_of_record(record) {
            let RelinkNext { position, layout, .. } = layouts[0];
            let own = record.subjects[position as usize].clone();
            let result = places(position, layout);
            record.head.subjects.push(Subject { build: Some(BuildResult::Relinked { layout, result }), ..own });
            linked.push((position, layout));
        }
        linked
    }

    fn placed(text: &str) -> RelinkResult {
        RelinkResult::Placed { places: text.to_owned() }
    }

    #[test]
    fn what_runs_is_linked_in_layouts_and_each_further_block_executes_one_of_them() {
        let mut record = in_layouts(example::begun(&[0, 1, 2], 2), 3);
        [Some("/a"), Some("/b"), Some("/c")].into_iter().for_each(|directory| build(&mut record, directory));
        let first = vec![SubjectIndex(0), SubjectIndex(1), SubjectIndex(2)];
        assert_eq!(next_of_record(&record), Some(LineNext::execute(vec![first])));
        example::block(&mut record, &[(0, Ok(2.0)), (1, Err(Outcome::TimedOut { limit_ms: 9 })), (2, Ok(3.0))]);
        // The second commit does not run; no layout moves the third; two layouts of the first are
        // equal.
        let linked = relink(&mut record, |subject, layout| match (subject, layout) {
            (0, 1) => placed("0"),
            (0, layout) => placed(&layout.to_string()),
            _ => RelinkResult::Unchanged,
        });
        assert_eq!(linked, [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1)]);
        let block = |layout: u32| vec![SubjectIndex(0), SubjectIndex(2), SubjectIndex(layout)];
        assert_eq!(next_of_record(&record), Some(LineNext::execute(vec![block(3), block(5)])));
        example::block(&mut record, &[(0, Ok(2.0)), (2, Ok(3.0)), (3, Ok(4.0))]);
        example::block(&mut record, &[(0, Ok(2.0)), (2, Ok(3.0)), (5, Err(Outcome::TimedOut { limit_ms: 9 }))]);
        assert_eq!(next_of_record(&record), Some(LineNext::Nothing));
        let results = results_of_record(&record).unwrap().commits;
        assert_eq!(results.len(), 3, "a layout is no commit of its own");
        let CommitOutcome::Measured { values, layouts, .. } = &results[0].outcome else { panic!("{results:?}") };
        let samples = vec![LayoutSample { layout: 0, boot: 0, value: 4.0 }];
        assert_eq!(values, &[2.0; 3]);
        assert_eq!(layouts, &Some(LayoutResults { tried: 3, unchanged: 0, failed: 1, samples }));
        let CommitOutcome::Measured { layouts: Some(layouts), .. } = &results[2].outcome else { panic!("{results:?}") };
        assert_eq!((layouts.tried, layouts.unchanged, layouts.samples.len()), (2, 2, 0));
    }

    #[test]
    fn each_layout_is_counted_once_and_with_another_seed_if_counts_depend_on_it() {
        let counts = |last: f64| [(0, 0, 5.0), (1, 0, 6.0), (2, 0, 7.0), (0, 1, 5.0), (2, 1, last)];
        let linked = |record: RunRecord| {
            let mut record = in_layouts(record, 2);
            relink(&mut record, |subject, layout| placed(&format!("{subject} {layout}")));
            next(&record)
        };
        assert_eq!(linked(counted(&counts(7.0), 3, true)), [(0, vec![3, 4, 5, 6, 7, 8])]);
        let mut all = counts(9.0).to_vec();
        all.extend([(1, 1, 6.0), (0, 2, 5.0), (1, 2, 6.0), (2, 2, 8.0)]);
        assert_eq!(linked(counted(&all, 3, true)), [(0, vec![3, 5, 7]), (1, vec![4, 6, 8])]);
    }

    #[test]
    fn without_a_commit_that_can_be_built_nothing_is_measured() {
        let mut record = example::begun(&[1], 4);
        build(&mut record, None);
        assert_eq!(next_of_record(&record), Some(LineNext::Nothing));
        let CommitOutcome::Unusable(not) = &results_of_record(&record).unwrap().commits[0].outcome else { panic!() };
        assert_eq!(not.why, Unusable::Build);
    }
}
