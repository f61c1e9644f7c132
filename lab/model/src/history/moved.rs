//! What was recorded otherwise on the two sides of a step.

use crate::comparison::CounterDifference;
use crate::lens::comparison::CellComparison;
use serde::{Deserialize, Serialize};

/// What differs between the two measured commits around a step, besides their values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepMoved {
    /// The position of the commit before the step.
    pub after: u32,
    /// That of the first commit with the new level.
    pub by: u32,
    /// Of counts: the lines and the code whose transfers differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CellComparison>,
    /// Of the time of workloads: the kernel's counters that differ, per operation, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDifference>,
}
