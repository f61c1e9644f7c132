//! Arguments of `faultline compare` and `faultline check`.

use super::measuring::Measuring;
use super::{Conduct, OnMachine, label, positive_duration};
use crate::completing;
use clap::{Args, ValueEnum};
use faultline_model::direction::Direction;
use faultline_model::plan;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline compare 3 4                                two runs of the database
  faultline compare 1f3a9c2 80d2f11                    two commits: the newest runs of them
  faultline compare old.json new.json                  two files of other tools: hyperfine, Go, criterion, asv, …
  faultline compare results.csv@1f3a9c results.csv@80d2 two commits of one file
  faultline compare times.json:1 times.json:2          two benchmarks of one file, by number or name
A live comparison interleaves both sides in random order, until the answer is clear:
  faultline compare zero_fill --a '' --b 'sysctl.vm.overcommit_memory=2'
  faultline compare --a workload=zero_fill:base --b workload=zero_fill:huge
  faultline compare './old 1000' './new 1000'          two commands, by their time
  faultline compare fault_existing --a 'on=qemu:cpus=2' --b 'on=qemu:cpus=2,append=mitigations=off'
  faultline compare quick --a stable --b patched       variants that faultline.toml declares
A word that names no run, file or import is a command line if its first word is a program.
A variant is a name that faultline.toml declares, a command line, or KEY=VALUE words. KEY is env.NAME, sysctl.NAME,
/sys/FILE, programs (a directory), compiler, on (a machine), kernel (an image), workload, command or directory. An empty
variant is the machine unchanged.")]
pub(crate) struct Compare {
    /// Two runs (by number, label or commit), two files or directories, or two commands. FILE@COMMIT is one commit of a file with history, FILE:BENCHMARK one benchmark of a file. With --a or --b: workloads
    #[arg(value_name = "WHAT", add = completing::anything())]
    pub(crate) what: Vec<String>,

    /// First side (A) of a live comparison: the old one
    #[arg(long, value_name = "VARIANT")]
    pub(crate) a: Option<String>,

    /// Second side (B): the new one
    #[arg(long, value_name = "VARIANT")]
    pub(crate) b: Option<String>,

    /// File that declares variants [default: faultline.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Sources of the workloads, for a variant with a compiler [default: those that Faultline was built from]
    #[arg(long, value_name = "DIR", env = "FAULTLINE_SOURCES", hide_env_values = true)]
    pub(crate) sources: Option<PathBuf>,

    /// Which direction is better, for files that do not say
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) better: Option<Better>,

    /// Exit with status 1 if a workload is slower by more than the margin, was not compared, or is inconclusive
    #[arg(long)]
    pub(crate) gate: bool,

    /// Whether an inconclusive workload fails the gate
    #[arg(long, value_enum, value_name = "ACTION", default_value = "fail", requires = "gate")]
    pub(crate) inconclusive: WhenInconclusive,

    /// Compare results that were measured one after the other; use it only if nothing else ran on the machine
    #[arg(long, conflicts_with_all = ["a", "b"])]
    pub(crate) assume_quiet: bool,

    #[command(flatten)]
    pub(crate) certainty: Certainty,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    #[command(flatten)]
    pub(crate) machine: OnMachine,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

/// How certain an answer must be.
#[derive(Debug, Args)]
pub(crate) struct Certainty {
    /// Familywise confidence level, over all workloads and interim looks [default: 95%]
    #[arg(long, value_name = "PERCENT", value_parser = level)]
    pub(crate) level: Option<f64>,

    /// Margin of equality: two sides are equal if the confidence interval lies within it [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    pub(crate) margin: Option<f64>,

    /// Measure everything that was planned and test once at the end, without interim looks
    #[arg(long)]
    pub(crate) once: bool,
}

/// Which direction is better.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Better {
    /// For rates
    Higher,
    /// For times
    Lower,
}

impl From<Better> for Direction {
    fn from(better: Better) -> Self {
        match better {
            Better::Higher => Direction::Higher,
            Better::Lower => Direction::Lower,
        }
    }
}

/// What an inconclusive workload does to a gate.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum WhenInconclusive {
    /// It fails the gate
    Fail,
    /// It passes, with a note
    Pass,
}

impl From<WhenInconclusive> for plan::WhenInconclusive {
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
  faultline check                    compare this machine with itself for five minutes
  faultline check --time 1m          shorter: detects only larger differences
  faultline check --on qemu:cpus=2   an emulated machine
The exit status is 1 if the machine is not fit to measure on.")]
pub(crate) struct Check {
    /// Workloads to measure [default: zero_fill:base, fork_exit:small and path_stat:distinct]
    #[arg(value_name = "WORKLOAD", add = completing::workload())]
    pub(crate) workloads_chosen: Vec<String>,

    /// Time to spend
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = positive_duration, allow_hyphen_values = true)]
    pub(crate) time: Duration,

    #[command(flatten)]
    pub(crate) machine: OnMachine,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

/// A fraction, written `95%` or `0.95`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let number: f64 = number.trim().parse().map_err(|_| "not a number; write it like 1% or 0.01".to_owned())?;
    Ok(number / scale)
}

pub(super) fn level(text: &str) -> Result<f64, String> {
    match share(text)? {
        level if level > 0.5 && level <= 0.9999 => Ok(level),
        _ => Err("it must be between 50% and 99.99%".to_owned()),
    }
}

pub(super) fn margin(text: &str) -> Result<f64, String> {
    match share(text)? {
        margin if margin > 0.0 && margin < 1.0 => Ok(margin),
        _ => Err("it must be between 0% and 100%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_or_plain() {
        assert_eq!((level("95%"), level("0.99")), (Ok(0.95), Ok(0.99)));
        assert_eq!(margin("0.5 %"), Ok(0.005));
        assert!(level("5%").is_err() && level("100%").is_err() && level("NaN").is_err());
        assert!(margin("0").is_err() && margin("100%").is_err() && margin("NaN").is_err() && margin("some").is_err());
    }
}
