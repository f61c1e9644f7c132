//! Arguments of `faultline bisect`.

use super::building::Building;
use super::compare::{WhenInconclusive, level, margin};
use super::measuring::Pin;
use super::{Conduct, count, label, seed};
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline bisect v1.4 HEAD --build 'make -j2' -- ./prog 1000    which commit made ./prog slower or faster?
  faultline bisect v1.4 main -- python3 bench.py                  nothing has to be built
  faultline bisect HEAD~50 HEAD --build 'cargo build --release' --keep target/release/bench -- target/release/bench
  faultline bisect v1.4 HEAD --build make --gate -- ./prog        exit status 1 if a commit made it slower
Commits are checked out and built in a directory of ours; the repository and its checkout are only read. A commit that does
not build or run is skipped. Values are compared within blocks of interleaved executions. Ctrl-C ends cleanly;
`faultline resume` continues.")]
pub(crate) struct Bisect {
    /// The old commit: a branch, tag or name, as git takes it
    #[arg(value_name = "OLD", allow_hyphen_values = false)]
    pub(crate) old: String,

    /// The new commit. OLD must be on its line of first parents
    #[arg(value_name = "NEW")]
    pub(crate) new: String,

    /// Command to measure, at the top of a build; it runs without a shell, and its time counts
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<String>,

    #[command(flatten)]
    pub(crate) building: Building,

    /// Probability with which all that is said to be found is right
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = level)]
    pub(crate) level: f64,

    /// Smallest change to search for
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = margin)]
    pub(crate) least: f64,

    /// Maximum number of executions of a commit in the search; as many again confirm a step
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub(crate) repeats: u32,

    /// Also search stretches with equal ends, for changes that cancel each other
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Copies of the command that run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count)]
    pub(crate) tasks: u32,

    /// Whether to bind each copy to a CPU of its own [default: each, where the system can]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) pin: Option<Pin>,

    /// Seed of the random order [default: random, and saved]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Exit with status 1 if a commit made it slower, or if the search is inconclusive: for example if it cannot detect changes as small as `--least`
    #[arg(long)]
    pub(crate) gate: bool,

    /// Whether an inconclusive search fails the gate
    #[arg(long, value_enum, value_name = "ACTION", default_value = "fail", requires = "gate")]
    pub(crate) inconclusive: WhenInconclusive,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}
