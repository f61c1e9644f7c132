//! Compares what was measured before: runs, files, imports, commits of either.

use super::gated;
use crate::arguments::compare::{Compare, USUAL_LEVEL};
use crate::commands::operand::{self, Operand, Source};
use crate::commands::present;
use crate::failure::Failure;
use crate::output;
use faultline_model::comparison::Comparison;
use faultline_stats::comparison::{Settings, compare_datasets, compare_runs};
use faultline_stats::two_sample;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn compare(arguments: &Compare, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let (a, b) = match arguments.what.as_slice() {
        [one] => return again(operand::resolve(one, None, db)?, arguments),
        [a, b] => (operand::resolve(a, None, db)?, operand::resolve(b, None, db)?),
        what => {
            return Err(Failure::usage(
                format!("there are {} things to compare, and it takes two", what.len()),
                "name two runs or files, or give `--a` and `--b` to measure two variants",
            ));
        }
    };
    let compared = compared(&a, &b, arguments)?;
    if let Some(path) = &conduct.output {
        present::write(&faultline_report::comparison_html(&compared), path)?;
    }
    output::print(&faultline_report::comparison(&compared, conduct.format.format, &output::style()))?;
    Ok(gated(ExitCode::SUCCESS, &compared, arguments))
}

/// A run that is a comparison by itself.
fn again(operand: Operand, arguments: &Compare) -> Result<ExitCode, Failure> {
    let Source::Run(record) = &operand.source else { return Err(one_only(&operand)) };
    if record.settings.comparison().is_none() {
        return Err(one_only(&operand));
    }
    if arguments.certainty.level.is_some() {
        return Err(Failure::usage(
            format!("{} ended at the level it was measured for", operand.name),
            "measure again with `--level`, as its looks were planned for one",
        ));
    }
    if let Some(path) = &arguments.conduct.output {
        present::write_page(record, path)?;
    }
    output::print(&present::table(record, arguments.conduct.format.format)?)?;
    let compared = present::compared(record)?;
    Ok(compared.map_or(ExitCode::SUCCESS, |compared| gated(ExitCode::SUCCESS, &compared, arguments)))
}

fn one_only(operand: &Operand) -> Failure {
    Failure::usage(
        format!("'{}' is one thing, and it takes two to compare", operand.name),
        "name another run or file, or give `--a` and `--b` to measure two variants",
    )
}

fn compared(a: &Operand, b: &Operand, arguments: &Compare) -> Result<Comparison, Failure> {
    let settings = Settings {
        two_sample: two_sample::Settings {
            level: arguments.certainty.level.unwrap_or(USUAL_LEVEL),
            ..two_sample::Settings::default()
        },
        direction: arguments.better.map(Into::into),
    };
    let compared = match (&a.source, &b.source) {
        (Source::Run(a), Source::Run(b)) => compare_runs(a, b, &settings),
        _ => compare_datasets([&a.name, &b.name], &a.dataset(), &b.dataset(), &settings),
    };
    compared.map_err(|error| Failure::usage(format!("{} and {}: {error}", a.name, b.name), HINT))
}

const HINT: &str = "they have to hold the same benchmarks, under the same names; `faultline show` and `faultline export --to faultline` show what is there";
