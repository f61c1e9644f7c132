//! The first boot of a machine: whether it boots, its facts, and how its workloads describe themselves.

use super::Named;
use super::boot::{Boot, BootEnd, FrameSink};
use super::frame::Frame;
use super::initramfs::{GuestProgram, WORKLOADS};
use super::plan::Plan;
use crate::program_files::SCRATCH;
use crate::system_files::{SentFiles, SystemFiles};
use crate::{StopFlag, TargetError, linux_facts};
use faultline_model::describe::{self, WorkloadInfo};
use faultline_model::facts::Facts;
use faultline_model::outcome::GuestFailure;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Facts from the kernel's own files, by key.
const KERNEL_FILES: [(&str, &str); 3] = [
    ("kernel.name", "/proc/sys/kernel/ostype"),
    ("kernel.release", "/proc/sys/kernel/osrelease"),
    ("kernel.version", "/proc/sys/kernel/version"),
];

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
    let kernel_files = KERNEL_FILES.iter().map(|(_, path)| (*path).to_owned());
    for path in linux_facts::paths(cpus, nodes).into_iter().chain(kernel_files) {
        plan.add(&["file", &path]);
    }
    for program in programs.iter().filter(|program| program.is_workload()) {
        plan.add(&["run", &format!("{WORKLOADS}/{}", program.name), "--describe"]);
    }
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
    Ok(Probe { facts: facts(&heard.files), workloads: heard.workloads()?, hello_after })
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

fn facts(files: &SentFiles) -> Facts {
    let mut facts = Facts::default();
    for (key, path) in KERNEL_FILES {
        if let Some(text) = files.text(path) {
            facts.text(key, text);
        }
    }
    facts.text("cpu.architecture", "x86_64");
    linux_facts::read(files, &mut facts, Path::new(SCRATCH));
    facts
}

/// What the guest has sent.
#[derive(Debug, Default)]
struct Heard {
    files: SentFiles,
    /// The file whose lines are arriving.
    file: Option<String>,
    programs: Vec<Description>,
}

/// A program's answer to `--describe`.
#[derive(Debug, Default)]
struct Description {
    program: String,
    text: String,
    problem: Option<String>,
}

impl Heard {
    fn take(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::File(path) => {
                self.files.0.insert(path.clone(), String::new());
                self.file = Some(path.clone());
            }
            Frame::Line(line) => {
                let text = self.file.as_ref().and_then(|path| self.files.0.get_mut(path));
                if let Some(text) = text {
                    text.push_str(&String::from_utf8_lossy(line));
                    text.push('\n');
                }
            }
            Frame::Program(program) => {
                self.programs.push(Description { program: program.clone(), ..Description::default() });
            }
            _ => {
                if let Some(description) = self.programs.last_mut() {
                    description.take(frame);
                }
            }
        }
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        let mut workloads = self.programs.iter().map(Description::read).collect::<Result<Vec<_>, _>>()?;
        workloads.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(workloads)
    }
}

impl Description {
    fn take(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::Out(line) => {
                self.text.push_str(&String::from_utf8_lossy(line));
                self.text.push('\n');
            }
            Frame::NotStarted(text) => self.problem = Some(text.clone()),
            Frame::Exit(status) if *status != 0 => self.problem = Some(format!("it ended with exit status {status}")),
            Frame::Signal(signal) => self.problem = Some(format!("it ended by signal {signal}")),
            _ => {}
        }
    }

    fn read(&self) -> Result<WorkloadInfo, TargetError> {
        let unusable = |problem: String| TargetError {
            problem: format!("{} is not a workload that runs in the guest: {problem}", self.program),
            hint: "`make guest` builds the workloads for guests anew".to_owned(),
        };
        if let Some(problem) = &self.problem {
            return Err(unusable(problem.clone()));
        }
        describe::parse(&self.text).map_err(|error| unusable(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(frames: &[Frame<'_>]) -> Heard {
        let mut heard = Heard::default();
        frames.iter().for_each(|frame| heard.take(frame));
        heard
    }

    #[test]
    fn hints_name_what_the_user_can_give() {
        use GuestFailure::{Hung, Lost, NotBooted, Panicked};
        for (failure, console) in [(NotBooted, ""), (NotBooted, "x"), (Panicked, "x"), (Hung, "x"), (Lost, "x")] {
            let options = hint(failure, console, Named::ByOptions);
            assert!(options.contains("`--") && !options.contains("boot_limit"), "{options}");
            assert!(!hint(failure, console, Named::InOn).contains("`--"));
        }
    }

    #[test]
    fn files_become_facts() {
        let heard = hear(&[
            Frame::File("/proc/sys/kernel/osrelease".into()),
            Frame::Line(b"6.1.0"),
            Frame::File("/sys/devices/system/cpu/online".into()),
            Frame::Line(b"0-7"),
        ]);
        let facts = facts(&heard.files);
        assert_eq!(facts.get_text("kernel.release"), Some("6.1.0"));
        assert_eq!(facts.get_count("cpu.logical"), Some(8));
    }

    #[test]
    fn a_program_that_can_not_be_started_is_named() {
        let heard =
            hear(&[Frame::Program("/workloads/x".into()), Frame::NotStarted("/workloads/x: Exec format error".into())]);
        let error = heard.workloads().unwrap_err();
        assert!(error.problem.contains("/workloads/x is not a workload that runs in the guest"), "{error}");
    }
}
