//! Random layouts of the commits of a history: what was measured in them, and what they tell of a step.

use super::Blame;
use crate::drill::{LayoutsTried, StepLabel};
use serde::{Deserialize, Serialize};

/// What came of the random layouts of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayoutResults {
    /// Layouts that were tried.
    pub tried: u32,
    /// Those that changed no place of code or data.
    pub unchanged: u32,
    /// Those in which the commit cannot be linked, or does not run.
    pub failed: u32,
    /// The executions that succeeded, in the order of the plan. A layout with the places of an earlier one is not executed.
    pub samples: Vec<LayoutSample>,
}

/// An execution in a random layout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LayoutSample {
    /// The seed of the layout.
    pub layout: u32,
    /// The boot of the machine, numbered with those of the commit's own layout; 0 if all were one, or if one is not known.
    pub boot: u32,
    /// The value.
    pub value: f64,
}

/// What random layouts of the commits on both sides of a step tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepLayouts {
    /// Code, layout, or neither shown. Never a quirk.
    pub label: StepLabel,
    /// The part of the step that remains in random layouts, where the whole step is 1, with its 95 % confidence interval; `None` of too few layouts.
    pub remains: Option<Part>,
    /// The same as a change of the value, as a share of the level before the step, with its 99 % confidence interval; `None` also without such a level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_commits: Option<Part>,
    /// Whether that interval lies below the smallest change that is a step, in the direction of the step.
    #[serde(default)]
    pub is_no_step: bool,
    /// The layouts. `distinct`: those that were measured on both sides.
    #[serde(flatten)]
    pub tried: LayoutsTried,
}

impl StepLayouts {
    /// Fewest layouts, measured on both sides, with which a step can have a label: fewer have no interval at 99 %.
    pub const FEWEST: u32 = 8;

    /// Whether the program made the step, as far as layouts tell. A step may be mostly the layout's, and what remains of it a step nevertheless.
    pub fn blame(&self) -> Blame {
        match self.label {
            StepLabel::Layout if self.is_no_step => Blame::Layout,
            StepLabel::Layout | StepLabel::Inconclusive => Blame::Inconclusive,
            StepLabel::Code | StepLabel::Quirk => Blame::Program,
        }
    }

    /// Whether most of the step is the layout's, and what remains may be a step of the commits.
    pub fn is_mostly_layout(&self) -> bool {
        self.label == StepLabel::Layout && !self.is_no_step
    }
}

/// A part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The estimate.
    pub share: f64,
    /// The lower end of its confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How much one build of a commit varies from boot to boot, next to how much it varies within one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BootSpread {
    /// Boots in which the commits beside the step were measured, a commit's counted by themselves.
    pub boots: u32,
    /// Standard deviation between boots, as a share.
    pub between: f64,
    /// Standard deviation between executions within a boot, as a share.
    pub within: f64,
}
