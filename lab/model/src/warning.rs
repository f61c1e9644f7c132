//! What makes figures misleading, as data. Each warning has a code that programs can test, and the values that it rests on. `stats` detects
//! it (`stats/src/warnings`), `report` writes the sentence (`report/src/sentences/warning.rs`).

use crate::cell::{Case, Cell};
use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, IntoStaticStr, VariantArray};

/// A warning about a run, or about some of its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Warning {
    /// What was detected.
    #[serde(flatten)]
    pub kind: WarningKind,
    /// The cells concerned; empty for the whole run.
    pub cells: Vec<Cell>,
}

impl Warning {
    /// What it is about.
    pub fn code(&self) -> WarningCode {
        WarningCode::from(&self.kind)
    }
}

/// What a warning is about, with the values found. Shares are fractions of 1. [`WarningCode`] has the same codes without values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "code", rename_all = "kebab-case")]
#[strum_discriminants(name(WarningCode), doc = "What a warning is about.")]
#[strum_discriminants(derive(PartialOrd, Ord, Hash, VariantArray, IntoStaticStr))]
#[strum_discriminants(strum(serialize_all = "kebab-case"))]
pub enum WarningKind {
    /// Other processes used CPU time before or during the run.
    Load(Load),
    /// A hypervisor took CPU time away.
    Steal {
        /// The greatest share of the machine's CPU time that it took from a cell.
        share: f64,
        /// That cell.
        worst: Cell,
    },
    /// The CPU's frequency may change during the run.
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
        /// The most tasks that ran, each on its own CPU.
        most_tasks: u32,
        /// Physical cores.
        cores: u32,
    },
    /// The rate was still moving when the window began.
    UnsettledWarmUp {
        /// Number of curves for which it was.
        curves: u32,
        /// How much faster the first third of the window was than the rest, at most; negative if it was slower.
        change: f64,
        /// The curve with that change.
        worst: Case,
    },
    /// Too few repeats for a 95 % interval.
    FewRepeats {
        /// The fewest repeats of a point.
        fewest: u32,
        /// The coverage of its interval.
        coverage: f64,
        /// The number of repeats that is enough.
        enough: u32,
        /// The least coverage of the interval of that many.
        wanted: f64,
    },
    /// Too few operations in the window for the required precision.
    CoarseCount {
        /// The greatest ratio of one step of each task's count to a repeat's count; `None` if a repeat counted nothing.
        step_share: Option<f64>,
        /// The cell with that ratio.
        worst: Cell,
    },
    /// Repeats differ much from each other.
    Noisy {
        /// Half-width of an interval, as a share of its median, above which it counts as wide.
        limit: f64,
        /// The greatest half-width; `None` if the median is 0 or almost 0.
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
        /// Those that this machine does not support.
        unsupported: u32,
        /// Those left out because the time was used up.
        skipped: u32,
        /// Those that have not ended.
        open: u32,
        /// Whether the run can be resumed.
        resumable: bool,
    },
    /// Under the lens, CPUs were hardly busy at the same time.
    LittleOverlap {
        /// The least share of the busy time in which at least two CPUs were busy.
        share: f64,
        /// The cell with that share.
        worst: Cell,
        /// The share below which a cell is reported.
        limit: f64,
    },
    /// The machine or its boot changed between the run's parts.
    ChangedSurroundings {
        /// Parts of the run.
        sessions: u32,
        /// Keys of the facts that differ.
        keys: Vec<String>,
    },
}

/// When other processes used CPU time, and how much.
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
        /// The most CPUs that other processes used during a cell.
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
    /// The governor does not keep the frequency constant.
    Governor {
        /// The governor.
        name: String,
        /// The governor that does.
        steady: String,
    },
    /// It is scaled, by an unknown governor.
    Scaling,
    /// Boost is on.
    Boost,
}

/// How a machine is virtual.
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
        /// What is known about the hypervisor.
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
