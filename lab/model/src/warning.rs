//! What makes figures lie, as data: each warning has a code that programs can test and a text for people.

use crate::cell::Cell;
use serde::{Deserialize, Serialize};

/// What the warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCode {
    /// Others used CPU time before or during the run.
    Load,
    /// A hypervisor took CPU time away.
    Steal,
    /// The CPU's frequency may change under way.
    FrequencyScaling,
    /// The machine is virtual: its CPUs may be shared or moved.
    Virtualised,
    /// A control group limits the CPU time.
    CpuQuota,
    /// One CPU only: nothing can be said about scaling.
    OneCpu,
    /// More tasks than CPUs.
    Oversubscribed,
    /// More tasks than physical cores: some share a core.
    SharedCores,
    /// The rate was still moving when the window began.
    UnsettledWarmUp,
    /// Too few repeats for an interval of 95 %.
    FewRepeats,
    /// Too few operations in the window for the precision asked of them.
    CoarseCount,
    /// Repeats differ much from each other.
    Noisy,
    /// Items failed, or were not run.
    Incomplete,
    /// The machine or its boot changed between the run's parts.
    ChangedSurroundings,
}

impl WarningCode {
    /// Every code.
    pub const ALL: [WarningCode; 14] = [
        WarningCode::Load,
        WarningCode::Steal,
        WarningCode::FrequencyScaling,
        WarningCode::Virtualised,
        WarningCode::CpuQuota,
        WarningCode::OneCpu,
        WarningCode::Oversubscribed,
        WarningCode::SharedCores,
        WarningCode::UnsettledWarmUp,
        WarningCode::FewRepeats,
        WarningCode::CoarseCount,
        WarningCode::Noisy,
        WarningCode::Incomplete,
        WarningCode::ChangedSurroundings,
    ];

    /// The code as it is written: `unsettled-warm-up`.
    pub fn word(self) -> &'static str {
        match self {
            WarningCode::Load => "load",
            WarningCode::Steal => "steal",
            WarningCode::FrequencyScaling => "frequency-scaling",
            WarningCode::Virtualised => "virtualised",
            WarningCode::CpuQuota => "cpu-quota",
            WarningCode::OneCpu => "one-cpu",
            WarningCode::Oversubscribed => "oversubscribed",
            WarningCode::SharedCores => "shared-cores",
            WarningCode::UnsettledWarmUp => "unsettled-warm-up",
            WarningCode::FewRepeats => "few-repeats",
            WarningCode::CoarseCount => "coarse-count",
            WarningCode::Noisy => "noisy",
            WarningCode::Incomplete => "incomplete",
            WarningCode::ChangedSurroundings => "changed-surroundings",
        }
    }
}

/// A warning about a run, or about some of its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about.
    pub code: WarningCode,
    /// One or two sentences for people: what was seen, and what to do.
    pub text: String,
    /// The cells concerned; empty when it is the whole run.
    pub cells: Vec<Cell>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_all() {
        // The number of the last variant: a new one that `ALL` lacks makes the two differ.
        assert_eq!(WarningCode::ALL.len(), WarningCode::ChangedSurroundings as usize + 1);
        assert!(WarningCode::ALL.is_sorted());
    }
}
