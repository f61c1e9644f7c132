//! A guest that has booted at least once: the target that boots it for each execution.

use super::boot::{BOOT_TRIALS, Boot};
use super::command_line::{Beside, CommandLine};
use super::execution::{self, GuestExecuted, GuestExecution, Heard};
use super::initramfs::NetworkDrivers;
use super::kernel_image::{GuestPaths, MachineRequest};
use super::probe::{self, Cache, Probe};
use super::{Emulator, command_line, emulator, symbols};
use crate::agent::{Plan, Programs};
use crate::execution::LineSink;
use crate::network::Attachment;
use crate::program_files::tree::Tree;
use crate::{Ending, Executed, Execution, Plugin, StopFlag, Target, TargetError};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::lens::guest_kernel::KernelSymbol;
use faultline_record::machine::{Accelerator, MachineShape};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for the hello of a guest under hardware virtualisation. A slower one means that
/// hardware virtualisation does not work here: the device may exist and create machines that hang
/// for ever.
const HARDWARE_TRIAL: Duration = Duration::from_secs(10);

/// Time limit for facts, and for the descriptions of all workloads.
const PROBE_LIMIT: Duration = Duration::from_secs(300);

/// An emulated machine that has booted at least once, in this command or an earlier one.
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
    /// Boots the machine once, which yields its facts and its workloads. The results for a machine
    /// that booted before come from the cache. Fails if the machine does not boot, if a workload
    /// does not describe itself, if the accelerator does not work, or on a stop.
    pub fn start(
        request: MachineRequest,
        paths: GuestPaths,
        emulator: Emulator,
        stop: &StopFlag,
    ) -> Result<Self, TargetError> {
        let programs = Programs::read(&paths.guest)?;
        Self::start_with(programs, request, paths, emulator, stop)
    }

    /// [`Self::start`] for a machine that runs users' programs and has no workloads.
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
        let tsc_khz = command_line::tsc_khz();
        let shape = request.shape;
        let plan = probe::plan(shape.cpus(), shape.sockets(), &programs.programs);
        let (boot_limit, trials) = match request.accelerator {
            Accelerator::Tcg => (request.boot_limit, BOOT_TRIALS),
            Accelerator::Kvm => (request.boot_limit.min(HARDWARE_TRIAL), 1),
        };
        let boot =
            Boot { boot_limit, trials, tsc_khz, ..boot(&request, &paths, &emulator, &programs, &plan, PROBE_LIMIT) };
        let cache = Cache(paths.cache.as_deref());
        // Not cached: hardware virtualisation may have stopped working, and depends on more of the
        // host.
        let key = match request.accelerator {
            Accelerator::Tcg => probe::probe_key(&request, &emulator, &programs, &plan, &boot.kernel_parameters()),
            Accelerator::Kvm => None,
        };
        let probe = match key.as_deref().and_then(|key| cache.probe(key)) {
            Some(probe) => probe,
            None => {
                let probe = probe::run(&boot, request.named, stop).map_err(|error| match request.accelerator {
                    Accelerator::Tcg => error,
                    Accelerator::Kvm => TargetError {
                        problem: format!("hardware virtualisation does not work here: {}", error.problem),
                        hint: "leave `accel=kvm` out: emulation works everywhere".to_owned(),
                    },
                })?;
                if let Some(key) = key {
                    cache.keep_probe(&key, &probe);
                }
                probe
            }
        };
        let cpus = (0..shape.cpus()).collect();
        Ok(QemuMachine { request, paths, emulator, tsc_khz, programs, cpus, probe })
    }

    /// This machine with other numbers of CPUs, sockets or memory. It is assumed to boot as this
    /// one did.
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

    /// The kernel's symbols in their order, from the cache or from a separate boot. Fails if that
    /// boot fails.
    pub fn symbols(&self, stop: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError> {
        let sha256 = &self.request.kernel.sha256;
        let cache = Cache(self.paths.cache.as_deref());
        if let Some(symbols) = symbols::cached(&cache, sha256) {
            return Ok(symbols);
        }
        let plan = symbols::plan();
        let symbols = symbols::reported(&self.boot(&plan, symbols::LIMIT), stop)?;
        symbols::keep(&cache, sha256, &symbols);
        Ok(symbols)
    }

    /// Executes a workload or a user's program in its own boot. All processes of the guest have
    /// ended on return.
    pub fn execute_in_guest(
        &self,
        wanted: &GuestExecution<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> GuestExecuted {
        let wired = match &wanted.execution.attachment {
            Attachment::Wires(end) => Some(end),
            Attachment::Already => None,
            Attachment::Namespace(_) => {
                return GuestExecuted::not_booted("a guest has no namespace of this host".to_owned());
            }
        };
        let drivers = match wired.map(|_| NetworkDrivers::of(&self.request.kernel)).transpose() {
            Ok(drivers) => drivers.unwrap_or_default(),
            Err(error) => return GuestExecuted::not_booted(error.problem),
        };
        let plan = match execution::plan(wanted, &drivers, self.cpus.len()) {
            Ok(plan) => plan,
            Err(text) => return GuestExecuted::not_booted(text),
        };
        let mut heard = Heard::default();
        let driver_files = match drivers.tree() {
            Ok(files) => files,
            Err(text) => return GuestExecuted::not_booted(text),
        };
        let files: Vec<&Tree> =
            wanted.program.map(|program| program.files.tree()).into_iter().chain([&driver_files]).collect();
        let &GuestExecution { plugin, at_end, seed, .. } = wanted;
        let boot = Boot { plugin, at_end, seed, files: &files, wired, ..self.boot(&plan, wanted.execution.limit) };
        let booted = boot.run(&mut |frame| heard.take(frame, sink), stop);
        GuestExecuted { repeats_exactly: boot.repeats_exactly(), ..heard.executed(booted) }
    }

    fn boot<'a>(&'a self, plan: &'a Plan, limit: Duration) -> Boot<'a> {
        let boot = boot(&self.request, &self.paths, &self.emulator, &self.programs, plan, limit);
        Boot { tsc_khz: self.tsc_khz, ..boot }
    }

    /// Facts about the machine, for executions with this plugin.
    pub(crate) fn facts_with(&self, plugin: &Plugin) -> Facts {
        let mut facts = Target::facts(self);
        let memory = vec![PathBuf::from("MEMORY"); self.request.shape.sockets() as usize];
        self.put_emulator(&mut facts, Some(plugin), &memory);
        facts
    }

    /// Adds facts about the emulator, its arguments, and what it emulates.
    fn put_emulator(&self, facts: &mut Facts, plugin: Option<&Plugin>, memory: &[PathBuf]) {
        let MachineRequest { shape, kernel, accelerator, parameters, .. } = &self.request;
        let command_line = CommandLine {
            shape: *shape,
            accelerator: *accelerator,
            kernel: &kernel.path,
            beside: Beside::Agent(Path::new("INITRAMFS")),
            parameters,
            tsc_khz: self.tsc_khz,
            plugin,
            seed: None,
            memory,
            wires: &[],
        };
        emulator::put_emulator(facts, &self.emulator, &command_line);
        facts.text("emulator.accelerator", accelerator.word());
        facts.text("kernel.image", kernel.path.to_string_lossy());
        facts.text("kernel.image_sha256", &kernel.sha256);
        facts.text("virtualisation.kind", "hypervisor");
        facts.text("virtualisation.hypervisor", format!("QEMU, {}", accelerator.word().to_uppercase()));
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
        files: &[],
        plan,
        wired: None,
        boot_limit: request.boot_limit,
        trials: BOOT_TRIALS,
        limit,
    }
}

impl Target for QemuMachine {
    /// Facts of the guest from its first boot; facts of the host have the prefix `host.`.
    fn facts(&self) -> Facts {
        let mut facts = self.probe.facts.clone();
        facts.count("cpu.usable", self.cpus.len() as i64);
        facts.0.extend(emulator::of_host(&self.paths.host).0);
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
        self.execute_with_console(execution, sink, stop).ending
    }

    fn execute_with_console(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Executed {
        let wanted =
            GuestExecution { execution, plugin: None, at_end: None, per_cpu_offset: None, program: None, seed: None };
        let GuestExecuted { ending, console, .. } = self.execute_in_guest(&wanted, sink, stop);
        Executed { ending, console: Some(console) }
    }
}
