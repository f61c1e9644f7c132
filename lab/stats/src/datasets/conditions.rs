//! Conditions on the machine while a cell was measured: use by others, as far as recorded.

use crate::gather::{CaseCells, CellRepeats};
use crate::machine::Cpus;
use crate::shares::MachineTime;
use crate::two_sample::Conditions;
use crate::warnings::{busy_at_start, frequency_reasons, others_cpus, stolen_share};
use faultline_record::record::RunRecord;

/// Conditions shared by all cells of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedConditions {
    /// Online logical CPUs.
    logical: Option<u32>,
    /// A session began on a busy machine.
    is_busy_at_start: bool,
    /// CPU frequency changes.
    changes_frequency: bool,
}

impl SharedConditions {
    pub(super) fn of(record: &RunRecord) -> Self {
        SharedConditions {
            logical: Cpus::of(record).logical,
            is_busy_at_start: busy_at_start(record).is_some(),
            changes_frequency: frequency_reasons(record).is_some(),
        }
    }

    /// The conditions of a cell, by the limits of the warnings `load`, `steal` and
    /// `frequency-scaling`.
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

/// True if every repeat has the machine's CPU times.
fn is_recorded(cell: &CellRepeats<'_>) -> bool {
    cell.repeats.iter().all(|repeat| repeat.attempt.usage.is_some() && MachineTime::of(repeat.attempt).is_some())
}
