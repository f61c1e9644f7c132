//! `faultline lens calibrate`: the cost of a transfer between this machine's CPUs.

use crate::arguments::lens::Calibrate;
use crate::failure::{self, Failure};
use crate::{output, places, signals};
use faultline_experiment::lens::{self, MEASURED};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn calibrate(arguments: &Calibrate, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = places::found(db)?;
    let stop = signals::stop_flag()?;
    let calibration = lens::calibrate(&places, &stop)?;
    output::print(&faultline_report::lens_calibration(&calibration, arguments.format.format, &output::style()))?;
    if !arguments.dry_run {
        let file = lens::keep_costs(&calibration, &places)?;
        failure::warn(&format!("kept in {}; `--costs {MEASURED}` uses it", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}
