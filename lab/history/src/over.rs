//! A subject over its history, at one number of CPUs: which commits have results, which would be measured, and what is saved of them.

use crate::adaptive::{self, Known};
use crate::commits::{Commits, Walked};
use crate::declared::HistorySubject;
use crate::measure::MeasureRequest;
use crate::now::Now;
use crate::picked::picked;
use crate::workshop::absolute;
use faultline_experiment::lens::USUAL_SEED;
use faultline_experiment::stored::{self, StoredHistory};
use faultline_experiment::{Error, Lab, Places, measuring_machine};
use faultline_model::commit::{CommitInfo, CommitLine};
use faultline_model::history::{CommitOutcome, HistoryPoint, HistorySeries, PlannedCommit, PointResult};
use faultline_model::plan::{HistorySettings, MeasuredLine, RunKind, Settings};
use faultline_stats::changes::SeriesError;
use faultline_stats::history::{Eras, HistoryRun, StepSettings, bridging, differing, series, states};
use std::collections::{BTreeMap, BTreeSet};

/// A subject, measured in one way.
#[derive(Debug, Clone, Copy)]
pub struct Over<'a> {
    /// The subject.
    pub subject: &'a HistorySubject,
    /// One of its measures.
    pub measure: &'a MeasureRequest,
}

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// What has no result.
    Missing {
        /// Commits that could not be measured are tried again.
        retry: bool,
        /// Number of commits that were measured since the call began, which count for adaptive picking.
        measured: u32,
    },
    /// One commit, although it has a result.
    Again {
        /// Its full name.
        commit: &'a str,
    },
}

impl<'a> Over<'a> {
    /// All measures of a subject.
    pub fn all(subject: &'a HistorySubject) -> impl Iterator<Item = Over<'a>> {
        subject.measures.iter().map(move |measure| Over { subject, measure })
    }

    /// The runs that measured it, in whatever way, the newest first. Fails if the database cannot be read.
    pub fn stored(&self, places: &Places) -> Result<Vec<StoredHistory>, Error> {
        stored::histories(&self.subject.name, &absolute(&self.subject.repository)?, self.measure.tasks(), places)
    }

    /// Its series, as it is saved, with the states of its steps; `None` if nothing was measured yet. Inner error: the settings of steps are out of range. Fails if the database cannot be read.
    pub fn series(
        &self,
        steps: &StepSettings,
        places: &Places,
    ) -> Result<Result<Option<HistorySeries>, SeriesError>, Error> {
        let stored = self.stored(places)?;
        let runs = self.of_it(&stored);
        let mut found = series(&runs, &self.subject.quirks, steps);
        if let Ok(Some(series)) = &mut found {
            let said = stored::said_of_changes(series, &Eras::of(&runs), places)?;
            states(series, &said, self.subject.which.order());
        }
        Ok(found)
    }

    /// The same series without its newest run, and without states; `None` if that is its only run.
    pub fn earlier_series(
        &self,
        steps: &StepSettings,
        places: &Places,
    ) -> Result<Result<Option<HistorySeries>, SeriesError>, Error> {
        let stored = self.stored(places)?;
        let runs = self.of_it(&stored);
        Ok(series(&comparable_before(&runs), &self.subject.quirks, steps))
    }

    /// The runs that measured it by this measure.
    fn of_it<'b>(&self, stored: &'b [StoredHistory]) -> Vec<HistoryRun<'b>> {
        // What was measured of the same subject by another measure is another series.
        let is_of_it = |run: &&StoredHistory| {
            let measure =
                run.head.settings.history().map(|history| history.measure.counted().map(|counted| counted.what));
            measure == Some(self.measure.count())
        };
        stored.iter().filter(is_of_it).map(|run| HistoryRun { head: &run.head, results: &run.results }).collect()
    }

    /// What a run of it would be asked now, without commits. Fails if a tool or a machine is missing.
    pub(crate) fn asked(&self, commits: &dyn Commits, lab: &Lab<'_>) -> Result<Now, Error> {
        let subject = self.subject;
        let measure = self.measure.settings(lab)?;
        let machine = measuring_machine(&measure, &subject.artefact, subject.on.as_ref(), lab)?;
        let measured = MeasuredLine {
            measure,
            repository: absolute(&subject.repository)?,
            work: subject.work.as_deref().map(absolute).transpose()?,
            line: CommitLine { commits: Vec::new() },
            recipe: subject.recipe.clone(),
            tools: Some(commits.tools(&subject.recipe, lab)?),
            releases: subject.which.releases().to_vec(),
            artefact: subject.artefact.clone(),
            on: subject.on.clone(),
        };
        let history = HistorySettings {
            measured,
            subject: subject.name.clone(),
            wanted: Vec::new(),
            machine: machine.name,
            order: subject.which.order(),
            seeds_by_ends: self.measure.count().is_some() && subject.seeds_by_ends,
            layouts: subject.commit_layouts,
            layout_kind: subject.layout_kind,
        };
        let settings = Settings {
            cpus: vec![self.measure.tasks()],
            repeats: subject.repeats,
            seed: subject.seed.unwrap_or(USUAL_SEED),
            limit_ms: subject.limit_ms,
            size: None,
            kind: RunKind::History(Box::new(history)),
        };
        Ok(Now { settings, facts: machine.facts, at: lab.clock.now() })
    }

    /// The runs whose results belong to what is asked now, in whatever surroundings, the newest first. Fails if the database cannot be read.
    pub(crate) fn comparable(&self, asked: &Settings, places: &Places) -> Result<Vec<StoredHistory>, Error> {
        let mut stored = self.stored(places)?;
        let Some(history) = asked.history() else { return Ok(Vec::new()) };
        stored.retain(|run| {
            let other = run.head.settings.history();
            other.is_some_and(|other| differing((asked, history), (&run.head.settings, other)).is_none())
        });
        Ok(stored)
    }

    /// The commits that are picked, and those that have results, in their order. `retry`: commits that could not be measured are wanted again. Fails if the
    /// repository cannot be read, or if a named commit is unknown.
    pub fn planned(&self, commits: &dyn Commits, retry: bool, lab: &Lab<'_>) -> Result<Vec<PlannedCommit>, Error> {
        let now = self.asked(commits, lab)?;
        let known = self.comparable(&now.settings, lab.places)?;
        Ok(self.plan(&commits.walk(&self.subject.which, lab)?, known, &now, Asked::Missing { retry, measured: 0 }))
    }

    /// The same, with the comparable runs. Adaptive picking compares neighbours, so it goes by what the tools of now have built; commits with results of other tools
    /// stay in the history. Otherwise results of other tools count too. A commit that was measured in fewer random layouts than are asked for now, or in others, is measured again. A
    /// commit bridges the surroundings.
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
            Asked::Again { .. } => (false, 0),
        };
        let (picked, again) = match self.subject.which.adaptive() {
            None => (picked(walked, &self.subject.which), Vec::new()),
            Some(most) => self.picked_adaptively(walked, &counting, most.saturating_sub(measured)),
        };
        // Adaptive picking has no list of its own that a commit that failed could be on.
        let planned = |(position, commit): (usize, &CommitInfo)| {
            let is_picked = picked.binary_search(&position).is_ok();
            let is_measured = newest.get(commit.id.as_str()).copied();
            let before = of_any_tools.get(commit.id.as_str()).copied();
            let is_missing = (is_picked && is_measured.is_none())
                || ((is_picked || is_adaptive) && retry && is_measured == Some(false))
                || again.binary_search(&position).is_ok();
            let is_wanted = match asked {
                Asked::Missing { .. } => is_missing,
                Asked::Again { commit: again } => commit.id == again,
            };
            let planned = PlannedCommit {
                subject: self.subject.name.clone(),
                tasks: self.measure.tasks(),
                commit: commit.clone(),
                is_picked,
                is_wanted,
                is_measured: if is_wanted { is_measured } else { is_measured.or(before) },
            };
            (is_picked || before.is_some()).then_some(planned)
        };
        let mut all: Vec<PlannedCommit> = walked.commits.iter().enumerate().filter_map(planned).collect();
        if all.iter().any(|one| one.is_wanted) {
            self.bridge(&mut all, &known, now);
        }
        all
    }

    /// Measures a commit again that was measured before the surroundings changed, unless one was.
    fn bridge(&self, all: &mut [PlannedCommit], known: &[StoredHistory], now: &Now) {
        let runs: Vec<HistoryRun<'_>> =
            known.iter().map(|run| HistoryRun { head: &run.head, results: &run.results }).collect();
        for id in bridging(&runs, &now.surroundings(), &self.subject.quirks) {
            if let Some(bridge) = all.iter_mut().find(|one| one.commit.id == id) {
                bridge.is_wanted = true;
                return;
            }
        }
    }

    /// The commits that tell most, at most so many, and those that are measured again beside them: the neighbours of each, because times are compared within a run.
    fn picked_adaptively(&self, walked: &Walked, runs: &[&StoredHistory], most: u32) -> (Vec<usize>, Vec<usize>) {
        let known = known(walked, runs);
        let picked = adaptive::next(&known, StepSettings::default().least_change, most as usize);
        if self.measure.count().is_some() {
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

/// Whether a run measured its commits in as many random layouts as a subject asks for, drawn in the same way.
fn has_layouts_of(history: &HistorySettings, subject: &HistorySubject) -> bool {
    subject.commit_layouts == 0
        || (history.layouts >= subject.commit_layouts && history.layout_kind == subject.layout_kind)
}

/// Whether the newest result of each commit is a value. `runs`: the newest first.
fn newest<'a>(runs: impl IntoIterator<Item = &'a StoredHistory>) -> BTreeMap<&'a str, bool> {
    let mut newest = BTreeMap::new();
    for result in runs.into_iter().flat_map(|run| &run.results.commits) {
        newest.entry(result.commit.as_str()).or_insert(matches!(result.outcome, CommitOutcome::Measured { .. }));
    }
    newest
}

/// The runs before the newest one whose results belong to its series.
fn comparable_before<'a>(runs: &[HistoryRun<'a>]) -> Vec<HistoryRun<'a>> {
    let Some((newest, before)) = runs.split_first() else { return Vec::new() };
    let parts = |run: &HistoryRun<'a>| run.head.settings.history().map(|history| (&run.head.settings, history));
    let is_comparable = |run: &&HistoryRun<'a>| {
        parts(newest).zip(parts(run)).is_some_and(|(newest, run)| differing(newest, run).is_none())
    };
    before.iter().filter(is_comparable).copied().collect()
}

/// What comparable runs, the newest first, say of each commit.
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
