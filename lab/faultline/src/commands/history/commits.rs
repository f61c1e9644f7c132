//! `faultline history commits`

use super::{chosen, declared};
use crate::arguments::history::Commits;
use crate::commands::measuring;
use crate::failure::Failure;
use crate::{output, places};
use faultline_history::over::Over;
use faultline_history::source;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn commits(arguments: &Commits, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let declared = declared(&arguments.subjects.config)?;
    let subjects = chosen(&declared, &arguments.subjects)?;
    let places = places::found(db)?;
    measuring::looking(&places, |lab| {
        let mut all = Vec::new();
        for subject in subjects {
            let commits = source::of_subject(subject, lab)?;
            for over in Over::all(subject) {
                all.extend(over.planned(commits.as_ref(), arguments.retry, lab)?);
            }
        }
        output::print(&faultline_report::history_commits(&all, arguments.format.format, &output::style()))?;
        Ok(ExitCode::SUCCESS)
    })
}
