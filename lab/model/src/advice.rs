//! What makes a machine's figures worse, as data: each advice has a code that programs can test, and the values that it rests on. `stats` finds
//! (`stats/src/fitness/advice`), `report` writes what was found and what to do about it (`report/src/sentences/advice.rs`).

use crate::cell::Cell;
use crate::failure::Failure;
use crate::unmatched::UnmatchedReason;
use crate::warning::Virtualisation;
use serde::{Deserialize, Serialize};

/// One thing that makes a machine's figures worse. Shares are of 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Advice {
    /// A workload has no comparison.
    Unmeasured {
        /// The workload.
        workload: NamedWorkload,
        /// Why, where it is known.
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
        /// How far the greater side lies above the other, as a share of that.
        difference: f64,
    },
    /// A workload failed, and has its answer all the same.
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
        /// The most CPUs that they used.
        cpus: f64,
        /// The cell that was measured then.
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
        /// The cell that was measured then.
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
        /// The governor that lets them; none where it isn't known.
        governor: Option<String>,
        /// The governor that holds the frequency.
        steady: String,
    },
    /// Boost is on.
    Boost {
        /// What turns it off.
        switch: BoostSwitch,
    },
    /// The machine is virtual.
    Virtualised(Virtualisation),
    /// The clock takes about a microsecond to read, or is coarse.
    SlowClock {
        /// Its name.
        name: String,
    },
    /// Transparent huge pages are on for all.
    HugePages,
    /// The kernel moves pages between NUMA nodes.
    NumaBalancing,
    /// Addresses aren't random.
    FixedAddresses,
    /// More tasks than physical cores: some share a core.
    SharedCores {
        /// The most tasks that ran.
        most_tasks: u32,
        /// Physical cores.
        cores: u32,
    },
    /// Only great differences would be seen.
    Blind {
        /// The workload of which least is seen.
        workload: NamedWorkload,
        /// The smallest difference of it that would be seen, as a share; none where no difference would.
        smallest: Option<f64>,
    },
}

/// A workload as a comparison names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedWorkload {
    /// Its name: `zero_fill:base`.
    pub name: String,
    /// Number of tasks, where it has one.
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
