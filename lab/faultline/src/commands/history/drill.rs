//! `faultline history drill`

use super::{declared, series};
use crate::arguments::history::Drill;
use crate::commands::{measuring, present};
use crate::failure::Failure;
use crate::places;
use faultline_experiment::Places;
use faultline_history::bisect::Wanted;
use faultline_history::declared::{Declared, HistorySubject};
use faultline_history::drill::{Drilled, drill as search};
use faultline_history::over::Over;
use faultline_model::changes::Effect;
use faultline_model::history::{HistorySeries, HistoryStep};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn drill(arguments: &Drill, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    if conduct.output.is_some() {
        return Err(present::no_page_of_commits());
    }
    let declared = declared(&arguments.config)?;
    let subject = subject(&declared, arguments)?;
    let places = places::for_measuring(conduct, db)?;
    let (over, series) = chosen(&subject, arguments, &places)?;
    let step = step(&series, arguments)?;
    let wanted = Wanted { level: arguments.level, least: arguments.least, thorough: false, layouts: 0 };
    let drilled = Drilled { over, series: &series, step, wanted };
    let concluded = measuring::conduct(conduct, &places, |lab| search(&drilled, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

fn subject(declared: &Declared, arguments: &Drill) -> Result<HistorySubject, Failure> {
    let subject = declared.chosen(std::slice::from_ref(&arguments.subject))?[0];
    Ok(HistorySubject { limit_ms: arguments.conduct.limit_ms().or(subject.limit_ms), ..subject.clone() })
}

/// The series that was asked for, or the first that has steps. Fails if there is none.
fn chosen<'a>(
    subject: &'a HistorySubject,
    arguments: &Drill,
    places: &Places,
) -> Result<(Over<'a>, HistorySeries), Failure> {
    for over in Over::all(subject) {
        if arguments.cpus.is_some_and(|cpus| cpus != over.measure.tasks()) {
            continue;
        }
        if let Some(series) = series(&over, &arguments.steps, places)?
            && !series.steps.steps.is_empty()
        {
            return Ok((over, series));
        }
    }
    Err(Failure::new(
        format!("no step of {} is known", subject.name),
        "`faultline history run` measures more commits; `faultline bisect` searches between any two",
    ))
}

/// The step that was asked for, or the newest for the worse, or the newest. Fails if there are fewer.
fn step<'a>(series: &'a HistorySeries, arguments: &Drill) -> Result<&'a HistoryStep, Failure> {
    let steps = &series.steps.steps;
    let newest = || steps.iter().rfind(|step| step.effect == Effect::Worse).or(steps.last());
    let found = arguments.step.map_or_else(newest, |number| steps.get(number as usize - 1));
    found.ok_or_else(|| {
        Failure::usage(
            format!("{} has {} steps", series.subject, steps.len()),
            "`faultline history changes` lists them in this order",
        )
    })
}
