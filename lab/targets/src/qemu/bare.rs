//! A machine with any system that the emulator starts by itself, without Faultline's agent. Its
//! console is the first serial port. It ends when its emulator does.

use super::command_line::{Beside, CommandLine};
use super::{Emulator, console, emulator, kernel_image, multiboot};
use crate::counting::model;
use crate::host::HostPaths;
use crate::keep::{Deadline, Kept, Output, Program};
use crate::{Ending, Plugin, StopFlag};
use faultline_record::facts::Facts;
use faultline_record::machine::{Accelerator, MachineShape};
use faultline_record::protocol::LONGEST_LINE_BYTES;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// The requested machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BareRequest {
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// The kernel, or a disk image with its own loader: any file that the emulator starts.
    pub kernel: PathBuf,
    /// Files for the kernel, each with its arguments.
    pub modules: Vec<String>,
    /// Words of the kernel's command line.
    pub parameters: Vec<String>,
}

/// A machine that starts by itself.
#[derive(Debug, Clone)]
pub struct BareMachine {
    request: BareRequest,
    paths: HostPaths,
    emulator: Emulator,
    has_own_loader: bool,
}

/// Ending of such a machine.
pub(crate) struct BareExecuted {
    pub(crate) ending: Ending,
    /// The last output of its first serial port, of the emulator and of the plugin.
    pub(crate) console: String,
    /// Another boot with this seed repeats it exactly, on any host.
    pub(crate) repeats_exactly: bool,
}

impl BareMachine {
    /// A machine that has not been booted yet.
    pub fn new(request: BareRequest, paths: HostPaths, emulator: Emulator) -> Self {
        let has_own_loader = kernel_image::is_disk(&request.kernel);
        BareMachine { request, paths, emulator, has_own_loader }
    }

    /// This machine with other numbers of CPUs, sockets or memory.
    pub fn with_shape(&self, shape: MachineShape) -> Self {
        BareMachine { request: BareRequest { shape, ..self.request.clone() }, ..self.clone() }
    }

    /// CPUs, sockets, memory.
    pub fn shape(&self) -> MachineShape {
        self.request.shape
    }

    /// Starts the machine and waits for its end. Its processes have ended on return.
    pub(crate) fn execute(
        &self,
        plugin: Option<&Plugin>,
        seed: Option<u64>,
        limit: Duration,
        stop: &StopFlag,
    ) -> BareExecuted {
        let failed =
            |text| BareExecuted { ending: Ending::LabFailed { text }, console: String::new(), repeats_exactly: false };
        let ours = plugin.and_then(|plugin| plugin.directory.as_deref());
        let changed = match multiboot::changed(&self.request.kernel, ours.unwrap_or(&self.paths.scratch)) {
            Ok(changed) => changed,
            Err(error) => return failed(format!("cannot copy {}: {error}", self.request.kernel.display())),
        };
        let kernel = changed.as_ref().map_or(self.request.kernel.as_path(), |file| file.path());
        let command_line = CommandLine { kernel, ..self.command_line(plugin, seed) };
        let program = Program {
            keeper: &self.paths.keeper,
            scratch: &self.paths.scratch,
            file: &self.emulator.program,
            arguments: &|_| command_line.arguments(),
            output: Output { longest_line: LONGEST_LINE_BYTES, stderr_bytes: console::KEPT_BYTES },
            waiting_is_free: true,
            grace: model::grace(self.request.shape.cpus()),
            ours,
            directory: None,
            environment: &kernel_image::environment(ours.unwrap_or(&self.paths.scratch)),
            system_settings: &[],
            namespace: None,
            sandbox: None,
        };
        let repeats_exactly = command_line.repeats_exactly();
        match Kept::start(&program) {
            Ok(kept) => {
                let ended = kept.follow_until(Deadline::after(limit), &mut |_, _| ControlFlow::Continue(()), stop);
                let console = console::readable(&ended.stderr);
                BareExecuted { ending: ended.into(), console, repeats_exactly }
            }
            Err(text) => failed(text),
        }
    }

    fn command_line<'a>(&'a self, plugin: Option<&'a Plugin>, seed: Option<u64>) -> CommandLine<'a> {
        CommandLine {
            shape: self.request.shape,
            accelerator: Accelerator::Tcg,
            kernel: &self.request.kernel,
            beside: if self.has_own_loader { Beside::OwnLoader } else { Beside::Modules(&self.request.modules) },
            parameters: &self.request.parameters,
            tsc_khz: None,
            plugin,
            seed,
            memory: &[],
            wires: &[],
        }
    }

    /// Facts about the host and the emulator. Those of the system in the machine are unknown.
    pub(crate) fn facts_with(&self, plugin: &Plugin) -> Facts {
        let mut facts = emulator::of_host(&self.paths);
        emulator::put_emulator(&mut facts, &self.emulator, &self.command_line(Some(plugin), None));
        facts
    }
}
