//! An execution in a boot of its own: commands for the guest's agent, and the result.

use super::boot::{BootEnd, Booted};
use super::initramfs::NetworkDrivers;
use super::initramfs::WORKLOADS;
use crate::agent::frame::Frame;
use crate::agent::{Plan, ProgramEnd};
use crate::counting::AtEnd;
use crate::execution::LineSink;
use crate::network::{Attachment, WiredEnd};
use crate::network::{IPV4_PREFIX, IPV6_PREFIX, LinkAddress};
use crate::program_files::{ProgramFiles, SCRATCH};
use crate::{Ending, Execution, Plugin, system_settings};
use faultline_record::lens::counted::{GeneratedCode, Mapping};
use faultline_record::outcome::GuestFailure;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// An execution in its own boot, with inputs for the lens.
#[derive(Clone, Copy)]
pub struct GuestExecution<'a> {
    /// The execution; its limit starts at the agent's hello.
    pub execution: &'a Execution,
    /// A plugin for the emulator.
    pub plugin: Option<&'a Plugin>,
    /// Reads the guest's memory when the plugin announces the end of the region of interest.
    pub at_end: Option<&'a AtEnd<'a>>,
    /// Address of the kernel's array `__per_cpu_offset`, if its content is wanted.
    pub per_cpu_offset: Option<u64>,
    /// Seed of the guest's random numbers; they come from the host if `None`.
    pub seed: Option<u64>,
    /// A user's program, which runs instead of a workload.
    pub program: Option<ProgramRun<'a>>,
}

/// A user's program in a guest.
#[derive(Debug, Clone, Copy)]
pub struct ProgramRun<'a> {
    /// The program with all its files.
    pub files: &'a ProgramFiles,
    /// Working directory on this host.
    pub directory: &'a str,
    /// The scope of the region of interest.
    pub scope: RunScope,
}

/// The part of a program's run that the agent marks as the region of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunScope {
    /// The whole run.
    Whole,
    /// The run from that many milliseconds of the guest's time on.
    After {
        /// The milliseconds.
        ms: u64,
    },
    /// Only the end of the run; marks of the program, or the plugin, begin the region.
    Marks,
}

impl RunScope {
    /// The scope in the plan's notation.
    fn word(self) -> String {
        match self {
            RunScope::Whole => "whole".to_owned(),
            RunScope::After { ms } => format!("after:{ms}"),
            RunScope::Marks => "marks".to_owned(),
        }
    }
}

/// The result of such an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestExecuted {
    /// Ending of the execution.
    pub ending: Ending,
    /// Offset of each CPU's own variables in this boot; empty if not requested.
    pub per_cpu_offsets: Vec<u64>,
    /// Reason why the requested offsets are missing.
    pub no_per_cpu_offsets: Option<String>,
    /// The agent's report on the user's program.
    pub told: Told,
    /// Time from the emulator's start to the agent's hello; `None` if there was no hello.
    pub hello_after: Option<Duration>,
    /// The last output of kernel, emulator and plugin.
    pub console: String,
    /// Another boot with this seed repeats it exactly, on any host.
    pub repeats_exactly: bool,
}

/// The agent's report on a user's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Code that its processes mapped.
    pub mappings: Vec<Mapping>,
    /// Functions that they generated.
    pub generated: Vec<GeneratedCode>,
    /// Reason why some of them are missing.
    pub no_mappings: Option<String>,
    /// Number of processes that ran, including the program; 0 without a report.
    pub processes: u64,
    /// Processes outlived the program and were killed.
    pub has_left_processes: bool,
}

impl GuestExecuted {
    /// An execution that never started; `text` is the reason.
    pub(super) fn not_booted(text: String) -> Self {
        GuestExecuted {
            ending: Ending::NotStarted { text },
            per_cpu_offsets: Vec::new(),
            no_per_cpu_offsets: None,
            told: Told::default(),
            hello_after: None,
            console: String::new(),
            repeats_exactly: false,
        }
    }
}

/// The agent's commands in the boot of an execution, in a guest with that many CPUs. Fails, with a
/// text, if the execution is impossible there.
pub(super) fn plan(wanted: &GuestExecution<'_>, drivers: &NetworkDrivers, cpus: usize) -> Result<Plan, String> {
    let mut plan = Plan::default();
    if let Attachment::Wires(end) = &wanted.execution.attachment {
        add_network(&mut plan, end, drivers);
    }
    if let Some(address) = wanted.per_cpu_offset {
        plan.add(&["per-cpu", &format!("{address:x}"), &cpus.to_string()]);
    }
    add_execution(&mut plan, wanted)?;
    Ok(plan)
}

/// Adds the agent's commands that set up the guest's network cards.
fn add_network(plan: &mut Plan, end: &WiredEnd, drivers: &NetworkDrivers) {
    for driver in drivers.in_order() {
        plan.add(&["module", driver]);
    }
    let (ipv4_prefix, ipv6_prefix) = (IPV4_PREFIX.to_string(), IPV6_PREFIX.to_string());
    for (number, wire) in end.wires().iter().enumerate() {
        let LinkAddress { ipv4, ipv6 } = wire.address();
        plan.add(&["address", &format!("eth{number}"), &ipv4, &ipv4_prefix, &ipv6, &ipv6_prefix]);
    }
    if end.forwards() {
        plan.add(&["forward"]);
    }
    for (to, by) in end.routes() {
        plan.add(&["route", &to.ipv4, &ipv4_prefix, &by.ipv4, &to.ipv6, &ipv6_prefix, &by.ipv6]);
    }
}

/// Adds the agent's commands for an execution. Fails, with a text, if the execution is impossible
/// there.
fn add_execution(plan: &mut Plan, wanted: &GuestExecution<'_>) -> Result<(), String> {
    let execution = wanted.execution;
    execution.check()?;
    let is_there = |directory: &Path| wanted.program.is_some_and(|program| Path::new(program.directory) == directory);
    if let Some(directory) = execution.directory.as_deref().filter(|directory| !is_there(directory)) {
        return Err(format!("the directory {} is not in the guest", directory.display()));
    }
    for (path, value) in &execution.system_settings {
        system_settings::root_of(path, &system_settings::ROOTS.map(Path::new))?;
        plan.add(&["write", path, value]);
    }
    for (name, value) in &execution.environment {
        plan.add(&["env", name, value]);
    }
    plan.add(&["loopback"]);
    plan.add(&match wanted.program {
        Some(program) => program_command(&program, execution),
        None => command(execution),
    });
    Ok(())
}

/// The agent's command that runs a user's program.
fn program_command(program: &ProgramRun<'_>, execution: &Execution) -> Vec<String> {
    let paths = [program.files.directory(), program.files.place()].map(|path| path.to_string_lossy().into_owned());
    let words = ["count".to_owned(), program.scope.word()].into_iter().chain(paths);
    words.chain(execution.arguments.iter().cloned()).collect()
}

/// The agent's command that runs a workload.
fn command(execution: &Execution) -> Vec<String> {
    let mut words = vec!["run".to_owned(), format!("{WORKLOADS}/{}", execution.workload)];
    words.extend(["--scratch".to_owned(), SCRATCH.to_owned()]);
    words.extend(execution.arguments.iter().cloned());
    words
}

/// A guest's reports on an execution.
#[derive(Debug, Default)]
pub(super) struct Heard {
    program: ProgramEnd,
    per_cpu_offsets: Vec<u64>,
    no_per_cpu_offsets: Option<String>,
    told: Told,
}

impl Heard {
    pub(super) fn take(&mut self, frame: &Frame<'_>, sink: &mut LineSink<'_>) -> ControlFlow<()> {
        match frame {
            Frame::PerCpu(offset) => self.per_cpu_offsets.push(*offset),
            Frame::NoPerCpu(text) => self.no_per_cpu_offsets = Some(text.clone()),
            Frame::Map(mapping) => self.told.mappings.push(mapping.clone()),
            Frame::Generated(code) => self.told.generated.push(code.clone()),
            Frame::NoMaps(text) => self.told.no_mappings = Some(text.clone()),
            Frame::Processes(count) => self.told.processes = *count,
            Frame::Left => self.told.has_left_processes = true,
            _ => return self.program.take(frame, sink),
        }
        ControlFlow::Continue(())
    }

    pub(super) fn executed(self, booted: Booted) -> GuestExecuted {
        let console = booted.console.clone();
        let failed = |failure, text| Ending::GuestFailed { failure, text, console };
        let ending = match (booted.end, self.program.ending) {
            (BootEnd::Stopped, _) => Ending::Stopped,
            (BootEnd::Refused, _) => Ending::Refused,
            (BootEnd::Done, Some(ending)) => ending,
            (BootEnd::Done, None) => {
                failed(GuestFailure::Lost, "the guest's agent did not say how the workload ended".to_owned())
            }
            (BootEnd::LabFailed(text), _) => Ending::LabFailed { text },
            (BootEnd::AfterLack(text), _) => {
                let own = Box::new(failed(GuestFailure::Lost, text.clone()));
                Ending::AfterLack { text, own }
            }
            (BootEnd::Failed(failure, text), _) => failed(failure, text),
        };
        GuestExecuted {
            ending,
            per_cpu_offsets: self.per_cpu_offsets,
            no_per_cpu_offsets: self.no_per_cpu_offsets,
            told: self.told,
            hello_after: booted.hello_after,
            console: booted.console,
            repeats_exactly: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution() -> Execution {
        Execution {
            workload: "x".to_owned(),
            arguments: vec!["--ops".to_owned()],
            limit: Duration::from_secs(1),
            directory: None,
            environment: vec![("A".to_owned(), "1 2".to_owned())],
            system_settings: vec![("/proc/sys/vm/x".to_owned(), "3".to_owned())],
            attachment: crate::network::Attachment::Already,
        }
    }

    fn wanted(execution: &Execution) -> GuestExecution<'_> {
        GuestExecution { execution, plugin: None, at_end: None, per_cpu_offset: None, program: None, seed: None }
    }

    #[test]
    fn a_users_program_runs_in_its_directory() {
        let own = std::env::current_exe().unwrap();
        let files = ProgramFiles::find(&[own.to_str().unwrap().to_owned()], Path::new("/usr"), &[], &[]).unwrap();
        let program = ProgramRun { files: &files, directory: "/usr", scope: RunScope::Whole };
        let execution = Execution { system_settings: Vec::new(), ..execution() };
        let plan =
            plan(&GuestExecution { program: Some(program), ..wanted(&execution) }, &NetworkDrivers::default(), 2)
                .unwrap();
        let mut expected = Plan::default();
        expected.add(&["env", "A", "1 2"]);
        expected.add(&["loopback"]);
        let place = format!("/program/{}", own.file_name().unwrap().to_str().unwrap());
        expected.add(&["count", "whole", "/usr", &place, "--ops"]);
        assert_eq!(plan, expected);
        assert_eq!(RunScope::After { ms: 2000 }.word(), "after:2000");
    }

    #[test]
    fn what_is_set_comes_before_the_program() {
        let plan =
            plan(&GuestExecution { per_cpu_offset: Some(0xab), ..wanted(&execution()) }, &NetworkDrivers::default(), 2)
                .unwrap();
        let mut expected = Plan::default();
        expected.add(&["per-cpu", "ab", "2"]);
        expected.add(&["write", "/proc/sys/vm/x", "3"]);
        expected.add(&["env", "A", "1 2"]);
        expected.add(&["loopback"]);
        expected.add(&["run", "/workloads/x", "--scratch", "/tmp", "--ops"]);
        assert_eq!(plan, expected);
    }

    #[test]
    fn files_elsewhere_are_no_settings_of_a_guest_either() {
        for path in ["/etc/x", "/proc/sys/../../etc/x", "/proc/sysx"] {
            let broken = Execution { system_settings: vec![(path.to_owned(), "1".to_owned())], ..execution() };
            let text = plan(&wanted(&broken), &NetworkDrivers::default(), 2).unwrap_err();
            assert_eq!(text, format!("{path} is not a system setting: settings are files below /proc/sys and /sys"));
        }
    }
}
