//! How certain it is that the program changed at a step, in the order in which pages draw attention to it.

use super::change::ChangeState;
use super::{Blame, HistoryStep};
use crate::changes::Status;
use serde::{Deserialize, Serialize};

/// How certain it is that the program changed at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Neither more commits nor a quirk make it doubtful.
    Certain,
    /// More measured commits may show that it is none.
    Provisional,
    /// The program changed, or its layout or the surroundings: the values do not tell which.
    Inconclusive,
    /// Only the places of code and data changed the value.
    Layout,
    /// The surroundings changed, not the program.
    Quirk,
}

impl Certainty {
    /// Its word, in every output.
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
    /// How certain it is that the program changed. A confirmation decides: a search measured both sides together, in the same surroundings.
    pub fn certainty(&self) -> Certainty {
        match self.blame() {
            Blame::Surroundings => Certainty::Quirk,
            Blame::Layout => Certainty::Layout,
            Blame::Inconclusive => Certainty::Inconclusive,
            Blame::Program if self.state.now == ChangeState::Confirmed => Certainty::Certain,
            Blame::Program if self.between_runs => Certainty::Inconclusive,
            Blame::Program if self.status == Some(Status::Provisional) => Certainty::Provisional,
            Blame::Program => Certainty::Certain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Effect;
    use crate::history::change::StepState;
    use crate::history::quirk::{CauseLabel, StepCause};

    fn step(status: Status, between_runs: bool, label: Option<CauseLabel>, now: ChangeState) -> HistoryStep {
        let cause = |label| StepCause { quirks: vec!["A".to_owned()], label, of_surroundings: None, of_commits: None };
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
