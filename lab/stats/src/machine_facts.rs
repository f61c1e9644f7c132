//! Known machines, from the facts saved with runs: their latest facts, and all changes.

use crate::history::ChangedFact;
use faultline_record::facts::SessionFacts;
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;

/// A guest on a machine, identified by its accelerator and number of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownGuest {
    /// Accelerator: `tcg` emulates; `kvm` runs on the machine's CPUs.
    pub accelerator: String,
    /// Number of CPUs, if known.
    pub cpus: Option<i64>,
}

/// A measured machine, or a measured guest on one.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownMachine {
    /// Host name of the machine; empty if unknown.
    pub name: String,
    /// The guest; `None` for the machine itself.
    pub guest: Option<KnownGuest>,
    /// The latest facts.
    pub newest: SessionFacts,
    /// Time of the earliest session that was read.
    pub since: UnixMillis,
    /// Number of sessions: runs and resumes.
    pub sessions: u32,
    /// Changes between sessions, the newest first.
    pub changes: Vec<MachineChange>,
}

/// Lasting facts that changed between two runs on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineChange {
    /// The first run with the new facts.
    pub run: RunId,
    /// Time when it began or was resumed.
    pub started: UnixMillis,
    /// Facts that differ from the last recorded value.
    pub facts: Vec<FactChange>,
}

/// A fact that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FactChange {
    /// The key, and the values before and after; both are known.
    pub fact: ChangedFact,
    /// True if histories of times show a quirk where it changes.
    pub is_quirk: bool,
}
