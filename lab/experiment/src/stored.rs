//! The contents of the database: runs with their conclusions, executions, imports, and marks of the
//! changes of a history.

use crate::conclusion::{Concluded, Conclusion};
use crate::database;
use crate::database::find_run;
use crate::error::{Error, ErrorKind};
use crate::places::Places;
use faultline_record::change_event::{ChangeEvent, ChangeState, PlacedEvent, Source};
use faultline_record::dataset::ImportedLine;
use faultline_record::execution::{ExecutionLine, SampleRange, Samples};
use faultline_record::explained::StepExplained;
use faultline_record::facts::{Facts, SessionFacts};
use faultline_record::journal::AttemptId;
use faultline_record::named_change::{ChangePlace, SeriesName};
use faultline_record::outcome::Outcome;
use faultline_record::plan::KindOfRun;
use faultline_record::record::{RunHead, RunId, RunLine, RunProgress, RunRecord, RunState};
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_stats::history::{HistoryResults, HistorySeries, HistoryStep, describe, mark_of_search};
use faultline_stats::summary::RunSummary;
use faultline_store::Store;
use std::collections::BTreeMap;

/// The conclusion of a run; of the newest one if `None`. Fails if the run does not exist, if it
/// cannot be concluded, or if the database cannot be read.
pub fn conclusion(run: Option<RunId>, places: &Places) -> Result<Conclusion, Error> {
    let mut store = database::existing(places)?;
    let run = match run {
        Some(run) => run,
        None => newest(&store)?,
    };
    Conclusion::of(&mut store, run)
}

/// The figures of a run; of a comparison, those of both sides. Fails if the run does not exist, or
/// if the database cannot be read.
pub fn figures(run: RunId, places: &Places) -> Result<RunSummary, Error> {
    let mut store = database::existing(places)?;
    if store.load_head(run)?.settings.comparison().is_none()
        && let Concluded::Figures(summary) = Conclusion::of(&mut store, run)?.what
    {
        return Ok(*summary);
    }
    Ok(faultline_stats::summarise(&store.load_run(run)?))
}

/// A saved run. Fails if it does not exist, or if the database cannot be read.
pub fn load(run: RunId, places: &Places) -> Result<RunRecord, Error> {
    Ok(database::existing(places)?.load_run(run)?)
}

/// The facts about a subject's machine when a run began.
#[derive(Debug)]
pub struct SubjectFacts {
    /// The run.
    pub run: RunId,
    /// The facts.
    pub facts: Facts,
    /// Other subjects with different facts, if the request named no subject.
    pub others: Vec<SubjectIndex>,
}

/// The facts of a run, named by number, label or commit: of the subject after an `@` (`12@b`),
/// otherwise of the first. Fails if the run or subject does not exist, or if the database cannot be
/// read.
pub fn facts(name: &str, places: &Places) -> Result<SubjectFacts, Error> {
    let of_subject = name.rsplit_once('@').and_then(|(run, letter)| Some((run, SubjectIndex::from_letter(letter)?)));
    let (run, asked) = match (find_run(name, places), of_subject) {
        (Err(_), Some((run, subject))) => (find_run(run, places)?, Some(subject)),
        (run, _) => (run?, None),
    };
    let head = database::existing(places)?.load_head(run)?;
    let subject = asked.unwrap_or(SubjectIndex::A);
    if subject.at() >= head.subjects.len() {
        let hint = match head.subjects.len() {
            0 | 1 => format!("its only subject is {}", SubjectIndex::A),
            count => format!("its subjects are {} to {}", SubjectIndex::A, SubjectIndex(count as u32 - 1)),
        };
        return Err(Error::usage(format!("run {run} has no subject {subject}"), hint));
    }
    let session = head.sessions.first();
    let of = |subject: SubjectIndex| session.and_then(|session| session.facts_of(subject));
    let facts = of(subject).cloned().unwrap_or_default();
    let all = (0..head.subjects.len() as u32).map(SubjectIndex);
    let differs = |other: &SubjectIndex| of(*other).is_some_and(|other| *other != facts);
    let others = if asked.is_some() { Vec::new() } else { all.filter(differs).collect() };
    Ok(SubjectFacts { run, facts, others })
}

/// A run that measured commits of a history.
#[derive(Debug)]
pub struct StoredHistory {
    /// The run.
    pub head: RunHead,
    /// Its results, of an unfinished run those so far.
    pub results: HistoryResults,
}

impl StoredHistory {
    /// The directory of the build of a commit; `None` if the run did not build it.
    pub fn build_of(&self, commit: &str) -> Option<&str> {
        let is_it = |subject: &&Subject| subject.commit.as_ref().is_some_and(|own| own.id == commit);
        self.head.subjects.iter().find(is_it)?.setup.directory.as_deref()
    }
}

/// The runs that measured a subject of a history with this number of tasks, newest first; none
/// without a database. `repository`: its saved directory. Fails if the database cannot be read.
pub fn histories(subject: &str, repository: &str, tasks: u32, places: &Places) -> Result<Vec<StoredHistory>, Error> {
    let Some(mut store) = database::if_there(places)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for run in store.runs_of_history(subject, repository)? {
        let conclusion = Conclusion::of(&mut store, run)?;
        if let Concluded::History(results) = conclusion.what
            && conclusion.head.settings.cpus == [tasks]
        {
            found.push(StoredHistory { head: conclusion.head, results: *results });
        }
    }
    Ok(found)
}

/// States of changes of a series, set by people and searches; none without a database. Fails if the
/// database cannot be read.
pub fn marks_of_changes(series: &HistorySeries, places: &Places) -> Result<Vec<PlacedEvent>, Error> {
    let Some(mut store) = database::if_there(places)? else { return Ok(Vec::new()) };
    marks(&mut store, series)
}

/// As [`marks_of_changes`], for several series. Fails without a database, or if it cannot be read.
pub fn marks_of_all(all: &[&HistorySeries], places: &Places) -> Result<Vec<Vec<PlacedEvent>>, Error> {
    let mut store = database::existing(places)?;
    all.iter().map(|series| marks(&mut store, series)).collect()
}

/// A number that grows with each mark of a change. Fails without a database, or if it cannot be
/// read.
pub fn newest_mark(places: &Places) -> Result<i64, Error> {
    Ok(database::existing(places)?.newest_change_event()?)
}

fn marks(store: &mut Store, series: &HistorySeries) -> Result<Vec<PlacedEvent>, Error> {
    let name = series.name();
    let mut said = store.change_events(&name)?;
    for run in store.searches_of_history(&name)? {
        let conclusion = Conclusion::of(store, run)?;
        let Concluded::Bisect(found) = &conclusion.what else { continue };
        said.extend(mark_of_search(&conclusion.head, found, series));
    }
    Ok(said)
}

/// Saves a person's mark of a change of a series. Fails without a database, or if it cannot be
/// written.
pub fn say_of_change(series: &SeriesName, said: &PlacedEvent, places: &Places) -> Result<(), Error> {
    Ok(Store::open_existing(places.database()?)?.save_change_event(series, said)?)
}

/// The changes of a series with a sent notice; none without a database. Fails if the database
/// cannot be read.
pub fn notified(series: &SeriesName, places: &Places) -> Result<Vec<ChangePlace>, Error> {
    let Some(store) = database::if_there(places)? else { return Ok(Vec::new()) };
    Ok(store.notified(series)?)
}

/// Saves that a notice of a change was sent. Fails without a database, or if it cannot be written.
pub fn save_notified(series: &SeriesName, change: &ChangePlace, places: &Places) -> Result<(), Error> {
    Ok(Store::open_existing(places.database()?)?.save_notified(series, change)?)
}

/// The explanations saved with a run; positions are those of its line of commits. Fails if the
/// database cannot be read.
pub fn explained(run: RunId, places: &Places) -> Result<Vec<StepExplained>, Error> {
    Ok(database::existing(places)?.explained(run)?)
}

/// Replaces the explanations of a run. Fails without a database, or if it cannot be written.
pub fn save_explained(run: RunId, explained: &[StepExplained], places: &Places) -> Result<(), Error> {
    Ok(Store::open_existing(places.database()?)?.save_explained(run, explained)?)
}

/// The settings, line of commits, subjects and sessions of a run. Fails if it does not exist, or if
/// the database cannot be read.
pub fn head(run: RunId, places: &Places) -> Result<RunHead, Error> {
    Ok(database::existing(places)?.load_head(run)?)
}

/// One line for each run, newest first. Fails if the database cannot be read.
pub fn runs(places: &Places) -> Result<Vec<RunLine>, Error> {
    Ok(database::existing(places)?.list_runs()?)
}

/// As [`runs`], with subject and state of each run of a history. `before`: lines of an earlier
/// call; those of finished runs are kept. `progress`: of the runs of histories. Fails if the
/// database cannot be read.
pub fn described_runs(before: &[RunLine], progress: &[RunProgress], places: &Places) -> Result<Vec<RunLine>, Error> {
    let store = database::existing(places)?;
    let is_finished = |line: &&RunLine| line.state == RunState::Finished && line.history.is_some();
    let known: BTreeMap<RunId, &RunLine> = before.iter().filter(is_finished).map(|line| (line.id, line)).collect();
    let progress: BTreeMap<RunId, &RunProgress> = progress.iter().map(|progress| (progress.id, progress)).collect();
    let mut lines = store.list_runs()?;
    for line in lines.iter_mut().filter(|line| line.kind == KindOfRun::History) {
        match known.get(&line.id) {
            Some(known) => line.history = known.history.clone(),
            None => match store.load_settings(line.id).map_err(Error::from) {
                Ok(settings) => describe(line, &settings, progress.get(&line.id).copied()),
                // A run that was deleted meanwhile stays in the list.
                Err(error) if matches!(error.kind, ErrorKind::Usage | ErrorKind::Unanswerable) => {}
                Err(error) => return Err(error),
            },
        }
    }
    Ok(lines)
}

/// The facts of the newest sessions, newest first, at most `most`. Fails if the database cannot be
/// read.
pub fn newest_facts(most: u32, places: &Places) -> Result<Vec<SessionFacts>, Error> {
    Ok(database::existing(places)?.newest_facts(most)?)
}

/// The progress of each run of a history, newest first. Fails if the database cannot be read.
pub fn progress_of_histories(places: &Places) -> Result<Vec<RunProgress>, Error> {
    Ok(database::existing(places)?.progress_of(KindOfRun::History)?)
}

/// A line for each import. Fails if the database cannot be read.
pub fn imports(places: &Places) -> Result<Vec<ImportedLine>, Error> {
    Ok(database::existing(places)?.list_datasets()?)
}

fn newest(store: &Store) -> Result<RunId, Error> {
    store
        .newest_run()?
        .ok_or_else(|| Error::usage(format!("there is no run in {} yet", store.name()), "`faultline run` makes one"))
}

/// The executions of an open database.
pub struct StoredExecutions(Store);

impl StoredExecutions {
    /// Opens the database. Fails if it does not exist, or if it cannot be read.
    pub fn open(places: &Places) -> Result<Self, Error> {
        Ok(StoredExecutions(database::existing(places)?))
    }

    /// At most `most` executions of a run or of one of its subjects, in the order of their begin:
    /// those after `after`, or the first ones. Fails if the run does not exist, or if the database
    /// cannot be read.
    pub fn lines(
        &self,
        run: RunId,
        after: Option<AttemptId>,
        subject: Option<SubjectIndex>,
        most: u32,
    ) -> Result<Vec<ExecutionLine>, Error> {
        let lines = self.0.list_executions(run, after, subject, most)?;
        if lines.is_empty() {
            self.0.load_head(run)?;
        }
        Ok(lines)
    }

    /// One execution. Fails if the run does not have it, or if the database cannot be read.
    pub fn line(&self, run: RunId, execution: AttemptId) -> Result<ExecutionLine, Error> {
        let before = AttemptId(execution.0.saturating_sub(1));
        let found = self.lines(run, Some(before), None, 1)?;
        found.into_iter().find(|line| line.id == execution).ok_or_else(|| missing(run, execution))
    }

    /// The last console output of the machine that was booted for an execution; `None` without a
    /// machine or output. Fails if the database cannot be read.
    pub fn console(&self, run: RunId, line: &ExecutionLine) -> Result<Option<String>, Error> {
        if let Some(Outcome::GuestFailed { console, .. }) = &line.outcome {
            return Ok(Some(console.clone()).filter(|text| !text.is_empty()));
        }
        Ok(self.0.load_console(run, line.id)?)
    }

    /// A range of the samples of an execution. Fails if the run does not have it, or if the
    /// database cannot be read.
    pub fn samples(&self, run: RunId, execution: AttemptId, range: &SampleRange) -> Result<Samples, Error> {
        self.0.load_samples(run, execution, range)?.ok_or_else(|| missing(run, execution))
    }
}

fn missing(run: RunId, execution: AttemptId) -> Error {
    Error::usage(
        format!("run {run} has no execution {}", execution.0),
        "the list of the run's executions has their numbers",
    )
}

/// A person's mark of a change.
#[derive(Debug, Clone)]
pub struct Mark {
    state: ChangeState,
    person: String,
    reason: Option<String>,
}

impl Mark {
    /// A mark with an optional reason; a text without a letter or digit is no reason. Fails if a
    /// change is ignored without a reason.
    pub fn new(state: ChangeState, person: String, reason: Option<&str>) -> Result<Self, Error> {
        let reason =
            reason.map(str::trim).filter(|reason| reason.chars().any(char::is_alphanumeric)).map(str::to_owned);
        if state == ChangeState::Ignored && reason.is_none() {
            return Err(Error::usage("a change is ignored only for a reason", "say why it does not matter"));
        }
        Ok(Mark { state, person, reason })
    }
}

/// Saves a mark of a step. Fails if the series lacks the step's commits, or if the database cannot
/// be written.
pub fn mark(
    series: &HistorySeries,
    step: &HistoryStep,
    mark: Mark,
    at: UnixMillis,
    places: &Places,
) -> Result<(), Error> {
    let place = place_of(series, step)?;
    let source = Source::Person { name: mark.person };
    let event =
        ChangeEvent { at, source, state: mark.state, is_inconclusive: false, reason: mark.reason, commits: Vec::new() };
    say_of_change(&series.name(), &PlacedEvent { place, event }, places)
}

/// The place of a step, which names it in searches and marks. Fails if the series lacks its
/// commits.
pub fn place_of(series: &HistorySeries, step: &HistoryStep) -> Result<ChangePlace, Error> {
    series.place_of(step).ok_or_else(|| {
        Error::failed("the history does not have the commits of its step", "`faultline history run` measures it again")
    })
}
