//! Arguments of `faultline import`, `export` and `changes`.

use super::FormatArgument;
use super::compare::Better;
use crate::completing;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use faultline_exchange::{FORMATS, Format as Foreign};
use std::path::PathBuf;

/// Format of what is read.
#[derive(Debug, Args)]
pub(crate) struct From {
    /// Format of the input [default: detected from its content]
    #[arg(long, value_name = "FORMAT", value_parser = foreign())]
    pub(crate) from: Option<Foreign>,
}

fn foreign() -> impl TypedValueParser<Value = Foreign> {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name())).try_map(|name| name.parse::<Foreign>())
}

/// Formats that are written.
fn written() -> impl TypedValueParser<Value = Foreign> {
    let names = FORMATS.iter().filter(|format| format.is_written()).map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Foreign>())
}

/// Formats that hold steps.
fn of_steps() -> impl TypedValueParser<Value = Foreign> {
    let names = FORMATS.iter().filter(|format| format.holds_changes()).map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Foreign>())
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline import nightly.json                       another tool's file; the format is detected
  faultline import results/ --from asv --name suite   a directory, under a name of its own
  faultline import                                    list what was imported
Compare imported results by name: `faultline compare suite@1f3a9c suite@80d2`.")]
pub(crate) struct Import {
    /// File or directory
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) from: From,

    /// Name to save it under [default: the file's name]
    #[arg(long, value_name = "NAME", requires = "file")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline export 3 --to go-bench                 run 3 for benchstat
  faultline export 3 --to bencher -o run3.json
  faultline export nightly.json --to otava-csv     from one tool's format to another's
  faultline export 3 --to asv -o results           a directory")]
pub(crate) struct Export {
    /// A run's number, label or commit, a file or directory, or a name given at import
    #[arg(value_name = "WHAT", add = completing::anything())]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) from: From,

    /// Format to write
    #[arg(long, value_name = "FORMAT", value_parser = written())]
    pub(crate) to: Foreign,

    /// File, or directory for formats of several files [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline changes nightly.csv                    steps of every series in a file
  faultline changes results/ --from asv --false-alarms 1%
  faultline changes nightly.csv --min-change 0%    with the smallest steps
  faultline changes nightly.csv --to otava-json    the steps as Otava writes them")]
pub(crate) struct Changes {
    /// A file or directory, or a name given at import
    #[arg(value_name = "WHAT", add = completing::anything())]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) from: From,

    /// False-positive rate: share of series without a step in which one is found
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = super::compare::share)]
    pub(crate) false_alarms: f64,

    /// Leave out steps smaller than this; 0% shows all
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = super::compare::share)]
    pub(crate) min_change: f64,

    /// Which direction is better, for files that do not say
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) better: Option<Better>,

    /// Write the steps in another tool's format
    #[arg(long, value_name = "FORMAT", value_parser = of_steps(), conflicts_with = "format")]
    pub(crate) to: Option<Foreign>,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}
