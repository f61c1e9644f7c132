//! One boot of a guest, from the emulator's start to its end: follows its frames and its console,
//! with time limits.

use super::command_line::{Beside, CommandLine};
use super::memory::RegionEnd;
use super::memory::{GuestMemory, path_of};
use super::{console, initramfs};
use crate::agent::frame::{self, Frame, LONGEST_HEADER_BYTES};
use crate::agent::{GuestProgram, Plan};
use crate::counting::AtEnd;
use crate::counting::model;
use crate::keep::{Deadline, End, Ended, Grace, Kept, Output, Program};
use crate::lack::Lack;
use crate::network::WiredEnd;
use crate::program_files::tree::Tree;
use crate::{Plugin, StopFlag};
use faultline_record::machine::{Accelerator, MachineShape};
use faultline_record::outcome::GuestFailure;
use faultline_record::protocol::LONGEST_LINE_BYTES;
use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for a guest whose plan is complete to switch itself off, and for a plugin to write
/// its counts.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(120);

/// Signal with which a system kills a process for lack of memory.
const SIGKILL: i32 = 9;

/// Maximum number of boots until one is in time. Under emulation with many CPUs a boot sometimes
/// stalls: the kernel patches its own code, and CPUs continue with the translation of the old code
/// (seen with QEMU 7.2). Nothing has been measured at that point. A boot that repeats exactly would
/// fail again.
pub(super) const BOOT_TRIALS: u32 = 3;

/// The inputs of a boot.
pub(super) struct Boot<'a> {
    pub(super) emulator: &'a Path,
    pub(super) keeper: &'a Path,
    /// Directory for the initramfs, which is an unnamed file there, and for the keeper.
    pub(super) scratch: &'a Path,
    pub(super) kernel: &'a Path,
    pub(super) shape: MachineShape,
    pub(super) accelerator: Accelerator,
    pub(super) parameters: &'a [String],
    pub(super) tsc_khz: Option<u64>,
    pub(super) plugin: Option<&'a Plugin>,
    /// Seed of the guest's random numbers; they come from the host if `None`.
    pub(super) seed: Option<u64>,
    /// Reads the guest's memory when the plugin announces the end of the region of interest.
    pub(super) at_end: Option<&'a AtEnd<'a>>,
    pub(super) agent: &'a [u8],
    pub(super) programs: &'a [GuestProgram],
    /// Further files for the guest.
    pub(super) files: &'a [&'a Tree],
    pub(super) plan: &'a Plan,
    /// Its position among other guests.
    pub(super) wired: Option<&'a WiredEnd>,
    /// Maximum time without output of the kernel until the agent's hello.
    pub(super) boot_limit: Duration,
    /// Maximum number of boots until one is in time; at least 1.
    pub(super) trials: u32,
    /// Time limit from the hello to the plan's end.
    pub(super) limit: Duration,
}

/// The result of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Booted {
    pub(super) end: BootEnd,
    /// The last output of kernel and emulator, readable.
    pub(super) console: String,
    /// Time until the agent's hello; `None` without a hello.
    pub(super) hello_after: Option<Duration>,
    /// The guest did not boot in time; the sink has received nothing.
    stalled: bool,
}

/// Ending of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BootEnd {
    /// The plan is complete.
    Done,
    /// The guest failed; the reason.
    Failed(GuestFailure, String),
    /// This host failed, not the guest; the cause.
    LabFailed(String),
    /// The emulator was killed when this host lacked memory that it has again; the cause.
    AfterLack(String),
    /// The sink returned `Break`.
    Refused,
    /// A stop was requested.
    Stopped,
}

/// Receives the frames as they arrive; `Break` switches the guest off.
pub(super) type FrameSink<'a> = dyn FnMut(&Frame<'_>) -> ControlFlow<()> + 'a;

impl Boot<'_> {
    /// Boots the guest, and again if it does not boot in time. All its processes have ended on
    /// return.
    pub(super) fn run(&self, sink: &mut FrameSink<'_>, stop: &StopFlag) -> Booted {
        let trials = if self.repeats_exactly() { 1 } else { self.trials };
        for _ in 1..trials {
            let booted = self.once(sink, stop);
            if !booted.stalled {
                return booted;
            }
        }
        self.once(sink, stop)
    }

    fn once(&self, sink: &mut FrameSink<'_>, stop: &StopFlag) -> Booted {
        let lab_failed = |text: String| Booted {
            end: BootEnd::LabFailed(text),
            console: String::new(),
            hello_after: None,
            stalled: false,
        };
        let initramfs = match self.initramfs() {
            Ok(initramfs) => initramfs,
            Err(error) => return lab_failed(format!("no initramfs in {}: {error}", self.scratch.display())),
        };
        let initramfs_path = path_of(&initramfs);
        let shared = match self.shared() {
            Ok(shared) => shared,
            Err(error) => return lab_failed(format!("no memory for a guest: {error}")),
        };
        let plugin = self.plugin.map(|plugin| shared.iter().fold(plugin.clone(), Shared::announced));
        let plugin = plugin.as_ref();
        let memory = shared.as_ref().map(|shared| shared.memory.paths()).unwrap_or_default();
        let wires = self.wired.map(WiredEnd::wires).unwrap_or_default();
        let command_line = CommandLine { plugin, memory: &memory, wires: &wires, ..self.command_line(&initramfs_path) };
        let program = Program {
            keeper: self.keeper,
            scratch: self.scratch,
            file: self.emulator,
            arguments: &|_| command_line.arguments(),
            output: Output {
                longest_line: LONGEST_LINE_BYTES + 1 + LONGEST_HEADER_BYTES,
                stderr_bytes: console::KEPT_BYTES,
            },
            directory: None,
            waiting_is_free: true,
            grace: plugin.map_or(Grace::NONE, |_| model::grace(self.shape.cpus())),
            ours: plugin.and_then(|plugin| plugin.directory.as_deref()).or(self.wired.map(WiredEnd::directory)),
            environment: &[],
            system_settings: &[],
            namespace: None,
            sandbox: None,
        };
        let mut watch = Watch::new(self.limit, sink);
        let kept = match Kept::start(&program) {
            Ok(kept) => kept,
            Err(text) => return lab_failed(text),
        };
        // The kernel's messages are on standard error.
        let boots = Deadline::without_progress(self.boot_limit);
        let follow = || kept.follow_until(boots, &mut |line, deadline| watch.take(line, deadline), stop);
        let ended = match shared {
            Some(Shared { memory, region_end, at_end }) => thread::scope(|scope| {
                let looking = region_end.watch(scope, &memory, at_end);
                let ended = follow();
                looking.end();
                ended
            }),
            None => follow(),
        };
        watch.conclude(&ended, self.boot_limit)
    }

    /// Resources that are shared with the emulator, if the memory is to be read.
    fn shared(&self) -> io::Result<Option<Shared<'_>>> {
        let share = |at_end| {
            let memory = GuestMemory::new(self.shape, self.scratch)?;
            Ok(Shared { memory, region_end: RegionEnd::new()?, at_end })
        };
        self.at_end.map(share).transpose()
    }

    /// True if another boot with these inputs repeats it exactly, on any host.
    pub(super) fn repeats_exactly(&self) -> bool {
        self.command_line(Path::new("")).repeats_exactly()
    }

    /// The kernel's command line.
    pub(super) fn kernel_parameters(&self) -> String {
        self.command_line(Path::new("")).kernel_parameters()
    }

    fn command_line<'b>(&'b self, initramfs: &'b Path) -> CommandLine<'b> {
        CommandLine {
            shape: self.shape,
            accelerator: self.accelerator,
            kernel: self.kernel,
            beside: Beside::Agent(initramfs),
            parameters: self.parameters,
            tsc_khz: self.tsc_khz,
            plugin: self.plugin,
            seed: self.seed,
            memory: &[],
            wires: &[],
        }
    }

    /// The initramfs in an unnamed file, which disappears with this process.
    fn initramfs(&self) -> io::Result<File> {
        let file = tempfile::tempfile_in(self.scratch).map_err(|error| error.kind())?;
        initramfs::write(BufWriter::new(&file), self.agent, self.programs, self.files, self.plan)?;
        Ok(file)
    }
}

/// The guest's memory, and the channel that announces the end of the region of interest.
struct Shared<'a> {
    memory: GuestMemory,
    region_end: RegionEnd,
    at_end: &'a AtEnd<'a>,
}

impl Shared<'_> {
    /// The plugin with the options for the announcement.
    fn announced(mut plugin: Plugin, shared: &Self) -> Plugin {
        plugin.values.extend(shared.region_end.options());
        plugin
    }
}

/// Follows a guest through its frames.
struct Watch<'a, 'b> {
    sink: &'a mut FrameSink<'b>,
    began: Instant,
    limit: Duration,
    hello_after: Option<Duration>,
    done: bool,
    /// The agent's own failure, or an error in its output.
    trouble: Option<String>,
    refused: bool,
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(limit: Duration, sink: &'a mut FrameSink<'b>) -> Self {
        Watch { sink, began: Instant::now(), limit, hello_after: None, done: false, trouble: None, refused: false }
    }

    fn take(&mut self, line: &[u8], deadline: &mut Deadline) -> ControlFlow<()> {
        let frame = match frame::parse(line) {
            Ok(frame) => frame,
            // Firmware may write to a serial port before the agent uses it.
            Err(frame::NoFrame::Rubbish) if self.hello_after.is_none() => return ControlFlow::Continue(()),
            Err(no_frame) => return self.give_up(no_frame.to_string()),
        };
        match &frame {
            Frame::Hello => {
                self.hello_after.get_or_insert(self.began.elapsed());
                *deadline = Deadline::after(self.limit);
            }
            Frame::End => {
                self.done = true;
                *deadline = Deadline::after(POWER_OFF_LIMIT);
            }
            Frame::Failed(text) => return self.give_up(format!("the guest's agent: {text}")),
            _ => {}
        }
        let flow = (self.sink)(&frame);
        self.refused = flow.is_break();
        flow
    }

    fn give_up(&mut self, trouble: String) -> ControlFlow<()> {
        self.trouble = Some(trouble);
        ControlFlow::Break(())
    }

    fn conclude(self, ended: &Ended, boot_limit: Duration) -> Booted {
        let console = console::readable(&ended.stderr);
        let end = self.end(ended, &console, boot_limit);
        let stalled = ended.end == End::TimedOut && matches!(end, BootEnd::Failed(GuestFailure::NotBooted, _));
        Booted { end, console, hello_after: self.hello_after, stalled }
    }

    fn end(&self, Ended { end, lack, .. }: &Ended, console: &str, boot_limit: Duration) -> BootEnd {
        if *end == End::Stopped {
            return BootEnd::Stopped;
        }
        if self.refused {
            return BootEnd::Refused;
        }
        if let Some(trouble) = &self.trouble {
            return BootEnd::Failed(GuestFailure::Lost, trouble.clone());
        }
        if self.done {
            return BootEnd::Done;
        }
        match lack {
            Some(Lack { text, is_over: false }) => return BootEnd::LabFailed(text.clone()),
            // A kill of another process says nothing about the guest.
            Some(Lack { text, .. }) if *end == End::Signalled(SIGKILL) => return BootEnd::AfterLack(text.clone()),
            Some(_) | None => {}
        }
        if let Some(panic) = console::panic(console) {
            return BootEnd::Failed(GuestFailure::Panicked, format!("the guest's kernel panicked: {panic}"));
        }
        if let End::NotStarted(text) = end {
            return BootEnd::LabFailed(format!("the emulator could not be started: {text}"));
        }
        match self.hello_after {
            None => BootEnd::Failed(GuestFailure::NotBooted, not_booted(end, console, boot_limit)),
            Some(_) if *end == End::TimedOut => {
                let limit_s = self.limit.as_secs_f64();
                let text = format!("the guest did not end within its limit of {limit_s:.1} s; powered off");
                BootEnd::Failed(GuestFailure::Hung, text)
            }
            Some(_) => BootEnd::Failed(GuestFailure::Lost, lost(end, console)),
        }
    }
}

/// Reason for a missing hello.
fn not_booted(end: &End, console: &str, boot_limit: Duration) -> String {
    match end {
        End::TimedOut => {
            let said = console::last_line(console).map_or_else(
                || "its console stayed empty".to_owned(),
                |line| format!("the last line of its console: {line}"),
            );
            format!("the guest did not come up, and printed nothing for {:.1} s; {said}", boot_limit.as_secs_f64())
        }
        _ => {
            console::complaint(console).unwrap_or_else(|| format!("the guest ended before it came up: {}", ended(end)))
        }
    }
}

/// Reason why a guest disappeared after it had booted.
fn lost(end: &End, console: &str) -> String {
    console::complaint(console).unwrap_or_else(|| format!("the guest ended before its workload: {}", ended(end)))
}

fn ended(end: &End) -> String {
    match end {
        End::Exited(status) => format!("its emulator's exit status is {status}"),
        End::Signalled(signal) => format!("signal {signal} ended its emulator"),
        End::KeeperKilled => "its emulator was killed".to_owned(),
        End::NotStarted(text) => text.clone(),
        End::TimedOut | End::Refused | End::Stopped => "it was switched off".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a watch after these lines and this end.
    fn watch(lines: &[&str], end: End, console: &str) -> Booted {
        let mut sink = |_: &Frame<'_>| ControlFlow::Continue(());
        let mut watch = Watch::new(Duration::from_secs(5), &mut sink);
        let mut deadline = Deadline::after(Duration::from_secs(60));
        for line in lines {
            if watch.take(line.as_bytes(), &mut deadline).is_break() {
                break;
            }
        }
        watch.conclude(
            &Ended { end, stderr: console.to_owned(), left: Vec::new(), lack: None, has_room: true },
            Duration::from_secs(60),
        )
    }

    #[test]
    fn a_process_killed_for_memory_explains_only_the_death_of_the_emulator() {
        let ended = |end| {
            let lack = Some(Lack::over("no memory".to_owned()));
            let mut sink = |_: &Frame<'_>| ControlFlow::Continue(());
            let watch = Watch::new(Duration::from_secs(5), &mut sink);
            let ended = Ended { end, stderr: String::new(), left: Vec::new(), lack, has_room: true };
            watch.conclude(&ended, Duration::from_secs(60)).end
        };
        assert_eq!(ended(End::Signalled(SIGKILL)), BootEnd::AfterLack("no memory".to_owned()));
        assert!(matches!(ended(End::Exited(1)), BootEnd::Failed(GuestFailure::NotBooted, _)));
    }

    fn failed(booted: Booted) -> (GuestFailure, String) {
        match booted.end {
            BootEnd::Failed(how, text) => (how, text),
            other => panic!("{other:?}"),
        }
    }

    const HELLO: &str = "hello 17 faultline-guest 1";

    #[test]
    fn a_plan_that_was_done_is_done_however_the_machine_ends() {
        for end in [End::Exited(0), End::TimedOut, End::Signalled(11)] {
            let booted = watch(&["some firmware", HELLO, "out 1 x", "end 0 "], end, "");
            assert_eq!(booted.end, BootEnd::Done);
            assert!(booted.hello_after.is_some());
        }
    }

    #[test]
    fn each_failure_is_distinguished() {
        let (how, text) = failed(watch(&[], End::TimedOut, "[    1.0] Loading\r\n"));
        assert_eq!(how, GuestFailure::NotBooted);
        assert_eq!(
            text,
            "the guest did not come up, and printed nothing for 60.0 s; the last line of its console: Loading"
        );

        let (how, text) = failed(watch(&[], End::Exited(1), "qemu: could not load kernel 'x'\n"));
        assert_eq!((how, text.as_str()), (GuestFailure::NotBooted, "qemu: could not load kernel 'x'"));

        let panic = "[    2.1] Kernel panic - not syncing: sysrq triggered crash\r\n";
        let (how, text) = failed(watch(&[HELLO, "out 1 x"], End::Exited(0), panic));
        assert_eq!(how, GuestFailure::Panicked);
        assert_eq!(text, "the guest's kernel panicked: Kernel panic - not syncing: sysrq triggered crash");

        let (how, text) = failed(watch(&[HELLO], End::TimedOut, ""));
        assert_eq!(how, GuestFailure::Hung);
        assert_eq!(text, "the guest did not end within its limit of 5.0 s; powered off");

        let (how, text) = failed(watch(&[HELLO], End::Signalled(11), ""));
        assert_eq!(how, GuestFailure::Lost);
        assert_eq!(text, "the guest ended before its workload: signal 11 ended its emulator");

        let (how, text) = failed(watch(&[HELLO, "out 9 x"], End::Refused, ""));
        assert_eq!((how, text.as_str()), (GuestFailure::Lost, "a line from the guest was cut off"));

        let (how, text) = failed(watch(&[HELLO, "failed 1 x"], End::Refused, ""));
        assert_eq!((how, text.as_str()), (GuestFailure::Lost, "the guest's agent: x"));
    }
}
