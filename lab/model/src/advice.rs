//! What makes a machine's figures worse, as data. Each advice has a code that programs can test, and the values that it rests on. `stats`
//! finds the cases (`stats/src/fitness/advice`). `report` writes what was found and what to do about it (`report/src/sentences/advice.rs`).

use crate::cell::Cell;
use crate::failure::Failure;
use crate::unmatched::UnmatchedReason;
use crate::warning::Virtualisation;
use serde::{Deserialize, Serialize};

/// One thing that makes a machine's figures worse. Shares are fractions of 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Advice {
    /// A workload has no comparison.
    Unmeasured {
        /// The workload.
        workload: NamedWorkload,
        /// Why, if it is known.
        why: Option<UnmatchedReason>,
    },
    /// A workload failed so often that it has no answer.
    Unanswered {
        /// The workload.
        workload: NamedWorkload,
        /// How often it failed, on both sides together.
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
        /// How far the larger side is above the smaller one, as a share of the smaller.
        difference: f64,
    },
    /// A workload failed in some attempts, and has an answer nevertheless.
    Failed {
        /// The workload.
        workload: NamedWorkload,
        /// How often it failed, on both sides together.
        times: u32,
        /// The first failure.
        first: Failure,
    },
    /// Other processes or kernel threads used CPU time while a cell was measured.
    Others {
        /// The most CPUs that they used during a cell.
        cpus: f64,
        /// That cell.
        worst: Cell,
    },
    /// Other programs used CPU time in the moments before the start.
    Busy {
        /// CPUs that other programs used in the moments before.
        cpus: f64,
    },
    /// The machine was busy at the start, as far as the load average tells.
    Load {
        /// That of the last minute.
        average: f64,
    },
    /// A hypervisor took CPU time away while a cell was measured.
    Steal {
        /// The greatest share of the machine's CPU time that it took.
        share: f64,
        /// That cell.
        worst: Cell,
    },
    /// A control group limits the CPU time.
    CpuQuota {
        /// The time that it allows, in CPUs.
        cpus: f64,
    },
    /// Pages went to swap, or came from it, while tasks were measured.
    Swapped {
        /// How many.
        pages: i64,
    },
    /// Values of workloads fall into two groups.
    Bimodal {
        /// The workloads; at least one.
        workloads: Vec<NamedWorkload>,
    },
    /// Values of workloads rise or fall from run to run.
    Drift {
        /// The workloads; at least one.
        workloads: Vec<NamedWorkload>,
    },
    /// CPUs change their frequency with their load.
    FrequencyScaling {
        /// The governor that allows it; `None` if it is not known.
        governor: Option<String>,
        /// The governor that keeps the frequency constant.
        steady: String,
    },
    /// Boost is on.
    Boost {
        /// What turns it off.
        switch: BoostSwitch,
    },
    /// The machine is virtual.
    Virtualised(Virtualisation),
    /// Reading the clock takes about a microsecond, or its resolution is coarse.
    SlowClock {
        /// Its name.
        name: String,
    },
    /// Transparent huge pages are on for all.
    HugePages,
    /// The kernel moves pages between NUMA nodes.
    NumaBalancing,
    /// Address-space randomisation is off.
    FixedAddresses,
    /// More tasks than physical cores: some share a core.
    SharedCores {
        /// The most tasks that ran.
        most_tasks: u32,
        /// Physical cores.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedWorkload {
    /// Its name: `zero_fill:base`.
    pub name: String,
    /// Number of tasks, if it has one.
    pub tasks: Option<u32>,
}

/// What turns boost off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoostSwitch {
    /// A setting of Intel's own driver.
    IntelPstate,
    /// A setting of all other drivers.
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
