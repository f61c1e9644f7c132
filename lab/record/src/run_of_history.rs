//! A run that measures commits of a history, as shown in the list of runs.

use crate::quantity::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The subject of such a run, and the run's current stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct RunOfHistory {
    /// The subject's name.
    pub subject: String,
    /// The workload, or the name of the program's file.
    pub measured: String,
    /// The quantity that is measured.
    pub quantity: Quantity,
    /// Number of commits that the run measures.
    pub commits: u32,
    /// Current stage; `None` for a finished run. A stopped run has one too, because it continues
    /// there: the saved data do not show if a process works on it.
    pub stage: Option<HistoryStage>,
}

/// Current stage of a run, according to the saved data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum HistoryStage {
    /// Building a commit.
    Build {
        /// The commit's full name.
        commit: String,
        /// The commit's number among those that the run measures, from 1.
        number: u32,
    },
    /// Linking builds in random layouts.
    Link,
    /// Installing or booting the kernel of the next execution.
    Boot,
    /// Executing commits.
    Measure,
}
