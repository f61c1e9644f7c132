//! `faultline history`: subjects of `faultline.toml` over the commits of their repositories.

pub(super) mod steps;
mod work;

use super::measuring::{self, places, places_to_measure};
use super::result::no_page;
use crate::arguments::compare::Steps;
use crate::arguments::history::{Changes, Commits, Config, History, Init, Run, Show, Subjects};
use crate::arguments::{Conduct, Global};
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::{Error, Lab, Notice, Places};
use faultline_history::declared::{Declared, HistorySubject};
use faultline_history::history_run::{Ran, run as measure};
use faultline_history::over::{Asked, Over};
use faultline_history::{Commits as Line, explain, source};
use faultline_record::commit::short_name;
use faultline_record::plan::WhenInconclusive;
use faultline_stats::changes::SeriesError;
use faultline_stats::gate::Gate;
use faultline_stats::history::{HistorySeries, HistoryStep, StepSettings};
use std::process::ExitCode;
use steps::notify;

pub(crate) fn history(arguments: &History, global: &Global) -> Result<ExitCode, Failure> {
    match arguments {
        History::Init(arguments) => init(arguments),
        History::Run(arguments) => run(arguments, global),
        History::Show(arguments) => show(arguments, global),
        History::Commits(arguments) => commits(arguments, global),
        History::Changes(arguments) => changes(arguments, global),
        History::Mark(arguments) => steps::mark(arguments, global),
        History::Work(arguments) => work::work(arguments, global),
    }
}

/// Writes the example.
fn init(arguments: &Init) -> Result<ExitCode, Failure> {
    faultline_history::declared::write_example(&arguments.file)?;
    failure::warn(&format!("{}: an example; `faultline history commits` checks it", arguments.file.display()));
    Ok(ExitCode::SUCCESS)
}

/// The file's subjects. Fails if it cannot be read or is invalid.
pub(super) fn declared(config: &Config) -> Result<Declared, Failure> {
    Ok(Declared::read(config.config.as_deref())?)
}

/// The file's subjects, to build and execute them. Fails like [`declared`], or without the user's
/// consent.
pub(super) fn trusted(config: &Config, places: &Places) -> Result<Declared, Failure> {
    let declared = declared(config)?;
    declared.check(&places.consent)?;
    Ok(declared)
}

/// A subject with the command's time limit, if the command has one.
pub(super) fn limited(subject: &HistorySubject, conduct: &Conduct) -> HistorySubject {
    let mut subject = subject.clone();
    subject.line.limit_ms = conduct.limit_ms().or(subject.line.limit_ms);
    subject
}

/// The chosen subjects of a file. Fails for an unknown name.
fn chosen<'a>(declared: &'a Declared, subjects: &Subjects) -> Result<Vec<&'a HistorySubject>, Failure> {
    Ok(declared.chosen(&subjects.subjects)?)
}

pub(super) fn settings(steps: &Steps) -> StepSettings {
    StepSettings { false_alarms: steps.false_alarms, least_change: steps.min_change }
}

/// The saved series of subjects. Fails if there are none, if the settings of steps are out of
/// range, or if the database cannot be read.
fn stored(subjects: &[&HistorySubject], steps: &Steps, places: &Places) -> Result<Vec<HistorySeries>, Failure> {
    let mut all = Vec::new();
    for over in subjects.iter().flat_map(|subject| Over::all(subject)) {
        all.extend(series(&over, steps, places)?);
    }
    match all.is_empty() {
        true => Err(Failure::new("these subjects have no results yet", "`faultline history run` measures them")),
        false => Ok(all),
    }
}

/// The saved series of subjects without the newest run of each. Fails if the settings of steps are
/// out of range, or if the database cannot be read.
fn earlier(subjects: &[&HistorySubject], steps: &Steps, places: &Places) -> Result<Vec<HistorySeries>, Failure> {
    let mut all = Vec::new();
    for over in subjects.iter().flat_map(|subject| Over::all(subject)) {
        all.extend(over.earlier_series(&settings(steps), places)?.map_err(out_of_range)?);
    }
    Ok(all)
}

/// One saved series; `None` if it has no results. Fails like [`earlier`].
fn series(over: &Over<'_>, steps: &Steps, places: &Places) -> Result<Option<HistorySeries>, Failure> {
    over.series(&settings(steps), places)?.map_err(out_of_range)
}

fn out_of_range(error: SeriesError) -> Failure {
    Failure::usage(error.to_string(), "for example `--false-alarms 5% --min-change 2%`")
}

fn run(arguments: &Run, global: &Global) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    if conduct.output.is_some() {
        return Err(no_page("a history of commits"));
    }
    let places = Places { sandboxing: arguments.sandbox.choice(), ..places_to_measure(conduct, global)? };
    let declared = trusted(&arguments.subjects.config, &places)?;
    let chosen = chosen(&declared, &arguments.subjects)?;
    let subjects: Vec<HistorySubject> = chosen.iter().map(|subject| limited(subject, conduct)).collect();
    measuring::with_lab(conduct, &places, |lab| {
        for subject in &subjects {
            let commits = source::commits_of(&subject.line, lab)?;
            for over in Over::all(subject) {
                if !run_series(&over, arguments, commits.as_ref(), lab)? {
                    return Ok(failure::stopped());
                }
                explain::save_steps(&over, commits.as_ref(), lab)?;
                notify(&declared, &over, &StepSettings::default(), lab)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Measures one series and shows its results; with adaptive selection, until no commit remains.
/// Then measures, once, the commits around a suspected change. Returns false if it was stopped.
fn run_series(over: &Over<'_>, arguments: &Run, commits: &dyn Line, lab: &mut Lab<'_>) -> Result<bool, Failure> {
    let (mut retry, mut measured_before) = (arguments.retry, 0);
    loop {
        let ran: Result<Ran, Error> = measure(over, Asked::Missing { retry, measured: measured_before }, commits, lab);
        match ran? {
            Ran::Nothing { picked } => {
                if measured_before == 0 {
                    let (name, tasks) = (&over.subject.name, over.measure.tasks());
                    failure::warn(&format!("{name} at {tasks}: all {picked} selected commits have results"));
                }
                return Ok(true);
            }
            Ran::Continued(measured) => {
                if measuring::conclude(measured, &arguments.conduct)?.is_none() {
                    return Ok(false);
                }
            }
            Ran::Measured { measured, new } => {
                if measuring::conclude(measured, &arguments.conduct)?.is_none() {
                    return Ok(false);
                }
                if !over.subject.which.is_adaptive() || new == 0 {
                    return follow_suspicion(over, arguments, commits, lab);
                }
                retry = false;
                measured_before += new;
            }
        }
    }
}

/// Measures the commits around a change at the newest commits that is only suspected. Returns false
/// if it was stopped.
fn follow_suspicion(over: &Over<'_>, arguments: &Run, commits: &dyn Line, lab: &mut Lab<'_>) -> Result<bool, Failure> {
    let suspected = over.suspected(commits, lab)?;
    if suspected.is_empty() {
        return Ok(true);
    }
    lab.observer.notice(&Notice::StepSuspected { commits: suspected.len() });
    match measure(over, Asked::These { commits: &suspected }, commits, lab)? {
        Ran::Nothing { .. } => Ok(true),
        Ran::Continued(measured) | Ran::Measured { measured, .. } => {
            Ok(measuring::conclude(measured, &arguments.conduct)?.is_some())
        }
    }
}

fn show(arguments: &Show, global: &Global) -> Result<ExitCode, Failure> {
    let declared = declared(&arguments.subjects.config)?;
    let subjects = chosen(&declared, &arguments.subjects)?;
    let all = stored(&subjects, &arguments.steps, &places(global)?)?;
    output::print(&faultline_report::history(&all, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

fn commits(arguments: &Commits, global: &Global) -> Result<ExitCode, Failure> {
    let places = places(global)?;
    let declared = declared(&arguments.subjects.config)?.to_look_at(&places.consent);
    let subjects = chosen(&declared, &arguments.subjects)?;
    measuring::looking(&places, |lab| {
        let mut all = Vec::new();
        for subject in subjects {
            let commits = source::commits_of(&subject.line, lab)?;
            for over in Over::all(subject) {
                all.extend(over.planned(commits.as_ref(), arguments.retry, lab)?);
            }
        }
        output::print(&faultline_report::history_commits(&all, arguments.format.format, &output::style()))?;
        Ok(ExitCode::SUCCESS)
    })
}

fn changes(arguments: &Changes, global: &Global) -> Result<ExitCode, Failure> {
    let places = places(global)?;
    let declared = declared(&arguments.subjects.config)?.to_look_at(&places.consent);
    let subjects = chosen(&declared, &arguments.subjects)?;
    let mut all = stored(&subjects, &arguments.steps, &places)?;
    let since = measuring::looking(&places, |lab| {
        for series in all.iter_mut().filter(|series| !series.steps.steps.is_empty()) {
            let Some(subject) = subjects.iter().find(|subject| subject.name == series.subject) else { continue };
            if let Err(error) = explain::explain_series(series, subject, lab) {
                failure::warn(&format!("without the changes between commits: {}", error.problem));
            }
        }
        let position = |series| match &arguments.since {
            Some(since) => since_position(series, since, &subjects, lab).map(Some),
            None => Ok(None),
        };
        all.iter().map(position).collect::<Result<Vec<_>, _>>()
    })?;
    output::print(&faultline_report::history_changes(&all, arguments.format.format, &output::style()))?;
    match arguments.gate.when_inconclusive() {
        Some(when_inconclusive) => gate(when_inconclusive, (&all, &since), &subjects, (arguments, &places)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The exit status of the gate, with its reasons on standard error. `since`: the position in each
/// series after which a step is new; `None` if the newest run decides.
fn gate(
    when_inconclusive: WhenInconclusive,
    (all, since): (&[HistorySeries], &[Option<u32>]),
    subjects: &[&HistorySubject],
    (arguments, places): (&Changes, &Places),
) -> Result<ExitCode, Failure> {
    let earlier = earlier(subjects, &arguments.steps, places)?;
    let is_known = |series: &HistorySeries, step: &HistoryStep| {
        let is_of_it = |old: &&HistorySeries| (&old.subject, old.tasks) == (&series.subject, series.tasks);
        earlier.iter().filter(is_of_it).any(|old| old.shows(series, step))
    };
    let of_series = |series: &HistorySeries| all.iter().position(|one| std::ptr::eq(one, series));
    let is_new = |series: &HistorySeries, step: &HistoryStep| match of_series(series).and_then(|at| since[at]) {
        Some(position) => step.by > position,
        None => !is_known(series, step),
    };
    let gate = Gate::of_histories(all, is_new, when_inconclusive);
    failure::warn(&faultline_report::history_gate(&gate, &output::style()).trim_end());
    Ok(if gate.is_open() { ExitCode::SUCCESS } else { failure::some_failed() })
}

/// The position in a series of a commit, or of its nearest measured ancestor. Fails if there is
/// neither.
fn since_position(
    series: &HistorySeries,
    since: &str,
    subjects: &[&HistorySubject],
    lab: &Lab<'_>,
) -> Result<u32, Failure> {
    if let Some(position) = position(series, since) {
        return Ok(position);
    }
    let subject = subjects.iter().find(|subject| subject.name == series.subject);
    let ancestors = match subject {
        Some(subject) => source::ancestors(&subject.line, &subject.which, since, lab)?,
        None => Vec::new(),
    };
    let found = ancestors.iter().find_map(|ancestor| Some((ancestor, position(series, ancestor)?)));
    let Some((ancestor, position)) = found else {
        let problem = match ancestors.as_slice() {
            [] => format!("{} has no commit or release {since}", series.subject),
            _ => format!("{} has measured neither {since} nor an ancestor of it", series.subject),
        };
        return Err(Failure::usage(problem, "`faultline history show` lists the measured commits"));
    };
    let (subject, near) = (&series.subject, short_name(ancestor));
    failure::warn(&format!(
        "{subject}: {since} is not measured; new is what follows {near}, its nearest measured ancestor"
    ));
    Ok(position)
}

/// The position of the only commit with this name.
fn position(series: &HistorySeries, name: &str) -> Option<u32> {
    let mut found = (0..).zip(&series.points).filter(|(_, point)| point.commit.is_called(name));
    let (position, _) = found.next()?;
    found.next().is_none().then_some(position)
}
