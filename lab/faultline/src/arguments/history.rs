//! Arguments of `faultline history`.

use super::compare::{Gate, Steps};
use super::values::{MOST_STEPS, from_to, point, task_count};
use super::{Conduct, FormatArgument, NoSandbox};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use faultline_record::change_event::ChangeState;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum History {
    /// Write an example of faultline.toml, which declares subjects
    Init(Init),
    /// Build and measure the selected commits that have no result yet
    Run(Box<Run>),
    /// Show the commits with their results, and the steps between them
    Show(Show),
    /// Show the selected commits, and which of them have results
    Commits(Commits),
    /// Show the steps, with the commits, authors and files between
    Changes(Changes),
    /// Set the state of a step: found, confirmed, ignored or fixed
    Mark(Mark),
    /// Do the jobs that readers of the pages requested
    Work(Box<Work>),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history init                    faultline.toml in this directory
  faultline history init lab/history.toml   another file, for `--config`
An existing file is not changed. docs/HISTORY.md describes the keys.")]
pub(crate) struct Init {
    /// File to write
    #[arg(value_name = "FILE", default_value = "faultline.toml")]
    pub(crate) file: PathBuf,
}

/// Subjects of a file.
#[derive(Debug, Args)]
pub(crate) struct Subjects {
    /// Subjects [default: all that the file declares]
    #[arg(value_name = "SUBJECT")]
    pub(crate) subjects: Vec<String>,

    #[command(flatten)]
    pub(crate) config: Config,
}

/// The file that declares subjects.
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// File that declares subjects [default: faultline.toml in this directory or the nearest above
    /// it within the repository]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history run             missing results of all subjects
  faultline history run app         of one subject
  faultline history run --retry     also commits that could not be built or executed
Earlier results are reused as long as recipe, tools, command and machine are the same. A commit that does not build, crashes
or hangs has that as its result. Ctrl-C ends cleanly; `faultline history run` and `faultline resume` continue.")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    /// Retry commits that could not be measured
    #[arg(long)]
    pub(crate) retry: bool,

    #[command(flatten)]
    pub(crate) sandbox: NoSandbox,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history show
  faultline history show app --format csv
Counts are exact, so --false-alarms applies to time only.")]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    #[command(flatten)]
    pub(crate) steps: Steps,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history commits         check the file, and show what a run would measure")]
pub(crate) struct Commits {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    /// Include the commits that `faultline history run --retry` would measure
    #[arg(long)]
    pub(crate) retry: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history changes
  faultline history changes app --format markdown        for a mail
  faultline history run -q && faultline history changes --gate   exit status 1 if newly slower
A step is new if the runs before the newest one do not show it; --since COMMIT counts every step after a commit. Standard error
has the reasons why the gate fails. Inconclusive: the step may be a quirk or a layout, or there are too few commits to search.
Counts are exact, so --false-alarms applies to time only.")]
#[command(mut_arg("gate", |arg| arg.help("Exit with status 1 if a new step makes something slower, or if that is inconclusive")))]
pub(crate) struct Changes {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    #[command(flatten)]
    pub(crate) steps: Steps,

    #[command(flatten)]
    pub(crate) gate: Gate,

    /// First old commit or release: steps after it are new [default: steps first found by the
    /// newest run]
    #[arg(long, value_name = "COMMIT", requires = "gate", value_parser = point, help_heading = "Decision")]
    pub(crate) since: Option<String>,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history mark app ignored --at 1f3a9c2 --reason 'slower on purpose: it checks more'
  faultline history mark app fixed --step 2
  faultline history mark app found --at 1f3a9c2       withdraw an earlier state
States are saved with time and name. They belong to the change, also after more commits are measured. The gate of `faultline
history changes` accepts changes that are ignored or fixed. `faultline bisect SUBJECT` confirms a change by measuring.")]
pub(crate) struct Mark {
    #[command(flatten)]
    pub(crate) of: SeriesWithSteps,

    /// State of the step
    #[arg(value_enum, value_name = "STATE")]
    pub(crate) state: State,

    #[command(flatten)]
    pub(crate) which: Which,

    /// Reason; required for an ignored change
    #[arg(long, value_name = "TEXT", required_if_eq("state", "ignored"), value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history work                 the waiting jobs, the oldest first
  faultline history work app --wait      jobs of one subject, also later ones, until Ctrl-C
Readers with a token request jobs on the pages of `faultline serve`: to measure a commit again, or to search the commits of a
step. The machine whose faultline.toml measures the same subject in the same way does a job; others wait. An interrupted job
continues next time.")]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    /// Wait for more jobs until Ctrl-C
    #[arg(long)]
    pub(crate) wait: bool,

    #[command(flatten)]
    pub(crate) sandbox: NoSandbox,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

/// A series with a step.
#[derive(Debug, Args)]
pub(crate) struct SeriesWithSteps {
    /// Subject
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: String,

    /// Number of tasks of the series. Required if several series have the step [default: the first
    /// that has steps]
    #[arg(long, value_name = "N", value_parser = task_count)]
    pub(crate) tasks: Option<u32>,

    #[command(flatten)]
    pub(crate) steps: Steps,

    #[command(flatten)]
    pub(crate) config: Config,
}

/// The step to mark.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// Commit that may have made the step, or release, by name or first digits
    #[arg(long, value_name = "COMMIT", value_parser = point)]
    pub(crate) at: Option<String>,

    /// Number of the step in the list of `faultline history changes`
    #[arg(long, value_name = "N", value_parser = from_to(1, MOST_STEPS))]
    pub(crate) step: Option<u32>,
}

/// A person's verdict on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// Only found
    Found,
    /// Confirmed by other means than `faultline bisect`
    Confirmed,
    /// Irrelevant, for a reason
    Ignored,
    /// Fixed in a way that the values do not show
    Fixed,
}

impl From<State> for ChangeState {
    fn from(state: State) -> Self {
        match state {
            State::Found => ChangeState::Found,
            State::Confirmed => ChangeState::Confirmed,
            State::Ignored => ChangeState::Ignored,
            State::Fixed => ChangeState::Fixed,
        }
    }
}
