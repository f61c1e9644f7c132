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

/// A guest on a machine, as far as it tells guests apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownGuest {
    /// What executes it: `tcg` emulates, `kvm` lets the machine's own CPUs execute it.
    pub accelerator: String,
    /// Its CPUs, if they are known.
    pub cpus: Option<i64>,
}

/// A machine on which something was measured, or a guest on one.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownMachine {
    /// The name of the machine; empty if it has none.
    pub name: String,
    /// Which guest on it this is about; `None` of the machine itself.
    pub guest: Option<KnownGuest>,
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
    /// What changed since a run last recorded the fact.
    pub facts: Vec<FactChange>,
}

/// A fact that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FactChange {
    /// Its key, and what it was and is; both are known.
    pub fact: ChangedFact,
    /// Whether histories of times have a quirk where it changes between their runs.
    pub is_quirk: bool,
}
