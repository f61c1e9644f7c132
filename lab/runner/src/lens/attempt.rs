//! One attempt under the lens: what the workload says is checked and saved as always, then the reading is saved beside it.

use super::{Counted, Lens, Watched};
use crate::attempt::{Attempted, Reader, outcome_of};
use crate::observer::Observer;
use crate::run::PlannedRun;
use faultline_model::journal::{AttemptId, Journal, JournalError};
use faultline_model::lens::reading::Reading;
use faultline_model::outcome::Outcome;
use faultline_model::plan::{PlanItem, Settings};
use faultline_symbols::name_reading;
use faultline_targets::{Execution, StopFlag};
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// Operations of each task, where neither the user nor the workload says.
const USUAL_OPERATIONS: u64 = 256;

/// Executes `item` as `attempt`. The error is that of the journal alone.
#[allow(clippy::too_many_arguments, reason = "what an attempt without the lens takes, and the lens")]
pub(crate) fn execute(
    run: &PlannedRun<'_>,
    lens: &dyn Lens,
    item: &PlanItem,
    execution: &Execution,
    attempt: AttemptId,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    stop: &StopFlag,
) -> Result<Attempted, JournalError> {
    let (counted, outcome, operations) = if lens.is_workload() {
        let mut reader = Reader::new(run.settings, item, attempt, journal, observer);
        let watched = lens.watch(item, execution, &mut |line| reader.take(line), stop);
        let operations = reader.operations();
        (watched.counted, reader.conclude(watched.ending, execution.limit)?.outcome, operations)
    } else {
        let Watched { ending, counted } = lens.watch(item, execution, &mut |_| ControlFlow::Continue(()), stop);
        (counted, outcome_of(ending, execution.limit), program_operations(run.settings, item))
    };
    conclude(counted, outcome, operations, attempt, journal)
}

/// Saves the reading, if there is one: of an attempt that did not end well, what was counted until then.
fn conclude(
    counted: Result<Counted<'_>, String>,
    outcome: Outcome,
    operations: u64,
    attempt: AttemptId,
    journal: &mut dyn Journal,
) -> Result<Attempted, JournalError> {
    let counted = counted.and_then(|counted| match nothing_counted(&counted) {
        Some(text) => Err(text),
        None => Ok(counted),
    });
    let without = |outcome| Ok(Attempted { outcome, value: None });
    match (counted, NonZeroU64::new(operations), outcome) {
        (Ok(Counted { report, names }), Some(operations), Outcome::Done) => {
            let reading = name_reading(report, names.as_ref(), operations);
            journal.record_reading(attempt, &reading)?;
            Ok(Attempted { outcome: Outcome::Done, value: Some(transfers_per_operation(&reading)) })
        }
        (Ok(_), None, Outcome::Done) => without(Outcome::NotCounted { text: "it did no operation".to_owned() }),
        (Err(text), _, Outcome::Done) => without(Outcome::NotCounted { text }),
        (Ok(Counted { report, names }), _, outcome) => {
            let reading = name_reading(report, names.as_ref(), NonZeroU64::MIN);
            journal.record_reading(attempt, &Reading { is_partial: true, ..reading })?;
            without(outcome)
        }
        (Err(_), _, outcome) => without(outcome),
    }
}

fn transfers_per_operation(reading: &Reading) -> f64 {
    reading.per_operation(reading.totals.transfers)
}

/// Why a report has nothing in it: it says so among its problems.
fn nothing_counted(counted: &Counted<'_>) -> Option<String> {
    let report = &counted.report;
    let problem = || report.problems.first().map(|problem| problem.text.clone());
    (report.regions == 0).then(|| problem().unwrap_or_else(|| "nothing was counted".to_owned()))
}

/// Operations of a program: as many for each thread as the user said, or one in all.
fn program_operations(settings: &Settings, item: &PlanItem) -> u64 {
    let asked = settings.lens().and_then(|lens| lens.operations_per_task);
    asked.map_or(1, |each| each.saturating_mul(item.cell.tasks.into()))
}

/// Operations that each task of an item is to do under the lens: as many as were asked for, or what is usual; none without it.
pub(crate) fn operations_of(run: &PlannedRun<'_>, item: &PlanItem) -> Option<u64> {
    let asked = run.settings.lens()?.operations_per_task;
    let info = run.workloads.iter().find(|info| info.name == item.cell.case.workload);
    Some(asked.or(info.and_then(|info| info.lens_operations)).unwrap_or(USUAL_OPERATIONS))
}
