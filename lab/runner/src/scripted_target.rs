//! A target for tests, whose executions end as a function determines.

use crate::plan::tests::workloads;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_targets::{Ending, Executed, Execution, StopFlag, Target, TargetError};
use std::ops::ControlFlow;

/// The target, with one CPU and the workloads of the plan's tests.
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
