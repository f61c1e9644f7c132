//! `faultline facts`

use crate::arguments::Facts;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_experiment::LocalMachines;
use faultline_experiment::stored::{self, SubjectFacts};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn facts(arguments: &Facts, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let facts = match &arguments.run {
        None => {
            let places = places::with_programs(&arguments.place, db)?;
            faultline_experiment::facts(&arguments.machine.on.clone().unwrap_or_default(), &LocalMachines, &places)?
        }
        Some(run) => {
            let SubjectFacts { run, facts, others } = stored::facts(run, &places::found(db)?)?;
            for other in others {
                failure::warn(&format!(
                    "these are the facts of side A; `faultline facts {run}@{other}` shows those of side {other}"
                ));
            }
            facts
        }
    };
    output::print(&faultline_report::facts(&facts, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
