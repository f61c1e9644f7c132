//! Arguments of `faultline ci`.

use super::Conduct;
use super::bisect::Guest;
use super::building::Building;
use super::history::Config;
use super::values::{duration, guest_task_count, margin, quantity};
use clap::Args;
use faultline_record::quantity::Quantity;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline ci origin/main...HEAD --build make -- ./prog 1000    this branch since it left main
  faultline ci v1.4..HEAD --build 'cargo build --release' --keep target -- target/release/prog
  faultline ci origin/main...HEAD                                all subjects of faultline.toml
  faultline ci HEAD~1..HEAD app --report ci                      one subject; files in ci/
  faultline ci HEAD~1..HEAD --by memory,instructions --budget 5% --build make -- ./prog
Both commits are built in a separate directory; the repository and its checkout are only read. Instructions and, of programs
whose CPUs work at the same time, transfers of cache lines are counted under the lens. They are exact or tested over seeds,
so a busy host does not change them, and they decide by default. CPU time and peak memory are shown beside them. Time decides
only with `--by time`, on a machine that passes `faultline check`. Exit status 0: no deciding measure is worse by the budget or
more; 1: one is; 2: a side could not be measured. Ctrl-C ends cleanly; the same command builds nothing twice.")]
pub(crate) struct Ci {
    /// Commits to compare: OLD..NEW, or OLD...NEW to begin at their common ancestor. NEW defaults
    /// to HEAD
    #[arg(value_name = "OLD..NEW", allow_hyphen_values = false)]
    pub(crate) range: String,

    /// Subjects of faultline.toml [default: all that execute a program, without COMMAND]
    #[arg(value_name = "SUBJECT", conflicts_with = "command")]
    pub(crate) subjects: Vec<String>,

    /// Command to measure, at the top of a build; runs without a shell. {tasks} stands for the
    /// number of tasks
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<String>,

    /// Measures that decide
    #[arg(
        long,
        value_name = "MEASURE,…",
        value_delimiter = ',',
        default_value = "instructions,transfers",
        value_parser = quantity(),
        help_heading = "Decision"
    )]
    pub(crate) by: Vec<Quantity>,

    /// Change for the worse that fails
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = margin, help_heading = "Decision")]
    pub(crate) budget: f64,

    /// Number of tasks, each with a CPU of the guest [default: those of a subject's counts,
    /// otherwise 4]
    #[arg(long, value_name = "N", value_parser = guest_task_count)]
    pub(crate) tasks: Option<u32>,

    /// Time for executions of each program outside of guests; 0 for none
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = duration)]
    pub(crate) time: Duration,

    /// Directory for ci.md, ci.json and junit.xml
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) building: Building,

    #[command(flatten)]
    pub(crate) config: Config,

    #[command(flatten)]
    pub(crate) guest: Guest,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}
