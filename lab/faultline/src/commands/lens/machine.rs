//! `faultline lens machine`

use super::under;
use crate::arguments::lens::Machine;
use crate::commands::measuring;
use crate::failure::Failure;
use faultline_experiment::lens::{self, LensMachineRequest};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn machine(arguments: &Machine, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = under::places(&arguments.under, db)?;
    let request = LensMachineRequest {
        kernel: arguments.kernel.clone(),
        modules: arguments.module.clone(),
        parameters: arguments.append.clone(),
        symbols: arguments.symbols.clone(),
        cpus: arguments.cpus.clone(),
        memory_mib: arguments.memory,
        under: under::request(&arguments.under, &places, Some(arguments.ops))?,
    };
    let concluded = measuring::conduct(&arguments.under.conduct, &places, |lab| lens::machine(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}
