//! A subject of faultline.toml at one number of CPUs: its commits with and without results, and its
//! saved series.

use crate::commits::{Commits, Walked};
use crate::declared::HistorySubject;
use crate::pick::{Known, next_adaptive, picked};
use crate::request::MeasureRequest;
use faultline_experiment::stored::{self, StoredHistory};
use faultline_experiment::{Error, Lab, MeasuringMachine, Notice, Places, measuring_machine};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::facts::Facts;
use faultline_record::machine::ControlledHost;
use faultline_record::plan::{HistorySettings, MeasuredLine, RunKind, Settings};
use faultline_record::quantity::QuantityChoice;
use faultline_record::recipe::BuildTools;
use faultline_record::time::UnixMillis;
use faultline_stats::changes::SeriesError;
use faultline_stats::history::{
    CommitOutcome, Environment, HistoryPoint, HistoryRun, HistorySeries, PlannedCommit, PointResult, Prospect,
    StepSettings, bridging, differing, series, states, suspected, suspicion,
};
use std::collections::{BTreeMap, BTreeSet};

/// A subject with one of its measures: a series.
#[derive(Debug, Clone, Copy)]
pub struct Over<'a> {
    /// The subject.
    pub subject: &'a HistorySubject,
    /// The measure.
    pub measure: &'a MeasureRequest,
}

/// The commits that a call measures.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// Commits without a result.
    Missing {
        /// True to try commits again that could not be measured.
        retry: bool,
        /// Commits measured since the call began, which count for adaptive picking.
        measured: u32,
    },
    /// These commits, also those with a result.
    These {
        /// Their full names.
        commits: &'a [String],
    },
}

/// The request for a run as of now, without commits, and its environment.
pub(crate) struct Now {
    /// Settings of the run.
    pub(crate) settings: Settings,
    /// Facts of the machine that measures time; `None` for counts.
    pub(crate) facts: Option<Facts>,
    /// Time of the request.
    pub(crate) at: UnixMillis,
}

impl Now {
    pub(crate) fn environment(&self) -> Environment<'_> {
        let tools = self.settings.measured_line().map(|line| &line.tools);
        Environment { tools, facts: self.facts.as_ref(), began: self.at }
    }

    /// True if a run built with the same tools.
    pub(crate) fn has_tools_of(&self, run: &StoredHistory) -> bool {
        let digest = |settings: &Settings| settings.measured_line().map(|line| line.tools.digest.clone());
        digest(&self.settings) == digest(&run.head.settings)
    }
}

impl<'a> Over<'a> {
    /// The series of a subject.
    pub fn all(subject: &'a HistorySubject) -> impl Iterator<Item = Over<'a>> {
        subject.measures.iter().map(move |measure| Over { subject, measure })
    }

    /// The runs that measured the subject at this number of CPUs, newest first. Fails if the
    /// database cannot be read.
    pub fn stored(&self, places: &Places) -> Result<Vec<StoredHistory>, Error> {
        stored::histories(&self.subject.name, &self.subject.saved_repository()?, self.measure.tasks(), places)
    }

    /// The saved series with the states of its steps; `None` if nothing was measured yet. Inner
    /// error: the step settings are out of range. Fails if the database cannot be read.
    pub fn series(
        &self,
        steps: &StepSettings,
        places: &Places,
    ) -> Result<Result<Option<HistorySeries>, SeriesError>, Error> {
        let stored = self.stored(places)?;
        let runs = self.of_it(&stored);
        let mut found = series(&runs, &self.subject.quirks, steps);
        if let Ok(Some(series)) = &mut found {
            let said = stored::marks_of_changes(series, places)?;
            states(series, &said, self.subject.which.order());
        }
        Ok(found)
    }

    /// The series without its newest run and without states; `None` if that is its only run.
    pub fn earlier_series(
        &self,
        steps: &StepSettings,
        places: &Places,
    ) -> Result<Result<Option<HistorySeries>, SeriesError>, Error> {
        let stored = self.stored(places)?;
        let runs = self.of_it(&stored);
        Ok(series(&comparable_before(&runs), &self.subject.quirks, steps))
    }

    /// The choice between time and CPU time that earlier runs made; `None` if the declaration has a
    /// measure, or without such runs. `stored`: newest first.
    fn chosen(&self, stored: &[StoredHistory]) -> Option<QuantityChoice> {
        self.measure.choice()?;
        let choices = stored.iter().filter_map(|run| run.head.settings.history()?.choice);
        choices.into_iter().find(|choice| *choice != QuantityChoice::Open)
    }

    /// The runs with this measure. Runs with other measures belong to other series.
    fn of_it<'b>(&self, stored: &'b [StoredHistory]) -> Vec<HistoryRun<'b>> {
        let quantity = self.chosen(stored).map_or(self.measure.quantity(), QuantityChoice::quantity);
        let is_of_it = |run: &&StoredHistory| {
            run.head.settings.history().map(|history| history.measure.quantity()) == Some(quantity)
        };
        stored.iter().filter(is_of_it).map(|run| HistoryRun { head: &run.head, results: &run.results }).collect()
    }

    /// Present settings of a run, without commits, and its environment. Fails if a tool or a
    /// machine is missing.
    pub(crate) fn now(&self, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Now, Error> {
        let tools = commits.tools(&self.subject.line.recipe, lab)?;
        let measured = self.measured(tools, &self.stored(lab.places)?, lab)?;
        let measured = MeasuredLine { forge: commits.forge(), ..measured };
        let machine = measuring_machine(&measured, lab)?;
        Ok(self.request(measured, machine, lab))
    }

    /// As [`Over::now`], but executes nothing that the file names: build tools, and the host that
    /// `on` names, are those of the newest run.
    fn as_recorded(&self, lab: &Lab<'_>) -> Result<Now, Error> {
        let stored = self.stored(lab.places)?;
        let newest = stored.first().and_then(|run| run.head.settings.history());
        let tools = newest.map_or_else(BuildTools::default, |history| history.measured.tools.clone());
        let measured = self.measured(tools, &stored, lab)?;
        let machine = match &measured.on {
            None => measuring_machine(&measured, lab)?,
            Some(on) => recorded_machine(on, &stored),
        };
        Ok(self.request(measured, machine, lab))
    }

    /// The line without commits. `stored`: earlier runs; a series keeps its quantity.
    fn measured(&self, tools: BuildTools, stored: &[StoredHistory], lab: &Lab<'_>) -> Result<MeasuredLine, Error> {
        let line = CommitLine { commits: Vec::new() };
        let mut measured = self.subject.line.saved(self.measure, line, tools, lab)?;
        if let Some(choice) = self.chosen(stored) {
            measured.choose(choice);
        }
        Ok(measured)
    }

    /// The request for a run on a machine.
    fn request(&self, measured: MeasuredLine, machine: MeasuringMachine, lab: &Lab<'_>) -> Now {
        let subject = self.subject;
        let history = HistorySettings {
            measured,
            subject: subject.name.clone(),
            wanted: Vec::new(),
            machine: machine.name,
            order: subject.which.order(),
            seeds_by_ends: self.measure.quantity().is_counted() && subject.seeds_by_ends,
            layouts: subject.commit_layouts,
        };
        let settings = Settings {
            cpus: vec![self.measure.tasks()],
            repeats: subject.repeats,
            seed: subject.line.run_seed(self.measure),
            limit_ms: subject.line.limit_ms,
            size: None,
            kind: RunKind::History(Box::new(history)),
        };
        Now { settings, facts: machine.facts, at: lab.clock.now() }
    }

    /// Comparable runs in any environment, newest first. Fails if the database cannot be read.
    pub(crate) fn comparable(&self, asked: &Settings, places: &Places) -> Result<Vec<StoredHistory>, Error> {
        let mut stored = self.stored(places)?;
        let Some(history) = asked.history() else { return Ok(Vec::new()) };
        stored.retain(|run| {
            let other = run.head.settings.history();
            other.is_some_and(|other| differing((asked, history), (&run.head.settings, other)).is_none())
        });
        Ok(stored)
    }

    /// Reports the conclusions that the series allows after its planned commits are measured, if
    /// any are. Fails if the database cannot be read.
    pub(crate) fn note_prospect(
        &self,
        planned: &[PlannedCommit],
        walked: &Walked,
        lab: &mut Lab<'_>,
    ) -> Result<(), Error> {
        if !planned.iter().any(|one| one.is_wanted) {
            return Ok(());
        }
        let walked = walked.commits.len();
        let count = |wanted: bool| {
            planned.iter().filter(|one| one.is_measured == Some(true) || (wanted && one.is_wanted)).count()
        };
        let commits = match self.subject.which.adaptive() {
            Some(most) => walked.min(count(false) + most as usize).max(count(true)),
            None => count(true),
        };
        let settings = StepSettings::default();
        let earlier = self.series(&settings, lab.places)?.ok().flatten();
        let is_counted = self.measure.quantity().is_counted();
        lab.observer.notice(&Notice::HistoryProspect {
            subject: self.subject.name.clone(),
            tasks: self.measure.tasks(),
            prospect: Prospect::of(commits as u32, is_counted, earlier.as_ref(), &settings),
            available: walked as u32,
        });
        Ok(())
    }

    /// The picked commits and those with results, in their order. Executes nothing that the file
    /// names, so changed tools, or a changed host over SSH, are not noticed. `retry`: commits that
    /// could not be measured are wanted again. Fails if the repository cannot be read, or if a
    /// named commit is unknown.
    pub fn planned(&self, commits: &dyn Commits, retry: bool, lab: &mut Lab<'_>) -> Result<Vec<PlannedCommit>, Error> {
        let now = self.as_recorded(lab)?;
        let known = self.comparable(&now.settings, lab.places)?;
        let walked = commits.walk(&self.subject.which, lab)?;
        let planned = self.plan(&walked, known, &now, Asked::Missing { retry, measured: 0 });
        self.note_prospect(&planned, &walked, lab)?;
        Ok(planned)
    }

    /// As [`Over::planned`], given the comparable runs. Adaptive picking compares neighbours, so it
    /// uses results of the current tools only; otherwise results of other tools count too. Commits
    /// with fewer or other random layouts than requested are measured again. One commit bridges a
    /// change of the environment.
    pub(crate) fn plan(
        &self,
        walked: &Walked,
        known: Vec<StoredHistory>,
        now: &Now,
        asked: Asked<'_>,
    ) -> Vec<PlannedCommit> {
        let is_adaptive = self.subject.which.adaptive().is_some();
        let has_layouts = |run: &StoredHistory| {
            run.head.settings.history().is_some_and(|history| has_layouts_of(history, self.subject))
        };
        let counting: Vec<&StoredHistory> =
            known.iter().filter(|run| has_layouts(run) && (!is_adaptive || now.has_tools_of(run))).collect();
        let (newest, of_any_tools) = (newest(counting.iter().copied()), newest(&known));
        let (retry, measured) = match asked {
            Asked::Missing { retry, measured } => (retry, measured),
            Asked::These { .. } => (false, 0),
        };
        let (picked, again) = match self.subject.which.adaptive() {
            None => (picked(walked, &self.subject.which), Vec::new()),
            Some(most) => self.picked_adaptively(walked, &counting, most.saturating_sub(measured)),
        };
        // Adaptive picking has no list of commits that a failed one could be on.
        let planned = |(position, commit): (usize, &CommitInfo)| {
            let is_picked = picked.binary_search(&position).is_ok();
            let is_measured = newest.get(commit.id.as_str()).copied();
            let before = of_any_tools.get(commit.id.as_str()).copied();
            let is_missing = (is_picked && is_measured.is_none())
                || ((is_picked || is_adaptive) && retry && is_measured == Some(false))
                || again.binary_search(&position).is_ok();
            let is_wanted = match asked {
                Asked::Missing { .. } => is_missing,
                Asked::These { commits } => commits.contains(&commit.id),
            };
            let planned = PlannedCommit {
                subject: self.subject.name.clone(),
                tasks: self.measure.tasks(),
                commit: commit.clone(),
                is_picked,
                is_wanted,
                is_measured: if is_wanted { is_measured } else { is_measured.or(before) },
            };
            (is_picked || is_wanted || before.is_some()).then_some(planned)
        };
        let mut all: Vec<PlannedCommit> = walked.commits.iter().enumerate().filter_map(planned).collect();
        if all.iter().any(|one| one.is_wanted) {
            self.bridge(&mut all, &known, now);
        }
        all
    }

    /// The commits that show whether a change at the newest commits, which is only suspected, is a
    /// step: those around it, if they were measured once, and the one in the middle of its range.
    /// Empty without a suspicion, and for counts. Fails if the repository or the database cannot be
    /// read.
    pub fn suspected(&self, commits: &dyn Commits, lab: &Lab<'_>) -> Result<Vec<String>, Error> {
        if self.measure.quantity().is_counted() {
            return Ok(Vec::new());
        }
        let usual = StepSettings::default();
        let of = |settings| self.series(&settings, lab.places);
        let (Ok(Some(found)), Ok(Some(loose))) = (of(usual)?, of(suspicion(&usual))?) else { return Ok(Vec::new()) };
        let around = suspected(&found, &loose.steps);
        if around.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.stored(lab.places)?;
        let own = self.of_it(&stored);
        let is_of = |id: &str, run: &&HistoryRun<'_>| run.results.commits.iter().any(|result| result.commit == id);
        let results = |id: &str| own.iter().filter(|run| is_of(id, run)).count();
        let walked = commits.walk(&self.subject.which, lab)?;
        let place = |id: &str| walked.commits.iter().position(|commit| commit.id == id);
        let between = around.between.iter().filter_map(|[before, after]| {
            let (before, after) = (place(before)?, place(after)?);
            let middle = usize::midpoint(before, after);
            let id = &walked.commits[middle].id;
            (middle > before && results(id) == 0).then(|| id.clone())
        });
        Ok(around.commits.iter().filter(|id| results(id) == 1).cloned().chain(between).collect())
    }

    /// Wants a commit again that was measured before the environment changed, unless one bridges it
    /// already.
    fn bridge(&self, all: &mut [PlannedCommit], known: &[StoredHistory], now: &Now) {
        let runs: Vec<HistoryRun<'_>> =
            known.iter().map(|run| HistoryRun { head: &run.head, results: &run.results }).collect();
        for id in bridging(&runs, &now.environment(), &self.subject.quirks) {
            if let Some(bridge) = all.iter_mut().find(|one| one.commit.id == id) {
                bridge.is_wanted = true;
                return;
            }
        }
    }

    /// The most informative commits, and their neighbours, which are measured again because times
    /// are compared within a run.
    fn picked_adaptively(&self, walked: &Walked, runs: &[&StoredHistory], most: u32) -> (Vec<usize>, Vec<usize>) {
        let known = known(walked, runs);
        let picked = next_adaptive(&known, StepSettings::default().least_change, most as usize);
        if self.measure.quantity().is_counted() {
            return (picked, Vec::new());
        }
        let is_measured = |position: &usize| matches!(known[*position], Known::Value { .. });
        let neighbours = |&position: &usize| {
            let before = (0..position).rev().find(is_measured);
            before.into_iter().chain((position + 1..known.len()).find(is_measured))
        };
        let again: BTreeSet<usize> = picked.iter().flat_map(neighbours).collect();
        (picked, again.into_iter().collect())
    }
}

/// The machine of the newest run on a host; without such a run, a machine with which nothing is
/// comparable. `stored`: newest first.
fn recorded_machine(on: &ControlledHost, stored: &[StoredHistory]) -> MeasuringMachine {
    let of_run = |run: &StoredHistory| {
        let history = run.head.settings.history()?;
        history.measured.on.as_ref().filter(|other| other.host == on.host)?;
        let facts = run.head.sessions.first().and_then(|session| session.facts.first()).cloned();
        Some(MeasuringMachine { name: history.machine.clone(), facts })
    };
    stored.iter().find_map(of_run).unwrap_or(MeasuringMachine { name: String::new(), facts: None })
}

/// True if a run measured its commits in at least the requested random layouts, drawn the same way.
fn has_layouts_of(history: &HistorySettings, subject: &HistorySubject) -> bool {
    subject.commit_layouts == 0
        || (history.layouts >= subject.commit_layouts && history.layout_kind == subject.line.layout_kind)
}

/// For each commit, true if its newest result is a value. `runs`: newest first.
fn newest<'a>(runs: impl IntoIterator<Item = &'a StoredHistory>) -> BTreeMap<&'a str, bool> {
    let mut newest = BTreeMap::new();
    for result in runs.into_iter().flat_map(|run| &run.results.commits) {
        newest.entry(result.commit.as_str()).or_insert(matches!(result.outcome, CommitOutcome::Measured { .. }));
    }
    newest
}

/// Runs before the newest one that belong to its series.
fn comparable_before<'a>(runs: &[HistoryRun<'a>]) -> Vec<HistoryRun<'a>> {
    let Some((newest, before)) = runs.split_first() else { return Vec::new() };
    let parts = |run: &HistoryRun<'a>| run.head.settings.history().map(|history| (&run.head.settings, history));
    let is_comparable = |run: &&HistoryRun<'a>| {
        parts(newest).zip(parts(run)).is_some_and(|(newest, run)| differing(newest, run).is_none())
    };
    before.iter().filter(is_comparable).copied().collect()
}

/// Known results of each commit in comparable runs, newest first.
fn known(walked: &Walked, runs: &[&StoredHistory]) -> Vec<Known> {
    let runs: Vec<HistoryRun<'_>> =
        runs.iter().map(|run| HistoryRun { head: &run.head, results: &run.results }).collect();
    let series = series(&runs, &[], &StepSettings::default()).ok().flatten();
    let points = series.as_ref().map_or(&[][..], |series| &series.points);
    let by_commit: BTreeMap<&str, &HistoryPoint> =
        points.iter().map(|point| (point.commit.id.as_str(), point)).collect();
    let of_commit = |commit: &CommitInfo| match by_commit.get(commit.id.as_str()).map(|point| &point.result) {
        None | Some(PointResult::None) => Known::Nothing,
        Some(PointResult::Unusable(_)) => Known::Unusable,
        Some(PointResult::Measured { estimate, .. }) => {
            Known::Value { low: estimate.low, median: estimate.median, high: estimate.high }
        }
    };
    walked.commits.iter().map(of_commit).collect()
}
