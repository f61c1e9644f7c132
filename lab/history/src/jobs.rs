//! Jobs: work on a history that a reader asked for on the pages. The machine that measures the
//! history does it.

use crate::bisect::{StepSearch, bisect_step};
use crate::commits::Commits;
use crate::declared::HistorySubject;
use crate::history_run::{Ran, run};
use crate::over::{Asked, Over};
use crate::request::Wanted;
use crate::source;
use faultline_experiment::jobs::open_search;
use faultline_experiment::{Error, Lab, Measured, ResumeRequest, place_of};
use faultline_record::job::{Job, JobWork};
use faultline_record::named_change::{ChangePlace, NamedChange};
use faultline_record::record::RunHead;
use faultline_stats::history::{StepSettings, conditions};

/// Settings of a job's search: the defaults of `faultline bisect SUBJECT`.
const SEARCH: Wanted = Wanted { level: 0.95, least: 0.02, thorough: false, layouts: 0 };

/// The declared series of a job, measured as declared now; `None` if another machine measures it,
/// or if it is not declared. Fails if a repository, a tool or a machine is missing.
pub fn meant<'a>(job: &Job, subjects: &[&'a HistorySubject], lab: &mut Lab<'_>) -> Result<Option<Over<'a>>, Error> {
    for over in subjects.iter().flat_map(|subject| Over::all(subject)) {
        let is_named = over.subject.name == job.series.subject
            && over.measure.tasks() == job.series.tasks
            && over.measure.quantity() == job.series.quantity;
        if !is_named {
            continue;
        }
        let commits = source::commits_of(&over.subject.line, lab)?;
        let now = over.now(commits.as_ref(), lab)?;
        let is_it = now.settings.history().is_some_and(|history| {
            history.repository == job.series.repository && conditions(&now.settings, history) == job.series.conditions
        });
        if is_it {
            return Ok(Some(over));
        }
    }
    Ok(None)
}

/// Does a job. Continues the run of a worker that is gone. Fails if the history no longer has the
/// job's commit or change, and like the commands for the same work.
pub fn work(job: &Job, over: &Over<'_>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    match &job.work {
        JobWork::Measure { commit } => {
            let commits = source::commits_of(&over.subject.line, lab)?;
            measure_again(commit, over, commits.as_ref(), lab)
        }
        JobWork::Bisect { place } => search(place, over, lab),
    }
}

/// Measures a commit again. A continued run that measures it counts.
fn measure_again(commit: &str, over: &Over<'_>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    loop {
        match run(over, Asked::These { commits: &[commit.to_owned()] }, commits, lab)? {
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
        let request = ResumeRequest { run: Some(begun), limit_ms: over.subject.line.limit_ms, jobs: None };
        return crate::resume(&request, lab);
    }
    let wanted = Wanted { layouts: over.subject.layouts, ..SEARCH };
    let search =
        StepSearch { over: *over, series: &series, step, wanted, time: None, revert: false, gate: None, label: None };
    bisect_step(&search, lab)
}

fn no_such_step() -> Error {
    Error::usage("the history does not have this step any more", "`faultline history changes` lists the steps")
}
