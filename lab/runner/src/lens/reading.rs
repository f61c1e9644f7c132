//! What a counted attempt leaves: a reading, saved together with the workload's output.

use super::naming::{AtTheEnd, Naming};
use crate::outcome::Attempted;
use crate::planned::{PlannedRun, program};
use faultline_model::journal::{AttemptId, Journal, JournalError};
use faultline_model::lens::raw::RawReport;
use faultline_model::lens::reading::Reading;
use faultline_model::outcome::{Outcome, Uncounted};
use faultline_model::plan::PlanItem;
use faultline_symbols::name_reading;
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Execution, StopFlag};
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// Default number of operations of each task, if neither the user nor the workload gives one.
const USUAL_OPERATIONS: u64 = 256;

/// Executes and counts, on a target that can count.
pub(super) fn count(
    counting: Option<&dyn Counting>,
    execution: &Execution,
    item: &PlanItem,
    at_end: &AtEnd<'_>,
    sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    stop: &StopFlag,
) -> Counted {
    match counting {
        Some(counting) => counting.count(execution, item.cell.tasks, item.seed, at_end, sink, stop),
        None => Counted::not_started("the target can't count by the lens".to_owned()),
    }
}

/// Saves the reading, if there is one. If the attempt did not succeed, the reading has the counts until its end. `seed`: the one with which the count
/// repeats exactly; `operations`: the number of operations in the counted part. Fails if the journal cannot save.
pub(super) fn save_reading(
    (naming, end): (&Naming, AtTheEnd),
    (report, seed): (Result<RawReport, String>, Option<u64>),
    (outcome, operations): (Outcome, u64),
    attempt: AttemptId,
    journal: &mut dyn Journal,
) -> Result<Attempted, JournalError> {
    let report = match report {
        Ok(report) if report.regions == 0 => Err(Uncounted::NoMark),
        Ok(report) => Ok(report),
        Err(problem) => Err(Uncounted::NoReport { problem }),
    };
    let without = |outcome| Ok(Attempted { outcome, value: None });
    let named = |report: RawReport, operations| {
        let (names, untyped) = naming.names(&report, end);
        Reading { seed, untyped, ..name_reading(report, names.as_ref(), operations) }
    };
    match (report, NonZeroU64::new(operations), outcome) {
        (Ok(report), Some(operations), Outcome::Done) => {
            let reading = named(report, operations);
            journal.record_reading(attempt, &reading)?;
            Ok(Attempted { outcome: Outcome::Done, value: Some(transfers_per_operation(&reading)) })
        }
        (Ok(_), None, Outcome::Done) => without(Outcome::NotCounted { why: Uncounted::NoOperation }),
        (Err(why), _, Outcome::Done) => without(Outcome::NotCounted { why }),
        (Ok(report), _, outcome) => {
            let reading = named(report, NonZeroU64::MIN);
            journal.record_reading(attempt, &Reading { is_partial: true, ..reading })?;
            without(outcome)
        }
        (Err(_), _, outcome) => without(outcome),
    }
}

fn transfers_per_operation(reading: &Reading) -> f64 {
    reading.per_operation(reading.totals.transfers)
}

/// Operations of a program: per thread as the user said, or one in all. `None` for a workload, which counts its own.
pub(super) fn program_operations(run: &PlannedRun<'_>, item: &PlanItem) -> Option<u64> {
    program(run, item)?;
    Some(run.settings.counting()?.operations_per_task.map_or(1, |each| each.saturating_mul(item.cell.tasks.into())))
}

/// Operations of each task of an item under the lens: the requested number, or the default; `None` without the lens.
pub(crate) fn operations_of(run: &PlannedRun<'_>, item: &PlanItem) -> Option<u64> {
    let asked = run.settings.counting()?.operations_per_task;
    let info = run.workloads.iter().find(|info| info.name == item.cell.case.workload);
    Some(asked.or(info.and_then(|info| info.lens_operations_of(&item.cell.case.variant))).unwrap_or(USUAL_OPERATIONS))
}
