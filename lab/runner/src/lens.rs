//! Running under the lens: the same plans and attempts, with an emulator's plugin that counts, and a reading saved with each
//! attempt. What the counts mean belongs to `stats`; finding names for them to `symbols`.

mod attempt;
mod kernel;
mod model;
mod plan;
mod program;
mod report_file;

pub(crate) use attempt::{execute, operations_of};
pub use kernel::KernelLens;
pub use model::{MachineModel, Quanta};
pub use plan::{LensRequest, plan_kernel, plan_program};
pub use program::{ProgramLens, THREADS};

use faultline_model::lens::raw::RawReport;
use faultline_model::plan::PlanItem;
use faultline_symbols::Names;
use faultline_targets::{Ending, Execution, StopFlag};
use std::ops::ControlFlow;

/// Where a lens is: executes an item under it.
pub trait Lens {
    /// Executes `item` and hands on the lines of its standard output. When this returns nothing of it runs any more.
    fn watch(
        &self,
        item: &PlanItem,
        execution: &Execution,
        sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
        stop: &StopFlag,
    ) -> Watched<'_>;

    /// Whether what runs speaks the workloads' protocol (docs/FORMATS.md §1).
    fn is_workload(&self) -> bool;
}

/// What came of an execution under the lens.
pub struct Watched<'a> {
    /// How it ended.
    pub ending: Ending,
    /// What was counted; else why nothing is known, in words.
    pub counted: Result<Counted<'a>, String>,
}

impl Watched<'_> {
    /// It never began, in words why.
    fn not_started(text: String) -> Self {
        Watched { counted: Err(text.clone()), ending: Ending::NotStarted { text } }
    }
}

/// A report, and what gives names to its addresses.
pub struct Counted<'a> {
    /// The report.
    pub report: RawReport,
    /// Names.
    pub names: Box<dyn Names + 'a>,
}
