//! What the lens counted otherwise on the two sides of a step.

use crate::lens::comparison::CellComparison;
use serde::{Deserialize, Serialize};

/// The lines and the code whose transfers differ between the two measured commits around a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepMoved {
    /// The position of the commit before the step.
    pub after: u32,
    /// That of the first commit with the new level.
    pub by: u32,
    /// What differs.
    pub counts: CellComparison,
}
