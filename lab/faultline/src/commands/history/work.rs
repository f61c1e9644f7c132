//! `faultline history work`

use super::notify::notify;
use super::{chosen, declared};
use crate::arguments::history::Work;
use crate::commands::{measuring, present};
use crate::failure::{self, Failure};
use crate::places;
use faultline_experiment::jobs::Worker;
use faultline_experiment::{Error, Lab, Measured};
use faultline_history::declared::{Declared, HistorySubject};
use faultline_history::explain;
use faultline_history::jobs::{meant, work as measure};
use faultline_history::over::Over;
use faultline_history::source;
use faultline_model::commit::short_name;
use faultline_model::job::{Job, JobWork};
use faultline_model::record::RunId;
use faultline_report::one_line::one_line;
use faultline_stats::history::StepSettings;
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a worker that waits looks for jobs.
const LOOK: Duration = Duration::from_secs(5);
/// How often it looks whether it is to stop.
const STOP_CHECK: Duration = Duration::from_millis(100);

pub(crate) fn work(arguments: &Work, db: Option<&Path>) -> Result<ExitCode, Failure> {
    if arguments.conduct.output.is_some() {
        return Err(present::no_page_of_commits());
    }
    let declared = declared(&arguments.subjects.config)?;
    let limit_ms = arguments.conduct.limit_ms();
    let subjects: Vec<HistorySubject> = chosen(&declared, &arguments.subjects)?
        .into_iter()
        .map(|subject| HistorySubject { limit_ms: limit_ms.or(subject.limit_ms), ..subject.clone() })
        .collect();
    let places = places::for_measuring(&arguments.conduct, db)?;
    measuring::with_lab(&arguments.conduct, &places, |lab| {
        let worker = Worker::begin(lab.clock.now(), lab.places)?;
        AtWork { worker, declared: &declared, subjects: subjects.iter().collect(), arguments, failed: false }.run(lab)
    })
}

/// A worker with what it can do.
struct AtWork<'a> {
    worker: Worker,
    declared: &'a Declared,
    subjects: Vec<&'a HistorySubject>,
    arguments: &'a Work,
    /// Whether a job failed.
    failed: bool,
}

impl<'a> AtWork<'a> {
    fn run(mut self, lab: &mut Lab<'_>) -> Result<ExitCode, Failure> {
        loop {
            match self.take(lab)? {
                Some((job, over)) => {
                    if !self.one(&job, &over, lab)? {
                        return Ok(failure::stopped());
                    }
                }
                None if self.arguments.wait => {
                    if !waited(lab) {
                        return Ok(failure::stopped());
                    }
                }
                None => return Ok(if self.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }),
            }
        }
    }

    /// The oldest job that is ours; `None` if there is none, or if a worker that waits has to let a run end first.
    fn take(&mut self, lab: &Lab<'_>) -> Result<Option<(Job, Over<'a>)>, Failure> {
        match self.worker.check_idle(lab.places) {
            Err(_) if self.arguments.wait => return Ok(None),
            idle => idle?,
        }
        let mut found = None;
        let subjects = &self.subjects;
        let job = self.worker.take(lab.clock.now(), |job| {
            found = meant(job, subjects, lab)?;
            Ok(found.is_some())
        })?;
        Ok(job.zip(found))
    }

    /// Does a job. False if it was stopped; then it waits again.
    fn one(&mut self, job: &Job, over: &Over<'_>, lab: &mut Lab<'_>) -> Result<bool, Failure> {
        failure::warn(&words(job));
        let measured = measure(job, over, lab);
        if lab.stop.is_set() {
            self.worker.put_back(lab.clock.now())?;
            if let Ok(measured) = measured {
                measuring::told(measured, &self.arguments.conduct)?;
            }
            return Ok(false);
        }
        self.worker.end(job, run_of(&measured), lab.clock.now())?;
        match measured {
            Ok(measured) => {
                measuring::told(measured, &self.arguments.conduct)?;
                explain::steps::save(over, source::of_subject(over.subject, lab)?.as_ref(), lab)?;
                notify(self.declared, over, &StepSettings::default(), lab)?;
            }
            Err(error) => {
                self.failed = true;
                failure::warn(&format!("job {} failed: {}", job.id, error.problem));
            }
        }
        Ok(true)
    }
}

/// The run that did a job, or why it failed.
fn run_of(measured: &Result<Measured, Error>) -> Result<RunId, &Error> {
    measured.as_ref().map(|measured| match measured {
        Measured::Concluded(conclusion) => conclusion.run(),
        Measured::Stopped { run } => *run,
    })
}

/// Waits until it is time to look for jobs again; false if it is to stop.
fn waited(lab: &Lab<'_>) -> bool {
    let until = Instant::now() + LOOK;
    while Instant::now() < until {
        if lab.stop.is_set() {
            return false;
        }
        sleep(STOP_CHECK);
    }
    true
}

/// What a job is, for people. Names come from outside.
fn words(job: &Job) -> String {
    let what = match &job.work {
        JobWork::Measure { commit } => format!("measures commit {} again", short_name(commit)),
        JobWork::Drill { place } => {
            format!("searches the commits {} … {}", short_name(&place.earliest), short_name(&place.latest))
        }
    };
    format!("job {} of {} for {}: {what}", job.id, one_line(&job.series.subject), one_line(&job.asked_by))
}
