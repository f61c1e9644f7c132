//! The machine's CPUs according to its facts, and a one-line description of the machine.

use faultline_record::facts::{FactValue, Facts, Persistence};
use faultline_record::record::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A fact that differs between the sides, or that only one side has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct FactDifference {
    /// The fact's dotted key.
    pub key: String,
    /// Value on the first side.
    pub a: Option<FactValue>,
    /// Value on the second side.
    pub b: Option<FactValue>,
}

/// CPU counts from the facts of all sessions: the smallest of each; `None` if no session has it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cpus {
    /// Online logical CPUs.
    pub(crate) logical: Option<u32>,
    /// Logical CPUs that the tasks may run on.
    pub(crate) usable: Option<u32>,
    /// Physical cores.
    pub(crate) cores: Option<u32>,
    /// CPU time allowed by a control group, in CPUs.
    pub(crate) quota: Option<f64>,
}

impl Cpus {
    /// Reads the facts of all sessions.
    pub(crate) fn of(record: &RunRecord) -> Self {
        let count = |key: &str| {
            let counts = record.all_facts().filter_map(|facts| facts.get_count(key));
            counts.filter_map(|count| u32::try_from(count).ok()).filter(|&count| count > 0).min()
        };
        let quotas = record.all_facts().filter_map(|facts| facts.get_real("cgroup.cpu_quota_cpus"));
        Cpus {
            logical: count("cpu.logical"),
            usable: count("cpu.usable"),
            cores: count("cpu.cores"),
            quota: quotas.filter(|quota| *quota > 0.0 && quota.is_finite()).min_by(f64::total_cmp),
        }
    }

    /// CPUs that the tasks may run on, if known.
    pub(crate) fn at_hand(&self) -> Option<u32> {
        self.usable.into_iter().chain(self.logical).min()
    }

    /// The control group's CPU limit, if this many tasks may need more.
    pub(crate) fn quota_for(&self, tasks: u32) -> Option<f64> {
        let binds = |quota: &f64| self.at_hand().is_none_or(|cpus| *quota < f64::from(cpus));
        self.quota.filter(binds).filter(|quota| f64::from(tasks) >= *quota)
    }

    /// Physical cores, if tasks with CPUs of their own may still share a core.
    pub(crate) fn shared_cores(&self) -> Option<u32> {
        self.cores.filter(|cores| self.at_hand().is_none_or(|cpus| *cores < cpus))
    }

    /// The largest number of tasks that can each have a whole CPU: the usable CPUs, or fewer if a
    /// control group allows less. `None` if nothing is known.
    pub(crate) fn own(&self) -> Option<u32> {
        let allowed = self.quota.map(|quota| quota.floor().clamp(1.0, f64::from(u32::MAX)) as u32);
        self.at_hand().into_iter().chain(allowed).min()
    }
}

/// One line with CPU model, number of CPUs, kernel and host. Unknown parts are left out.
pub(crate) fn line(facts: Option<&Facts>) -> String {
    described(facts, true)
}

/// The line of a lens run. Its machines have the numbers of CPUs of its cases; the facts are those
/// of the smallest.
pub(crate) fn line_of_lens(facts: Option<&Facts>) -> String {
    described(facts, false)
}

fn described(facts: Option<&Facts>, with_cpus: bool) -> String {
    let Some(facts) = facts else {
        return "unknown machine".to_owned();
    };
    let words = |keys: &[&str]| {
        let words: Vec<&str> = keys.iter().filter_map(|key| facts.get_text(key)).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let cpus = facts.get_count("cpu.logical").map(|n| if n == 1 { "1 CPU".to_owned() } else { format!("{n} CPUs") });
    let cpus = cpus.filter(|_| with_cpus);
    let parts = [words(&["cpu.model"]), cpus, words(&["kernel.name", "kernel.release"]), words(&["host.name"])];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "unknown machine".to_owned() } else { parts.join(", ") }
}

/// Lasting facts that differ or that only one side has, by key.
pub(crate) fn lasting_differences(a: &Facts, b: &Facts) -> Vec<FactDifference> {
    let keys: BTreeSet<&String> = a.0.keys().chain(b.0.keys()).collect();
    let lasting = |key: &&String| Persistence::of(key) == Persistence::Lasting;
    let differing = keys.into_iter().filter(lasting).filter(|key| a.0.get(*key) != b.0.get(*key));
    let difference =
        |key: &String| FactDifference { key: key.clone(), a: a.0.get(key).cloned(), b: b.0.get(key).cloned() };
    differing.map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_leaves_out_what_is_not_known() {
        let mut facts = Facts::default();
        assert_eq!(line(None), "unknown machine");
        assert_eq!(line(Some(&facts)), "unknown machine");
        facts.count("cpu.logical", 1);
        facts.text("kernel.release", "6.1.0");
        assert_eq!(line(Some(&facts)), "1 CPU, 6.1.0");
        facts.count("cpu.logical", 2);
        facts.text("cpu.model", "Made-up CPU");
        facts.text("kernel.name", "Linux");
        facts.text("host.name", "bench");
        assert_eq!(line(Some(&facts)), "Made-up CPU, 2 CPUs, Linux 6.1.0, bench");
        assert_eq!(line_of_lens(Some(&facts)), "Made-up CPU, Linux 6.1.0, bench");
    }

    #[test]
    fn a_quota_takes_cpus_away() {
        let cpus = Cpus { logical: Some(8), usable: Some(4), cores: Some(4), quota: Some(2.5) };
        assert_eq!((cpus.at_hand(), cpus.own()), (Some(4), Some(2)));
        assert_eq!(Cpus { quota: Some(0.5), ..cpus }.own(), Some(1));
        assert_eq!(Cpus::default().own(), None);
    }
}
