//! `faultline history work`: jobs that readers of the pages requested.

use super::steps::notify;
use super::{chosen, limited, trusted};
use crate::arguments::Global;
use crate::arguments::history::Work;
use crate::commands::measuring::{self, places_to_measure};
use crate::commands::result::no_page;
use crate::failure::{self, Failure};
use faultline_experiment::jobs::Worker;
use faultline_experiment::{Error, Lab, Measured, Places};
use faultline_history::declared::{Declared, HistorySubject};
use faultline_history::jobs::{meant, work as measure};
use faultline_history::over::Over;
use faultline_history::{explain, source};
use faultline_record::commit::short_name;
use faultline_record::job::{Job, JobWork};
use faultline_record::record::RunId;
use faultline_report::escape::one_line;
use faultline_stats::history::StepSettings;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval at which a waiting worker looks for jobs.
const LOOK: Duration = Duration::from_secs(5);
/// Interval at which it checks for a stop request.
const STOP_CHECK: Duration = Duration::from_millis(100);

pub(crate) fn work(arguments: &Work, global: &Global) -> Result<ExitCode, Failure> {
    if arguments.conduct.output.is_some() {
        return Err(no_page("a history of commits"));
    }
    let places = Places { sandboxing: arguments.sandbox.choice(), ..places_to_measure(&arguments.conduct, global)? };
    let declared = trusted(&arguments.subjects.config, &places)?;
    let chosen = chosen(&declared, &arguments.subjects)?;
    let subjects: Vec<HistorySubject> = chosen.iter().map(|subject| limited(subject, &arguments.conduct)).collect();
    measuring::with_lab(&arguments.conduct, &places, |lab| {
        let worker = Worker::begin(lab.clock.now(), lab.places)?;
        AtWork { worker, declared: &declared, subjects: subjects.iter().collect(), arguments, failed: false }.run(lab)
    })
}

/// A worker with its subjects.
struct AtWork<'a> {
    worker: Worker,
    declared: &'a Declared,
    subjects: Vec<&'a HistorySubject>,
    arguments: &'a Work,
    /// True after a failed job.
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

    /// Takes the oldest job for these subjects; `None` if there is none, or if a waiting worker
    /// must let a run end first.
    fn take(&mut self, lab: &mut Lab<'_>) -> Result<Option<(Job, Over<'a>)>, Failure> {
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

    /// Does a job. Returns false if it was stopped; the job then waits again.
    fn one(&mut self, job: &Job, over: &Over<'_>, lab: &mut Lab<'_>) -> Result<bool, Failure> {
        failure::warn(&description(job));
        let measured = measure(job, over, lab);
        if lab.stop.is_set() {
            self.worker.put_back(lab.clock.now())?;
            if let Ok(measured) = measured {
                measuring::conclude(measured, &self.arguments.conduct)?;
            }
            return Ok(false);
        }
        self.worker.end(job, run_of(&measured), lab.clock.now())?;
        match measured {
            Ok(measured) => {
                measuring::conclude(measured, &self.arguments.conduct)?;
                explain::save_steps(over, source::commits_of(&over.subject.line, lab)?.as_ref(), lab)?;
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

/// The run of a job, or the error.
fn run_of(measured: &Result<Measured, Error>) -> Result<RunId, &Error> {
    measured.as_ref().map(|measured| match measured {
        Measured::Concluded(conclusion) => conclusion.run(),
        Measured::Stopped { run } => *run,
    })
}

/// Waits until the next look for jobs. Returns false for a stop request.
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

/// The job in one line. Names come from other people, so control characters are removed.
fn description(job: &Job) -> String {
    let what = match &job.work {
        JobWork::Measure { commit } => format!("measure commit {} again", short_name(commit)),
        JobWork::Bisect { place } => {
            format!("search the commits {} … {}", short_name(&place.earliest), short_name(&place.latest))
        }
    };
    format!("job {} of {} for {}: {what}", job.id, one_line(&job.series.subject), one_line(&job.asked_by))
}
