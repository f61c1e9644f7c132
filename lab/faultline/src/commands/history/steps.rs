//! Steps of a history: selection by number or commit, states, notifications.

use super::{declared, out_of_range, series, settings};
use crate::arguments::Global;
use crate::arguments::compare::Steps;
use crate::arguments::history::{Mark, Which};
use crate::commands::measuring::{self, places};
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::{Lab, Mark as Said, Places, mark as save};
use faultline_history::declared::{Declared, HistorySubject};
use faultline_history::notify::notify as send;
use faultline_history::over::Over;
use faultline_record::subject::Commit;
use faultline_stats::history::{HistorySeries, HistoryStep, StepSettings};
use std::process::ExitCode;

/// `faultline history mark`.
pub(super) fn mark(arguments: &Mark, global: &Global) -> Result<ExitCode, Failure> {
    let said = Said::new(arguments.state.into(), person(), arguments.reason.as_deref())?;
    let declared = declared(&arguments.of.config)?;
    let subject = declared.one(&arguments.of.subject)?;
    let places = places(global)?;
    // Others change the database only.
    if declared.notify.is_some() {
        declared.check(&places.consent)?;
    }
    let (over, series) =
        chosen(with_steps(subject, arguments.of.tasks, &arguments.of.steps, &places)?, &arguments.which)?;
    let step = match (&arguments.which.at, arguments.which.step) {
        (Some(commit), _) => at_commit(&series, commit),
        (None, number) => numbered(&series, number.unwrap_or(1)),
    }?;
    let words = faultline_report::history_marked(&series, step, arguments.state.into());
    measuring::looking(&places, |lab| {
        save(&series, step, said, lab.clock.now(), lab.places)?;
        output::print(&words)?;
        notify(&declared, &over, &settings(&arguments.of.steps), lab)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The user's name, as the system's login states it.
fn person() -> String {
    let named = ["LOGNAME", "USER"].into_iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// The series of the step. Fails if several have it.
fn chosen<T>(mut found: Vec<(T, HistorySeries)>, which: &Which) -> Result<(T, HistorySeries), Failure> {
    if let Some(commit) = &which.at
        && found.iter().any(|(_, series)| has_step_at(series, commit))
    {
        found.retain(|(_, series)| has_step_at(series, commit));
    }
    only(found)
}

/// The series of a subject with steps, at a number of tasks if given. Fails if there are none.
pub(in crate::commands) fn with_steps<'a>(
    subject: &'a HistorySubject,
    tasks: Option<u32>,
    steps: &Steps,
    places: &Places,
) -> Result<Vec<(Over<'a>, HistorySeries)>, Failure> {
    let mut found = Vec::new();
    for over in Over::all(subject) {
        if tasks.is_some_and(|tasks| tasks != over.measure.tasks()) {
            continue;
        }
        found.extend(series(&over, steps, places)?.map(|series| (over, series)));
    }
    found.retain(|(_, series)| !series.steps.steps.is_empty());
    match found.is_empty() {
        true => Err(Failure::new(
            format!("no step of {} is known", subject.name),
            "`faultline history run` measures more commits; `faultline bisect` searches between any two",
        )),
        false => Ok(found),
    }
}

/// The only one of several series. Fails if there are more.
pub(in crate::commands) fn only<T>(mut found: Vec<(T, HistorySeries)>) -> Result<(T, HistorySeries), Failure> {
    let tasks: Vec<String> = found.iter().map(|(_, series)| series.tasks.to_string()).collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(Failure::usage(
            format!("several series may have the step: with {} tasks", tasks.join(" and with ")),
            "`--tasks N` selects one",
        )),
    }
}

/// The step of a number in the list, from 1. Fails if there are fewer.
pub(in crate::commands) fn numbered(series: &HistorySeries, number: u32) -> Result<&HistoryStep, Failure> {
    let steps = &series.steps.steps;
    steps.get(number as usize - 1).ok_or_else(|| {
        Failure::usage(
            format!("{} has {} steps", series.subject, steps.len()),
            "`faultline history changes` lists them in this order",
        )
    })
}

/// The step that a commit may have made: within the step's range, or found for it by a search.
/// Fails if there is none, or several.
fn at_commit<'a>(series: &'a HistorySeries, name: &str) -> Result<&'a HistoryStep, Failure> {
    let mut found = series.steps.steps.iter().filter(|step| may_be_of(series, step, name));
    match (found.next(), found.next()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err(Failure::usage(
            format!("{} has no step at a measured commit or release {name}", series.subject),
            "`faultline history changes` lists the steps: `--at` takes a commit, or a release, after the first end of one, up to the other, or `--step N`",
        )),
        (Some(_), Some(_)) => Err(Failure::usage(
            format!("{} has several steps at {name}", series.subject),
            "add digits, or use `--step N`",
        )),
    }
}

/// True if a series has a step that a commit may have made.
fn has_step_at(series: &HistorySeries, name: &str) -> bool {
    series.steps.steps.iter().any(|step| may_be_of(series, step, name))
}

fn may_be_of(series: &HistorySeries, step: &HistoryStep, name: &str) -> bool {
    let digits = Commit::named(name);
    let digits = digits.as_ref();
    let mut range = (step.earliest + 1..=step.latest).filter_map(|position| series.commit(position));
    range.any(|commit| commit.is_called(name))
        || step
            .state
            .log
            .iter()
            .flat_map(|event| &event.commits)
            .any(|commit| digits.is_some_and(|digits| commit.starts_with(&digits.id)))
}

/// Sends notifications of confirmed changes of a series that have not been notified. A notification
/// that fails is reported and does not change the exit status: the next command retries it.
pub(in crate::commands) fn notify(
    declared: &Declared,
    over: &Over<'_>,
    steps: &StepSettings,
    lab: &Lab<'_>,
) -> Result<(), Failure> {
    let Some(whom) = &declared.notify else { return Ok(()) };
    let Some(series) = over.series(steps, lab.places)?.map_err(out_of_range)? else { return Ok(()) };
    for failed in send(&series, whom, lab)? {
        failure::warn(&format!(
            "the notification of a confirmed change of {} failed: {}",
            series.subject, failed.problem
        ));
        failure::warn(&"hint: the next `faultline history` command that measures or marks retries it");
    }
    Ok(())
}
