//! `faultline workloads`

use crate::arguments::Workloads;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::LocalMachines;
use std::process::ExitCode;

pub(crate) fn workloads(arguments: &Workloads) -> Result<ExitCode, Failure> {
    let places = places::with_programs(&arguments.place, None)?;
    let infos =
        faultline_experiment::workloads(&arguments.machine.on.clone().unwrap_or_default(), &LocalMachines, &places)?;
    output::print(&faultline_report::workloads(&infos, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
