//! What is known of machines from the facts that runs saved: today's, and what changed when.

use crate::facts::Facts;
use crate::history::quirk::ChangedFact;
use crate::record::RunId;
use crate::time::UnixMillis;

/// The facts of a run's machine when the run began or was resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFacts {
    /// The run.
    pub run: RunId,
    /// When it began or was resumed.
    pub started: UnixMillis,
    /// The facts of the machine of its first subject.
    pub facts: Facts,
}

/// A machine on which something was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownMachine {
    /// Its name; empty if it has none.
    pub name: String,
    /// What it was like when it was last measured.
    pub newest: SessionFacts,
    /// When it was first measured, among what was read.
    pub since: UnixMillis,
    /// Number of runs and resumes.
    pub sessions: u32,
    /// What changed between two of them, the newest first.
    pub changes: Vec<MachineChange>,
}

/// Lasting facts that changed between two runs on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineChange {
    /// The first run with the new facts.
    pub run: RunId,
    /// When it began or was resumed.
    pub started: UnixMillis,
    /// What changed. A fact that was not recorded before, or is no longer, has no value there.
    pub facts: Vec<FactChange>,
}

/// A fact that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FactChange {
    /// Its key, and what it was and is.
    pub fact: ChangedFact,
    /// Whether histories of times have a quirk where it changes between their runs.
    pub is_quirk: bool,
}
