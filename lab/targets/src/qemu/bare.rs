//! A machine with any system that the emulator starts by itself: nothing of ours runs in it. Its console is the first serial port. It ends when its
//! emulator does.

use super::command_line::{Beside, CommandLine};
use super::console;
use super::{Emulator, disk_image, facts, kernel_image};
use crate::host::HostPaths;
use crate::keep::{Deadline, Kept, Output, Program};
use crate::{Ending, Plugin, StopFlag, plugin};
use faultline_model::facts::Facts;
use faultline_model::machine::{Accelerator, MachineShape};
use faultline_model::protocol::LONGEST_LINE_BYTES;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// The requested machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BareRequest {
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// The kernel, or a disk image with its own loader: anything that the emulator starts.
    pub kernel: PathBuf,
    /// What the kernel is given beside it: files, each with its arguments.
    pub modules: Vec<String>,
    /// The words of its command line.
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

/// How such a machine ended.
pub(crate) struct BareExecuted {
    pub(crate) ending: Ending,
    /// The last output of its first serial port, of the emulator and of the plugin.
    pub(crate) console: String,
    /// Another boot with the same seed does exactly the same, on any host.
    pub(crate) repeats_exactly: bool,
}

impl BareMachine {
    /// It is not known yet whether it boots.
    pub fn new(request: BareRequest, paths: HostPaths, emulator: Emulator) -> Self {
        let has_own_loader = kernel_image::is_disk(&request.kernel);
        BareMachine { request, paths, emulator, has_own_loader }
    }

    /// The same machine with other numbers of CPUs, sockets or memory.
    pub fn with_shape(&self, shape: MachineShape) -> Self {
        BareMachine { request: BareRequest { shape, ..self.request.clone() }, ..self.clone() }
    }

    /// CPUs, sockets, memory.
    pub fn shape(&self) -> MachineShape {
        self.request.shape
    }

    /// Starts it and waits for its end. When this returns, its processes have ended.
    pub(crate) fn execute(
        &self,
        plugin: Option<&Plugin>,
        seed: Option<u64>,
        limit: Duration,
        stop: &StopFlag,
    ) -> BareExecuted {
        let command_line = self.command_line(plugin, seed);
        let ours = plugin.and_then(|plugin| plugin.directory.as_deref());
        let program = Program {
            keeper: &self.paths.keeper,
            scratch: &self.paths.scratch,
            file: &self.emulator.program,
            arguments: &|_| command_line.arguments(),
            output: Output { longest_line: LONGEST_LINE_BYTES, stderr_bytes: console::KEPT_BYTES },
            waiting_is_free: true,
            grace: plugin::grace(self.request.shape.cpus()),
            ours,
            directory: None,
            environment: &disk_image::environment(ours.unwrap_or(&self.paths.scratch)),
            system_settings: &[],
            namespace: None,
        };
        let repeats_exactly = command_line.repeats_exactly();
        match Kept::start(&program) {
            Ok(kept) => {
                let ended = kept.follow_until(Deadline::after(limit), &mut |_, _| ControlFlow::Continue(()), stop);
                let console = console::readable(&ended.stderr);
                BareExecuted { ending: ended.into(), console, repeats_exactly }
            }
            Err(text) => BareExecuted { ending: Ending::NotStarted { text }, console: String::new(), repeats_exactly },
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

    /// Facts about the host and the emulator. Those of the system in it are not known.
    pub(crate) fn facts_with(&self, plugin: &Plugin) -> Facts {
        let mut facts = facts::of_host(&self.paths);
        facts::put_emulator(&mut facts, &self.emulator, &self.command_line(Some(plugin), None));
        facts
    }
}
