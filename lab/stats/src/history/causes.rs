//! Causes of a step other than a commit's code: quirks (changes of the environment, bridged by
//! commits measured before and after), random layouts, and boots.

use crate::bisect::{Change, LayoutsTried, StepLabel};
use crate::estimate::Estimate;
use crate::history::Blame;
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The letter of a quirk by its number in its series, from 0: `A`, `B`, …; a number from the 27th
/// on.
pub fn letter(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'A' + number).to_string(),
        _ => (number + 1).to_string(),
    }
}

/// A quirk of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quirk {
    /// Its letter, in tables.
    pub letter: String,
    /// Its place.
    #[serde(flatten)]
    pub place: QuirkPlace,
    /// Recorded facts that differ.
    pub changed: Vec<ChangedFact>,
    /// Declarations by people.
    pub declared: Vec<String>,
    /// A commit that was measured before and after it; `None` without one, or if the quirk belongs
    /// to commits.
    pub bridge: Option<Bridge>,
}

/// Place of a quirk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "at", rename_all = "lowercase")]
pub enum QuirkPlace {
    /// Between two runs.
    Runs {
        /// The last run before it.
        before: RunId,
        /// The first run after it.
        since: RunId,
        /// The begin of that run.
        began: UnixMillis,
    },
    /// At commits, by their positions among the series' points.
    Commits {
        /// The first of them.
        first: u32,
        /// The last of them.
        last: u32,
    },
}

/// A fact that differs between the environments of two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFact {
    /// The key of the fact, or the command that prints a tool's version.
    pub key: String,
    /// The value before; `None` if absent.
    pub before: Option<String>,
    /// The value after; `None` if absent.
    pub now: Option<String>,
}

/// A commit that was measured before and after a quirk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bridge {
    /// The commit's place among the series' points.
    pub commit: u32,
    /// Its value before the quirk.
    pub before: Estimate,
    /// Its value after the quirk.
    pub now: Estimate,
    /// The value after divided by the value before.
    pub change: Change,
}

/// Cause of a step with quirks in its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseLabel {
    /// The commits: they changed it by more than the smallest change that is a step.
    Code,
    /// The environment: the commits changed it by at most the smallest change that is a step, and
    /// by at most half of the step.
    Quirk,
    /// Mostly the environment: the commits changed it by at most half of the step, but perhaps by
    /// more than the smallest change that is a step.
    MostlyQuirk,
    /// Undecided.
    Inconclusive,
}

/// The effect of quirks on a step in whose range they lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepCause {
    /// The letters of the quirks.
    pub quirks: Vec<String>,
    /// The cause: program or environment.
    pub label: CauseLabel,
    /// The part of the quirks: the change of the bridges; `None` if one of them has no bridge.
    pub of_environment: Option<Change>,
    /// The part of the commits: the step's change without that of the quirks.
    pub of_commits: Option<Change>,
}

/// Results of the random layouts of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayoutResults {
    /// Tried layouts.
    pub tried: u32,
    /// Layouts that moved no code or data.
    pub unchanged: u32,
    /// Layouts in which the commit cannot be linked or does not run.
    pub failed: u32,
    /// The successful executions, in the order of the plan. A layout with the places of an earlier
    /// one is not executed.
    pub samples: Vec<LayoutSample>,
}

/// An execution in a random layout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LayoutSample {
    /// The seed of the layout.
    pub layout: u32,
    /// The boot of the machine, numbered with those of the commit's own layout; 0 with a single
    /// boot, or if one is unknown.
    pub boot: u32,
    /// The value.
    pub value: f64,
}

/// Evidence of random layouts of the commits on both sides of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepLayouts {
    /// Code, layout, or undecided; never a quirk.
    pub label: StepLabel,
    /// The part of the step (1) that remains in random layouts, with its 95 % confidence interval;
    /// `None` with too few layouts.
    pub remains: Option<ShareOfStep>,
    /// That part as a change of the value, as a share of the level before the step, with its 99 %
    /// confidence interval; `None` also without such a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_commits: Option<ShareOfStep>,
    /// True if that interval lies below the smallest change that is a step, in the direction of the
    /// step.
    pub is_no_step: bool,
    /// The layouts. `distinct`: those measured on both sides.
    #[serde(flatten)]
    pub tried: LayoutsTried,
}

impl StepLayouts {
    /// Minimum number of layouts measured on both sides for a label: fewer have no interval at 99
    /// %.
    pub const FEWEST: u32 = 8;

    /// The cause by the evidence of layouts. Even if layout made most of a step, the rest may be a
    /// step.
    pub fn blame(&self) -> Blame {
        match self.label {
            StepLabel::Layout if self.is_no_step => Blame::Layout,
            StepLabel::Layout | StepLabel::Inconclusive => Blame::Inconclusive,
            StepLabel::Code | StepLabel::Quirk => Blame::Program,
        }
    }

    /// True if layout made most of the step and the rest may be a step of the commits.
    pub fn is_mostly_layout(&self) -> bool {
        self.label == StepLabel::Layout && !self.is_no_step
    }
}

/// A part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShareOfStep {
    /// The estimate.
    pub share: f64,
    /// The lower end of its confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Variation of one build between boots and within a boot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootSpread {
    /// Number of boots of the commits beside the step, counted separately for each commit.
    pub boots: u32,
    /// Standard deviation between boots, as a share.
    pub between: f64,
    /// Standard deviation between executions within a boot, as a share.
    pub within: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quirks_have_letters_and_numbers_after_them() {
        assert_eq!([0, 1, 25, 26].map(letter), ["A", "B", "Z", "27"]);
    }
}
