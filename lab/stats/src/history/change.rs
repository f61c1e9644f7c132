//! Changes of a history over time: their states and marks, the steps that they are now, how certain
//! they are, and notices of confirmed ones.

use crate::changes::Status;
use crate::history::{Blame, HistorySeries, HistoryStep};
use faultline_record::change_event::{ChangeEvent, ChangeState, Source};
use faultline_record::commit::CommitInfo;
use faultline_record::direction::Effect;
use faultline_record::named_change::{ChangePlace, SeriesName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of a step, and its origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepState {
    /// The state.
    pub now: ChangeState,
    /// The later step that undid it: its first commit with the new level, as a position among the
    /// series' points.
    pub fixed_by: Option<u32>,
    /// Its marks, oldest first.
    pub log: Vec<ChangeEvent>,
}

impl StepState {
    /// The mark that led to the state; `None` if the state follows from the values.
    pub fn last(&self) -> Option<&ChangeEvent> {
        self.log.iter().rfind(|event| event.state == self.now)
    }

    /// True if it is confirmed by a person's last mark.
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
            quantity: self.quantity,
            conditions: self.conditions.clone(),
        }
    }

    /// The place of one of its steps; `None` if the series lacks the step's commits.
    pub fn place_of(&self, step: &HistoryStep) -> Option<ChangePlace> {
        let id = |position: u32| self.commit(position).map(|commit| commit.id.clone());
        Some(ChangePlace {
            earliest: id(step.earliest)?,
            by: id(step.by)?,
            latest: id(step.latest)?,
            effect: step.effect,
            levels: [step.from, step.to],
        })
    }

    /// Index of the step of a place: of the steps with the same effect and a similar size, and with
    /// a range that shares a commit with that of the place, the one with the nearest estimated
    /// commit. `None` without one, or if the series lacks the place's commits.
    pub fn step_meant(&self, place: &ChangePlace) -> Option<usize> {
        let positions = self.positions();
        let at = |id: &String| positions.get(id.as_str()).copied();
        let (earliest, by, latest) = (at(&place.earliest)?, at(&place.by)?, at(&place.latest)?);
        let steps = self.steps.steps.iter().enumerate();
        // A range starts after its earliest commit.
        let is_in_range = |step: &HistoryStep| earliest < step.latest && step.earliest < latest;
        let is_like_it = |step: &HistoryStep| step.effect == place.effect && place.may_be_between([step.from, step.to]);
        let is_it = |step: &HistoryStep| is_in_range(step) && is_like_it(step);
        let meant = steps.filter(|(_, step)| is_it(step)).min_by_key(|(_, step)| step.by.abs_diff(by));
        meant.map(|(number, _)| number)
    }

    /// The position of each commit among the points, by its name.
    pub(super) fn positions(&self) -> BTreeMap<&str, u32> {
        (0..).zip(&self.points).map(|(position, point)| (point.commit.id.as_str(), position)).collect()
    }
}

/// Certainty of a change of the program at a step, in order of importance to readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Firm, without quirks.
    Certain,
    /// Preliminary: more measured commits may remove it.
    Provisional,
    /// Undecided: the values do not distinguish program, layout and environment.
    Inconclusive,
    /// Layout: the places of code and data changed the value.
    Layout,
    /// Quirk: the environment changed, not the program.
    Quirk,
}

impl Certainty {
    /// Its word in all output.
    pub fn word(self) -> &'static str {
        match self {
            Certainty::Certain => "certain",
            Certainty::Provisional => "provisional",
            Certainty::Inconclusive => "inconclusive",
            Certainty::Layout => "layout",
            Certainty::Quirk => "quirk",
        }
    }
}

impl HistoryStep {
    /// Certainty of a change of the program. A confirmation decides: a search measured both sides
    /// together, in one environment.
    pub fn certainty(&self) -> Certainty {
        match self.blame() {
            Blame::Environment => Certainty::Quirk,
            Blame::Layout => Certainty::Layout,
            Blame::Inconclusive => Certainty::Inconclusive,
            Blame::Program if self.state.now == ChangeState::Confirmed => Certainty::Certain,
            Blame::Program if self.between_runs => Certainty::Inconclusive,
            Blame::Program if self.status == Some(Status::Provisional) => Certainty::Provisional,
            Blame::Program => Certainty::Certain,
        }
    }
}

/// A confirmed change. `format` is [`ChangeNotice::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeNotice {
    /// Name and version of this structure.
    pub format: String,
    /// The subject's name.
    pub subject: String,
    /// The directory of the repository.
    pub repository: String,
    /// Words of the measured command; none for kernels.
    pub command: Vec<String>,
    /// The workload of kernels; `None` for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Parallel copies of the command, or its threads.
    pub tasks: u32,
    /// The measure's word, such as `time`.
    pub measure: String,
    /// Unit of the values.
    pub unit: String,
    /// The level before it.
    pub from: f64,
    /// The level after it.
    pub to: f64,
    /// True for a change to better values.
    pub effect: Effect,
    /// The last measured commit before it.
    pub after: CommitInfo,
    /// The first measured commit with the new level.
    pub by: CommitInfo,
    /// Origin and commits of the confirmation.
    pub confirmed: ChangeEvent,
}

impl ChangeNotice {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-change-notice/1";

    /// The notice of a step of a series; `None` if it is not confirmed, or if the series lacks its
    /// commits.
    pub fn of(series: &HistorySeries, step: &HistoryStep) -> Option<Self> {
        Some(ChangeNotice {
            format: Self::FORMAT.to_owned(),
            subject: series.subject.clone(),
            repository: series.repository.clone(),
            command: series.command.clone(),
            workload: series.workload.clone(),
            tasks: series.tasks,
            measure: series.quantity.word().to_owned(),
            unit: series.unit.clone(),
            from: step.from,
            to: step.to,
            effect: step.effect,
            after: series.commit(step.after)?.clone(),
            by: series.commit(step.by)?.clone(),
            confirmed: step.state.last()?.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::causes::{CauseLabel, StepCause};

    fn step(status: Status, between_runs: bool, label: Option<CauseLabel>, now: ChangeState) -> HistoryStep {
        let cause = |label| StepCause { quirks: vec!["A".to_owned()], label, of_environment: None, of_commits: None };
        HistoryStep {
            after: 1,
            by: 2,
            earliest: 0,
            latest: 3,
            from: 1.0,
            to: 2.0,
            effect: Effect::Worse,
            status: Some(status),
            between_runs,
            cause: label.map(cause),
            layouts: None,
            boots: None,
            state: StepState { now, ..StepState::default() },
            between: None,
        }
    }

    #[test]
    fn a_step_is_certain_only_without_doubts_or_when_it_is_confirmed() {
        use ChangeState::{Confirmed, Found, Ignored};
        let of = |status, between_runs, label, now| step(status, between_runs, label, now).certainty();
        assert_eq!(of(Status::Firm, false, None, Found), Certainty::Certain);
        assert_eq!(of(Status::Provisional, false, None, Found), Certainty::Provisional);
        assert_eq!(of(Status::Provisional, false, None, Ignored), Certainty::Provisional);
        assert_eq!(of(Status::Firm, true, None, Found), Certainty::Inconclusive);
        assert_eq!(of(Status::Firm, true, None, Confirmed), Certainty::Certain);
        assert_eq!(of(Status::Firm, false, Some(CauseLabel::Code), Found), Certainty::Certain);
        assert_eq!(of(Status::Provisional, false, Some(CauseLabel::Inconclusive), Found), Certainty::Inconclusive);
        assert_eq!(of(Status::Firm, false, Some(CauseLabel::Quirk), Found), Certainty::Quirk);
    }
}
