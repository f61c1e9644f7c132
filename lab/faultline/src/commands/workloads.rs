//! `faultline workloads`

use crate::arguments::Workloads;
use crate::failure::Failure;
use crate::{output, places};
use faultline_targets::Target;
use std::process::ExitCode;

pub(crate) fn workloads(arguments: &Workloads) -> Result<ExitCode, Failure> {
    let infos = places::host(arguments.place.workloads.as_deref(), None)?.workloads()?;
    output::print(&faultline_report::workloads(&infos, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
