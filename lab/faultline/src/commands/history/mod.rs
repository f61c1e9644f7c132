//! `faultline history`: subjects of `faultline.toml` over the commits of their repositories.

mod changes;
mod commits;
mod drill;
mod mark;
mod notify;
mod run;
mod show;
mod step;
mod work;

use crate::arguments::history::{Config, History, Steps, Subjects};
use crate::failure::Failure;
use faultline_experiment::Places;
use faultline_history::declared::{Declared, HistorySubject};
use faultline_history::over::Over;
use faultline_model::history::HistorySeries;
use faultline_stats::changes::SeriesError;
use faultline_stats::history::StepSettings;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn history(arguments: &History, db: Option<&Path>) -> Result<ExitCode, Failure> {
    match arguments {
        History::Run(arguments) => run::run(arguments, db),
        History::Show(arguments) => show::show(arguments, db),
        History::Commits(arguments) => commits::commits(arguments, db),
        History::Changes(arguments) => changes::changes(arguments, db),
        History::Drill(arguments) => drill::drill(arguments, db),
        History::Mark(arguments) => mark::mark(arguments, db),
        History::Work(arguments) => work::work(arguments, db),
    }
}

/// The file's subjects. Fails if it cannot be read, or declares something impossible.
fn declared(config: &Config) -> Result<Declared, Failure> {
    Ok(Declared::read(config.config.as_deref())?)
}

/// The chosen subjects of a file. Fails if there is none of a name.
fn chosen<'a>(declared: &'a Declared, subjects: &Subjects) -> Result<Vec<&'a HistorySubject>, Failure> {
    Ok(declared.chosen(&subjects.subjects)?)
}

fn settings(steps: &Steps) -> StepSettings {
    StepSettings { false_alarms: steps.false_alarms, least_change: steps.min_change }
}

/// What is saved of subjects. Fails if nothing is, if the settings of steps are out of range, or if the database cannot be read.
fn stored(subjects: &[&HistorySubject], steps: &Steps, places: &Places) -> Result<Vec<HistorySeries>, Failure> {
    let mut all = Vec::new();
    for over in subjects.iter().flat_map(|subject| Over::all(subject)) {
        all.extend(series(&over, steps, places)?);
    }
    match all.is_empty() {
        true => Err(Failure::new("nothing of these subjects is measured yet", "`faultline history run` measures it")),
        false => Ok(all),
    }
}

/// What is saved of subjects without the newest run of each series. Fails if the settings of steps are out of range, or if the database cannot be read.
fn earlier(subjects: &[&HistorySubject], steps: &Steps, places: &Places) -> Result<Vec<HistorySeries>, Failure> {
    let mut all = Vec::new();
    for over in subjects.iter().flat_map(|subject| Over::all(subject)) {
        all.extend(over.earlier_series(&settings(steps), places)?.map_err(out_of_range)?);
    }
    Ok(all)
}

/// What is saved of one series; `None` if nothing is. Fails likewise.
fn series(over: &Over<'_>, steps: &Steps, places: &Places) -> Result<Option<HistorySeries>, Failure> {
    over.series(&settings(steps), places)?.map_err(out_of_range)
}

fn out_of_range(error: SeriesError) -> Failure {
    Failure::usage(error.to_string(), "for example `--false-alarms 5% --min-change 2%`")
}
