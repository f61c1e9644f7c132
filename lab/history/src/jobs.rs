//! Jobs: work on a history that somebody asked for elsewhere, done by the machine that measures the history.

use crate::commits::Commits;
use crate::declared::HistorySubject;
use crate::drill::{Drilled, drill};
use crate::measure::Wanted;
use crate::over::{Asked, Over};
use crate::run::{Ran, run};
use crate::source;
use faultline_experiment::jobs::open_search;
use faultline_experiment::{Error, Lab, Measured, ResumeRequest, place_of};
use faultline_model::job::{Job, JobWork};
use faultline_model::named_change::{ChangePlace, NamedChange};
use faultline_model::record::RunHead;
use faultline_stats::history::{StepSettings, conditions};

/// What a search of a job is asked for: what `faultline history drill` does unless it is told otherwise.
const SEARCH: Wanted = Wanted { level: 0.95, least: 0.02, thorough: false, layouts: 0 };

/// The declared series that a job is about, measured as it is declared now; `None` if it is another machine's, or none that is declared. Fails if a repository, a tool or a machine is missing.
pub fn meant<'a>(job: &Job, subjects: &[&'a HistorySubject], lab: &Lab<'_>) -> Result<Option<Over<'a>>, Error> {
    for over in subjects.iter().flat_map(|subject| Over::all(subject)) {
        let is_named = over.subject.name == job.series.subject
            && over.measure.tasks() == job.series.tasks
            && over.measure.count() == job.series.counted;
        if !is_named {
            continue;
        }
        let commits = source::of_subject(over.subject, lab)?;
        let now = over.asked(commits.as_ref(), lab)?;
        let is_it = now.settings.history().is_some_and(|history| {
            history.repository == job.series.repository && conditions(&now.settings, history) == job.series.conditions
        });
        if is_it {
            return Ok(Some(over));
        }
    }
    Ok(None)
}

/// Does a job. What a worker began that is gone now goes on. Fails if the history does not have the job's commit or change any more, and like the commands for the same work.
pub fn work(job: &Job, over: &Over<'_>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    match &job.work {
        JobWork::Measure { commit } => {
            let commits = source::of_subject(over.subject, lab)?;
            measure_again(commit, over, commits.as_ref(), lab)
        }
        JobWork::Drill { place } => search(place, over, lab),
    }
}

/// Measures a commit once more. If a run that was stopped goes on first and measures it, that counts.
fn measure_again(commit: &str, over: &Over<'_>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    loop {
        match run(over, Asked::Again { commit }, commits, lab)? {
            Ran::Continued(Measured::Concluded(conclusion)) if !has_measured(&conclusion.head, commit) => {}
            Ran::Continued(measured) | Ran::Measured { measured, .. } => return Ok(measured),
            Ran::Nothing { .. } => {
                return Err(Error::usage(
                    format!("the history has no commit {commit} any more"),
                    "`faultline history commits` lists them; `pick` and `branch` in faultline.toml say which there are",
                ));
            }
        }
    }
}

fn has_measured(head: &RunHead, commit: &str) -> bool {
    head.settings.history().is_some_and(|history| {
        let mut wanted = history.wanted.iter().filter_map(|&position| history.line.commits.get(position as usize));
        wanted.any(|one| one.id == commit)
    })
}

/// Searches the commits of a change.
fn search(place: &ChangePlace, over: &Over<'_>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let found = over.series(&StepSettings::default(), lab.places)?;
    let series = found.ok().flatten().ok_or_else(no_such_step)?;
    let step = series.step_meant(place).and_then(|number| series.steps.steps.get(number)).ok_or_else(no_such_step)?;
    let change = NamedChange { series: series.name(), place: place_of(&series, step)? };
    if let Some(begun) = open_search(&change, lab.places)? {
        let request = ResumeRequest { run: Some(begun), limit_ms: over.subject.limit_ms, jobs: None };
        return crate::resume(&request, lab);
    }
    let wanted = Wanted { layouts: over.subject.layouts, ..SEARCH };
    drill(&Drilled { over: *over, series: &series, step, wanted, revert: false }, lab)
}

fn no_such_step() -> Error {
    Error::usage("the history does not have this step any more", "`faultline history changes` lists the steps")
}
