//! A machine that did not come up with what is to be measured, as a target: whatever is executed on it fails, and says why. So that it did not come up is a
//! recorded result.

use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::outcome::GuestFailure;
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use std::ops::ControlFlow;

/// The machine, with so many CPUs.
#[derive(Debug)]
pub(crate) struct FailingTarget {
    cpus: Vec<u32>,
    how: How,
    /// What was observed, in words.
    why: String,
}

/// What failed.
#[derive(Debug, Clone, Copy)]
enum How {
    /// The kernel did not boot.
    NotBooted,
    /// It could not be installed.
    NotInstalled,
}

impl FailingTarget {
    /// A kernel that does not boot.
    pub(crate) fn not_booted(cpus: u32, why: String) -> Self {
        FailingTarget { cpus: (0..cpus).collect(), how: How::NotBooted, why }
    }

    /// Something that cannot be installed.
    pub(crate) fn not_installed(cpus: u32, why: String) -> Self {
        FailingTarget { cpus: (0..cpus).collect(), how: How::NotInstalled, why }
    }

    fn ending(&self) -> Ending {
        let text = self.why.clone();
        match self.how {
            How::NotBooted => Ending::GuestFailed { failure: GuestFailure::NotBooted, text, console: String::new() },
            How::NotInstalled => Ending::NotStarted { text },
        }
    }
}

impl Target for FailingTarget {
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

impl Counting for FailingTarget {
    fn count(
        &self,
        _: &Execution,
        _: u32,
        _: Option<u64>,
        _: &AtEnd<'_>,
        _: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        _: &StopFlag,
    ) -> Counted {
        Counted { ending: self.ending(), console: None, report: Err(self.why.clone()), seed: None }
    }
}
