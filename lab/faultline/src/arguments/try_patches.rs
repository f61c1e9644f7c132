//! Arguments of `faultline try`.

use super::building::Building;
use super::compare::{Certainty, WhenInconclusive};
use super::measuring::Pin;
use super::{Conduct, count, duration, label, seed};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline try 0001-faster.patch --build 'make -j2' -- ./prog 1000     HEAD with and without the patch
  faultline try series.mbox --on v1.4 --build make -- ./prog > answer.md
  faultline try fix.diff --build make --gate -- ./prog                  exit status 1 if it is slower with the patch
Patches are applied in a directory of ours; the repository and its checkout are only read. Both sides are built, then their
executions are interleaved in random order until the answer is clear. The answer is Markdown, for a mail. Ctrl-C ends
cleanly; `faultline resume` continues.")]
#[command(mut_arg("format", |format| format.default_value("markdown")))]
pub(crate) struct Try {
    /// Files with patches, in the order in which they apply: mails as `git format-patch` writes them, mailboxes, or diffs
    #[arg(value_name = "PATCH", required = true)]
    pub(crate) patches: Vec<PathBuf>,

    /// Command to measure, at the top of a build; it runs without a shell, and its time counts
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<String>,

    /// Commit to which the patches are applied
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub(crate) on: String,

    #[command(flatten)]
    pub(crate) building: Building,

    #[command(flatten)]
    pub(crate) certainty: Certainty,

    /// Copies of the command that run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count)]
    pub(crate) tasks: u32,

    /// Maximum number of executions of each side [default: 60]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) repeats: Option<u32>,

    /// Time to spend on measuring; start nothing after it
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) time: Option<Duration>,

    /// Whether to bind each copy to a CPU of its own [default: each, where the system can]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) pin: Option<Pin>,

    /// Seed of the random order [default: random, and saved]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Exit with status 1 if it is slower with the patches by more than the margin, or if that is inconclusive
    #[arg(long)]
    pub(crate) gate: bool,

    /// Whether an inconclusive answer fails the gate
    #[arg(long, value_enum, value_name = "ACTION", default_value = "fail", requires = "gate")]
    pub(crate) inconclusive: WhenInconclusive,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}
