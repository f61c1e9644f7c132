//! What was recorded on the two sides of a step besides its values: under the lens the data and the code that moved lines, otherwise the kernel's counters of
//! workloads. It says what differs, not what caused the step.

use crate::comparison::{Settings, compare_subjects};
use crate::lens::compare;
use crate::progress::{Standing, standings};
use crate::two_sample;
use faultline_model::cell::Cell;
use faultline_model::comparison::CounterDifference;
use faultline_model::drill::DrillStep;
use faultline_model::lens::comparison::CellComparison;
use faultline_model::lens::reading::Reading;
use faultline_model::plan::LineSearch;
use faultline_model::record::RunRecord;
use faultline_model::subject::{BuildResult, Commit, SubjectIndex};

/// What the lens counted otherwise after a step than before. `None` of times, and if this run did not execute both builds.
pub(super) fn moved(record: &RunRecord, search: &LineSearch, step: &DrillStep) -> Option<CellComparison> {
    let [before, after] = sides(record, search, step)?.map(|side| readings(record, side));
    let cell = before.first()?.0;
    let [before, after] =
        [&before, &after].map(|side| side.iter().map(|(_, reading)| *reading).collect::<Vec<&Reading>>());
    compare(&cell.case, cell.tasks, &before, &after)
}

/// The kernel's counters that differ between the sides of a step, as `faultline compare` tests them. None of counts, of programs, for which none are read, and if
/// something else used the machine.
pub(super) fn counters(record: &RunRecord, search: &LineSearch, step: &DrillStep) -> Vec<CounterDifference> {
    let Some([before, after]) = sides(record, search, step) else { return Vec::new() };
    // The answer is that of the search, so nothing is drawn for intervals.
    let settings = Settings {
        two_sample: two_sample::Settings { resamples: 0, ..two_sample::Settings::default() },
        ..Settings::default()
    };
    let compared = compare_subjects(["before", "after"], [(record, before), (record, after)], &settings);
    let workloads = compared.map(|compared| compared.workloads).unwrap_or_default();
    workloads.into_iter().next().map_or_else(Vec::new, |workload| workload.details.counters)
}

/// The builds before and after a step, with the layouts that they have by themselves.
fn sides(record: &RunRecord, search: &LineSearch, step: &DrillStep) -> Option<[SubjectIndex; 2]> {
    let side = |position: u32| {
        let id = &search.line.commits.get(position as usize)?.id;
        let built = (0..).map(SubjectIndex).zip(&record.subjects);
        let mut built = built.filter(|(_, subject)| subject.build == Some(BuildResult::Built));
        let is_of_commit = |commit: &Commit| commit.id == *id;
        built.find(|(_, subject)| subject.commit.as_ref().is_some_and(is_of_commit)).map(|(index, _)| index)
    };
    Some([side(step.before)?, side(step.after)?])
}

/// What was counted of a subject, in the order of the plan.
fn readings(record: &RunRecord, subject: SubjectIndex) -> Vec<(&Cell, &Reading)> {
    let of_subject = standings(record).into_iter().filter(|(item, _)| item.subject == subject);
    of_subject
        .filter_map(|(item, standing)| match standing {
            Standing::Done(attempt) => Some((&item.cell, attempt.reading.as_deref()?)),
            Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
        })
        .collect()
}
