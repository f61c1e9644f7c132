//! What a gate found of histories: it is open, unless something new is worse, or a series is too short to find steps in it.

use super::{HistorySeries, HistoryStep, StepBasis};
use crate::changes::Effect;
use crate::gate::Gate;
use crate::plan::WhenInconclusive;

/// Something that a gate found of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding<'a> {
    /// A new step for the worse.
    Worse {
        /// The series.
        series: &'a HistorySeries,
        /// The step.
        step: &'a HistoryStep,
    },
    /// The series is too short to find steps in it.
    TooShort(&'a HistorySeries),
    /// At the newest measured commits no step can be found yet.
    Unjudged(&'a HistorySeries),
}

impl<'a> Gate<Finding<'a>> {
    /// Holds series to it. `since`: the position in a series from which on a step is new.
    pub fn of_histories(
        all: &'a [HistorySeries],
        since: impl Fn(&HistorySeries) -> u32,
        when_inconclusive: WhenInconclusive,
    ) -> Self {
        let mut gate = Gate { closed_by: Vec::new(), noted: Vec::new() };
        for series in all {
            let first = since(series);
            let new = |step: &&HistoryStep| step.by >= first && step.effect == Effect::Worse;
            gate.closed_by.extend(series.steps.steps.iter().filter(new).map(|step| Finding::Worse { series, step }));
            match (&series.steps.basis, when_inconclusive) {
                (StepBasis::TooShort { .. }, WhenInconclusive::Fail) => gate.closed_by.push(Finding::TooShort(series)),
                (StepBasis::TooShort { .. }, WhenInconclusive::Pass) => gate.noted.push(Finding::TooShort(series)),
                _ if series.steps.unjudged > 0 => gate.noted.push(Finding::Unjudged(series)),
                _ => {}
            }
        }
        gate
    }
}

impl HistorySeries {
    /// The position of the first commit that the newest run measured: steps from there on are new.
    pub fn first_new(&self) -> u32 {
        let newest = self.runs.first();
        let first = self.points.iter().position(|point| point.run.as_ref() == newest && newest.is_some());
        first.unwrap_or(self.points.len()) as u32
    }
}
