//! Causes of noisy or slow figures on a machine, as data. Each has a code that programs can test,
//! and its values. `stats` finds the causes (`stats/src/fitness/advice`). `report` writes the
//! finding and the remedy (`report/src/sentences/advice.rs`).

use crate::unmatched::UnmatchedReason;
use crate::warnings::Virtualisation;
use faultline_record::cell::Cell;
use faultline_record::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One cause of noisy or slow figures on a machine. Shares are fractions of 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Advice {
    /// A workload has no comparison.
    Unmeasured {
        /// The workload.
        workload: NamedWorkload,
        /// The reason, if known.
        why: Option<UnmatchedReason>,
    },
    /// Executions of a workload failed, so it has no answer.
    Unanswered {
        /// The workload.
        workload: NamedWorkload,
        /// Number of failures on both sides together.
        times: u32,
        /// The first failure.
        first: Failure,
    },
    /// A workload has too few values for an answer.
    FewValues {
        /// The workload.
        workload: NamedWorkload,
    },
    /// A workload differs from itself.
    Differs {
        /// The workload.
        workload: NamedWorkload,
        /// The larger side relative to the smaller, minus 1.
        difference: f64,
    },
    /// Other processes or kernel threads used CPU time while a cell was measured.
    Others {
        /// The most CPUs that they used during a cell.
        cpus: f64,
        /// The cell in which they used most.
        worst: Cell,
    },
    /// Other programs used CPU time just before the start.
    Busy {
        /// CPUs used by other programs.
        cpus: f64,
    },
    /// The load average shows that the machine was busy at the start.
    Load {
        /// Load average of the last minute.
        average: f64,
    },
    /// A hypervisor took CPU time away while a cell was measured.
    Steal {
        /// The largest share of the machine's CPU time that was stolen.
        share: f64,
        /// The cell with that share.
        worst: Cell,
    },
    /// A control group limits the CPU time.
    CpuQuota {
        /// CPU time allowed by the quota, in CPUs.
        cpus: f64,
    },
    /// Pages were swapped in or out while tasks were measured.
    Swapped {
        /// Number of pages.
        pages: i64,
    },
    /// The values of some workloads fall into two groups.
    Bimodal {
        /// The workloads; at least one.
        workloads: Vec<NamedWorkload>,
    },
    /// The values of some workloads rise or fall from run to run.
    Drift {
        /// The workloads; at least one.
        workloads: Vec<NamedWorkload>,
    },
    /// CPU frequency scales with load.
    FrequencyScaling {
        /// The current governor; `None` if unknown.
        governor: Option<String>,
        /// The governor that keeps the frequency constant.
        steady: String,
    },
    /// Boost is on.
    Boost {
        /// The setting that turns it off.
        switch: BoostSwitch,
    },
    /// The machine is virtual.
    Virtualised(Virtualisation),
    /// Reading the clock takes about a microsecond, or its resolution is coarse.
    SlowClock {
        /// Name of the clock source.
        name: String,
    },
    /// Transparent huge pages are enabled for all processes.
    HugePages,
    /// The kernel moves pages between NUMA nodes.
    NumaBalancing,
    /// Address-space randomisation is off.
    FixedAddresses,
    /// More tasks than physical cores: some tasks share a core.
    SharedCores {
        /// The largest number of tasks.
        most_tasks: u32,
        /// Number of physical cores.
        cores: u32,
    },
    /// Only large changes can be detected.
    Blind {
        /// The workload with the largest smallest detectable change.
        workload: NamedWorkload,
        /// Its smallest detectable change, as a share; `None` if no change can be detected.
        smallest: Option<f64>,
    },
}

/// A workload, named as in a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct NamedWorkload {
    /// Its name, such as `zero_fill:base`.
    pub name: String,
    /// Number of tasks, if it has one.
    pub tasks: Option<u32>,
}

/// The setting that turns off boost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum BoostSwitch {
    /// The setting of Intel's own driver.
    IntelPstate,
    /// The setting of all other drivers.
    Cpufreq,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unmatched::Letter;

    #[test]
    fn advice_survives_json() {
        let workload = NamedWorkload { name: "x:base".to_owned(), tasks: Some(2) };
        let why = UnmatchedReason::NoValue { side: Letter::A, failure: None };
        let unmeasured = Advice::Unmeasured { workload, why: Some(why) };
        let json = serde_json::to_string(&unmeasured).unwrap();
        let begin = r#"{"code":"unmeasured","workload":{"name":"x:base","tasks":2},"why":{"reason":"no-value","#;
        assert!(json.starts_with(begin), "{json}");
        assert_eq!(serde_json::from_str::<Advice>(&json).unwrap(), unmeasured);
        let emulated = Advice::Virtualised(Virtualisation::Emulated);
        assert_eq!(serde_json::to_string(&emulated).unwrap(), r#"{"code":"virtualised","how":"emulated"}"#);
    }
}
