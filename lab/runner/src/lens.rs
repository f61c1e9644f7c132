//! Runs whose target counts: their plans, and the reading that is saved with each attempt. The
//! target decides how it counts, `stats` interprets the counts, and `symbols` finds names for them.

mod naming;
mod plan;
mod side_by_side;
mod untranslated;

pub use naming::{ImagesInGuest, Naming};
pub use plan::{
    LensRequest, block_of_kernels, block_of_programs, case_of_workload, plan_kernel, plan_machine, plan_program,
};
pub(crate) use side_by_side::run;

use crate::outcome::Attempted;
use crate::planned::{PlannedRun, program};
use faultline_record::journal::{AttemptId, Journal, JournalError};
use faultline_record::lens::counted::CountedReport;
use faultline_record::lens::reading::Reading;
use faultline_record::outcome::{Outcome, Uncounted};
use faultline_record::plan::PlanItem;
use faultline_symbols::name_reading;
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Execution, StopFlag};
use naming::AtTheEnd;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// The placeholder for the number of tasks in a program's arguments.
pub const TASKS: &str = "{tasks}";

/// Default number of operations per task, if neither the user nor the workload specifies one.
const USUAL_OPERATIONS: u64 = 256;

/// Executes and counts, on a target that can count.
fn count(
    counting: Option<&dyn Counting>,
    execution: &Execution,
    item: &PlanItem,
    at_end: &AtEnd<'_>,
    sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    stop: &StopFlag,
) -> Counted {
    match counting {
        Some(counting) => counting.count(execution, item.cell.tasks, item.seed, at_end, sink, stop),
        None => Counted::lab_failed("the target can't count by the lens".to_owned()),
    }
}

/// Saves the reading, if there is one. If the attempt did not succeed, the reading has the counts
/// until its end. `seed`: the one with which the count repeats exactly; `operations`: their number
/// in the counted part. Fails if the journal cannot save.
fn save_reading(
    (naming, end): (&Naming, AtTheEnd),
    (report, seed): (Result<CountedReport, String>, Option<u64>),
    (outcome, operations): (Outcome, u64),
    attempt: AttemptId,
    journal: &mut dyn Journal,
) -> Result<Attempted, JournalError> {
    let report = match report {
        Ok(report) if report.counts.regions == 0 => Err(match naming {
            Naming::Machine { .. } => Uncounted::NoMarkInMachine,
            Naming::Kernel { .. } | Naming::Program { .. } => Uncounted::NoMark,
        }),
        Ok(report) => Ok(report),
        Err(problem) => Err(Uncounted::NoReport { problem }),
    };
    let without = |outcome| Ok(Attempted::without_value(outcome));
    let named = |report: CountedReport, operations| {
        let (names, untyped) = naming.names(&report, end);
        Reading { seed, untyped, ..name_reading(report, names.as_ref(), operations) }
    };
    match (report, NonZeroU64::new(operations), outcome) {
        (Ok(report), Some(operations), Outcome::Done) => {
            let reading = named(report, operations);
            journal.record_reading(attempt, &reading)?;
            let value = Some(transfers_per_operation(&reading));
            Ok(Attempted { outcome: Outcome::Done, value, own: None })
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

/// Operations of a program: per thread as specified, or one in all. `None` for a workload, which
/// counts its own.
fn program_operations(run: &PlannedRun<'_>, item: &PlanItem) -> Option<u64> {
    program(run, item)?;
    Some(run.settings.counting()?.operations_per_task.map_or(1, |each| each.saturating_mul(item.cell.tasks.into())))
}

/// Operations per task of an item under the lens: the requested number, or the default; `None`
/// without the lens.
pub(crate) fn operations_of(run: &PlannedRun<'_>, item: &PlanItem) -> Option<u64> {
    let asked = run.settings.counting()?.operations_per_task;
    let info = run.workloads.iter().find(|info| info.name == item.cell.case.workload);
    Some(asked.or(info.and_then(|info| info.lens_operations_of(&item.cell.case.variant))).unwrap_or(USUAL_OPERATIONS))
}
