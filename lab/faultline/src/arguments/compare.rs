//! Arguments of `faultline compare` and `changes`.

use super::around::Around;
use super::building::Building;
use super::measure::Measuring;
use super::share::From;
use super::values::{all_candidates, executed_quantity, false_alarms, label, least_change, level, margin};
use super::{Conduct, FormatArgument, OnMachine};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use faultline_exchange::{FORMATS, Format as Foreign};
use faultline_record::direction::Direction;
use faultline_record::plan;
use faultline_record::quantity::Quantity;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline compare './old 1000' './new 1000'          two commands, by their time
  faultline compare './old' './new' --by cpu-time      on a busy machine
  faultline compare './old' './new' --prepare 'rm -rf cache' --warmup 3
  faultline compare HEAD . --build make -- ./prog      the last commit and the working tree
  faultline compare v1.2 HEAD --build make -- ./prog   two commits
  faultline compare zero_fill --a '' --b 'sysctl.vm.overcommit_memory=2'   a setting
  faultline compare --a workload=zero_fill:base --b workload=zero_fill:huge
  faultline compare fault_existing --a 'on=qemu:cpus=2' --b 'on=qemu:cpus=2,append=mitigations=off'
  faultline compare quick --a stable --b patched       variants that faultline.toml declares
  faultline compare 3 4 --verbose                      two runs, with cautions and counters
  faultline compare 1f3a9c2 80d2f11                    the newest runs of two commits
  faultline compare old.json new.json                  files of hyperfine, Go, criterion, asv, …
  faultline compare results.csv@1f3a9c results.csv@80d2   two commits of one file
  faultline compare times.json:1 times.json:2          two benchmarks of one file, by number or name
  faultline compare published:dragonfly-5.4 published:dragonfly-5.6   figures from the literature
  faultline compare published:dragonfly-5.6 3          the same beside run 3
  faultline compare published:claims                   the authors' claims, recomputed and tested
Live comparisons interleave both sides in random order until the answer is clear.
An argument that names no run, file or import is a command if its first word is a program. With a command after `--`, the
arguments are commits; both are built in a separate directory, and the repository is only read. `.` is the working tree,
with untracked files that are not ignored.
A variant is a name that faultline.toml declares, a command, or KEY=VALUE words. KEY is env.NAME, sysctl.NAME, /sys/FILE,
programs (a directory), compiler, on (a machine), kernel (an image), workload, command, prepare, setup, warmup or
directory. An empty variant is the unchanged machine.")]
#[command(mut_arg("gate", |arg| arg.help("Exit with status 1 if a workload is slower by more than the margin, was not compared, or is inconclusive")))]
#[command(mut_arg("build", |arg| arg.requires("command")))]
#[command(mut_arg("keep", |arg| arg.requires("command").hide_short_help(true)))]
#[command(mut_arg("repository", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("better", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("shell", |arg| arg.conflicts_with_all(["a", "b"])))]
#[command(mut_arg("suite", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("seed", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("window", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("pin", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("mode", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("oversubscribe", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("size", |arg| arg.hide_short_help(true)))]
pub(crate) struct Compare {
    /// Two runs (number, label or commit), files, directories or commands. FILE@COMMIT: one commit,
    /// FILE:BENCHMARK: one benchmark. With --a or --b: workloads. With COMMAND: commits
    #[arg(value_name = "WHAT", add = all_candidates())]
    pub(crate) what: Vec<String>,

    /// Command to measure, at the top of the builds of two commits
    #[arg(value_name = "COMMAND", last = true, conflicts_with_all = ["a", "b", "on", "better", "assume_quiet"])]
    pub(crate) command: Vec<String>,

    /// Side A of a live comparison, the old one
    #[arg(long, value_name = "VARIANT")]
    pub(crate) a: Option<String>,

    /// Side B, the new one
    #[arg(long, value_name = "VARIANT")]
    pub(crate) b: Option<String>,

    /// File that declares variants [default: faultline.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Sources of the workloads, for variants with a compiler [default: those that Faultline was
    /// built from]
    #[arg(long, value_name = "DIR", hide_short_help = true, env = "FAULTLINE_SOURCES", hide_env_values = true)]
    pub(crate) sources: Option<PathBuf>,

    /// Quantity to compare [default: time]
    #[arg(long, value_name = "MEASURE", value_parser = executed_quantity())]
    pub(crate) by: Option<Quantity>,

    /// Better direction, for files that do not state it
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) better: Option<Better>,

    /// Compare results that were measured one after the other. Only valid if nothing else ran on
    /// the machine
    #[arg(long, hide_short_help = true, conflicts_with_all = ["a", "b"])]
    pub(crate) assume_quiet: bool,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Show both sides, reasons, cautions and further figures below the answer
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) machine: OnMachine,

    #[command(flatten)]
    pub(crate) around: Around,

    #[command(flatten)]
    pub(crate) building: Building,

    #[command(flatten)]
    pub(crate) gate: Gate,

    #[command(flatten)]
    pub(crate) certainty: Certainty,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

/// A gate: the exit status depends on the answer.
#[derive(Debug, Args)]
#[command(next_help_heading = "Decision")]
pub(crate) struct Gate {
    /// Exit with status 1 if it is slower by more than the margin, or if that is inconclusive
    #[arg(long)]
    gate: bool,

    /// Effect of an inconclusive result on the gate
    #[arg(long, value_enum, value_name = "ACTION", default_value = "fail", requires = "gate")]
    inconclusive: WhenInconclusive,
}

impl Gate {
    /// The effect of an inconclusive result; `None` without a gate.
    pub(crate) fn when_inconclusive(&self) -> Option<plan::WhenInconclusive> {
        self.gate.then(|| self.inconclusive.into())
    }
}

/// The certainty of answers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Decision")]
pub(crate) struct Certainty {
    /// Familywise confidence level, over all workloads and interim looks [default: 95%]
    #[arg(long, value_name = "PERCENT", value_parser = level)]
    pub(crate) level: Option<f64>,

    /// Margin of equality: sides are equal if the confidence interval lies within it [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    pub(crate) margin: Option<f64>,

    /// Measure the whole plan and test once at the end, without interim looks
    #[arg(long, hide_short_help = true)]
    pub(crate) once: bool,
}

/// The better direction.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Better {
    /// For rates
    Higher,
    /// For times
    Lower,
}

impl std::convert::From<Better> for Direction {
    fn from(better: Better) -> Self {
        match better {
            Better::Higher => Direction::Higher,
            Better::Lower => Direction::Lower,
        }
    }
}

/// Effect of an inconclusive result on a gate.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum WhenInconclusive {
    /// Exit status 1
    Fail,
    /// Exit status 0 with a note
    Pass,
}

impl std::convert::From<WhenInconclusive> for plan::WhenInconclusive {
    fn from(when: WhenInconclusive) -> Self {
        match when {
            WhenInconclusive::Fail => plan::WhenInconclusive::Fail,
            WhenInconclusive::Pass => plan::WhenInconclusive::Pass,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline changes nightly.csv                    steps of all series; any CSV with a header
  faultline changes results/ --from asv --false-alarms 1%
  faultline changes nightly.csv --min-change 0%    with the smallest steps
  faultline changes nightly.csv --to otava-json    the steps as Otava writes them")]
pub(crate) struct Changes {
    /// File, directory, or name of an import; - is standard input
    #[arg(value_name = "WHAT", add = all_candidates())]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) from: From,

    #[command(flatten)]
    pub(crate) steps: Steps,

    /// Better direction, for files that do not state it
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) better: Option<Better>,

    /// Write the steps in another tool's format
    #[arg(long, value_name = "FORMAT", value_parser = of_steps(), conflicts_with = "format")]
    pub(crate) to: Option<Foreign>,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

/// Search for steps.
#[derive(Debug, Args)]
pub(crate) struct Steps {
    /// False-positive rate: share of series without a step in which one is found
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = false_alarms)]
    pub(crate) false_alarms: f64,

    /// Smallest step to show; 0% shows all
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = least_change)]
    pub(crate) min_change: f64,
}

/// Formats that hold steps.
fn of_steps() -> impl TypedValueParser<Value = Foreign> {
    let names = FORMATS.iter().filter(|format| format.holds_changes()).map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Foreign>())
}
