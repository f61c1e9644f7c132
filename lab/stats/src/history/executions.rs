//! The executions of a run that measures commits: values, boots, and random layouts.

use crate::bisect::FIRST_LAYOUTS;
use crate::commit_runs;
use crate::commit_runs::{LineNext, RelinkNext};
use crate::datasets::boot;
use crate::history::causes::{LayoutResults, LayoutSample};
use crate::progress::{Standing, standings};
use faultline_record::plan::{HistorySettings, PlanItem};
use faultline_record::record::RunRecord;
use faultline_record::relink::RelinkResult;
use faultline_record::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::{BTreeMap, BTreeSet};

/// A planned execution with its outcome.
pub(super) type Execution<'a> = (&'a PlanItem, Standing<'a>);

/// The boots of a commit's executions with a value, numbered from 0 in order; none for counts, with
/// a single boot, or if one is unknown.
pub(super) struct Boots(BTreeMap<String, u32>);

impl Boots {
    pub(super) fn of<'a>(
        record: &RunRecord,
        history: &HistorySettings,
        executions: impl Iterator<Item = &'a Execution<'a>>,
    ) -> Self {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        if history.measure.quantity().is_counted() {
            return Boots(numbers);
        }
        for execution in executions.filter(|execution| finite(record, history, execution).is_some()) {
            let Some(name) = boot_of(record, execution) else { return Boots(BTreeMap::new()) };
            let next = numbers.len() as u32;
            numbers.entry(name).or_insert(next);
        }
        Boots(if numbers.len() < 2 { BTreeMap::new() } else { numbers })
    }

    /// The boot of an execution; 0 if boots are not distinguished.
    pub(super) fn number(&self, record: &RunRecord, execution: &Execution<'_>) -> u32 {
        boot_of(record, execution).and_then(|name| self.0.get(&name).copied()).unwrap_or(0)
    }

    /// The boots of the executions with a value; empty if boots are not distinguished.
    pub(super) fn numbers(
        &self,
        record: &RunRecord,
        history: &HistorySettings,
        executions: &[Execution<'_>],
    ) -> Vec<u32> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let with_value = executions.iter().filter(|execution| finite(record, history, execution).is_some());
        with_value.map(|execution| self.number(record, execution)).collect()
    }
}

fn boot_of(record: &RunRecord, (item, standing): &Execution<'_>) -> Option<String> {
    match standing {
        Standing::Done(attempt) => boot(record, item.subject, attempt),
        Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
    }
}

/// The value of a successful execution, if it is a finite number.
pub(super) fn finite(record: &RunRecord, history: &HistorySettings, execution: &Execution<'_>) -> Option<f64> {
    value(record, history, execution).filter(|value| value.is_finite())
}

/// The value of a successful execution.
pub(super) fn value(record: &RunRecord, history: &HistorySettings, (item, standing): &Execution<'_>) -> Option<f64> {
    match standing {
        Standing::Done(attempt) => commit_runs::value(record, &history.measure, item, attempt),
        Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
    }
}

/// The executions by subject.
pub(super) fn by_subject(record: &RunRecord) -> BTreeMap<SubjectIndex, Vec<Execution<'_>>> {
    let mut own: BTreeMap<SubjectIndex, Vec<Execution<'_>>> = BTreeMap::new();
    for (item, standing) in standings(record) {
        own.entry(item.subject).or_default().push((item, standing));
    }
    own
}

/// The subjects of a run.
pub(super) fn indexed(record: &RunRecord) -> impl Iterator<Item = (SubjectIndex, &Subject)> {
    (0..).map(SubjectIndex).zip(&record.subjects)
}

/// The tried random layouts by commit, in the order of their seeds.
pub(super) struct RandomLayouts<'a> {
    by_commit: BTreeMap<&'a str, Vec<Tried<'a>>>,
}

/// A tried layout.
struct Tried<'a> {
    layout: u32,
    subject: SubjectIndex,
    result: &'a RelinkResult,
}

impl<'a> RandomLayouts<'a> {
    pub(super) fn of(record: &'a RunRecord) -> Self {
        let mut by_commit: BTreeMap<&str, Vec<Tried<'_>>> = BTreeMap::new();
        for (index, subject) in indexed(record) {
            if let (Some(BuildResult::Relinked { layout, result }), Some(commit)) = (&subject.build, &subject.commit) {
                by_commit.entry(&commit.id).or_default().push(Tried { layout: *layout, subject: index, result });
            }
        }
        RandomLayouts { by_commit }
    }

    fn tried(&self, subject: &Subject) -> &[Tried<'a>] {
        let commit = subject.commit.as_ref().map_or("", |commit| commit.id.as_str());
        self.by_commit.get(commit).map_or(&[], Vec::as_slice)
    }

    /// The next layout to link of these subjects; `None` if all are linked. If no first layout of a
    /// commit moves anything, no others are tried.
    pub(super) fn next(
        &self,
        record: &RunRecord,
        history: &HistorySettings,
        subjects: &[SubjectIndex],
    ) -> Option<LineNext> {
        subjects.iter().find_map(|&subject| {
            let built = record.subject(subject)?;
            let tried = self.tried(built);
            let layout = tried.len() as u32;
            let is_moved = tried.iter().any(|one| matches!(one.result, RelinkResult::Placed { .. }));
            let is_wanted = layout < history.layouts && (layout < FIRST_LAYOUTS || is_moved);
            let position = history.line.position(&built.commit.as_ref()?.id)?;
            let own = built.setup.directory.clone().unwrap_or_default();
            let next = RelinkNext { position, own, layout, most: history.layouts };
            is_wanted.then(|| LineNext::Relink { layouts: vec![next] })
        })
    }

    /// The executed layouts of a subject, by seed: of those with equal places, the first.
    pub(super) fn executed(&self, subject: &Subject) -> Vec<(u32, SubjectIndex)> {
        let mut seen = BTreeSet::new();
        let tried = self.tried(subject).iter();
        let new = tried.filter(|one| match one.result {
            RelinkResult::Placed { places } => seen.insert(places.as_str()),
            RelinkResult::Unchanged | RelinkResult::Failed { .. } => false,
        });
        new.map(|one| (one.layout, one.subject)).collect()
    }

    /// Results of the layouts of a subject; `None` without any. `boots`: those of its executions.
    pub(super) fn results(
        &self,
        record: &RunRecord,
        history: &HistorySettings,
        subject: &Subject,
        own: &BTreeMap<SubjectIndex, Vec<Execution<'_>>>,
        boots: &Boots,
    ) -> Option<LayoutResults> {
        let tried = self.tried(subject);
        if tried.is_empty() {
            return None;
        }
        let count = |is_so: fn(&RelinkResult) -> bool| tried.iter().filter(|one| is_so(one.result)).count() as u32;
        let mut failed = count(|result| matches!(result, RelinkResult::Failed { .. }));
        let mut samples = Vec::new();
        for (layout, index) in self.executed(subject) {
            let executions = own.get(&index).map_or(&[][..], Vec::as_slice);
            let of_layout = executions.iter().filter_map(|execution| {
                let value = finite(record, history, execution)?;
                Some((execution.0.ordinal, LayoutSample { layout, boot: boots.number(record, execution), value }))
            });
            let before = samples.len();
            samples.extend(of_layout);
            let has_failed = executions.iter().any(|(_, standing)| matches!(standing, Standing::Failed(_)));
            failed += u32::from(has_failed && samples.len() == before);
        }
        samples.sort_by_key(|(ordinal, _)| *ordinal);
        let unchanged = count(|result| matches!(result, RelinkResult::Unchanged));
        let samples = samples.into_iter().map(|(_, sample)| sample).collect();
        Some(LayoutResults { tried: tried.len() as u32, unchanged, failed, samples })
    }
}
