//! The command's arguments. Help, completions and man pages come from these definitions.

pub(crate) mod around;
pub(crate) mod bisect;
pub(crate) mod building;
pub(crate) mod ci;
pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod lens;
pub(crate) mod measure;
pub(crate) mod share;
pub(crate) mod stored;
pub(crate) mod values;

use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand};
use faultline_experiment::Sandboxing;
use faultline_record::machine::Machine;
use faultline_report::Format;
use std::path::PathBuf;
use std::time::Duration;
use values::positive_duration;

/// Measures scaling over CPUs: does it scale, why not, and since which commit?
#[derive(Debug, Parser)]
#[command(name = "faultline", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Database: a file, or a PostgreSQL server's postgres://USER@HOST/DATABASE [default:
    /// faultline/faultline.sqlite in the user's data directory]
    #[arg(
        long,
        global = true,
        display_order = 997,
        value_name = "FILE|URL",
        env = "FAULTLINE_DB",
        hide_env_values = true
    )]
    pub(crate) db: Option<PathBuf>,

    /// Use the command's faultline.toml without asking: run its builds, commands and hosts
    #[arg(
        long,
        global = true,
        display_order = 996,
        hide_short_help = true,
        env = "FAULTLINE_TRUST",
        hide_env_values = true,
        action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new()
    )]
    pub(crate) trust: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure workloads, or a command, over numbers of tasks
    Run(Box<measure::Run>),
    /// Show what works on this machine, and whether it is fit to measure
    Check(Box<measure::Check>),
    /// Count cache-line transfers between CPUs: why does it not scale?
    #[command(subcommand)]
    Lens(lens::Lens),
    /// Resume a run that was stopped or killed
    Resume(measure::Resume),
    /// List the runs
    List(stored::List),
    /// Show a run as a table, or write it as a page
    Show(stored::Show),
    /// Compare two runs, files, commands or variants
    Compare(Box<compare::Compare>),
    /// Find steps in series of results over commits
    Changes(compare::Changes),
    /// Find the commits that changed a program's or kernel's results
    Bisect(Box<bisect::Bisect>),
    /// Gate a change by counts that do not depend on the host
    Ci(Box<ci::Ci>),
    /// Compare a program with and without patches
    Try(Box<bisect::Try>),
    /// Measure a program over the commits of its repository
    #[command(subcommand)]
    History(history::History),
    /// Serve pages of runs and histories, or write them as files
    Serve(share::Serve),
    /// Import other tools' results, or list the imports
    Import(share::Import),
    /// Write results in another tool's format
    Export(share::Export),
    /// Copy or check a database, or delete runs from it
    #[command(subcommand)]
    Store(stored::Store),
    /// Trust a faultline.toml: show what it would execute, then ask
    Trust(stored::Trust),
    /// Generate man pages, or a shell's completion script
    Generate(stored::Generate),
}

/// The format of a table.
#[derive(Debug, Args)]
pub(crate) struct FormatArgument {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    pub(crate) format: Format,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// Locations of programs.
#[derive(Debug, Args)]
pub(crate) struct WorkloadsPlace {
    /// Directory of the workload programs [default: beside the command]
    #[arg(long, value_name = "DIR", hide_short_help = true, env = "FAULTLINE_WORKLOADS", hide_env_values = true)]
    pub(crate) workloads: Option<PathBuf>,

    /// Directory of the guest's agent and statically linked workloads [default: beside the command]
    #[arg(long, value_name = "DIR", hide_short_help = true, env = "FAULTLINE_GUEST", hide_env_values = true)]
    pub(crate) guest: Option<PathBuf>,

    /// QEMU program for guests, qemu-system-x86_64 [default: beside the command, otherwise in PATH]
    #[arg(long, value_name = "FILE", hide_short_help = true, env = "FAULTLINE_QEMU", hide_env_values = true)]
    pub(crate) qemu: Option<PathBuf>,
}

/// The sandbox of commits.
#[derive(Debug, Args)]
pub(crate) struct NoSandbox {
    /// Run builds and programs of commits without a sandbox [default: in one, where the system has
    /// namespaces]
    ///
    /// In the sandbox they have no network, no home directory, no database and no secrets of the
    /// environment. docs/UNTRUSTED-CODE.md describes its limits.
    #[arg(long, hide_short_help = true, help_heading = "Builds")]
    no_sandbox: bool,
}

impl NoSandbox {
    /// The choice.
    pub(crate) fn choice(&self) -> Sandboxing {
        Sandboxing::wanted(!self.no_sandbox)
    }
}

/// The machine to measure on.
#[derive(Debug, Args)]
pub(crate) struct OnMachine {
    // The texts come from the kinds of machines.
    #[arg(long, value_name = "MACHINE", value_parser = str::parse::<Machine>, help = Machine::help(), long_help = Machine::long_help())]
    pub(crate) on: Option<Machine>,
}

/// Output and limits of commands that measure.
#[derive(Debug, Args)]
pub(crate) struct Conduct {
    #[command(flatten)]
    pub(crate) place: WorkloadsPlace,

    /// Directory for scratch files [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", hide_short_help = true, help_heading = "Output")]
    pub(crate) scratch: Option<PathBuf>,

    /// Time limit of each execution [default: three times its planned time plus 30 s; 30 min for
    /// builds]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, help_heading = None::<&str>)]
    pub(crate) limit: Option<Duration>,

    /// Show no progress, only the result
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Also write the result to this file, in the format of its extension: .html, .md, .csv or
    /// .json
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser(), help_heading = "Output")]
    pub(crate) format: Format,
}

impl Conduct {
    /// The time limit in milliseconds.
    pub(crate) fn limit_ms(&self) -> Option<u64> {
        self.limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
    }
}
