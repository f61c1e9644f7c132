//! A guest in QEMU as a target: boots a Linux kernel with an initramfs of Faultline's own for each execution.
//!
//! `frame` reads what the guest's agent sends. The agent itself is C, in `guest/` next to this crate's sources.

mod bare;
mod boot;
mod clock;
mod command_line;
mod console;
mod emulator;
mod frame;
mod initramfs;
mod kernel_image;
mod memory;
mod plan;
mod probe;
mod programs;
mod region_end;
mod symbols;

pub use bare::{BareMachine, BareRequest};
pub use emulator::{Emulator, PROGRAM as EMULATOR_PROGRAM};
pub use kernel_image::KernelImage;

use crate::counting::AtEnd;
use crate::execution::LineSink;
use crate::host::{Host, HostPaths};
use crate::program_files::{ProgramFiles, SCRATCH};
use crate::{Ending, Execution, Plugin, StopFlag, Target, TargetError, system_settings};
use boot::{BOOT_TRIALS, Boot, BootEnd, Booted};
use command_line::{Beside, CommandLine};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::lens::raw::{GeneratedCode, Mapping};
use faultline_model::machine::{Accelerator, MachineShape};
use faultline_model::outcome::GuestFailure;
use frame::Frame;
use initramfs::WORKLOADS;
use plan::Plan;
use probe::Probe;
use programs::Programs;
use std::ops::{ControlFlow, Range};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The fact that has the emulator's version.
pub const EMULATOR_VERSION: &str = "emulator.version";

/// A guest under hardware virtualisation must say hello within this time. Otherwise hardware virtualisation does not work here: the device
/// may exist and create machines that hang for ever.
const HARDWARE_TRIAL: Duration = Duration::from_secs(10);

/// Longer than any takes: the symbols of the largest kernels through a serial port, on a loaded machine.
const SYMBOLS_LIMIT: Duration = Duration::from_secs(300);

/// Time limit for facts, and every workload's description of itself.
const PROBE_LIMIT: Duration = Duration::from_secs(300);

/// The requested machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRequest {
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// The kernel.
    pub kernel: KernelImage,
    /// How instructions are executed.
    pub accelerator: Accelerator,
    /// How long the kernel may print nothing until the agent's hello.
    pub boot_limit: Duration,
    /// Further parameters for the kernel.
    pub parameters: Vec<String>,
    /// How a user names its properties.
    pub named: Named,
}

/// How a user names the properties of a machine, for hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// As keys of `--on`.
    InOn,
    /// By options of their own.
    ByOptions,
}

/// Paths on the host.
#[derive(Debug, Clone)]
pub struct GuestPaths {
    /// Directory with `agent` and `workloads/`, linked statically.
    pub guest: PathBuf,
    /// The host's own workloads and scratch directory, and the keeper.
    pub host: HostPaths,
    /// Directory of the user's caches.
    pub cache: PathBuf,
}

/// An execution in its own boot, with what the lens needs in addition.
#[derive(Clone, Copy)]
pub struct GuestExecution<'a> {
    /// The execution; its limit starts at the agent's hello.
    pub execution: &'a Execution,
    /// A plugin for the emulator.
    pub plugin: Option<&'a Plugin>,
    /// Looks at the guest's memory when the plugin says that the counted part has ended.
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
    /// The directory in which it runs.
    pub directory: &'a str,
    /// Its region of interest is its whole run.
    pub is_whole: bool,
}

/// The result of such an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestExecuted {
    /// How it ended.
    pub ending: Ending,
    /// The offset of each CPU's own variables in this boot; empty if they were not requested.
    pub per_cpu_offsets: Vec<u64>,
    /// Why there are none, in words, if they were requested.
    pub no_per_cpu_offsets: Option<String>,
    /// What the agent told of the user's program.
    pub told: Told,
    /// Time from the emulator's start to the agent's hello; `None` if there was no hello.
    pub hello_after: Option<Duration>,
    /// The last output of kernel, emulator and plugin.
    pub console: String,
    /// Another boot with the same seed does exactly the same, on any host.
    pub repeats_exactly: bool,
}

/// What the agent told of a user's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Code that its processes mapped.
    pub mappings: Vec<Mapping>,
    /// Functions that they generated.
    pub generated: Vec<GeneratedCode>,
    /// Why some of it is missing, in words.
    pub no_mappings: Option<String>,
    /// How many processes ran, with the program itself; 0 if the agent did not tell.
    pub processes: u64,
    /// Processes that went on after the program were killed.
    pub has_left_processes: bool,
}

impl GuestExecuted {
    /// An execution that never started; the reason in words.
    fn not_booted(text: String) -> Self {
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

/// An emulated machine that has booted at least once.
#[derive(Debug)]
pub struct QemuMachine {
    request: MachineRequest,
    paths: GuestPaths,
    emulator: Emulator,
    tsc_khz: Option<u64>,
    programs: Programs,
    cpus: Vec<u32>,
    probe: Probe,
}

impl QemuMachine {
    /// Boots the machine once, to find out whether it boots, its facts, and its workloads. Fails if it does not boot, if a workload does not describe
    /// itself, if the accelerator does not work, or on a stop.
    pub fn start(
        request: MachineRequest,
        paths: GuestPaths,
        emulator: Emulator,
        stop: &StopFlag,
    ) -> Result<Self, TargetError> {
        let programs = Programs::read(&paths.guest)?;
        Self::start_with(programs, request, paths, emulator, stop)
    }

    /// The same for a machine in which users' programs run, without workloads.
    pub fn start_for_programs(
        request: MachineRequest,
        paths: GuestPaths,
        emulator: Emulator,
        stop: &StopFlag,
    ) -> Result<Self, TargetError> {
        let programs = Programs::agent_alone(&paths.guest)?;
        Self::start_with(programs, request, paths, emulator, stop)
    }

    fn start_with(
        programs: Programs,
        request: MachineRequest,
        paths: GuestPaths,
        emulator: Emulator,
        stop: &StopFlag,
    ) -> Result<Self, TargetError> {
        let tsc_khz = clock::tsc_khz();
        let shape = request.shape;
        let plan = probe::plan(shape.cpus(), shape.sockets(), &programs.programs);
        let (boot_limit, trials) = match request.accelerator {
            Accelerator::Tcg => (request.boot_limit, BOOT_TRIALS),
            Accelerator::Kvm => (request.boot_limit.min(HARDWARE_TRIAL), 1),
        };
        let boot =
            Boot { boot_limit, trials, tsc_khz, ..boot(&request, &paths, &emulator, &programs, &plan, PROBE_LIMIT) };
        let probe = probe::run(&boot, request.named, stop).map_err(|error| match request.accelerator {
            Accelerator::Tcg => error,
            Accelerator::Kvm => TargetError {
                problem: format!("hardware virtualisation does not work here: {}", error.problem),
                hint: "leave `accel=kvm` out: emulation works everywhere".to_owned(),
            },
        })?;
        let cpus = (0..shape.cpus()).collect();
        Ok(QemuMachine { request, paths, emulator, tsc_khz, programs, cpus, probe })
    }

    /// The same machine with other numbers of CPUs, sockets or memory. It is assumed to boot as this one did.
    pub fn with_shape(&self, shape: MachineShape, boot_limit: Duration) -> Self {
        let request = MachineRequest { shape, boot_limit, ..self.request.clone() };
        QemuMachine {
            request,
            paths: self.paths.clone(),
            emulator: self.emulator.clone(),
            tsc_khz: self.tsc_khz,
            programs: self.programs.clone(),
            cpus: (0..shape.cpus()).collect(),
            probe: self.probe.clone(),
        }
    }

    /// The requested machine.
    pub fn request(&self) -> &MachineRequest {
        &self.request
    }

    /// The addresses of the agent's code. Fails if the agent's file is damaged.
    pub fn agent_code(&self) -> Result<Range<u64>, TargetError> {
        self.programs.agent_code()
    }

    /// The kernel's symbols in their order, from the cache or from a separate boot. Fails if that boot fails.
    pub fn symbols(&self, stop: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError> {
        let sha256 = &self.request.kernel.sha256;
        if let Some(symbols) = symbols::cached(&self.paths.cache, sha256) {
            return Ok(symbols);
        }
        let mut plan = Plan::default();
        plan.add(&["symbols"]);
        let mut decoder = symbols::Decoder::default();
        let mut whole = true;
        let boot = self.boot(&plan, SYMBOLS_LIMIT);
        let booted = boot.run(
            &mut |frame| {
                if let Frame::Symbols(text) = frame {
                    whole &= decoder.take(text);
                }
                ControlFlow::Continue(())
            },
            stop,
        );
        let symbols = decoder.finish();
        let problem = match booted.end {
            BootEnd::Done if !whole => Some("what it says of them is not in the format".to_owned()),
            BootEnd::Done if symbols.iter().all(|symbol| symbol.address == 0) => {
                Some("its kernel hides their addresses, or has none (CONFIG_KALLSYMS)".to_owned())
            }
            BootEnd::Done => None,
            BootEnd::Failed(_, text) => Some(text),
            BootEnd::Refused | BootEnd::Stopped => Some("it was stopped".to_owned()),
        };
        if let Some(problem) = problem {
            return Err(TargetError {
                problem: format!("no kernel symbols from the guest: {problem}"),
                hint: "build the kernel with CONFIG_KALLSYMS_ALL".to_owned(),
            });
        }
        symbols::keep(&self.paths.cache, sha256, &symbols)?;
        Ok(symbols)
    }

    /// Executes a workload or a user's program in its own boot. When this returns, all processes of the guest have ended.
    pub fn execute_in_guest(
        &self,
        wanted: &GuestExecution<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> GuestExecuted {
        let mut plan = Plan::default();
        if let Some(address) = wanted.per_cpu_offset {
            plan.add(&["per-cpu", &format!("{address:x}"), &self.cpus.len().to_string()]);
        }
        if let Err(text) = add_execution(&mut plan, wanted) {
            return GuestExecuted::not_booted(text);
        }
        let mut heard = Heard::default();
        let files = wanted.program.map(|program| program.files.tree());
        let &GuestExecution { plugin, at_end, seed, .. } = wanted;
        let boot = Boot { plugin, at_end, seed, files, ..self.boot(&plan, wanted.execution.limit) };
        let booted = boot.run(&mut |frame| heard.take(frame, sink), stop);
        GuestExecuted { repeats_exactly: boot.repeats_exactly(), ..heard.executed(booted) }
    }

    fn boot<'a>(&'a self, plan: &'a Plan, limit: Duration) -> Boot<'a> {
        let boot = boot(&self.request, &self.paths, &self.emulator, &self.programs, plan, limit);
        Boot { tsc_khz: self.tsc_khz, ..boot }
    }

    /// The facts about the machine, whose executions load this plugin.
    pub(crate) fn facts_with(&self, plugin: &Plugin) -> Facts {
        let mut facts = Target::facts(self);
        let memory = vec![PathBuf::from("MEMORY"); self.request.shape.sockets() as usize];
        self.put_emulator(&mut facts, Some(plugin), &memory);
        facts
    }

    /// Adds facts about the emulator and its arguments.
    fn put_emulator(&self, facts: &mut Facts, plugin: Option<&Plugin>, memory: &[PathBuf]) {
        facts.text(EMULATOR_VERSION, &self.emulator.version);
        facts.text("emulator.accelerator", self.request.accelerator.word());
        let arguments = CommandLine {
            shape: self.request.shape,
            accelerator: self.request.accelerator,
            kernel: &self.request.kernel.path,
            beside: Beside::Agent(Path::new("INITRAMFS")),
            parameters: &self.request.parameters,
            tsc_khz: self.tsc_khz,
            plugin,
            seed: None,
            memory,
        };
        let words = arguments.arguments();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        facts.text("emulator.arguments", words.join(" "));
        facts.text("kernel.image", self.request.kernel.path.to_string_lossy());
        facts.text("kernel.image_sha256", &self.request.kernel.sha256);
        facts.text("virtualisation.kind", "hypervisor");
        facts.text("virtualisation.hypervisor", format!("QEMU, {}", self.request.accelerator.word().to_uppercase()));
    }
}

fn boot<'a>(
    request: &'a MachineRequest,
    paths: &'a GuestPaths,
    emulator: &'a Emulator,
    programs: &'a Programs,
    plan: &'a Plan,
    limit: Duration,
) -> Boot<'a> {
    Boot {
        emulator: &emulator.program,
        keeper: &paths.host.keeper,
        scratch: &paths.host.scratch,
        kernel: &request.kernel.path,
        shape: request.shape,
        accelerator: request.accelerator,
        parameters: &request.parameters,
        tsc_khz: None,
        plugin: None,
        seed: None,
        at_end: None,
        agent: &programs.agent,
        programs: &programs.programs,
        files: None,
        plan,
        boot_limit: request.boot_limit,
        trials: BOOT_TRIALS,
        limit,
    }
}

/// The path under which another process of ours can open it.
fn path_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

/// The agent's commands for an execution. Fails, in words, if the execution is impossible there.
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
    match wanted.program {
        Some(program) => {
            plan.add(&["loopback"]);
            plan.add(&program_command(&program, execution));
        }
        None => plan.add(&command(execution)),
    }
    Ok(())
}

/// The agent's command that runs a user's program.
fn program_command(program: &ProgramRun<'_>, execution: &Execution) -> Vec<String> {
    let scope = if program.is_whole { "whole" } else { "marks" };
    let file = program.files.program().to_string_lossy().into_owned();
    let words = ["count", scope, program.directory].map(str::to_owned).into_iter().chain([file]);
    words.chain(execution.arguments.iter().cloned()).collect()
}

/// The agent's command that runs a workload.
fn command(execution: &Execution) -> Vec<String> {
    let mut words = vec!["run".to_owned(), format!("{WORKLOADS}/{}", execution.workload)];
    words.extend(["--scratch".to_owned(), SCRATCH.to_owned()]);
    words.extend(execution.arguments.iter().cloned());
    words
}

/// What a guest reported about an execution.
#[derive(Debug, Default)]
struct Heard {
    ending: Option<Ending>,
    stderr: String,
    per_cpu_offsets: Vec<u64>,
    no_per_cpu_offsets: Option<String>,
    told: Told,
}

impl Heard {
    fn take(&mut self, frame: &Frame<'_>, sink: &mut LineSink<'_>) -> ControlFlow<()> {
        match frame {
            Frame::Out(line) => return sink(line),
            Frame::Err(line) => {
                self.stderr.push_str(&String::from_utf8_lossy(line));
                self.stderr.push('\n');
            }
            Frame::Exit(status) => {
                self.ending = Some(Ending::Exited { status: *status, stderr: std::mem::take(&mut self.stderr) });
            }
            Frame::Signal(signal) => {
                self.ending = Some(Ending::Signalled { signal: *signal, stderr: std::mem::take(&mut self.stderr) });
            }
            Frame::NotStarted(text) => self.ending = Some(Ending::NotStarted { text: text.clone() }),
            Frame::PerCpu(offset) => self.per_cpu_offsets.push(*offset),
            Frame::NoPerCpu(text) => self.no_per_cpu_offsets = Some(text.clone()),
            Frame::Map(mapping) => self.told.mappings.push(mapping.clone()),
            Frame::Generated(code) => self.told.generated.push(code.clone()),
            Frame::NoMaps(text) => self.told.no_mappings = Some(text.clone()),
            Frame::Processes(count) => self.told.processes = *count,
            Frame::Left => self.told.has_left_processes = true,
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn executed(self, booted: Booted) -> GuestExecuted {
        let console = booted.console.clone();
        let failed = |failure, text| Ending::GuestFailed { failure, text, console };
        let ending = match (booted.end, self.ending) {
            (BootEnd::Stopped, _) => Ending::Stopped,
            (BootEnd::Refused, _) => Ending::Refused,
            (BootEnd::Done, Some(ending)) => ending,
            (BootEnd::Done, None) => {
                failed(GuestFailure::Lost, "the guest's agent did not say how the workload ended".to_owned())
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

/// Facts that are taken from the host, because they say more than those of a guest that has just booted; beginnings of their keys.
const IN_PLACE: [&str; 4] = ["load.", "host.", "boot.id", "faultline.version"];

/// Further facts of the host that influence an emulator's speed; their keys get the prefix `host.`.
const BESIDE: [&str; 6] =
    ["cpu.", "cgroup.", "clock.source", "kernel.release", "memory.total_bytes", "virtualisation."];

/// What a guest's facts have of the host.
fn facts_of_host(host: &HostPaths) -> Facts {
    let mut facts = Facts::default();
    for (key, value) in Host::new(host.clone()).facts().0 {
        let begins_with_one_of = |beginnings: &[&str]| beginnings.iter().any(|beginning| key.starts_with(beginning));
        if begins_with_one_of(&IN_PLACE) {
            facts.0.insert(key, value);
        } else if begins_with_one_of(&BESIDE) {
            facts.0.insert(format!("host.{key}"), value);
        }
    }
    facts
}

impl Target for QemuMachine {
    /// Facts of the guest, as found in its first boot; facts of the host have the prefix `host.`.
    fn facts(&self) -> Facts {
        let mut facts = self.probe.facts.clone();
        facts.count("cpu.usable", self.cpus.len() as i64);
        facts.0.extend(facts_of_host(&self.paths.host).0);
        self.put_emulator(&mut facts, None, &[]);
        self.programs.put_digests(&mut facts);
        facts
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(self.probe.workloads.clone())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn overhead(&self) -> Duration {
        self.probe.hello_after
    }

    fn longest_boot(&self) -> Duration {
        self.request.boot_limit * BOOT_TRIALS
    }

    fn patience(&self) -> u32 {
        let host = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        self.request.shape.cpus().div_ceil(host)
    }

    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let wanted =
            GuestExecution { execution, plugin: None, at_end: None, per_cpu_offset: None, program: None, seed: None };
        self.execute_in_guest(&wanted, sink, stop).ending
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
        }
    }

    fn wanted(execution: &Execution) -> GuestExecution<'_> {
        GuestExecution { execution, plugin: None, at_end: None, per_cpu_offset: None, program: None, seed: None }
    }

    #[test]
    fn a_users_program_runs_in_its_directory() {
        let own = std::env::current_exe().unwrap();
        let files = ProgramFiles::find(&own, Path::new("/usr"), &[], &[]).unwrap();
        let program = ProgramRun { files: &files, directory: "/usr", is_whole: true };
        let mut plan = Plan::default();
        let execution = Execution { system_settings: Vec::new(), ..execution() };
        add_execution(&mut plan, &GuestExecution { program: Some(program), ..wanted(&execution) }).unwrap();
        let mut expected = Plan::default();
        expected.add(&["env", "A", "1 2"]);
        expected.add(&["loopback"]);
        expected.add(&["count", "whole", "/usr", own.to_str().unwrap(), "--ops"]);
        assert_eq!(plan, expected);
    }

    #[test]
    fn what_is_set_comes_before_the_program() {
        let mut plan = Plan::default();
        add_execution(&mut plan, &wanted(&execution())).unwrap();
        let mut expected = Plan::default();
        expected.add(&["write", "/proc/sys/vm/x", "3"]);
        expected.add(&["env", "A", "1 2"]);
        expected.add(&["run", "/workloads/x", "--scratch", "/tmp", "--ops"]);
        assert_eq!(plan, expected);
    }

    #[test]
    fn files_elsewhere_are_no_settings_of_a_guest_either() {
        for path in ["/etc/x", "/proc/sys/../../etc/x", "/proc/sysx"] {
            let broken = Execution { system_settings: vec![(path.to_owned(), "1".to_owned())], ..execution() };
            let text = add_execution(&mut Plan::default(), &wanted(&broken)).unwrap_err();
            assert_eq!(text, format!("{path} is no setting of the system: those are files below /proc/sys and /sys"));
        }
    }
}
