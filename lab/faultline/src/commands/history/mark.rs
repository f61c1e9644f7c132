//! `faultline history mark`

use super::notify::notify;
use super::step::{at_commit, has_step_at, numbered, only, with_steps};
use super::{declared, settings};
use crate::arguments::history::{Mark, Which};
use crate::commands::measuring;
use crate::failure::Failure;
use crate::{output, places};
use faultline_history::mark::{Mark as Said, mark as save};
use faultline_model::history::{HistorySeries, HistoryStep};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn mark(arguments: &Mark, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let said = Said::new(arguments.state.into(), person(), arguments.reason.as_deref())?;
    let declared = declared(&arguments.of.config)?;
    let subject = declared.one(&arguments.of.subject)?;
    let places = places::found(db)?;
    let (over, series) = chosen(with_steps(subject, &arguments.of, &places)?, &arguments.which)?;
    let step = step(&series, &arguments.which)?;
    let words = faultline_report::history_marked(&series, step, arguments.state.into());
    measuring::looking(&places, |lab| {
        save(&series, step, said, lab)?;
        output::print(&words)?;
        notify(&declared, &over, &settings(&arguments.of.steps), lab)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The series of the step. Fails if it may be that of several.
fn chosen<T>(mut found: Vec<(T, HistorySeries)>, which: &Which) -> Result<(T, HistorySeries), Failure> {
    if let Some(commit) = &which.at
        && found.iter().any(|(_, series)| has_step_at(series, commit))
    {
        found.retain(|(_, series)| has_step_at(series, commit));
    }
    only(found)
}

fn step<'a>(series: &'a HistorySeries, which: &Which) -> Result<&'a HistoryStep, Failure> {
    match (&which.at, which.step) {
        (Some(commit), _) => at_commit(series, commit),
        (None, number) => numbered(series, number.unwrap_or(1)),
    }
}

/// Who calls us, as the system's login says.
fn person() -> String {
    let named = ["LOGNAME", "USER"].into_iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}
