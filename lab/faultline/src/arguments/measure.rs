//! Arguments of `faultline run`, `check` and `resume`.

use super::around::{Around, ExportJson};
use super::values::{
    Tasks, Warmup, commit, duration, jobs, label, partner, positive_duration, repeats, run_candidates, seed, size,
    tasks, warmup, workload_candidates,
};
use super::{Conduct, NoSandbox, OnMachine};
use clap::{Args, ValueEnum};
use faultline_record::cell::TaskMode;
use faultline_record::machine::Machine;
use faultline_record::plan::PinPolicy;
use faultline_record::role::Role;
use faultline_record::subject::Commit;
use faultline_runner::Suite;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Amount and timing of measurements.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Measurement")]
pub(crate) struct Measuring {
    /// Suite to run; for chosen workloads, the suite whose timing to use
    #[arg(long, value_enum, value_name = "SUITE")]
    pub(crate) suite: Option<SuiteName>,

    /// Numbers of tasks that run at once, each on its own CPU [default: powers of two up to all
    /// CPUs; 1 for a command]
    ///
    /// KxN builds K copies of a tree at once with N tasks each: `--tasks 2x1,2x4`.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = tasks)]
    pub(crate) tasks: Option<Vec<Tasks>>,

    /// Repeats of each workload at each number of tasks [default: 6 for quick, 10 for full, for a
    /// command 10 and at least 3 s, up to 60 in a comparison]
    #[arg(long, value_name = "N", value_parser = repeats)]
    pub(crate) repeats: Option<u32>,

    /// Total time: run as many repeats as fit; start nothing after it
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) time: Option<Duration>,

    /// Warm-up: executions of a command before those that count, or time before each window
    /// [default: none for commands, 100 ms for quick, 500 ms for full]
    #[arg(long, value_name = "N|DURATION", hide_short_help = true, value_parser = warmup)]
    pub(crate) warmup: Option<Warmup>,

    /// Window for counting a rate [default: 300 ms for quick, 2 s for full; longer for slow
    /// operations]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) window: Option<Duration>,

    /// Part of the window that makes one sample [default: 50 ms for quick, 100 ms for full]
    #[arg(long, value_name = "DURATION", hide_short_help = true, value_parser = duration)]
    pub(crate) interval: Option<Duration>,

    /// Seed of the random order [default: random, and saved]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Binding of tasks to CPUs [default: each, where the system can; none for a command run
    /// alone]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) pin: Option<Pin>,

    /// Kind of task, for workloads that support both
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,

    /// Allow more tasks than CPUs
    #[arg(long)]
    pub(crate) oversubscribe: bool,

    /// Size parameter of the workloads: 64MiB, 200 (`faultline run --list` shows its meaning)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SuiteName {
    /// Loops of the literature, about two minutes on two CPUs
    Quick,
    /// Every workload in every variant
    Full,
}

impl From<SuiteName> for Suite {
    fn from(name: SuiteName) -> Self {
        match name {
            SuiteName::Quick => Suite::Quick,
            SuiteName::Full => Suite::Full,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Pin {
    /// Each task on its own CPU, cores before hardware threads
    Each,
    /// Placement by the scheduler
    None,
}

impl From<Pin> for PinPolicy {
    fn from(pin: Pin) -> Self {
        match pin {
            Pin::Each => PinPolicy::Each,
            Pin::None => PinPolicy::None,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Mode {
    /// Processes, each with its own address space
    Process,
    /// Threads of one process
    Thread,
}

impl From<Mode> for TaskMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Process => TaskMode::Process,
            Mode::Thread => TaskMode::Thread,
        }
    }
}

#[derive(Debug, Args)]
#[command(mut_arg("warmup", |arg| arg.hide_short_help(false)))]
#[command(mut_arg("seed", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("mode", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("oversubscribe", |arg| arg.hide_short_help(true)))]
#[command(after_help = "\
Examples:
  faultline run                                   quick suite, powers of two up to all CPUs
  faultline run --suite full --time 1h            every variant, as many repeats as fit in an hour
  faultline run zero_fill --tasks 1,2 --repeats 20
  faultline run -- ./prog 1000                    a command: its time, CPU time and memory
  faultline run --warmup 3 --prepare 'rm -rf cache' -- './prog 1000'
  faultline run --tasks 1,2,4 -- ./prog 1000      copies of a command at once
  faultline run fault_existing:shared --mode thread --window 2s
  faultline run tree_build --tree ~/src/app --command 'make -j{tasks}' --tasks 2x1,2x4
  faultline run zero_fill --on qemu:cpus=8        an emulated machine with this system's kernel
  faultline run path_stat --on qemu:cpus=4,kernel=arch/x86/boot/bzImage --tasks 1,4
  faultline run udp_stream tcp_rr --on netns --partner receiver=netns
  faultline run relay --on netns --partner receiver=netns --partner forwarder=netns   with a router
  faultline run --list                            workloads with their variants
Each sample is saved at once. Ctrl-C ends cleanly; `faultline resume` continues.")]
pub(crate) struct Run {
    /// Workloads, as NAME or NAME:VARIANT [default: the whole suite]
    #[arg(value_name = "WORKLOAD", add = workload_candidates())]
    pub(crate) workloads_chosen: Vec<String>,

    /// Command to measure instead: one text, or its words
    #[arg(value_name = "COMMAND", last = true, conflicts_with_all = ["workloads_chosen", "list", "suite", "tree", "partners"])]
    pub(crate) program: Vec<String>,

    /// List the workloads and their variants instead
    #[arg(long, conflicts_with = "workloads_chosen")]
    pub(crate) list: bool,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Commit that the measured system was built from, at least 7 digits; `compare` finds the run
    /// by it
    #[arg(long, value_name = "COMMIT", value_parser = commit, hide_short_help = true)]
    pub(crate) commit: Option<Commit>,

    #[command(flatten)]
    pub(crate) machine: OnMachine,

    /// File to install on the SSH host that --on names; the host then reboots. `[host.NAME]` in
    /// faultline.toml says how
    #[arg(long, value_name = "FILE", requires = "on", hide_short_help = true)]
    pub(crate) install: Option<PathBuf>,

    /// Release of the installed kernel (`uname -r`)
    #[arg(long, value_name = "RELEASE", requires = "install", hide_short_help = true)]
    pub(crate) release: Option<String>,

    /// Machine of a partner, written as for --on: receiver=netns; repeatable. Network workloads
    /// have a receiver and a forwarder
    #[arg(long = "partner", value_name = "ROLE=MACHINE", value_parser = partner)]
    pub(crate) partners: Vec<(Role, Machine)>,

    /// Source tree to build, with --command
    #[arg(long, value_name = "DIR", requires = "command")]
    pub(crate) tree: Option<PathBuf>,

    /// Command that builds the tree; {tasks} stands for the number of tasks. Split into words, run
    /// without a shell
    #[arg(long, value_name = "COMMAND", requires = "tree")]
    pub(crate) command: Option<String>,

    #[command(flatten)]
    pub(crate) around: Around,

    /// Go on after a failed execution, which has no figure; the exit status is still 1 [default:
    /// end at the first failure]
    #[arg(short, long, requires = "program", help_heading = "Commands", hide_short_help = true)]
    pub(crate) ignore_failure: bool,

    #[command(flatten)]
    pub(crate) export: ExportJson,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline check                    compare this machine with itself (5 min); what works
  faultline check --time 1m          shorter: detects only larger differences
  faultline check --on qemu:cpus=2   an emulated machine
  faultline check --facts            facts, and what works; measures nothing
  faultline check --facts 3@b        facts saved with side B of run 3
The exit status is 1 if the machine is not fit to measure on.")]
pub(crate) struct Check {
    /// Workloads to measure [default: zero_fill:base, fork_exit:small and path_stat:distinct]
    #[arg(value_name = "WORKLOAD", add = workload_candidates())]
    pub(crate) workloads_chosen: Vec<String>,

    /// Show the facts about the machine instead, or those saved with a run (number, label or
    /// commit; RUN@b: side B)
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["workloads_chosen", "time"], add = run_candidates())]
    pub(crate) facts: Option<Option<String>>,

    /// Total time
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = positive_duration)]
    pub(crate) time: Duration,

    #[command(flatten)]
    pub(crate) machine: OnMachine,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline resume        continue the newest unfinished run
  faultline resume 3      continue run 3
The --time of a run starts again with each session; that of a comparison is the total over all sessions.")]
pub(crate) struct Resume {
    /// Run, by number, label or commit [default: the newest unfinished]
    #[arg(value_name = "RUN", add = run_candidates())]
    pub(crate) run: Option<String>,

    /// Guests that run at the same time, for a lens run [default: as CPUs and memory allow]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    pub(crate) sandbox: NoSandbox,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}
