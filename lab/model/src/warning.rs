//! What makes figures lie, as data: each warning has a code that programs can test, and the values that it rests on. `stats` finds
//! (`stats/src/warnings`), `report` finds the words (`report/src/sentences/warning.rs`).

use crate::cell::{Case, Cell};
use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, IntoStaticStr, VariantArray};

/// A warning about a run, or about some of its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Warning {
    /// What was seen.
    #[serde(flatten)]
    pub kind: WarningKind,
    /// The cells concerned; empty when it is the whole run.
    pub cells: Vec<Cell>,
}

impl Warning {
    /// What it is about.
    pub fn code(&self) -> WarningCode {
        WarningCode::from(&self.kind)
    }
}

/// What a warning is about, with what was seen. Shares are of 1. [`WarningCode`] are the same without the values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "code", rename_all = "kebab-case")]
#[strum_discriminants(name(WarningCode), doc = "What a warning is about.")]
#[strum_discriminants(derive(PartialOrd, Ord, Hash, VariantArray, IntoStaticStr))]
#[strum_discriminants(strum(serialize_all = "kebab-case"))]
pub enum WarningKind {
    /// Others used CPU time before or during the run.
    Load(Load),
    /// A hypervisor took CPU time away.
    Steal {
        /// The greatest share of the machine's CPU time that it took from a cell.
        share: f64,
        /// That cell.
        worst: Cell,
    },
    /// The CPU's frequency may change under way.
    FrequencyScaling {
        /// Why.
        reasons: Vec<FrequencyReason>,
    },
    /// The machine is virtual: its CPUs may be shared or moved.
    Virtualised(Virtualisation),
    /// A control group limits the CPU time.
    CpuQuota {
        /// The time that it allows, in CPUs.
        cpus: f64,
    },
    /// One CPU only: nothing can be said about scaling.
    OneCpu,
    /// More tasks than CPUs.
    Oversubscribed {
        /// The most tasks that ran.
        most_tasks: u32,
        /// CPUs that they may run on.
        cpus: u32,
    },
    /// More tasks than physical cores: some share a core.
    SharedCores {
        /// The most tasks that ran, and had CPUs of their own.
        most_tasks: u32,
        /// Physical cores.
        cores: u32,
    },
    /// The rate was still moving when the window began.
    UnsettledWarmUp {
        /// Curves of which it was.
        curves: u32,
        /// How much faster the first third of the window was than the rest, at most; below 0 it was slower.
        change: f64,
        /// The curve with that change.
        worst: Case,
    },
    /// Too few repeats for an interval of 95 %.
    FewRepeats {
        /// The fewest repeats of a point.
        fewest: u32,
        /// What its interval covers.
        coverage: f64,
        /// Repeats that are enough.
        enough: u32,
        /// What the interval of so many covers at least.
        wanted: f64,
    },
    /// Too few operations in the window for the precision asked of them.
    CoarseCount {
        /// One step of each task's count, as a share of what a repeat counted, at most; none where a repeat counted nothing.
        step_share: Option<f64>,
        /// The cell with that share.
        worst: Cell,
    },
    /// Repeats differ much from each other.
    Noisy {
        /// Half-width of an interval, as a share of its median, from which on it counts as wide.
        limit: f64,
        /// The greatest half-width; none where the median is 0 or next to it.
        half_width: Option<f64>,
        /// The cell with that interval.
        worst: Cell,
    },
    /// Items failed, or were not run.
    Incomplete {
        /// Items of the plan.
        planned: u32,
        /// Those that failed.
        failed: u32,
        /// Those that this machine can't do.
        unsupported: u32,
        /// Those left out because the time was used up.
        skipped: u32,
        /// Those that have not ended.
        open: u32,
        /// Whether the run can be resumed.
        resumable: bool,
    },
    /// The machine or its boot changed between the run's parts.
    ChangedSurroundings {
        /// Parts of the run.
        sessions: u32,
        /// Keys of the facts that differ.
        keys: Vec<String>,
    },
}

/// When others used CPU time, and how much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "when", rename_all = "kebab-case")]
pub enum Load {
    /// Before a session.
    AtStart {
        /// CPUs that programs used in the moments before, where that was taken and was much.
        busy_cpus: Option<f64>,
        /// Load average of the last minute, where it was high and nothing better was taken.
        load_average: Option<f64>,
        /// Other tasks that were ready to run, where there were any and nothing better was taken.
        runnable_others: Option<i64>,
    },
    /// While tasks were measured.
    UnderWay {
        /// The most CPUs that others used during a cell.
        others_cpus: f64,
        /// That cell.
        worst: Cell,
    },
}

/// Why a frequency may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum FrequencyReason {
    /// The governor is another than the one that holds it.
    Governor {
        /// The governor.
        name: String,
        /// The one that holds it.
        steady: String,
    },
    /// It is scaled, by what isn't known.
    Scaling,
    /// Boost is on.
    Boost,
}

/// In which way a machine is virtual.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Virtualisation {
    /// Its instructions are translated.
    Emulated,
    /// The run is in a container.
    Container,
    /// A hypervisor runs it.
    Hypervisor {
        /// What is known of that one.
        names: Vec<String>,
    },
}

impl WarningCode {
    /// Every code.
    pub const ALL: &'static [WarningCode] = <WarningCode as VariantArray>::VARIANTS;

    /// The code as it is written: `unsettled-warm-up`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_written_alike_by_itself_and_in_json() {
        let quota = Warning { kind: WarningKind::CpuQuota { cpus: 2.5 }, cells: Vec::new() };
        assert_eq!(serde_json::to_string(&quota).unwrap(), r#"{"code":"cpu-quota","cpus":2.5,"cells":[]}"#);
        assert_eq!((quota.code(), quota.code().word()), (WarningCode::CpuQuota, "cpu-quota"));
    }

    #[test]
    fn a_kind_of_kinds_survives_json() {
        let load = Load::AtStart { busy_cpus: None, load_average: Some(1.84), runnable_others: None };
        let warning = Warning { kind: WarningKind::Load(load), cells: Vec::new() };
        let json = serde_json::to_string(&warning).unwrap();
        assert!(json.starts_with(r#"{"code":"load","when":"at-start","busy_cpus":null,"load_average":1.84"#), "{json}");
        assert_eq!(serde_json::from_str::<Warning>(&json).unwrap(), warning);
    }
}
