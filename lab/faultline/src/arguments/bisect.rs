//! Arguments of `faultline bisect`.

use super::building::Building;
use super::compare::{WhenInconclusive, level, margin};
use super::lens::{Model, variable, with};
use super::measuring::{Mode, Pin};
use super::{Conduct, count, label, seed};
use clap::{Args, ValueEnum};
use faultline_experiment::lens::With;
use faultline_history::measure::FEWEST_SEEDS;
use faultline_model::machine::Machine;
use faultline_model::relink::{SectionOrder, SectionSpacing};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline bisect v1.4 HEAD --build 'make -j2' -- ./prog 1000    which commit made ./prog slower or faster?
  faultline bisect v1.4 main -- python3 bench.py                  nothing has to be built
  faultline bisect HEAD~50 HEAD --build 'cargo build --release' --keep target/release/bench -- target/release/bench
  faultline bisect v1.4 HEAD --build make --gate -- ./prog        exit status 1 if a commit made it slower
  faultline bisect v1.4 HEAD --layouts 12 --build make -- ./prog  did the code change, or only its places in memory?
  faultline bisect v1.4 HEAD --on ssh:lab --build make --keep prog -- ./prog
                                                                  the same on another host
  faultline bisect v1.4 HEAD --revert --build make -- ./prog      and how much would its revert take back today?
  faultline bisect v1.4 HEAD --measure transfers --threads 4 --build make -- ./prog {threads}
                                                                  which commit made cache lines move between CPUs?
  faultline bisect v6.11 v6.12 --build 'sh build.sh' --image arch/x86/boot/bzImage --workload zero_fill:base --cpus 8 --measure transfers
                                                                  the same of a kernel's page faults
Commits are checked out and built in a directory of ours; the repository and its checkout are only read. A commit that does
not build or run is skipped. Times are compared within blocks of interleaved executions. Instructions and transfers are
counted under the lens, in guests. With one seed counts are exact; if both ends count the same with two seeds, each commit
is executed once, otherwise with several. A guest has all that is kept of a build, and the program's libraries. Ctrl-C ends cleanly; `faultline resume` continues.")]
pub(crate) struct Bisect {
    /// The old commit: a branch, tag or name, as git takes it
    #[arg(value_name = "OLD", allow_hyphen_values = false)]
    pub(crate) old: String,

    /// The new commit. OLD must be on its line of first parents
    #[arg(value_name = "NEW")]
    pub(crate) new: String,

    /// Command to measure, at the top of a build; it runs without a shell. Under the lens, {threads} stands for the number of threads
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "image", conflicts_with = "image")]
    pub(crate) command: Vec<String>,

    /// What is measured: time, or what the lens counts
    #[arg(long, value_enum, value_name = "MEASURE", default_value = "time")]
    pub(crate) measure: Measure,

    /// Where time is measured: `ssh:NAME`, a host that faultline.toml declares, or `ssh:USER@HOST`. Builds are made here and sent there [default: this host]
    #[arg(long, value_name = "MACHINE", value_parser = str::parse::<Machine>)]
    pub(crate) on: Option<Machine>,

    #[command(flatten)]
    pub(crate) building: Building,

    /// Probability with which all that is said to be found is right. Counts of one seed are exact
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = level)]
    pub(crate) level: f64,

    /// Smallest change to search for
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = margin)]
    pub(crate) least: f64,

    /// Maximum number of executions of a commit in the search; as many again confirm a step. Only for time [default: 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub(crate) repeats: Option<u32>,

    /// Maximum number of seeds with which a commit is counted in the search, from 8 on; as many again confirm a step. 1: count each commit once, and take one
    /// schedule for all. Only for instructions and transfers [default: if both ends count the same with two seeds 1, otherwise 12]
    #[arg(long, value_name = "N", value_parser = seeds)]
    pub(crate) seeds: Option<u32>,

    /// Also search stretches with equal ends, for changes that cancel each other
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Link the commits on both sides of each step again in N random layouts, and tell changes of the code from changes of the layout. For programs and
    /// Linux kernels that GNU ld links [default: no layouts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=1000))]
    pub(crate) layouts: Option<u32>,

    /// Order of sections of code and data in these layouts
    #[arg(long, value_enum, value_name = "ORDER", default_value = "random", requires = "layouts")]
    pub(crate) layout_order: Order,

    /// Space between sections in these layouts
    #[arg(long, value_enum, value_name = "SPACING", default_value = "gap", requires = "layouts")]
    pub(crate) layout_spacing: Spacing,

    /// Undo each commit that is named on top of NEW, and measure that beside NEW: how much of the step does the revert take back?
    #[arg(long)]
    pub(crate) revert: bool,

    /// Copies of the command that run at once. Only for time [default: 1]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) tasks: Option<u32>,

    /// Whether to bind each copy to a CPU of its own. Only for time [default: each, where the system can]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) pin: Option<Pin>,

    /// Seed of the random order, and of guests [default: random, and saved; under the lens 1]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Exit with status 1 if a commit made it slower, or if the search is inconclusive: for example if it cannot detect changes as small as `--least`
    #[arg(long)]
    pub(crate) gate: bool,

    /// What the gate does if the search is inconclusive: fail (exit status 1), or pass (exit status 0) with a note
    #[arg(long, value_enum, value_name = "ACTION", default_value = "fail", requires = "gate")]
    pub(crate) inconclusive: WhenInconclusive,

    #[command(flatten)]
    pub(crate) conduct: Conduct,

    #[command(flatten)]
    pub(crate) kernel: Kernel,

    #[command(flatten)]
    pub(crate) guest: Guest,

    #[command(flatten)]
    pub(crate) model: Model,
}

/// A number of seeds: one, or enough to tell counts that depend on the seed apart.
fn seeds(text: &str) -> Result<u32, String> {
    let most = 1000;
    match text.parse() {
        Ok(number) if number == 1 || (FEWEST_SEEDS..=most).contains(&number) => Ok(number),
        _ => Err(format!("1, or {FEWEST_SEEDS} to {most}")),
    }
}

/// The order of sections in a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// That which the linker has by itself
    Keep,
    /// Random
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
    /// No more than they need
    None,
    /// Random gaps of up to 4 KiB
    Gap,
    /// Each begins at a multiple of 64 bytes
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

/// What a search compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// The time of the command
    Time,
    /// Instructions that it executes
    Instructions,
    /// Transfers of cache lines between CPUs
    Transfers,
}

/// A kernel that is booted instead of a command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only for kernels")]
pub(crate) struct Kernel {
    /// Measure a kernel instead of a command: boot this file of each build, a bzImage. A commit whose kernel does not boot is skipped
    #[arg(long, value_name = "PATH", requires = "workload")]
    pub(crate) image: Option<String>,

    /// The same kernel as an ELF file of each build, for names
    #[arg(long, value_name = "PATH", requires = "image")]
    pub(crate) vmlinux: Option<String>,

    /// Workload that runs on the kernel; its counts are per operation
    #[arg(long, value_name = "NAME:VARIANT", requires = "image")]
    pub(crate) workload: Option<String>,

    /// CPUs of the machine, with one task on each [default: 1]
    #[arg(long, value_name = "N", requires = "image", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) cpus: Option<u32>,

    /// What tasks are, for workloads that can be either [default: the variant's first]
    #[arg(long, value_enum, value_name = "MODE", requires = "image")]
    pub(crate) mode: Option<Mode>,

    /// Operations of each task [default: the workload's]
    #[arg(long, value_name = "N", requires = "image", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ops: Option<u64>,
}

/// The guest in which commits are counted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only for instructions and transfers")]
pub(crate) struct Guest {
    /// Number of threads; the guest has a CPU for each, and one for the thread that starts them [default: 8]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<u32>,

    /// Count the whole run and ignore region marks
    #[arg(long)]
    pub(crate) whole: bool,

    /// Count the kernel too, not only the program
    #[arg(long)]
    pub(crate) kernel_too: bool,

    /// Add a file or directory of this host; can be repeated. PATH=GUESTPATH puts it elsewhere in the guest
    #[arg(long, value_name = "PATH[=GUESTPATH]", value_parser = with)]
    pub(crate) with: Vec<With>,

    /// Set an environment variable of the program; can be repeated. It otherwise has PATH, HOME and TMPDIR
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,

    /// The kernel's image [default: that of FAULTLINE_KERNEL, otherwise the newest in /boot, otherwise what `make kernel` unpacked]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) kernel: Option<PathBuf>,

    /// Memory of the guest in MiB [default: depends on the number of CPUs and on the files]
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
}
