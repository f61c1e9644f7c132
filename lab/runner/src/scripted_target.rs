//! A machine for tests, on which executions come to what a function says.

use crate::plan::tests::workloads;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_targets::{Ending, Executed, Execution, StopFlag, Target, TargetError};
use std::ops::ControlFlow;

/// The machine, with one CPU and the workloads of the plan's tests.
pub(crate) struct Scripted<F>(pub(crate) F);

impl<F: Fn() -> Executed> Target for Scripted<F> {
    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(workloads())
    }

    fn cpus(&self) -> &[u32] {
        &[0]
    }

    fn execute(&self, _: &Execution, _: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_), _: &StopFlag) -> Ending {
        self.0().ending
    }

    fn execute_with_console(
        &self,
        _: &Execution,
        _: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        _: &StopFlag,
    ) -> Executed {
        self.0()
    }
}
