//! What a record tells of the machine while a cell was measured: whether anything else used it.

use crate::gather::{CaseCells, CellRepeats};
use crate::machine::Cpus;
use crate::shares::MachineTime;
use crate::two_sample::Conditions;
use crate::warnings::{busy_at_start, frequency_reasons, others_cpus, stolen_share};
use faultline_model::record::RunRecord;

/// What is the same for all cells of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    /// Online logical CPUs.
    logical: Option<u32>,
    /// A session began on a busy machine.
    is_busy_at_start: bool,
    /// The frequency changes.
    changes_frequency: bool,
}

impl Surroundings {
    pub(super) fn of(record: &RunRecord) -> Self {
        Surroundings {
            logical: Cpus::of(record).logical,
            is_busy_at_start: busy_at_start(record).is_some(),
            changes_frequency: frequency_reasons(record).is_some(),
        }
    }

    /// The conditions of a cell, by the limits of the warnings `load`, `steal` and `frequency-scaling`.
    pub(super) fn of_cell(self, case: &CaseCells<'_>, cell: &CellRepeats<'_>) -> Conditions {
        Conditions {
            others_cpus: others_cpus(case.about.style, cell, self.logical),
            steal_share: stolen_share(cell),
            is_recorded: is_recorded(cell),
            is_busy_at_start: self.is_busy_at_start,
            changes_frequency: self.changes_frequency,
        }
    }
}

/// Whether each repeat has the machine's CPU times.
fn is_recorded(cell: &CellRepeats<'_>) -> bool {
    cell.repeats.iter().all(|repeat| repeat.attempt.usage.is_some() && MachineTime::of(repeat.attempt).is_some())
}
