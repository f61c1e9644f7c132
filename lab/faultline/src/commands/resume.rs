//! `faultline resume`

use super::measuring;
use crate::arguments::Resume;
use crate::failure::Failure;
use crate::places;
use faultline_experiment::{ResumeRequest, find_run};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn resume(arguments: &Resume, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let places = places::for_measuring(conduct, db)?;
    let run = arguments.run.as_deref().map(|run| find_run(run, &places)).transpose()?;
    let request = ResumeRequest { run, limit_ms: conduct.limit_ms(), jobs: arguments.jobs };
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_history::resume(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}
