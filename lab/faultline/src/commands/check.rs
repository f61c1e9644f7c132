//! `faultline check`

use super::measuring;
use crate::arguments::compare::Check;
use crate::failure::Failure;
use crate::places;
use faultline_experiment::CheckRequest;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn check(arguments: &Check, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let request = CheckRequest {
        workloads: arguments.workloads_chosen.clone(),
        time: arguments.time,
        limit_ms: conduct.limit_ms(),
        machine: arguments.machine.on.clone().unwrap_or_default(),
        seed: None,
    };
    let places = places::for_measuring(conduct, db)?;
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_experiment::check(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}
