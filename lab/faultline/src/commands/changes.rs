//! `faultline changes`: the steps of series over commits.

use crate::arguments::exchange::Changes;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_exchange::{Format as Foreign, write_changes};
use faultline_experiment::operand;
use faultline_model::changes::ChangesFound;
use faultline_model::dataset::{Dataset, Series};
use faultline_stats::changes::changes_found;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn changes(arguments: &Changes, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let dataset = operand::resolve(&arguments.what, arguments.from.from, &places::found(db)?)?.dataset();
    let found = changes_found(&dataset, arguments.false_alarms, arguments.better.map(Into::into))
        .map_err(|error| Failure::usage(error.to_string(), "for example `--false-alarms 5%`"))?;
    match arguments.to {
        None => output::print(&faultline_report::changes(&found, arguments.format.format, &output::style()))?,
        Some(Foreign::OtavaJson) => output::print(&as_otava(&dataset, &found))?,
        Some(other) => {
            return Err(Failure::usage(
                format!("{} has no place for steps", other.name()),
                format!("`--to {}`, or `--format json`", Foreign::OtavaJson.name()),
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn as_otava(dataset: &Dataset, found: &ChangesFound) -> String {
    let searched = |series: &Series| found.series.iter().find(|one| one.name == series.to_string());
    let pairs: Vec<_> = dataset.series.iter().filter_map(|series| Some((series, searched(series)?))).collect();
    let written = write_changes(&pairs);
    for loss in &written.losses {
        failure::warn(&format!("left out: {loss}"));
    }
    written.text
}
