//! The contents of the database: runs with their conclusions, and imports.

use crate::conclusion::{Concluded, Conclusion};
use crate::database;
use crate::error::{Error, ErrorKind};
use crate::places::Places;
use crate::run_names::find_run;
use faultline_model::explained::StepExplained;
use faultline_model::facts::Facts;
use faultline_model::history::change::PlacedEvent;
use faultline_model::history::{HistoryResults, HistorySeries};
use faultline_model::imported::ImportedLine;
use faultline_model::machine_facts::SessionFacts;
use faultline_model::named_change::{ChangePlace, SeriesName};
use faultline_model::plan::KindOfRun;
use faultline_model::record::{RunHead, RunId, RunLine, RunProgress, RunRecord, RunState};
use faultline_model::subject::{Subject, SubjectIndex};
use faultline_model::summary::RunSummary;
use faultline_stats::history::{Eras, describe, said_by_search};
use faultline_store::Store;
use std::collections::BTreeMap;

/// A run's conclusion; the newest run's if `None`. Fails if there is no such run, if it cannot be concluded, or if the database cannot be read.
pub fn conclusion(run: Option<RunId>, places: &Places) -> Result<Conclusion, Error> {
    let mut store = database::existing(places)?;
    let run = match run {
        Some(run) => run,
        None => newest(&store)?,
    };
    Conclusion::of(&mut store, run)
}

/// A run's figures; for a comparison, those of both sides together. Fails if there is no such run, or if the database cannot be read.
pub fn figures(run: RunId, places: &Places) -> Result<RunSummary, Error> {
    let mut store = database::existing(places)?;
    if store.load_head(run)?.settings.comparison().is_none()
        && let Concluded::Figures(summary) = Conclusion::of(&mut store, run)?.what
    {
        return Ok(*summary);
    }
    Ok(faultline_stats::summarise(&store.load_run(run)?))
}

/// A saved run. Fails if there is no such run, or if the database cannot be read.
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
    /// Other subjects of which other facts are saved, if none was asked for.
    pub others: Vec<SubjectIndex>,
}

/// The facts saved with a run, named by number, label or commit: those of the subject after an `@` (`12@b`), otherwise of the first. Fails if there is no such
/// run or subject, or if the database cannot be read.
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
    /// Its results; of a run that is not finished, those so far.
    pub results: HistoryResults,
}

impl StoredHistory {
    /// The directory of the build of a commit; `None` if the run did not build it.
    pub fn build_of(&self, commit: &str) -> Option<&str> {
        let is_it = |subject: &&Subject| subject.commit.as_ref().is_some_and(|own| own.id == commit);
        self.head.subjects.iter().find(is_it)?.setup.directory.as_deref()
    }
}

/// The runs that measured a subject of a history with so many tasks, the newest first; none if there is no database. `repository`: the directory, as it is
/// saved. Fails if the database cannot be read.
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

/// What people and searches said of changes of a series; nothing if there is no database. `eras`: of the runs of its subject. What older versions saved
/// without its conditions has those of the run that was the newest at that time. Fails if the database cannot be read.
pub fn said_of_changes(series: &HistorySeries, eras: &Eras, places: &Places) -> Result<Vec<PlacedEvent>, Error> {
    let Some(mut store) = database::if_there(places)? else { return Ok(Vec::new()) };
    said(&mut store, series, eras)
}

/// The same for several series, in their order. Fails if there is no database, or if it cannot be read.
pub fn said_of_all(all: &[(&HistorySeries, &Eras)], places: &Places) -> Result<Vec<Vec<PlacedEvent>>, Error> {
    let mut store = database::existing(places)?;
    all.iter().map(|(series, eras)| said(&mut store, series, eras)).collect()
}

/// A number that grows whenever a person says something of a change. Fails if there is no database, or if it cannot be read.
pub fn newest_said(places: &Places) -> Result<i64, Error> {
    Ok(database::existing(places)?.newest_change_event()?)
}

fn said(store: &mut Store, series: &HistorySeries, eras: &Eras) -> Result<Vec<PlacedEvent>, Error> {
    let name = series.name();
    let mut said = store.change_events(&name)?;
    let mut undescribed = store.change_events(&without_conditions(&name))?;
    for run in store.searches_of_history(&name)? {
        let conclusion = Conclusion::of(store, run)?;
        let Concluded::Drill(found) = &conclusion.what else { continue };
        let of = conclusion.head.settings.drill().and_then(|search| search.of.as_ref());
        let is_described = of.is_some_and(|of| !of.series.conditions.is_empty());
        let said = if is_described { &mut said } else { &mut undescribed };
        said.extend(said_by_search(&conclusion.head, found, series));
    }
    let is_of_it =
        |one: &PlacedEvent| eras.conditions_at(one.event.at).is_none_or(|conditions| conditions == name.conditions);
    said.extend(undescribed.into_iter().filter(is_of_it));
    Ok(said)
}

/// The name by which older versions saved what was said of a series.
fn without_conditions(series: &SeriesName) -> SeriesName {
    SeriesName { conditions: String::new(), ..series.clone() }
}

/// Saves what a person says of a change of a series. Fails if there is no database, or if it cannot be written.
pub fn say_of_change(series: &SeriesName, said: &PlacedEvent, places: &Places) -> Result<(), Error> {
    Ok(Store::open_existing(places.database()?)?.save_change_event(series, said)?)
}

/// The changes of a series of which somebody was notified; none if there is no database. Fails if the database cannot be read.
pub fn notified(series: &SeriesName, places: &Places) -> Result<Vec<ChangePlace>, Error> {
    let Some(store) = database::if_there(places)? else { return Ok(Vec::new()) };
    Ok([store.notified(series)?, store.notified(&without_conditions(series))?].concat())
}

/// Saves that somebody was notified of a change of a series. Fails if there is no database, or if it cannot be written.
pub fn save_notified(series: &SeriesName, change: &ChangePlace, places: &Places) -> Result<(), Error> {
    Ok(Store::open_existing(places.database()?)?.save_notified(series, change)?)
}

/// What was saved of the steps of a run: positions are those of its line of commits. Fails if the database cannot be read.
pub fn explained(run: RunId, places: &Places) -> Result<Vec<StepExplained>, Error> {
    Ok(database::existing(places)?.explained(run)?)
}

/// Saves what is known of the steps of a run, instead of what was saved before. Fails if there is no database, or if it cannot be written.
pub fn save_explained(run: RunId, explained: &[StepExplained], places: &Places) -> Result<(), Error> {
    Ok(Store::open_existing(places.database()?)?.save_explained(run, explained)?)
}

/// The settings of a run, with its line of commits if it has one, its subjects and its sessions. Fails if there is no such run, or if the database cannot be read.
pub fn head(run: RunId, places: &Places) -> Result<RunHead, Error> {
    Ok(database::existing(places)?.load_head(run)?)
}

/// A line for each run, the newest first. Fails if the database cannot be read.
pub fn runs(places: &Places) -> Result<Vec<RunLine>, Error> {
    Ok(database::existing(places)?.list_runs()?)
}

/// The same, with what each run of a history measures and what it is at. `before`: lines that were read before; what a finished run measured is taken from them.
/// `progress`: of the runs of histories. Fails if the database cannot be read.
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
                // It was deleted meanwhile, or another version saved it: the list has it all the same.
                Err(error) if matches!(error.kind, ErrorKind::Usage | ErrorKind::Unanswerable) => {}
                Err(error) => return Err(error),
            },
        }
    }
    Ok(lines)
}

/// The facts of the newest sessions of runs, up to `most`, the newest first. Fails if the database cannot be read.
pub fn newest_facts(most: u32, places: &Places) -> Result<Vec<SessionFacts>, Error> {
    Ok(database::existing(places)?.newest_facts(most)?)
}

/// How far each run of a history is, the newest first. Fails if the database cannot be read.
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
