//! `faultline history commits`

use super::{chosen, declared};
use crate::arguments::history::Commits;
use crate::commands::measuring;
use crate::failure::Failure;
use crate::{output, places};
use faultline_history::Workshop;
use faultline_history::over::Over;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn commits(arguments: &Commits, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let declared = declared(&arguments.subjects.config)?;
    let subjects = chosen(&declared, &arguments.subjects)?;
    let places = places::found(db)?;
    measuring::looking(&places, |lab| {
        let mut all = Vec::new();
        for subject in subjects {
            let workshop = Workshop::open(&subject.repository, subject.work.as_deref(), lab)?;
            for over in Over::all(subject) {
                all.extend(over.planned(&workshop, arguments.retry, lab)?);
            }
        }
        output::print(&faultline_report::history_commits(&all, arguments.format.format, &output::style()))?;
        Ok(ExitCode::SUCCESS)
    })
}
