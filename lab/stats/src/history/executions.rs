//! The executions of a run that measures commits: the value and the boot of each.

use crate::datasets::boot;
use crate::progress::{Standing, standings};
use crate::tried;
use faultline_model::plan::{HistorySettings, PlanItem};
use faultline_model::record::RunRecord;
use faultline_model::subject::{Subject, SubjectIndex};
use std::collections::BTreeMap;

/// An execution that was planned, and what became of it.
pub(super) type Execution<'a> = (&'a PlanItem, Standing<'a>);

/// The boots of the executions of a commit that have a value, numbered from 0 in the order in which they came; none of counts, if it was one boot for all, or if
/// one is not known.
pub(super) struct Boots(BTreeMap<String, u32>);

impl Boots {
    pub(super) fn of<'a>(
        record: &RunRecord,
        history: &HistorySettings,
        executions: impl Iterator<Item = &'a Execution<'a>>,
    ) -> Self {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        if history.measure.counted().is_some() {
            return Boots(numbers);
        }
        for execution in executions.filter(|execution| finite(record, history, execution).is_some()) {
            let Some(name) = boot_of(record, execution) else { return Boots(BTreeMap::new()) };
            let next = numbers.len() as u32;
            numbers.entry(name).or_insert(next);
        }
        Boots(if numbers.len() < 2 { BTreeMap::new() } else { numbers })
    }

    /// That of an execution; 0 if boots are not told apart.
    pub(super) fn number(&self, record: &RunRecord, execution: &Execution<'_>) -> u32 {
        boot_of(record, execution).and_then(|name| self.0.get(&name).copied()).unwrap_or(0)
    }

    /// Those of the executions that have a value; nothing if boots are not told apart.
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

/// The value of an execution that succeeded, if it is a finite number.
pub(super) fn finite(record: &RunRecord, history: &HistorySettings, execution: &Execution<'_>) -> Option<f64> {
    value(record, history, execution).filter(|value| value.is_finite())
}

/// The value of an execution that succeeded.
pub(super) fn value(record: &RunRecord, history: &HistorySettings, (item, standing): &Execution<'_>) -> Option<f64> {
    match standing {
        Standing::Done(attempt) => tried::value(record, &history.measure, item, attempt),
        Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
    }
}

/// The executions of each subject that has any.
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
