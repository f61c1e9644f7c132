//! `faultline history changes`

use super::{chosen, declared, stored};
use crate::arguments::history::Changes;
use crate::commands::measuring;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_history::explain::history::explain;
use faultline_model::gate::Gate;
use faultline_model::history::HistorySeries;
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
    if arguments.gate { held(arguments, &all) } else { Ok(ExitCode::SUCCESS) }
}

/// The exit status of the gate, and why. Fails if `--since` names no commit of a series.
fn held(arguments: &Changes, all: &[HistorySeries]) -> Result<ExitCode, Failure> {
    if let Some(since) = &arguments.since
        && let Some(series) = all.iter().find(|series| position(series, &since.id).is_none())
    {
        return Err(Failure::usage(
            format!("{} has no commit {}, or several", series.subject, since.id),
            "`faultline history show` lists its commits",
        ));
    }
    let first = |series: &HistorySeries| match &arguments.since {
        Some(since) => position(series, &since.id).map_or(0, |position| position + 1),
        None => series.first_new(),
    };
    let gate = Gate::of_histories(all, first, arguments.inconclusive.into());
    failure::warn(&faultline_report::history_gate(&gate, &output::style()).trim_end());
    Ok(if gate.is_open() { ExitCode::SUCCESS } else { failure::some_failed() })
}

/// The position of the only commit whose name begins so.
fn position(series: &HistorySeries, id: &str) -> Option<u32> {
    let mut found = (0..).zip(&series.points).filter(|(_, point)| point.commit.id.starts_with(id));
    let (position, _) = found.next()?;
    found.next().is_none().then_some(position)
}
