//! `faultline history run`

use super::notify::notify;
use super::{chosen, declared};
use crate::arguments::history::Run;
use crate::commands::{measuring, present};
use crate::failure::{self, Failure};
use crate::places;
use faultline_experiment::{Error, Lab};
use faultline_history::Commits;
use faultline_history::declared::HistorySubject;
use faultline_history::explain;
use faultline_history::over::{Asked, Over};
use faultline_history::run::{Ran, run as measure};
use faultline_history::source;
use faultline_stats::history::StepSettings;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(arguments: &Run, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    if conduct.output.is_some() {
        return Err(present::no_page_of_commits());
    }
    let declared = declared(&arguments.subjects.config)?;
    let subjects: Vec<HistorySubject> = chosen(&declared, &arguments.subjects)?
        .into_iter()
        .map(|subject| HistorySubject { limit_ms: conduct.limit_ms().or(subject.limit_ms), ..subject.clone() })
        .collect();
    let places = places::for_measuring(conduct, db)?;
    measuring::with_lab(conduct, &places, |lab| {
        for subject in &subjects {
            let commits = source::of_subject(subject, lab)?;
            for over in Over::all(subject) {
                if !one(&over, arguments, commits.as_ref(), lab)? {
                    return Ok(failure::stopped());
                }
                explain::steps::save(&over, commits.as_ref(), lab)?;
                notify(&declared, &over, &StepSettings::default(), lab)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Measures one series, and shows what was measured; with adaptive picking, until no commit is to be measured. False if it was stopped.
fn one(over: &Over<'_>, arguments: &Run, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<bool, Failure> {
    let (mut retry, mut measured_before) = (arguments.retry, 0);
    loop {
        let ran: Result<Ran, Error> = measure(over, Asked::Missing { retry, measured: measured_before }, commits, lab);
        match ran? {
            Ran::Nothing { picked } => {
                if measured_before == 0 {
                    let (name, tasks) = (&over.subject.name, over.measure.tasks());
                    failure::warn(&format!("{name} at {tasks}: each of the {picked} picked commits has a result"));
                }
                return Ok(true);
            }
            Ran::Continued(measured) => {
                if measuring::told(measured, &arguments.conduct)?.is_none() {
                    return Ok(false);
                }
            }
            Ran::Measured { measured, new } => {
                if measuring::told(measured, &arguments.conduct)?.is_none() {
                    return Ok(false);
                }
                if !over.subject.which.is_adaptive() || new == 0 {
                    return Ok(true);
                }
                retry = false;
                measured_before += new;
            }
        }
    }
}
