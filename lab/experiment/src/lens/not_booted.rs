//! A kernel that does not boot, as a target: whatever is executed on it fails, and says why. So that it does not boot is a recorded result.

use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::outcome::GuestFailure;
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use std::ops::ControlFlow;

/// The kernel, on a machine with so many CPUs.
#[derive(Debug)]
pub(super) struct NotBooted {
    cpus: Vec<u32>,
    /// What was observed, in words.
    why: String,
}

impl NotBooted {
    pub(super) fn new(cpus: u32, why: String) -> Self {
        NotBooted { cpus: (0..cpus).collect(), why }
    }

    fn ending(&self) -> Ending {
        Ending::GuestFailed { failure: GuestFailure::NotBooted, text: self.why.clone(), console: String::new() }
    }
}

impl Target for NotBooted {
    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(Vec::new())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn execute(&self, _: &Execution, _: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_), _: &StopFlag) -> Ending {
        self.ending()
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }
}

impl Counting for NotBooted {
    fn count(
        &self,
        _: &Execution,
        _: u32,
        _: Option<u64>,
        _: &AtEnd<'_>,
        _: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        _: &StopFlag,
    ) -> Counted {
        Counted { ending: self.ending(), report: Err(self.why.clone()), seed: None }
    }
}
