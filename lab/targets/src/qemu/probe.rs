//! The first boot of a machine: whether it boots, its facts, and how its workloads describe themselves.

use super::Named;
use super::boot::{Boot, BootEnd, FrameSink};
use super::initramfs::WORKLOADS;
use crate::agent::inquiry::{self, Heard};
use crate::agent::{GuestProgram, Plan};
use crate::program_files::SCRATCH;
use crate::{StopFlag, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::outcome::GuestFailure;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// The results of a first boot.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    pub(super) facts: Facts,
    pub(super) workloads: Vec<WorkloadInfo>,
    /// Time from the emulator's start to the agent's hello.
    pub(super) hello_after: Duration,
}

/// The plan of a first boot.
pub(super) fn plan(cpus: u32, nodes: u32, programs: &[GuestProgram]) -> Plan {
    let mut plan = Plan::default();
    inquiry::ask_facts(&mut plan, cpus, nodes);
    inquiry::ask_workloads(&mut plan, WORKLOADS, programs);
    plan
}

/// Boots with the plan of [`plan`]. Fails if the guest does not boot, on a stop, or if a workload does not describe itself.
pub(super) fn run(boot: &Boot<'_>, named: Named, stop: &StopFlag) -> Result<Probe, TargetError> {
    let mut heard = Heard::default();
    let sink: &mut FrameSink<'_> = &mut |frame| {
        heard.take(frame);
        ControlFlow::Continue(())
    };
    let booted = boot.run(sink, stop);
    let (text, hint) = match booted.end {
        BootEnd::Done => (None, String::new()),
        BootEnd::Failed(failure, text) => (Some(text), hint(failure, &booted.console, named)),
        BootEnd::Refused | BootEnd::Stopped => (Some("the boot was stopped".to_owned()), String::new()),
    };
    if let Some(text) = text {
        return Err(TargetError { problem: format!("could not boot the guest: {text}"), hint });
    }
    let hello_after = booted.hello_after.unwrap_or_default();
    let facts = inquiry::facts(&heard.files, "x86_64", Path::new(SCRATCH));
    Ok(Probe { facts, workloads: heard.workloads("in the guest")?, hello_after })
}

/// A hint that depends on how it failed, in the words in which the machine was asked for.
fn hint(failure: GuestFailure, console: &str, named: Named) -> String {
    let advice = match (failure, named) {
        (GuestFailure::NotBooted, Named::InOn) if console.is_empty() => {
            "its console stayed empty: a kernel needs its serial console (8250) built in; `boot_limit=5m` waits longer"
        }
        (GuestFailure::NotBooted, Named::ByOptions) if console.is_empty() => {
            "its console stayed empty: a kernel needs its serial console (8250) built in; `--kernel IMAGE` names another"
        }
        (GuestFailure::NotBooted, Named::InOn) => "`boot_limit=5m` waits longer; `kernel=FILE` names another kernel",
        (GuestFailure::NotBooted, Named::ByOptions) => {
            "`--kernel IMAGE` names another kernel; `--append PARAMETER` adds a parameter for it"
        }
        (GuestFailure::Panicked, Named::InOn) => {
            "`append=PARAMETER` adds a parameter for the kernel; `kernel=FILE` names another"
        }
        (GuestFailure::Panicked, Named::ByOptions) => {
            "`--append PARAMETER` adds a parameter for the kernel; `--kernel IMAGE` names another"
        }
        (GuestFailure::Hung | GuestFailure::Lost, Named::InOn) => {
            "`memory=2G` gives it more memory; `make guest` builds its programs anew"
        }
        (GuestFailure::Hung | GuestFailure::Lost, Named::ByOptions) => {
            "`--memory 2048` gives it more memory; `make guest` builds its programs anew"
        }
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_what_the_user_can_give() {
        use GuestFailure::{Hung, Lost, NotBooted, Panicked};
        for (failure, console) in [(NotBooted, ""), (NotBooted, "x"), (Panicked, "x"), (Hung, "x"), (Lost, "x")] {
            let options = hint(failure, console, Named::ByOptions);
            assert!(options.contains("`--") && !options.contains("boot_limit"), "{options}");
            assert!(!hint(failure, console, Named::InOn).contains("`--"));
        }
    }
}
