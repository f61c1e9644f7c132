//! A line of the list of imported figures.

use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// Imported figures of another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedLine {
    /// The name they are saved under.
    pub name: String,
    /// Name of the format they came in.
    pub source: String,
    /// When they were imported.
    pub imported: UnixMillis,
    /// Number of benchmarks.
    pub series: u32,
    /// Number of their runs.
    pub points: u32,
}
