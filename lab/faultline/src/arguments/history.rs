//! Arguments of `faultline init` and `faultline history`.

use super::compare::{WhenInconclusive, level, margin, share};
use super::{Conduct, FormatArgument};
use clap::{Args, Subcommand};
use faultline_model::history::change::ChangeState;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline init                  faultline.toml in this directory
  faultline init lab/history.toml another file, for `--config`
A file that exists is never changed. docs/HISTORY.md describes the keys.")]
pub(crate) struct Init {
    /// File to write
    #[arg(value_name = "FILE", default_value = "faultline.toml")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum History {
    /// Build and measure the picked commits that have no result yet
    Run(Box<Run>),
    /// Show the commits with their results, and the steps between them
    Show(Show),
    /// Show which commits are picked, and which of them have results
    Commits(Commits),
    /// Show the steps, with the commits, authors and files between
    Changes(Changes),
    /// Search the commits of a step for the one that made it
    Drill(Box<Drill>),
    /// Say what a step is: ignored, with a reason; confirmed; fixed; or only found
    Mark(Mark),
    /// Do the work that readers of the pages asked for
    Work(Box<Work>),
}

/// Which subjects, and where they are declared.
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
    /// File that declares subjects [default: faultline.toml in this directory, or in the nearest above it]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history run             what is missing of all subjects
  faultline history run app         of one
  faultline history run --retry     also commits that could not be built or executed
What was measured before is used again, as long as recipe, tools, command and machine are the same. A commit that does not
build, crashes or hangs has that as its result. Ctrl-C ends cleanly; `faultline history run` and `faultline resume` continue.")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    /// Try commits again that could not be measured
    #[arg(long)]
    pub(crate) retry: bool,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

/// How steps are searched for.
#[derive(Debug, Args)]
pub(crate) struct Steps {
    /// False-positive rate: share of series without a step in which one is found. Only for time: counts are exact
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub(crate) false_alarms: f64,

    /// Leave out steps smaller than this; 0% shows all
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = share)]
    pub(crate) min_change: f64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history show
  faultline history show app --format csv")]
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
  faultline history commits         checks the file, and shows what a run would measure")]
pub(crate) struct Commits {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    /// Show what `faultline history run --retry` would measure
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
  faultline history run -q && faultline history changes --gate   for CI: exit status 1 if something new is slower
A step is new if the runs before the newest one do not show it; --since COMMIT counts every step after a commit. Standard error
says what closes the gate.")]
pub(crate) struct Changes {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    #[command(flatten)]
    pub(crate) steps: Steps,

    /// Exit with status 1 if a new step makes something slower, or if that is inconclusive: a step may be a quirk or a layout, or there are too few commits to search
    #[arg(long)]
    pub(crate) gate: bool,

    /// Steps after this point are new: a commit that has a result, by its name or its first digits, or a release by its name [default: those that the newest run made known]
    #[arg(long, value_name = "COMMIT", requires = "gate", value_parser = super::point)]
    pub(crate) since: Option<String>,

    /// What the gate does if the history is inconclusive: fail (exit status 1), or pass (exit status 0) with a note
    #[arg(long, value_enum, value_name = "ACTION", default_value = "fail", requires = "gate")]
    pub(crate) inconclusive: WhenInconclusive,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history drill app                the newest step for the worse
  faultline history drill app --step 2       the second step that `faultline history changes app` lists
  faultline history drill app --cpus 8       of the series with 8 CPUs
  faultline history drill app --revert       and how much would the commit's revert take back today?
The search is that of `faultline bisect`, between the commits of the step. Counts of the history are used again, and so is that a
commit cannot be measured. Times are measured anew, with both sides in the same blocks: times of other days are not comparable.")]
pub(crate) struct Drill {
    #[command(flatten)]
    pub(crate) of: SeriesWithSteps,

    /// Number of the step in the list of `faultline history changes`, from 1 [default: the newest for the worse, otherwise the newest]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) step: Option<u32>,

    /// Probability with which all that is said to be found is right. Counts of one seed are exact
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = level)]
    pub(crate) level: f64,

    /// Smallest change to search for
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = margin)]
    pub(crate) least: f64,

    /// Link the commits on both sides of each step again in N random layouts, as `faultline bisect` does [default: `layouts` of the subject, otherwise none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=1000))]
    pub(crate) layouts: Option<u32>,

    /// Undo each commit that is named on top of the newest one of the history, and measure both together
    #[arg(long)]
    pub(crate) revert: bool,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history mark app ignored --at 1f3a9c2 --reason 'slower on purpose: it checks more'
  faultline history mark app fixed --step 2
  faultline history mark app found --at 1f3a9c2       takes back what was said before
What is said is kept with time and name, and belongs to the change: it is found again when more commits are measured. The gate of
`faultline history changes` lets changes pass that are ignored or fixed. `faultline history drill` confirms a change by measuring.")]
pub(crate) struct Mark {
    #[command(flatten)]
    pub(crate) of: SeriesWithSteps,

    /// What the step is
    #[arg(value_enum, value_name = "STATE")]
    pub(crate) state: State,

    #[command(flatten)]
    pub(crate) which: Which,

    /// Why; required for a change that is ignored
    #[arg(long, value_name = "TEXT", required_if_eq("state", "ignored"), value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline history work                 what waits now, the oldest first
  faultline history work app --wait      of one subject, and what is asked for later, until Ctrl-C
Readers with a token ask on the pages of `faultline serve`: to measure a commit again, or to search the commits of a step. A job is
done by the machine whose faultline.toml measures the same subject in the same way; others wait. A job that was stopped or killed
goes on next time.")]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) subjects: Subjects,

    /// Wait for more jobs, until Ctrl-C
    #[arg(long)]
    pub(crate) wait: bool,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

/// A series of which a step is named.
#[derive(Debug, Args)]
pub(crate) struct SeriesWithSteps {
    /// The subject
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: String,

    /// Which series: the number of CPUs. Required if `--step` or `--at` may mean several [default: the first that has steps]
    #[arg(long, value_name = "N", value_parser = super::count)]
    pub(crate) cpus: Option<u32>,

    #[command(flatten)]
    pub(crate) steps: Steps,

    #[command(flatten)]
    pub(crate) config: Config,
}

/// Which step is marked.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// The step at a commit that may have made it, by its name or its first digits, or at a release by its name
    #[arg(long, value_name = "COMMIT", value_parser = super::point)]
    pub(crate) at: Option<String>,

    /// Number of the step in the list of `faultline history changes`, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) step: Option<u32>,
}

/// What a person says of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum State {
    /// Nothing more than that it was found
    Found,
    /// It was seen again, by other means than `faultline history drill`
    Confirmed,
    /// It does not matter, for a reason
    Ignored,
    /// It was undone, in a way that the values do not show
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
