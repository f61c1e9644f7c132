//! `faultline history drill`

use super::notify::notify;
use super::step::{numbered, only, with_steps};
use super::{declared, settings};
use crate::arguments::history::Drill;
use crate::commands::{measuring, present};
use crate::failure::Failure;
use crate::places;
use faultline_history::declared::HistorySubject;
use faultline_history::drill::{Drilled, drill as search};
use faultline_history::measure::Wanted;
use faultline_model::changes::Effect;
use faultline_model::history::{HistorySeries, HistoryStep};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn drill(arguments: &Drill, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    if conduct.output.is_some() {
        return Err(present::no_page_of_commits());
    }
    let declared = declared(&arguments.of.config)?;
    let subject = declared.one(&arguments.of.subject)?;
    let subject = HistorySubject { limit_ms: conduct.limit_ms().or(subject.limit_ms), ..subject.clone() };
    let places = places::for_measuring(conduct, db)?;
    let mut found = with_steps(&subject, &arguments.of, &places)?;
    let (over, series) = if arguments.step.is_some() { only(found)? } else { found.swap_remove(0) };
    let step = step(&series, arguments.step)?;
    let Drill { level, least, .. } = *arguments;
    let wanted = Wanted { level, least, thorough: false, layouts: arguments.layouts.unwrap_or(subject.layouts) };
    let drilled = Drilled { over, series: &series, step, wanted, revert: arguments.revert };
    measuring::with_lab(conduct, &places, |lab| {
        let measured = search(&drilled, lab)?;
        let concluded = measuring::told(measured, conduct)?;
        if concluded.is_some() {
            notify(&declared, &over, &settings(&arguments.of.steps), lab)?;
        }
        Ok(measuring::status(concluded.as_ref()))
    })
}

/// The step of that number, or the newest for the worse, or the newest. Fails if there are fewer.
fn step(series: &HistorySeries, number: Option<u32>) -> Result<&HistoryStep, Failure> {
    let steps = &series.steps.steps;
    let newest = || steps.iter().rfind(|step| step.effect == Effect::Worse).or(steps.last());
    match (number, newest()) {
        (None, Some(step)) => Ok(step),
        (number, _) => numbered(series, number.unwrap_or(1)),
    }
}
