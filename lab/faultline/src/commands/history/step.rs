//! Which step of which series a command is about.

use super::series;
use crate::arguments::history::SeriesWithSteps;
use crate::failure::Failure;
use faultline_experiment::Places;
use faultline_history::declared::HistorySubject;
use faultline_history::over::Over;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::subject::Commit;

/// The series of a subject that have steps, at the number of CPUs that was asked for, or at all. Fails if there is none.
pub(super) fn with_steps<'a>(
    subject: &'a HistorySubject,
    asked: &SeriesWithSteps,
    places: &Places,
) -> Result<Vec<(Over<'a>, HistorySeries)>, Failure> {
    let mut found = Vec::new();
    for over in Over::all(subject) {
        if asked.cpus.is_some_and(|cpus| cpus != over.measure.tasks()) {
            continue;
        }
        found.extend(series(&over, &asked.steps, places)?.map(|series| (over, series)));
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

/// The only one of several series: a step that is named by its number or its commit must belong to one. Fails if there are more.
pub(super) fn only<T>(mut found: Vec<(T, HistorySeries)>) -> Result<(T, HistorySeries), Failure> {
    let cpus: Vec<String> = found.iter().map(|(_, series)| series.tasks.to_string()).collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(Failure::usage(
            format!("the step may be that of several series: with {} CPUs", cpus.join(" and with ")),
            "`--cpus N` says which",
        )),
    }
}

/// Whether a series has a step that a commit may have made.
pub(super) fn has_step_at(series: &HistorySeries, id: &str) -> bool {
    series.steps.steps.iter().any(|step| may_be_of(series, step, id))
}

/// The step of a number in the list, from 1. Fails if there are fewer.
pub(super) fn numbered(series: &HistorySeries, number: u32) -> Result<&HistoryStep, Failure> {
    let steps = &series.steps.steps;
    steps.get(number as usize - 1).ok_or_else(|| {
        Failure::usage(
            format!("{} has {} steps", series.subject, steps.len()),
            "`faultline history changes` lists them in this order",
        )
    })
}

/// The step that a commit may have made, by what people call it: one within the range of a step, or one that a search found for it. Fails if there is none,
/// or if there are several.
pub(super) fn at_commit<'a>(series: &'a HistorySeries, id: &str) -> Result<&'a HistoryStep, Failure> {
    let mut found = series.steps.steps.iter().filter(|step| may_be_of(series, step, id));
    match (found.next(), found.next()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err(Failure::usage(
            format!("{} has no step at a measured commit or release {id}", series.subject),
            "`faultline history changes` lists the steps: `--at` takes a commit, or a release, after the first end of one, up to the other, or `--step N`",
        )),
        (Some(_), Some(_)) => Err(Failure::usage(
            format!("{} has several steps at {id}", series.subject),
            "add digits, or use `--step N`",
        )),
    }
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
