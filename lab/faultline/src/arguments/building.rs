//! Arguments about builds of commits.

use super::NoSandbox;
use super::values::{path_of_build, positive_duration};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// A repository, and the recipe of its builds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Builds")]
pub(crate) struct Building {
    /// Command that builds a commit, at the top of its checkout. Split into words, run without a
    /// shell [default: no build]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) build: Option<String>,

    /// Directory of the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repository: PathBuf,

    /// Directory for checkouts and builds [default: in the user's cache directory]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) work: Option<PathBuf>,

    /// File or directory of a build to keep; repeatable [default: the whole tree]
    #[arg(long, value_name = "PATH", value_parser = path_of_build)]
    pub(crate) keep: Vec<String>,

    /// Build each commit in an empty directory, without objects of the previous one
    #[arg(long, hide_short_help = true)]
    pub(crate) clean: bool,

    /// Time limit of each build
    #[arg(long, value_name = "DURATION", default_value = "30m", hide_short_help = true, value_parser = positive_duration)]
    pub(crate) build_limit: Duration,

    /// Let builds use the network, also in the sandbox [default: no network]
    #[arg(long, hide_short_help = true)]
    pub(crate) build_network: bool,

    #[command(flatten)]
    pub(crate) sandbox: NoSandbox,
}
