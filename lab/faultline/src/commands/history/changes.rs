//! `faultline history changes`

use super::{chosen, declared, earlier, stored};
use crate::arguments::history::Changes;
use crate::commands::measuring;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_experiment::Places;
use faultline_history::declared::HistorySubject;
use faultline_history::explain::history::explain;
use faultline_model::gate::Gate;
use faultline_model::history::{HistorySeries, HistoryStep};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn changes(arguments: &Changes, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let declared = declared(&arguments.subjects.config)?;
    let subjects = chosen(&declared, &arguments.subjects)?;
    let places = places::found(db)?;
    let mut all = stored(&subjects, &arguments.steps, &places)?;
    measuring::looking(&places, |lab| {
        for series in all.iter_mut().filter(|series| !series.steps.steps.is_empty()) {
            let Some(subject) = subjects.iter().find(|subject| subject.name == series.subject) else { continue };
            if let Err(error) = explain(series, subject, lab) {
                failure::warn(&format!("without what lies between commits: {}", error.problem));
            }
        }
        Ok(())
    })?;
    output::print(&faultline_report::history_changes(&all, arguments.format.format, &output::style()))?;
    if arguments.gate { held(arguments, &all, &subjects, &places) } else { Ok(ExitCode::SUCCESS) }
}

/// The exit status of the gate, and why. Fails if `--since` names no commit of a series.
fn held(
    arguments: &Changes,
    all: &[HistorySeries],
    subjects: &[&HistorySubject],
    places: &Places,
) -> Result<ExitCode, Failure> {
    if let Some(since) = &arguments.since
        && let Some(series) = all.iter().find(|series| position(series, since).is_none())
    {
        return Err(Failure::usage(
            format!("{} has no commit or release {since}, or several", series.subject),
            "`faultline history show` lists them",
        ));
    }
    let earlier = earlier(subjects, &arguments.steps, places)?;
    let is_known = |series: &HistorySeries, step: &HistoryStep| {
        let is_of_it = |old: &&HistorySeries| (&old.subject, old.tasks) == (&series.subject, series.tasks);
        earlier.iter().filter(is_of_it).any(|old| old.shows(series, step))
    };
    let is_new = |series: &HistorySeries, step: &HistoryStep| match &arguments.since {
        Some(since) => position(series, since).is_some_and(|position| step.by > position),
        None => !is_known(series, step),
    };
    let gate = Gate::of_histories(all, is_new, arguments.inconclusive.into());
    failure::warn(&faultline_report::history_gate(&gate, &output::style()).trim_end());
    Ok(if gate.is_open() { ExitCode::SUCCESS } else { failure::some_failed() })
}

/// The position of the only commit that is called so.
fn position(series: &HistorySeries, name: &str) -> Option<u32> {
    let mut found = (0..).zip(&series.points).filter(|(_, point)| point.commit.is_called(name));
    let (position, _) = found.next()?;
    found.next().is_none().then_some(position)
}
