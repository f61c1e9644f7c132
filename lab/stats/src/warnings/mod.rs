//! Warnings about misleading figures, as data. This file lists the kinds and their checks; each
//! check is a file, and gives at most one warning per code, with all affected cells. `report`
//! writes the sentences (`report/src/sentences/warning.rs`).

mod changed_environment;
mod coarse_count;
mod concerned;
mod cpus;
mod frequency;
mod incomplete;
mod little_overlap;
mod load;
mod spread;
mod steal;
mod virtualised;
mod warm_up;

pub use frequency::FrequencyReason;
pub(crate) use frequency::frequency_reasons;
pub use load::Load;
pub(crate) use load::{busy_at_start, by_others_ns, most_by_others, others_cpus, region_ns, tasks_ns};
pub(crate) use steal::{most_stolen, stolen_share};
pub use virtualised::Virtualisation;

use crate::figures::Curve;
use crate::gather::CaseCells;
use crate::machine::Cpus;
use crate::progress::Standing;
use faultline_record::cell::{Case, Cell};
use faultline_record::plan::PlanItem;
use faultline_record::record::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, IntoStaticStr, VariantArray};

/// A warning about a run, or about some of its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[ts(type = "{ code: string, cells: Array<Cell>, }")]
pub struct Warning {
    /// The finding.
    #[serde(flatten)]
    pub kind: WarningKind,
    /// The affected cells; empty for the whole run.
    pub cells: Vec<Cell>,
}

impl Warning {
    /// The code of its kind.
    pub fn code(&self) -> WarningCode {
        WarningCode::from(&self.kind)
    }
}

/// Kind of a warning: its cause, its condition, and the values found. Shares are fractions of 1;
/// `thresholds.rs` has the limits. [`WarningCode`] has the same codes without values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[strum_discriminants(name(WarningCode), doc = "Kind of a warning.")]
#[strum_discriminants(derive(PartialOrd, Ord, Hash, VariantArray, IntoStaticStr))]
#[strum_discriminants(strum(serialize_all = "kebab-case"))]
pub enum WarningKind {
    /// Other processes used CPU time: they take CPUs, caches and memory, and work that runs before
    /// a session is likely to continue. Given if, in 0.3 s before a session, programs used more
    /// than `BUSY_AT_START` CPUs; if that is unknown, if the load average exceeds `LOAD_AVERAGE` or
    /// another task is ready; and during a cell, by the rule in docs/METHODOLOGY.md, §9.
    Load(Load),
    /// A hypervisor stole CPU time: the CPU was not available while the clock ran. Given if steal
    /// time exceeds `STEAL_SHARE` of the machine's time, and one tick.
    Steal {
        /// The largest share of the machine's CPU time stolen during a cell.
        share: f64,
        /// The cell with that share.
        worst: Cell,
    },
    /// The CPU's frequency may change during the run: one busy CPU runs faster than many. Given if
    /// the governor is not `performance`, scaling is on with an unknown governor, or boost is on.
    FrequencyScaling {
        /// The reasons.
        reasons: Vec<FrequencyReason>,
    },
    /// The machine is a guest, emulated or a container: CPUs may be shared or moved, and faults and
    /// interrupts cost more. An emulator's rates are its own.
    Virtualised(Virtualisation),
    /// A control group limits the CPU time: tasks are stopped until the next period. Given if it
    /// allows less than the available CPUs, and a cell reaches it.
    CpuQuota {
        /// CPU time allowed by the quota, in CPUs.
        cpus: f64,
    },
    /// Only one CPU may be used: no statement about scaling is possible.
    OneCpu,
    /// A cell has more tasks than usable CPUs: tasks share CPUs.
    Oversubscribed {
        /// The largest number of tasks.
        most_tasks: u32,
        /// CPUs that the tasks may use.
        cpus: u32,
    },
    /// A cell has more tasks than physical cores, but not than CPUs: two hardware threads are not
    /// two cores.
    SharedCores {
        /// The largest number of tasks that have a CPU each.
        most_tasks: u32,
        /// Number of physical cores.
        cores: u32,
    },
    /// The rate was still changing when the region of interest began: the value mixes two states.
    /// Given by the test in docs/METHODOLOGY.md, §8.
    UnsettledWarmUp {
        /// Number of such curves.
        curves: u32,
        /// The largest difference of the rate in the first third of the region from that in the
        /// rest, as a share; negative if it was slower.
        change: f64,
        /// The curve with that difference.
        worst: Case,
    },
    /// Too few repeats: the interval is weaker than it looks. Given if its coverage is below
    /// `COVERAGE`.
    FewRepeats {
        /// The fewest repeats of a point.
        fewest: u32,
        /// Coverage of its interval.
        coverage: f64,
        /// Number of repeats for a 95 % interval.
        enough: u32,
        /// The required coverage.
        wanted: f64,
    },
    /// Too few operations for the required precision: those in progress at an edge of the region of
    /// interest count completely or not at all. Given if one granule of each task exceeds
    /// `COARSE_SHARE` of a median repeat's operations.
    CoarseCount {
        /// The largest share of one granule of each task in a repeat's count; `None` if a repeat
        /// counted nothing.
        step_share: Option<f64>,
        /// The cell with that share.
        worst: Cell,
    },
    /// Repeats differ strongly: small differences cannot be detected. Given if half an interval's
    /// width exceeds `NOISY_SHARE` of the median.
    Noisy {
        /// Threshold of an interval's half-width, as a share of its median.
        limit: f64,
        /// The largest half-width; `None` if the median is (almost) 0.
        half_width: Option<f64>,
        /// The cell with that interval.
        worst: Cell,
    },
    /// Planned items failed, were skipped, or have not ended: points may be missing, and not at
    /// random.
    Incomplete {
        /// Items of the plan.
        planned: u32,
        /// Failed items.
        failed: u32,
        /// Items that this machine does not support.
        unsupported: u32,
        /// Items skipped because the time budget was used up, or a failure ended the run.
        skipped: u32,
        /// Items that have not ended.
        open: u32,
    },
    /// In a lens run, CPUs were rarely busy at the same time: tasks that run one after the other
    /// move fewer lines. Given if two or more were busy in less than `LENS_OVERLAP_WARNED` of the
    /// busy time.
    LittleOverlap {
        /// The smallest share of the busy time in which at least two CPUs were busy.
        share: f64,
        /// The cell with that share.
        worst: Cell,
        /// The threshold of that share.
        limit: f64,
    },
    /// Facts of a later session differ, except `load.*` and `memory.available_bytes`: the run mixes
    /// two machines, kernels, boots or builds.
    ChangedEnvironment {
        /// Number of sessions.
        sessions: u32,
        /// Keys of the facts that differ.
        keys: Vec<String>,
    },
}

impl WarningCode {
    /// Every code.
    pub const ALL: &'static [WarningCode] = <WarningCode as VariantArray>::VARIANTS;

    /// The code as text, such as `unsettled-warm-up`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Input of the checks.
#[derive(Clone, Copy)]
pub(crate) struct Findings<'a> {
    /// The run.
    pub(crate) record: &'a RunRecord,
    /// Its CPUs.
    pub(crate) cpus: Cpus,
    /// Its items.
    pub(crate) standings: &'a [(&'a PlanItem, Standing<'a>)],
    /// Its cases.
    pub(crate) cases: &'a [CaseCells<'a>],
    /// Their curves, in the same order.
    pub(crate) curves: &'a [Curve],
}

/// A check for one kind of cause.
type Check = fn(&Findings<'_>) -> Option<Warning>;

/// Kinds of runs to which a check applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// Runs that measure time. Disturbances of clocks do not affect counts.
    Timed,
    /// Lens runs, which count.
    Counted,
    /// All runs.
    Every,
}

/// All checks, in the order of the codes.
const CHECKS: &[(Runs, Check)] = &[
    (Runs::Timed, load::at_start),
    (Runs::Timed, load::under_way),
    (Runs::Timed, steal::steal),
    (Runs::Timed, frequency::frequency_scaling),
    (Runs::Timed, virtualised::virtualised),
    (Runs::Timed, cpus::quota),
    (Runs::Timed, cpus::one_cpu),
    (Runs::Timed, cpus::oversubscribed),
    (Runs::Timed, cpus::shared_cores),
    (Runs::Timed, warm_up::unsettled),
    (Runs::Timed, spread::few_repeats),
    (Runs::Timed, coarse_count::coarse_count),
    (Runs::Timed, spread::noisy),
    (Runs::Every, incomplete::incomplete),
    (Runs::Timed, changed_environment::changed_environment),
    (Runs::Counted, little_overlap::little_overlap),
];

/// The warnings of a run that measures time.
pub(crate) fn warnings(findings: &Findings<'_>) -> Vec<Warning> {
    found(Runs::Timed, findings)
}

/// The warnings of a lens run.
pub(crate) fn warnings_of_lens(findings: &Findings<'_>) -> Vec<Warning> {
    found(Runs::Counted, findings)
}

/// The warnings of the checks that apply, in the order of the codes.
fn found(of: Runs, findings: &Findings<'_>) -> Vec<Warning> {
    let matters = |runs: Runs| runs == of || runs == Runs::Every;
    CHECKS.iter().filter(|(runs, _)| matters(*runs)).filter_map(|(_, check)| check(findings)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{example, summarise};
    use faultline_record::facts::FactValue;

    /// A record's warnings with this code.
    pub(super) fn of(record: &RunRecord, code: WarningCode) -> Vec<Warning> {
        summarise(record).warnings.into_iter().map(|said| said.what).filter(|warning| warning.code() == code).collect()
    }

    /// The quiet example, with one fact changed.
    pub(super) fn with_fact(key: &str, value: FactValue) -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        record.head.sessions[0].facts[0].0.insert(key.to_owned(), value);
        record
    }

    #[test]
    fn a_quiet_complete_run_gives_none() {
        assert_eq!(summarise(&example::Run::new(&["a_load", "b_load"]).record()).warnings, []);
    }

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
