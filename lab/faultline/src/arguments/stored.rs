//! Arguments of `faultline list`, `show`, `store`, `trust` and `generate`.

use super::FormatArgument;
use super::values::run_candidates;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use faultline_report::Format;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline list
  faultline list --format csv")]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline show                     the newest run
  faultline show 3 -o run3.html      a page that opens offline, with plots and all data
  faultline show 3 --format csv      raw numbers of run 3
  faultline show nightly             the newest run with that label
  faultline show 7 --format folded   callers in a lens run, for flame graphs")]
pub(crate) struct Show {
    /// Run, by number, label or commit [default: the newest]
    #[arg(value_name = "RUN", add = run_candidates())]
    pub(crate) run: Option<String>,

    /// Output format; folded: stack traces of a lens run, one per line [default: table, or by the
    /// extension of --output]
    #[arg(long, value_name = "FORMAT", value_parser = shown_parser())]
    pub(crate) format: Option<Shown>,

    /// File to write: .html, .md, .csv, .json or .txt
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// A form of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown {
    Table(Format),
    Folded,
    Page,
}

impl Shown {
    /// The form that a file's extension names; a page for no extension, and for standard output
    /// (`-`). `None` for an unknown extension.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        let Some(extension) = path.extension() else { return Some(Shown::Page) };
        Some(match extension.to_str()? {
            "html" | "htm" => Shown::Page,
            "md" => Shown::Table(Format::Markdown),
            "csv" => Shown::Table(Format::Csv),
            "json" => Shown::Table(Format::Json),
            "txt" => Shown::Table(Format::Table),
            "folded" => Shown::Folded,
            _ => return None,
        })
    }
}

const FOLDED: &str = "folded";
const HTML: &str = "html";

fn shown_parser() -> impl TypedValueParser<Value = Shown> {
    let words = Format::ALL.map(Format::name).into_iter().chain([FOLDED, HTML]);
    PossibleValuesParser::new(words).try_map(|name| match name.as_str() {
        FOLDED => Ok(Shown::Folded),
        HTML => Ok(Shown::Page),
        name => name.parse::<Format>().map(Shown::Table),
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Copy a database with all runs and imports into an empty one
    Copy(StoreCopy),
    /// Compare all saved executions with their checksums
    Check(StoreCheck),
    /// Delete runs
    Delete(StoreDelete),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline store check
  faultline --db backup.sqlite store check
Lists the executions whose saved data changed since they ended, with their runs. Exit status 1 if there are any.")]
pub(crate) struct StoreCheck {}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline store copy runs.sqlite postgres://ada@db.example/faultline   a file to the team's server
  faultline store copy postgres://ada@db.example/faultline backup.sqlite
The copy has the same runs with the same numbers. A copy that fails leaves nothing behind. --db is not used.
Put a password into PGPASSWORD or ~/.pgpass, because others can read command lines.")]
pub(crate) struct StoreCopy {
    /// Database to copy: a file, or a PostgreSQL server's postgres://USER@HOST/DATABASE
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,

    /// Database to copy to: a new file, or a server's database without runs and imports
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline store delete 3 4           show both runs, then ask
  faultline store delete trial --yes   the run with that label, without asking
Deletes the runs with all their samples. Numbers are not reused. The file keeps its size; new runs use the space.")]
pub(crate) struct StoreDelete {
    /// Runs, by number, label or commit
    #[arg(value_name = "RUN", required = true, add = run_candidates())]
    pub(crate) runs: Vec<String>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline trust                       the nearest faultline.toml: show its effects, then ask
  faultline trust lab/history.toml      a file for `--config`
  faultline trust --yes                 without asking
A file is trusted at its path until its content changes. Files that it names, such as scripts, may change. The list is
faultline/trusted in the user's state directory; delete a line to withdraw trust. In CI, `--trust` or FAULTLINE_TRUST=1 trusts
the files of one command.")]
pub(crate) struct Trust {
    /// File [default: faultline.toml in this directory or the nearest above it within the
    /// repository]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Files that are generated from the definitions of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generated {
    Man,
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline generate man ~/.local/share/man/man1
  source <(faultline generate bash)                                         in ~/.bashrc
  faultline generate zsh > ~/.zfunc/_faultline                              a directory of fpath
  faultline generate fish > ~/.config/fish/completions/faultline.fish
`make install` installs them for bash, zsh and fish. They also complete workloads, runs and labels, from the locations in
FAULTLINE_WORKLOADS and FAULTLINE_DB.")]
pub(crate) struct Generate {
    /// man, for man pages, or the shell of a completion script
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) what: Generated,

    /// Directory for the man pages
    #[arg(value_name = "DIR", required_if_eq("what", "man"))]
    pub(crate) directory: Option<PathBuf>,
}
