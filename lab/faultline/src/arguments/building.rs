//! Arguments of whatever builds commits of a repository.

use super::positive_duration;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Which repository, and how a commit is built.
#[derive(Debug, Args)]
pub(crate) struct Building {
    /// Command that builds a commit, at the top of its checkout. Split into words like a shell does, but run without a shell [default: nothing is built]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) build: Option<String>,

    /// Directory of the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repository: PathBuf,

    /// Directory for checkouts and builds [default: one among the user's caches]
    #[arg(long, value_name = "DIR")]
    pub(crate) work: Option<PathBuf>,

    /// File or directory of a build that is kept; may be repeated [default: the whole tree]
    #[arg(long, value_name = "PATH")]
    pub(crate) keep: Vec<String>,

    /// Build each commit in an empty directory, without the objects of the one before
    #[arg(long)]
    pub(crate) clean: bool,

    /// Time limit of each build
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = positive_duration, allow_hyphen_values = true)]
    pub(crate) build_limit: Duration,
}
