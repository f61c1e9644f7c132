//! Changes of a history over time: what people and searches said of each, which step it is now, and what holds of it.

use super::{HistorySeries, HistoryStep};
use crate::named_change::{ChangePlace, SeriesName};
use crate::record::RunId;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What holds of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeState {
    /// It was found in the values.
    #[default]
    Found,
    /// A search measured both sides of it together, and found it again.
    Confirmed,
    /// A person said that it does not matter.
    Ignored,
    /// It was undone.
    Fixed,
}

impl ChangeState {
    /// Its word, in every output.
    pub fn word(self) -> &'static str {
        match self {
            ChangeState::Found => "found",
            ChangeState::Confirmed => "confirmed",
            ChangeState::Ignored => "ignored",
            ChangeState::Fixed => "fixed",
        }
    }

    /// Whether nothing has to be done about it.
    pub fn is_settled(self) -> bool {
        matches!(self, ChangeState::Ignored | ChangeState::Fixed)
    }
}

/// Who said something of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Source {
    /// A person.
    Person {
        /// The name. It comes from outside: it may hold any character.
        name: String,
    },
    /// A search.
    Search {
        /// Its run.
        run: RunId,
    },
}

/// Something that was said of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEvent {
    /// When.
    pub at: UnixMillis,
    /// Who said it.
    pub source: Source,
    /// What it is. A search that did not confirm it says that it is only found.
    pub state: ChangeState,
    /// Of a search: it neither confirmed the change nor could exclude it, so it says nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_inconclusive: bool,
    /// Why. It comes from outside: it may hold any character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Names of the commits of which one made it, as a search found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Something that was said of a change, with the change's place at that time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedEvent {
    /// The place.
    pub place: ChangePlace,
    /// What was said.
    pub event: ChangeEvent,
}

/// What holds of a step now, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    /// What holds.
    pub now: ChangeState,
    /// The later step that undid it: its first commit with the new level, as a place among the series' points.
    pub fixed_by: Option<u32>,
    /// What was said of it, the oldest first.
    pub log: Vec<ChangeEvent>,
}

impl StepState {
    /// What was last said to reach the state; `None` if it follows from the values.
    pub fn last(&self) -> Option<&ChangeEvent> {
        self.log.iter().rfind(|event| event.state == self.now)
    }

    /// Whether it is confirmed, and the last that a person said of it is that.
    pub fn is_confirmed_by_person(&self) -> bool {
        let of_persons = self.log.iter().rfind(|event| matches!(event.source, Source::Person { .. }));
        self.now == ChangeState::Confirmed && of_persons.is_some_and(|event| event.state == ChangeState::Confirmed)
    }
}

impl HistorySeries {
    /// Its name.
    pub fn name(&self) -> SeriesName {
        SeriesName {
            subject: self.subject.clone(),
            repository: self.repository.clone(),
            tasks: self.tasks,
            counted: self.counted,
            conditions: self.conditions.clone(),
        }
    }

    /// The place of one of its steps; `None` if it does not have the step's commits.
    pub fn place_of(&self, step: &HistoryStep) -> Option<ChangePlace> {
        let id = |position: u32| self.commit(position).map(|commit| commit.id.clone());
        Some(ChangePlace {
            earliest: id(step.earliest)?,
            by: id(step.by)?,
            latest: id(step.latest)?,
            effect: step.effect,
            levels: Some([step.from, step.to]),
        })
    }

    /// The step that a place means now, by its number: of those with the same effect and a similar size whose ranges share a commit with that of the place, the one
    /// whose estimated commit is nearest. `None` if there is none, or if the series lacks the place's commits.
    pub fn step_meant(&self, place: &ChangePlace) -> Option<usize> {
        let positions = self.positions();
        let at = |id: &String| positions.get(id.as_str()).copied();
        let (earliest, by, latest) = (at(&place.earliest)?, at(&place.by)?, at(&place.latest)?);
        let steps = self.steps.steps.iter().enumerate();
        // A range begins after its earliest commit.
        let is_in_range = |step: &HistoryStep| earliest < step.latest && step.earliest < latest;
        let is_like_it = |step: &HistoryStep| step.effect == place.effect && place.may_be_between([step.from, step.to]);
        let is_it = |step: &HistoryStep| is_in_range(step) && is_like_it(step);
        let meant = steps.filter(|(_, step)| is_it(step)).min_by_key(|(_, step)| step.by.abs_diff(by));
        meant.map(|(number, _)| number)
    }

    /// The place of each commit among the points, by its name.
    pub(super) fn positions(&self) -> BTreeMap<&str, u32> {
        (0..).zip(&self.points).map(|(position, point)| (point.commit.id.as_str(), position)).collect()
    }
}
