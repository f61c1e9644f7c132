//! Compares what was measured before: runs, files, imports, commits of either.

use crate::comparison::USUAL_LEVEL;
use crate::conclusion::{Concluded, first_unmatched};
use crate::error::Error;
use crate::operand::{self, Operand, Source, benchmarks};
use crate::places::Places;
use crate::stored;
use faultline_model::comparison::Comparison;
use faultline_model::dataset::Dataset;
use faultline_model::direction::Direction;
use faultline_model::plan::USUAL_MARGIN;
use faultline_model::record::RunId;
use faultline_model::unmatched::{Unmatched, UnmatchedReason};
use faultline_stats::comparison::{ComparisonError, Settings, compare_datasets, compare_runs};
use faultline_stats::two_sample;
use std::path::Path;

/// What is asked of a comparison of what was measured before.
#[derive(Debug, Clone, Default)]
pub struct StoredComparisonRequest {
    /// Two things, as [`operand::resolve`] takes them; or one run that is a comparison by itself.
    pub what: Vec<String>,
    /// Confidence level, where one is asked for.
    pub level: Option<f64>,
    /// Margin of equality, where one is asked for, as a share.
    pub margin: Option<f64>,
    /// Sides that weren't measured in turns are trusted to have met the same machine.
    pub assume_quiet: bool,
    /// Which direction is better, for files that do not say.
    pub better: Option<Direction>,
}

/// Compares, and concludes.
pub fn compare_stored(request: &StoredComparisonRequest, places: &Places) -> Result<Comparison, Error> {
    match request.what.as_slice() {
        [one] => again(one, request, places),
        [a, b] => of_two(&operand::resolve(a, None, places)?, &operand::resolve(b, None, places)?, request),
        what => Err(Error::usage(
            format!("a comparison takes two runs, files or commands, not {}", what.len()),
            "name two runs or files, or give `--a` and `--b` to measure two variants",
        )),
    }
}

/// Compares two runs of the database, and concludes. Takes no other name of either, so that nothing else is read. Fails if a run does not exist or has figures of
/// many commits, or if nothing can be compared.
pub fn compare_stored_runs(runs: [RunId; 2], places: &Places) -> Result<Comparison, Error> {
    let [a, b] = runs.map(|run| operand::stored_run(run, places));
    of_two(&a?, &b?, &StoredComparisonRequest::default())
}

/// A run that is a comparison by itself.
fn again(name: &str, request: &StoredComparisonRequest, places: &Places) -> Result<Comparison, Error> {
    let Some(head) = operand::run(name, places)? else {
        // Whatever else it is, or why it is nothing.
        let operand = operand::resolve(name, None, places)?;
        return Err(match benchmarks(&operand.dataset()).len() {
            2.. if Path::new(name).is_file() => Error::usage(
                format!("a comparison takes two files, and only '{name}' is given"),
                format!("`faultline compare {name}:1 {name}:2` compares two of its benchmarks, by number or name"),
            ),
            _ => one_only(&operand.name),
        });
    };
    let name = if head.id.to_string() == name { format!("run {name}") } else { name.to_owned() };
    if head.settings.comparison().is_none() {
        return Err(one_only(&name));
    }
    if request.level.is_some() || request.margin.is_some() {
        return Err(Error::usage(
            format!("the level and the margin of {name} are fixed"),
            "measure again with `--level` or `--margin`: they decide when a live comparison ends",
        ));
    }
    match stored::conclusion(Some(head.id), places)?.what {
        Concluded::Comparison(comparison) => Ok(*comparison),
        Concluded::Fitness(fitness) => Ok(fitness.compared),
        Concluded::Figures(_) | Concluded::Drill(_) | Concluded::History(_) => Err(one_only(&name)),
    }
}

fn one_only(name: &str) -> Error {
    Error::usage(
        format!("a comparison takes two runs or files, and only '{name}' is given"),
        "name another run or file, or give `--a` and `--b` to measure two variants",
    )
}

fn of_two(a: &Operand, b: &Operand, request: &StoredComparisonRequest) -> Result<Comparison, Error> {
    let settings = Settings {
        two_sample: two_sample::Settings {
            level: request.level.unwrap_or(USUAL_LEVEL),
            margin: request.margin.unwrap_or(USUAL_MARGIN),
            assume_quiet: request.assume_quiet,
            ..two_sample::Settings::default()
        },
        direction: request.better,
    };
    let compared = match (&a.source, &b.source) {
        (Source::Run(a), Source::Run(b)) => compare_runs(a, b, &settings),
        _ => {
            let [first, second] = under_one_name([a.dataset(), b.dataset()]);
            compare_datasets([&a.name, &b.name], &first, &second, &settings)
        }
    };
    compared.map_err(|error| {
        Error::usage(format!("{} and {}: {error}", a.name, b.name), hint(&error)).because(first_unmatched(&error))
    })
}

fn hint(error: &ComparisonError) -> &'static str {
    let is_direction = |left_out: &Unmatched| left_out.reason == UnmatchedReason::DirectionUnknown;
    match error {
        ComparisonError::NothingInCommon { unmatched } if unmatched.iter().any(is_direction) => {
            "`--better lower` or `--better higher` says which"
        }
        _ => HINT,
    }
}

/// Benchmarks are paired by name. Where there is but one on either side, they are compared whatever their names.
fn under_one_name(mut datasets: [Dataset; 2]) -> [Dataset; 2] {
    let [a, b] = [benchmarks(&datasets[0]), benchmarks(&datasets[1])];
    if let ([a], [b]) = (a.as_slice(), b.as_slice())
        && a != b
    {
        let name = format!("{a} vs {b}");
        datasets.iter_mut().flat_map(|dataset| &mut dataset.series).for_each(|series| series.name.clone_from(&name));
    }
    datasets
}

const HINT: &str = "both must hold the same benchmarks under the same names; `faultline show` and `faultline export --to faultline` show what each holds";
