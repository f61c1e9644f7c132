//! `faultline workloads`

use crate::arguments::Workloads;
use crate::failure::Failure;
use crate::{output, places};
use faultline_targets::StopFlag;
use std::process::ExitCode;

pub(crate) fn workloads(arguments: &Workloads) -> Result<ExitCode, Failure> {
    let stop = StopFlag::default();
    let infos = places::place(&arguments.machine, &arguments.place, None, &stop)?.target.workloads()?;
    output::print(&faultline_report::workloads(&infos, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
