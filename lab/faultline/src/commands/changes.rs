//! `faultline changes`: the steps of series over commits.

use crate::arguments::exchange::Changes;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_exchange::{Format as Foreign, write_changes};
use faultline_experiment::operand;
use faultline_model::changes::ChangesFound;
use faultline_model::dataset::Dataset;
use faultline_stats::changes::changes_found;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn changes(arguments: &Changes, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let dataset = operand::resolve(&arguments.what, arguments.from.from, &places::found(db)?)?.dataset();
    let (rate, least) = (arguments.false_alarms, arguments.min_change);
    let found = changes_found(&dataset, rate, least, arguments.better.map(Into::into))
        .map_err(|error| Failure::usage(error.to_string(), "for example `--false-alarms 5% --min-change 2%`"))?;
    match arguments.to {
        None => output::print(&faultline_report::changes(&found, arguments.format.format, &output::style()))?,
        Some(foreign) => output::print(&written(&dataset, &found, foreign)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn written(dataset: &Dataset, found: &ChangesFound, format: Foreign) -> Result<String, Failure> {
    let written = write_changes(&found.with_values(dataset), format)
        .map_err(|error| Failure::usage(error.to_string(), error.hint))?;
    for loss in &written.losses {
        failure::warn(&format!("left out: {loss}"));
    }
    Ok(written.text)
}
