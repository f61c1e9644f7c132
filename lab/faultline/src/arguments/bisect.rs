//! Arguments of `faultline bisect` and `try`.

use super::Conduct;
use super::building::Building;
use super::compare::{Certainty, Gate, Steps};
use super::history::Config;
use super::lens::{Model, variable, with};
use super::measure::{Mode, Pin};
use super::values::{
    MOST_OPERATIONS, MOST_STEPS, duration, executed_quantity, from_to, label, level, margin, positive_duration,
    quantity, repeats, seed, task_count,
};
use clap::{Args, ValueEnum};
use faultline_experiment::lens::With;
use faultline_history::request::FEWEST_SEEDS;
use faultline_record::machine::Machine;
use faultline_record::quantity::Quantity;
use faultline_record::relink::{SectionOrder, SectionSpacing};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline bisect v1.4 HEAD --build 'make -j2' -- ./prog 1000     which commit changed its time?
  faultline bisect v1.4 main -- python3 bench.py                   without a build
  faultline bisect HEAD~50 HEAD --build 'cargo build --release' --keep target -- target/release/b
  faultline bisect v1.4 HEAD --build make --gate -- ./prog         exit status 1 if it got slower
  faultline bisect v1.4 HEAD --layouts 12 --build make -- ./prog   code, or only its layout?
  faultline bisect v1.4 HEAD --on ssh:lab --build make -- ./prog   on another host
  faultline bisect v1.4 HEAD --revert --build make -- ./prog       effect of a revert today
  faultline bisect v1.4 HEAD --by transfers --tasks 4 --build make -- ./prog {tasks}
  faultline bisect v6.11 v6.12 --build 'sh build.sh' --image arch/x86/boot/bzImage \\
      --workload zero_fill:base --tasks 8 --by transfers           a kernel's page faults
  faultline bisect app                                             newest step of a history
  faultline bisect app --step 2                                    step 2 of `history changes app`
Commits are checked out and built in a separate directory; the repository and its checkout are only read. Commits that do
not build or run are skipped. Times are compared within blocks of interleaved executions. Instructions and transfers are
counted in guests. With one seed counts are exact: if both ends have the same counts with two seeds, each commit is executed
once, otherwise with several seeds. For a subject, counts of its history are reused, and times are measured again. A guest
has the kept files of a build and the program's libraries. Ctrl-C ends cleanly; `faultline resume` continues.")]
#[command(mut_arg("gate", |arg| arg.help("Exit with status 1 if a commit made it slower, or if the search is inconclusive")))]
#[command(mut_arg("inconclusive", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("revert", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("false_alarms", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("min_change", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("predict", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("costs", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("sockets", |arg| arg.hide_short_help(true)))]
pub(crate) struct Bisect {
    /// Subject of faultline.toml whose history has a step; with NEW, the old commit: a branch, tag
    /// or name, as git takes it. OLD..NEW names both
    #[arg(value_name = "SUBJECT|OLD", allow_hyphen_values = false)]
    pub(crate) old: String,

    /// New commit. OLD must be on its line of first parents
    #[arg(value_name = "NEW", requires = "measured")]
    pub(crate) new: Option<String>,

    /// Command to measure, at the top of a build; runs without a shell. Under the lens, {tasks}
    /// stands for the number of tasks
    #[arg(value_name = "COMMAND", last = true, group = "measured")]
    pub(crate) command: Vec<String>,

    /// Quantity to compare [default: time; on a busy machine, CPU time of programs that only
    /// compute]
    ///
    /// Without it, the first executions decide: CPU time if other programs use the machine, and if
    /// the command has one thread that waits for nothing. The choice is saved with the run.
    #[arg(long, value_name = "MEASURE", value_parser = quantity())]
    pub(crate) by: Option<Quantity>,

    /// Number of tasks [default: 1; 8 under the lens]
    ///
    /// Copies of the command for time, its threads under the lens, tasks of a kernel's workload
    /// with a CPU for each. For a subject: selects the series with this number of tasks [default:
    /// the first that has steps].
    #[arg(long, value_name = "N", value_parser = task_count)]
    pub(crate) tasks: Option<u32>,

    /// Host for measuring time: ssh:NAME from faultline.toml, or ssh:USER@HOST. Builds are made
    /// here and sent there [default: this host]
    #[arg(long, value_name = "MACHINE", value_parser = str::parse::<Machine>)]
    pub(crate) on: Option<Machine>,

    /// Maximum number of executions of a commit in the search; as many again confirm a step. Only
    /// for time [default: 60]
    #[arg(long, value_name = "N", value_parser = from_to(4_u32, 10_000))]
    pub(crate) repeats: Option<u32>,

    /// Time for executions: nothing begins after it, and the answer names what remains possible.
    /// Builds are not counted [default: 30m; for counts unlimited]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration)]
    pub(crate) time: Option<Duration>,

    /// Maximum number of seeds per commit, 8 or more; as many again confirm a step. Only for counts
    /// [default: 1 or 12, by a test of both ends]
    ///
    /// 1: count each commit once, with one schedule for all. Default: 1 if both ends have the same
    /// counts with two seeds, otherwise 12.
    #[arg(long, value_name = "N", value_parser = seeds)]
    pub(crate) seeds: Option<u32>,

    /// Binding of copies to CPUs. Only for time [default: each, where the system can]
    #[arg(long, value_enum, value_name = "POLICY", hide_short_help = true)]
    pub(crate) pin: Option<Pin>,

    /// Seed of the random order, and of guests [default: random, and saved; under the lens 1]
    #[arg(long, value_name = "N", value_parser = seed, hide_short_help = true)]
    pub(crate) seed: Option<u64>,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Confidence level of all findings together. Counts of one seed are exact
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = level, help_heading = "Decision")]
    pub(crate) level: f64,

    /// Smallest change to search for
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = margin, help_heading = "Decision")]
    pub(crate) least: f64,

    /// Also search ranges with equal ends, for changes that cancel each other
    #[arg(long, hide_short_help = true, help_heading = "Decision")]
    pub(crate) thorough: bool,

    /// Measure the newest commit without each commit found: how much of the step does a revert take
    /// back?
    #[arg(long, help_heading = "Decision")]
    pub(crate) revert: bool,

    #[command(flatten)]
    pub(crate) gate: Gate,

    /// Random layouts to link around each step, to separate changes of code from changes of layout.
    /// Needs GNU ld [default: none]
    #[arg(long, value_name = "N", value_parser = from_to(8_u32, 1000), help_heading = "Decision")]
    pub(crate) layouts: Option<u32>,

    /// Order of sections of code and data in these layouts
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        default_value = "random",
        requires = "layouts",
        hide_short_help = true,
        help_heading = "Decision"
    )]
    pub(crate) layout_order: Order,

    /// Space between sections in these layouts
    #[arg(
        long,
        value_enum,
        value_name = "SPACING",
        default_value = "gap",
        requires = "layouts",
        hide_short_help = true,
        help_heading = "Decision"
    )]
    pub(crate) layout_spacing: Spacing,

    #[command(flatten)]
    pub(crate) building: Building,

    #[command(flatten)]
    pub(crate) conduct: Conduct,

    #[command(flatten)]
    pub(crate) subject: OfSubject,

    #[command(flatten)]
    pub(crate) kernel: Kernel,

    #[command(flatten)]
    pub(crate) guest: Guest,

    #[command(flatten)]
    pub(crate) model: Model,
}

/// A number of seeds: one, or enough to detect counts that depend on the seed.
fn seeds(text: &str) -> Result<u32, String> {
    let most = 1000;
    match text.parse() {
        Ok(number) if number == 1 || (FEWEST_SEEDS..=most).contains(&number) => Ok(number),
        _ => Err(format!("it must be 1, or a whole number from {FEWEST_SEEDS} to {most}")),
    }
}

/// The order of sections in a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// The linker's own order
    Keep,
    /// Random order
    Random,
    /// By name
    Sort,
}

impl From<Order> for SectionOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Keep => SectionOrder::Keep,
            Order::Random => SectionOrder::Random,
            Order::Sort => SectionOrder::Sort,
        }
    }
}

/// The space between sections in a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Spacing {
    /// The required alignment only
    None,
    /// Random gaps of up to 4 KiB
    Gap,
    /// Alignment to 64 bytes
    Align,
}

impl From<Spacing> for SectionSpacing {
    fn from(spacing: Spacing) -> Self {
        match spacing {
            Spacing::None => SectionSpacing::None,
            Spacing::Gap => SectionSpacing::Gap,
            Spacing::Align => SectionSpacing::Align,
        }
    }
}

/// The step of a history.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only for subjects")]
pub(crate) struct OfSubject {
    /// Number of the step in the list of `faultline history changes` [default: the newest for the
    /// worse, otherwise the newest]
    #[arg(long, value_name = "N", conflicts_with = "new", value_parser = from_to(1, MOST_STEPS))]
    pub(crate) step: Option<u32>,

    #[command(flatten)]
    pub(crate) steps: Steps,

    #[command(flatten)]
    pub(crate) config: Config,
}

/// A kernel that is booted instead of a command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only for kernels")]
pub(crate) struct Kernel {
    /// Kernel to measure instead of a command: a bzImage of each build. Commits whose kernel does
    /// not boot are skipped
    #[arg(long, value_name = "PATH", group = "measured", requires = "workload")]
    pub(crate) image: Option<String>,

    /// ELF file of the same kernel in each build, for names
    #[arg(long, value_name = "PATH", requires = "image", hide_short_help = true)]
    pub(crate) vmlinux: Option<String>,

    /// Workload to run on the kernel; its counts are per operation
    #[arg(long, value_name = "NAME:VARIANT", requires = "image")]
    pub(crate) workload: Option<String>,

    /// Kind of task, for workloads that support both [default: the variant's first]
    #[arg(long, value_enum, value_name = "MODE", requires = "image", hide_short_help = true)]
    pub(crate) mode: Option<Mode>,

    /// Operations of each task [default: the workload's]
    #[arg(long, value_name = "N", requires = "image", hide_short_help = true, value_parser = from_to(1, MOST_OPERATIONS))]
    pub(crate) ops: Option<u64>,
}

/// The guest in which commits are counted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only for instructions and transfers")]
pub(crate) struct Guest {
    /// Count the whole run and ignore region marks
    #[arg(long, hide_short_help = true)]
    pub(crate) whole: bool,

    /// Count the kernel too, not only the program
    #[arg(long, hide_short_help = true)]
    pub(crate) kernel_too: bool,

    /// File or directory to add to the guest; repeatable. PATH=GUESTPATH puts it elsewhere
    #[arg(long, value_name = "PATH[=GUESTPATH]", hide_short_help = true, value_parser = with)]
    pub(crate) with: Vec<With>,

    /// Environment variable of the program; repeatable. PATH, HOME and TMPDIR are always set
    #[arg(long, value_name = "NAME=VALUE", hide_short_help = true, value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Kernel image of the guest [default: FAULTLINE_KERNEL, otherwise the newest in /boot,
    /// otherwise from `make kernel`]
    #[arg(long, value_name = "IMAGE", hide_short_help = true)]
    pub(crate) kernel: Option<PathBuf>,

    /// Memory of the guest in MiB [default: by number of CPUs and size of files]
    #[arg(long, value_name = "MIB", hide_short_help = true)]
    pub(crate) memory: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline try 0001-faster.patch --build 'make -j2' -- ./prog 1000   HEAD with and without it
  faultline try series.mbox --on v1.4 --build make -- ./prog > answer.md
  faultline try fix.diff --build make --gate -- ./prog                exit status 1 if it is slower
  git diff | faultline try - --build make -- ./prog                   local changes
Patches are applied in a separate directory; the repository and its checkout are only read, so local changes are included
only as a patch. Both sides are built, then executed in random order until the answer is clear. The answer is Markdown
of 78 columns, for a mail. Ctrl-C ends cleanly; `faultline resume` continues.")]
#[command(mut_arg("format", |format| format.default_value("markdown")))]
#[command(mut_arg("gate", |arg| arg.help("Exit with status 1 if the patches make it slower by more than the margin, or if that is inconclusive")))]
pub(crate) struct Try {
    /// Files with patches in order: mails of `git format-patch`, mailboxes, or diffs; - is standard
    /// input
    #[arg(value_name = "PATCH", required = true)]
    pub(crate) patches: Vec<PathBuf>,

    /// Command to measure, at the top of a build; runs without a shell
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<String>,

    /// Quantity to compare
    #[arg(long, value_name = "MEASURE", default_value = "time", value_parser = executed_quantity())]
    pub(crate) by: Quantity,

    /// Commit to apply the patches to
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub(crate) on: String,

    /// Copies of the command that run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = task_count)]
    pub(crate) tasks: u32,

    /// Maximum number of executions of each side [default: 60]
    #[arg(long, value_name = "N", value_parser = repeats)]
    pub(crate) repeats: Option<u32>,

    /// Total time for measuring; start nothing after it
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) time: Option<Duration>,

    /// Binding of copies to CPUs [default: each, where the system can]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) pin: Option<Pin>,

    /// Seed of the random order [default: random, and saved]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    #[command(flatten)]
    pub(crate) gate: Gate,

    #[command(flatten)]
    pub(crate) certainty: Certainty,

    #[command(flatten)]
    pub(crate) building: Building,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}
