//! Conclusions from the record of a run about its line of commits. Differences between the sides of
//! a step besides its values: under the lens the data and the code with transfers, otherwise the
//! kernel's counters of workloads. They are associations, not causes.

use crate::bisect::concluded::{by_cpu_time, concluded_of_record, evidence};
use crate::bisect::reverts::{next_revert, reverted};
use crate::bisect::{BisectResult, Build, ByCpuTime, FoundStep, Next, Trial, TrialResult, next};
use crate::commit_runs::{LineNext, RelinkNext};
use crate::comparison::{CounterDifference, Settings, compare_subjects};
use crate::lens::compare;
use crate::lens::comparison::CellComparison;
use crate::mean_load::mean_load;
use crate::progress::{Standing, standings};
use crate::two_sample;
use faultline_record::bisect::BisectSettings;
use faultline_record::cell::Cell;
use faultline_record::explained::StepExplained;
use faultline_record::lens::reading::Reading;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{KnownResult, LineMeasure, LineSearch};
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunRecord, RunState};
use faultline_record::relink::RelinkResult;
use faultline_record::subject::{BuildResult, Commit, Subject, SubjectIndex};

/// The conclusions from a record so far; `None` for a run without a line.
pub fn conclude_record(record: &RunRecord) -> Option<BisectResult> {
    let search = record.settings.bisect()?;
    let mut found = concluded_of_record(record)?;
    // The answer to several questions confirms no step.
    let is_answered = !search.also.is_empty() && record.state == RunState::Finished;
    found.finished |= has_one_build(record) || is_answered;
    let reverted = reverted(record, &found);
    for (step, reverted) in found.steps.iter_mut().zip(reverted) {
        let is_it = |explained: &&StepExplained| (explained.before, explained.after) == (step.before, step.after);
        step.explained = record.explained.iter().find(is_it).cloned();
        step.reverted = reverted;
        // After the search.
        if step.explained.is_some() {
            step.moved = moved(record, search, step).map(Box::new);
            step.counters = counters(record, search, step);
        }
    }
    let is_over = found.finished && next_revert(record) == LineNext::Nothing;
    found.budget_used = record.state == RunState::Finished && !is_over;
    if is_inconclusive(&found, &search.search) {
        found.by_cpu_time = of_cpu_time(record, search);
    }
    found.unusable_because = found.unusable_end.and_then(|end| first_failure(record, search, end));
    found.load = mean_load(record);
    let values = search.known.iter().filter(|known| matches!(known.result, KnownResult::Value { .. })).count() as u32;
    let known = search.known.len() as u32;
    // Work of the search itself.
    Some(BisectResult { trials: found.trials - known, executions: found.executions - values, known, ..found })
}

/// The first failure of a commit's executions.
fn first_failure(record: &RunRecord, search: &LineSearch, position: u32) -> Option<Outcome> {
    let id = &search.line.commits.get(position as usize)?.id;
    let is_its = |ordinal: u32| {
        let item = record.plan.iter().find(|item| item.ordinal == ordinal);
        let subject = item.and_then(|item| record.subject(item.subject));
        subject.and_then(|subject| subject.commit.as_ref()).is_some_and(|commit| commit.id == *id)
    };
    let attempts = record.attempts.iter().filter(|attempt| is_its(attempt.ordinal));
    attempts
        .filter_map(|attempt| attempt.outcome.clone())
        .find(|outcome| outcome.is_final() && *outcome != Outcome::Done)
}

/// True if the search shows neither a step of its level nor that there is none.
fn is_inconclusive(found: &BisectResult, settings: &BisectSettings) -> bool {
    let is_sensitive = found.detectable.is_some_and(|detectable| detectable <= settings.least);
    let is_answered = match found.steps.as_slice() {
        [] => found.finished && is_sensitive && found.undetected <= 1.0 - settings.level,
        steps => steps.iter().all(|step| step.found),
    };
    found.unusable_end.is_none() && !is_answered
}

/// The answer of the executions' CPU time; `None` unless the search compares their time.
fn of_cpu_time(record: &RunRecord, search: &LineSearch) -> Option<ByCpuTime> {
    let mut search = search.clone();
    match &mut search.measured.measure {
        LineMeasure::Timed { quantity, .. } if *quantity == Quantity::Time => *quantity = Quantity::CpuTime,
        _ => return None,
    }
    by_cpu_time(&evidence(record, &search), &search.search)
}

/// True for a line of two commits with one build, which was executed: no more can be learned.
fn has_one_build(record: &RunRecord) -> bool {
    record.settings.bisect().is_some_and(|search| {
        let evidence = evidence(record, search);
        let is_same =
            |trial: &Trial| trial.position == 1 && matches!(trial.result, TrialResult::SameAs { position: 0 });
        let is_executed = evidence.measured.iter().any(|measured| measured.value.is_some());
        evidence.last == 1 && is_executed && evidence.trials.iter().any(is_same)
    })
}

/// The next work of a search; `None` for a run without a line.
pub fn next_of_record(record: &RunRecord) -> Option<LineNext> {
    let search = record.settings.bisect()?;
    if has_one_build(record) {
        return Some(next_revert(record));
    }
    let subjects = |builds: &[Build]| builds.iter().filter_map(|build| subject_of(record, search, build)).collect();
    let evidence = evidence(record, search);
    Some(match next(&evidence, &search.search) {
        Next::Try { position, .. } => LineNext::Build { position, execute: true },
        Next::Relink { builds } => {
            LineNext::Relink { layouts: builds.iter().map(|build| relink(record, search, build)).collect() }
        }
        Next::Measure { blocks } => LineNext::execute(blocks.iter().map(|builds| subjects(builds))),
        Next::Count { seeds } => {
            LineNext::Execute { blocks: seeds.iter().map(|(seed, builds)| (*seed, subjects(builds))).collect() }
        }
        Next::Nothing => next_revert(record),
    })
}

/// The subject of a build.
fn subject_of(record: &RunRecord, search: &LineSearch, build: &Build) -> Option<SubjectIndex> {
    let id = &search.line.commits.get(build.position as usize)?.id;
    let is_so = |result: &BuildResult| match (build.layout, result) {
        (None, BuildResult::Built) => true,
        (Some(asked), BuildResult::Relinked { layout, result: RelinkResult::Placed { .. } }) => asked == *layout,
        _ => false,
    };
    let is_it = |subject: &Subject| {
        subject.build.as_ref().is_some_and(is_so) && subject.commit.as_ref().is_some_and(|commit| commit.id == *id)
    };
    record.subjects.iter().position(is_it).map(|index| SubjectIndex(index as u32))
}

/// The layout of a build, with the directory of the commit's own build, from this run or an earlier
/// one.
fn relink(record: &RunRecord, search: &LineSearch, build: &Build) -> RelinkNext {
    let own = subject_of(record, search, &Build { layout: None, ..*build });
    let own = own.and_then(|index| record.subjects[index.at()].setup.directory.as_deref());
    let known = search.known.iter().find(|known| known.position == build.position).and_then(|known| known.build());
    RelinkNext {
        position: build.position,
        own: own.or(known).unwrap_or_default().to_owned(),
        layout: build.layout.unwrap_or_default(),
        most: search.search.layouts,
    }
}

/// Transfers that differ between the sides of a step. `None` for other quantities, whose steps they
/// do not explain, and if this run did not execute both builds.
pub(super) fn moved(record: &RunRecord, search: &LineSearch, step: &FoundStep) -> Option<CellComparison> {
    if search.measure.quantity() != Quantity::Transfers {
        return None;
    }
    let [before, after] = sides(record, search, step)?.map(|side| readings(record, side));
    let cell = before.first()?.0;
    let [before, after] =
        [&before, &after].map(|side| side.iter().map(|(_, reading)| *reading).collect::<Vec<&Reading>>());
    compare(&cell.case, cell.tasks, &before, &after)
}

/// The kernel's counters that differ between the sides of a step, by the tests of `faultline
/// compare`. None for counts, for programs (which have no counters), and if something else used the
/// machine.
pub(super) fn counters(record: &RunRecord, search: &LineSearch, step: &FoundStep) -> Vec<CounterDifference> {
    let Some([before, after]) = sides(record, search, step) else { return Vec::new() };
    // The search has the answer, so no intervals are drawn.
    let settings = Settings {
        two_sample: two_sample::Settings { resamples: 0, ..two_sample::Settings::default() },
        ..Settings::default()
    };
    let compared = compare_subjects(["before", "after"], [(record, before), (record, after)], &settings);
    let workloads = compared.map(|compared| compared.workloads).unwrap_or_default();
    workloads.into_iter().next().map_or_else(Vec::new, |workload| workload.details.counters)
}

/// The builds before and after a step, with their own layouts.
fn sides(record: &RunRecord, search: &LineSearch, step: &FoundStep) -> Option<[SubjectIndex; 2]> {
    let side = |position: u32| {
        let id = &search.line.commits.get(position as usize)?.id;
        let built = (0..).map(SubjectIndex).zip(&record.subjects);
        let mut built = built.filter(|(_, subject)| subject.build == Some(BuildResult::Built));
        let is_of_commit = |commit: &Commit| commit.id == *id;
        built.find(|(_, subject)| subject.commit.as_ref().is_some_and(is_of_commit)).map(|(index, _)| index)
    };
    Some([side(step.before)?, side(step.after)?])
}

/// The readings of a subject, in the order of the plan.
fn readings(record: &RunRecord, subject: SubjectIndex) -> Vec<(&Cell, &Reading)> {
    let of_subject = standings(record).into_iter().filter(|(item, _)| item.subject == subject);
    of_subject
        .filter_map(|(item, standing)| match standing {
            Standing::Done(attempt) => Some((&item.cell, attempt.reading.as_deref()?)),
            Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bisect::LayoutResult;
    use crate::example as executions;
    use crate::lens::example;
    use faultline_record::artefact::Artefact;
    use faultline_record::bisect::{Noise, Unusable};
    use faultline_record::commit::{CommitInfo, CommitLine};
    use faultline_record::describe::Style;
    use faultline_record::direction::Direction;
    use faultline_record::plan::{CountedSettings, KnownCommit, MeasuredLine, PinPolicy, RunKind, TimedSettings};
    use faultline_record::protocol::Measure;
    use faultline_record::recipe::{BuildTools, Recipe};
    use faultline_record::relink::LayoutKind;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    /// A line of five commits with tried positions in this order, and transfers per operation.
    pub(crate) fn searched(what: Quantity, tried: &[(u32, f64)]) -> RunRecord {
        let cells: Vec<(u32, f64)> = tried.iter().map(|&(_, transfers)| (2, transfers)).collect();
        let mut record = example::record(&cells);
        let id = |position: u32| format!("{position:040}");
        let RunKind::Lens(lens) = record.settings.kind.clone() else { panic!() };
        let commit = |position| CommitInfo { id: id(position), ..CommitInfo::default() };
        let measured = MeasuredLine {
            measure: LineMeasure::Counted(Box::new(CountedSettings { what, lens })),
            choice: None,
            repository: "/repository".to_owned(),
            forge: None,
            work: None,
            line: CommitLine { commits: (0..5).map(commit).collect() },
            recipe: Recipe {
                command: Vec::new(),
                environment: Vec::new(),
                limit_s: 1,
                kept: Vec::new(),
                is_clean: false,
                ..Recipe::default()
            },
            tools: BuildTools { digest: "1".to_owned(), versions: BTreeMap::new() },
            layout_kind: LayoutKind::default(),
            on: None,
            release_file: None,
            releases: Vec::new(),
            artefact: Artefact::Command(vec!["./load".to_owned()]),
        };
        let search = BisectSettings {
            noise: Noise::None,
            level: 0.95,
            least: 0.02,
            most_blocks: 60,
            layouts: 0,
            thorough: false,
        };
        record.head.settings.kind = RunKind::Bisect(Box::new(LineSearch {
            measured,
            search,
            also: Vec::new(),
            gate: None,
            budget_ms: None,
            revert: None,
            known: Vec::new(),
            asked: None,
            of: None,
        }));
        let subject = record.head.subjects[0].clone();
        let of = |&(position, _): &(u32, f64)| Subject {
            commit: Some(Commit { id: id(position), repository: None }),
            build: Some(BuildResult::Built),
            ..subject.clone()
        };
        record.head.subjects = tried.iter().map(of).collect();
        for (number, item) in (0..).zip(&mut record.plan) {
            item.subject = SubjectIndex(number);
        }
        record
    }

    /// Deterministic noise of at most a half.
    fn noise(seed: u32) -> f64 {
        let draw = ChaCha8Rng::seed_from_u64(seed.into()).next_u64();
        (draw >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }

    /// A search by time of the same line. `values`: time and CPU time of a position in a block.
    pub(crate) fn timed(positions: &[u32], blocks: u32, values: impl Fn(u32, u32) -> [f64; 2]) -> RunRecord {
        let tried: Vec<(u32, f64)> = positions.iter().map(|&position| (position, 1.0)).collect();
        let mut record = searched(Quantity::Transfers, &tried);
        let number = positions.len() as u32;
        let loops = executions::Run::new(&["load"]).tasks(&[1]).repeats(blocks * number).record();
        record.head.workloads = loops.head.workloads;
        record.head.workloads[0].style = Style::Once;
        record.head.sessions = loops.head.sessions;
        record.head.state = RunState::Open;
        record.head.settings.cpus = vec![1];
        (record.plan, record.attempts) = (loops.plan, loops.attempts);
        for (item, attempt) in record.plan.iter_mut().zip(&mut record.attempts) {
            (item.block, item.subject) = (item.ordinal / number, SubjectIndex(item.ordinal % number));
            let [time, cpu_time] = values(positions[item.subject.at()], item.block);
            let (name, unit, direction) = ("real_s".to_owned(), "s".to_owned(), Direction::Lower);
            attempt.window.clear();
            attempt.measures = vec![Measure { name, unit, direction, value: time }];
            attempt.usage = Some(executions::usage((cpu_time * 1e9) as u64, 0));
        }
        let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
        let settings = TimedSettings::pinned(PinPolicy::Each);
        search.measured.measure = LineMeasure::Timed { quantity: Quantity::Time, settings };
        search.search.noise = Noise::Any;
        record
    }

    #[test]
    fn an_inconclusive_time_has_the_steps_of_the_cpu_time_beside_it() {
        let values = |position: u32, block: u32| {
            let cpu_time = if position >= 3 { 1.1 } else { 1.0 };
            [
                cpu_time * (2.0 + 2.0 * noise(7 * block + position)),
                cpu_time * (1.0 + 0.01 * noise(block * 5 + position)),
            ]
        };
        let record = timed(&[0, 4, 2, 3], 24, values);
        let found = conclude_record(&record).unwrap();
        assert!(found.steps.iter().all(|step| !step.found), "{found:?}");
        let by = found.by_cpu_time.unwrap();
        let [step] = by.steps[..] else { panic!("{by:?}") };
        assert_eq!((step.before, step.after, by.level), (2, 3, 0.95));
        assert!((step.ratio - 1.1).abs() < 0.01 && by.detectable.unwrap() < 0.05, "{by:?}");
        let clear =
            conclude_record(&timed(&[0, 4, 2, 3], 24, |position, block| [values(position, block)[1]; 2])).unwrap();
        assert_eq!((clear.steps.len(), clear.by_cpu_time), (1, None), "the time is clear");
    }

    #[test]
    fn a_search_without_a_step_in_cpu_time_says_what_it_could_have_seen() {
        let values = |position: u32, block: u32| {
            [2.0 + 2.0 * noise(7 * block + position), 1.0 + 0.01 * noise(block * 5 + position)]
        };
        for seed in 0..10 {
            let record = timed(&[0, 4], 24, |position, block| values(position, block + 100 * seed));
            let by = conclude_record(&record).unwrap().by_cpu_time.unwrap();
            assert!(by.steps.is_empty() && by.detectable.unwrap() < 0.05, "{seed}: {by:?}");
        }
    }

    #[test]
    fn a_search_that_its_budget_ended_says_where_a_step_remains_possible() {
        let values =
            |position: u32, block: u32| [if position >= 3 { 1.5 } else { 1.0 } + 0.01 * noise(block * 5 + position); 2];
        let mut record = timed(&[0, 4], 24, values);
        assert!(!conclude_record(&record).unwrap().budget_used, "it goes on");
        record.head.state = RunState::Finished;
        let found = conclude_record(&record).unwrap();
        assert!(found.budget_used && !found.finished && found.steps.is_empty(), "{found:?}");
        let [range] = found.remaining[..] else { panic!("{found:?}") };
        assert_eq!((range.before, range.after), (0, 4));
        assert!((range.ratio - 1.5).abs() < 0.05 && range.probability > 0.95, "{range:?}");
        let begun = conclude_record(&RunRecord { attempts: Vec::new(), ..record }).unwrap();
        assert_eq!(begun.remaining.len(), 1, "nothing is known about the line");
    }

    #[test]
    fn two_commits_with_one_build_need_one_execution() {
        let mut record = timed(&[0, 1], 1, |_, _| [1.0, 1.0]);
        let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
        search.measured.line.commits.truncate(2);
        let is_open = |record: &RunRecord| next_of_record(record) != Some(LineNext::Nothing);
        assert!(is_open(&record) && !has_one_build(&record), "two builds");
        record.head.subjects.iter_mut().for_each(|subject| subject.setup.directory = Some("/build".to_owned()));
        assert!(!is_open(&record) && has_one_build(&record));
        let found = conclude_record(&record).unwrap();
        assert!(found.finished && found.steps.is_empty(), "{found:?}");
        record.attempts.clear();
        assert!(!has_one_build(&record), "it may not run");
    }

    #[test]
    fn a_step_below_the_level_is_suspected_and_not_found() {
        let mut suspected = 0;
        for size in 0..40 {
            let step = 1.0 + 0.002 * f64::from(size);
            let values = |position: u32, block: u32| {
                [if position >= 1 { step } else { 1.0 } * (1.0 + 0.3 * noise(11 * block + position)); 2]
            };
            let mut record = timed(&[0, 1], 60, values);
            let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
            search.measured.line.commits.truncate(2);
            let found = conclude_record(&record).unwrap();
            for step in &found.steps {
                assert_eq!(step.found, step.probability >= 0.95, "{step:?}");
                suspected += u32::from(!step.found);
            }
        }
        assert!(suspected > 0, "some steps are below the level");
    }

    #[test]
    fn one_count_of_each_commit_leads_to_the_step() {
        let mut tried = vec![(0, 1.0), (4, 9.0)];
        assert_eq!(
            next_of_record(&searched(Quantity::Transfers, &tried)),
            Some(LineNext::Build { position: 2, execute: true })
        );
        tried.extend([(2, 1.0), (3, 9.0)]);
        let record = searched(Quantity::Transfers, &tried);
        assert_eq!(next_of_record(&record), Some(LineNext::Nothing));
        let found = conclude_record(&record).unwrap();
        assert_eq!((found.steps.len(), found.executions), (1, 4), "{found:?}");
        assert_eq!((found.steps[0].candidates.as_slice(), found.steps[0].values), (&[3][..], Some([1.0, 9.0])));
    }

    #[test]
    fn builds_that_were_linked_again_are_layouts_of_their_commit() {
        let mut record = searched(Quantity::Transfers, &[(0, 1.0), (4, 9.0), (4, 8.0), (4, 7.0), (4, 6.0), (4, 5.0)]);
        let placed = |places: &str| RelinkResult::Placed { places: places.to_owned() };
        let failed = RelinkResult::Failed { how: String::new(), output: String::new() };
        let results = [placed("a"), placed("a"), RelinkResult::Unchanged, failed];
        for (layout, (subject, result)) in (0..).zip(record.head.subjects[2..].iter_mut().zip(results)) {
            subject.build = Some(BuildResult::Relinked { layout, result });
        }
        let evidence = evidence(&record, record.settings.bisect().unwrap());
        assert_eq!(evidence.trials.len(), 2, "a layout is no trial of its commit");
        let results: Vec<_> = evidence.layouts.iter().map(|trial| (trial.build.position, trial.result)).collect();
        let expected =
            [LayoutResult::Placed, LayoutResult::SameAs { layout: 0 }, LayoutResult::Unchanged, LayoutResult::Failed];
        assert_eq!(results, expected.map(|result| (4, result)));
        let of_layouts = evidence.measured.iter().filter(|measured| measured.build.layout == Some(1));
        assert_eq!(of_layouts.map(|measured| measured.value).collect::<Vec<_>>(), [Some(7.0)]);
    }

    #[test]
    fn what_earlier_runs_say_is_not_tried_again() {
        let mut record = searched(Quantity::Transfers, &[(3, 9.0)]);
        let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
        let known = |position, result| KnownCommit { position, result };
        search.known = vec![
            known(0, KnownResult::Value { value: 1.0, build: None }),
            known(4, KnownResult::Value { value: 9.0, build: None }),
            known(2, KnownResult::Unusable { why: Unusable::Build }),
        ];
        let found = conclude_record(&record).unwrap();
        assert_eq!((found.trials, found.executions, found.known), (1, 1, 3));
        assert_eq!(next_of_record(&record), Some(LineNext::Build { position: 1, execute: true }));
    }

    #[test]
    fn the_count_that_was_asked_for_is_compared() {
        let record = searched(Quantity::Instructions, &[(0, 1.0), (4, 9.0)]);
        assert_eq!(next_of_record(&record), Some(LineNext::Nothing));
        assert!(conclude_record(&record).unwrap().steps.is_empty());
    }
}
