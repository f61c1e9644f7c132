//! A line of the list of what was taken in from other tools.

use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// Figures of another tool, as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedLine {
    /// The name they are kept under.
    pub name: String,
    /// Name of the format they came in.
    pub source: String,
    /// When they were taken in.
    pub imported: UnixMillis,
    /// Benchmarks.
    pub series: u32,
    /// Runs of them.
    pub points: u32,
}
