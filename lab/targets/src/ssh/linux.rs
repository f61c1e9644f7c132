//! What a Linux is asked, and what its files say.

use super::asking::{Asking, Found};
use super::link::Link;
use crate::TargetError;
use crate::agent::{Plan, inquiry};
use crate::host::pinning_order;
use crate::linux_facts;
use crate::system_files::{SentFiles, SystemFiles};
use faultline_model::facts::Facts;
use std::path::Path;

/// Files that say how many CPUs and nodes there are, and which CPUs programs may use.
const ONLINE_CPUS: &str = "/sys/devices/system/cpu/online";
const ONLINE_NODES: &str = "/sys/devices/system/node/online";
const OWN_STATUS: &str = "/proc/self/status";
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Files with facts that nobody asks of a guest, which has just booted. A directory stands for its files.
const FURTHER_FILES: [&str; 6] = [
    "/proc/loadavg",
    inquiry::BOOT_ID,
    "/sys/devices/system/cpu/cpu0/cpufreq",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/kernel/debug/sched/preempt",
];

/// Finds out what it is. Fails if it does not say which CPUs it has, a workload does not describe itself, or there is no answer.
pub(super) fn find(asking: Asking<'_>, link: Link) -> Result<(Link, Found), TargetError> {
    let (link, sizes) = asking.inquire(link, &sizes_plan())?;
    let online = |path: &str| numbers(&sizes.files, path);
    let (cpus, nodes) = (online(ONLINE_CPUS), online(ONLINE_NODES));
    let mut plan = Plan::default();
    inquiry::ask_facts(&mut plan, count(&cpus), count(&nodes));
    FURTHER_FILES.iter().for_each(|path| plan.add(&["file", path]));
    asking.ask_workloads(&mut plan, &link);
    let (link, heard) = asking.inquire(link, &plan)?;
    let workloads = asking.workloads(&heard)?;
    let cpus = pinning_order(&allowed(&sizes.files).unwrap_or(cpus), &heard.files);
    if cpus.is_empty() {
        return Err(asking.no_cpus("it needs /proc and /sys"));
    }
    let architecture = asking.programs.system.architecture();
    let mut facts = inquiry::facts(&heard.files, architecture, Path::new(link.directory()));
    facts.text("host.name", sizes.files.text(HOST_NAME).unwrap_or_default());
    put_virtualisation(&mut facts, &heard.files);
    Ok((link, Found { cpus, facts, workloads }))
}

fn sizes_plan() -> Plan {
    let mut plan = Plan::default();
    for path in [ONLINE_CPUS, ONLINE_NODES, OWN_STATUS, HOST_NAME] {
        plan.add(&["file", path]);
    }
    plan
}

fn numbers(files: &SentFiles, path: &str) -> Vec<u32> {
    files.text(path).map(|text| linux_facts::list(&text)).unwrap_or_default()
}

/// How many there are, if all up to the last one are.
fn count(numbers: &[u32]) -> u32 {
    numbers.iter().max().map_or(0, |last| last + 1)
}

/// The CPUs that the agent may use, and so its programs.
fn allowed(files: &SentFiles) -> Option<Vec<u32>> {
    let status = files.text(OWN_STATUS)?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(linux_facts::list(list.trim())).filter(|cpus| !cpus.is_empty())
}

/// x86 CPUs say that a hypervisor runs them, though not which one.
fn put_virtualisation(facts: &mut Facts, files: &SentFiles) {
    let Some(info) = files.text("/proc/cpuinfo") else { return };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let is_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
    facts.text("virtualisation.kind", if is_guest { "hypervisor" } else { "none" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_those_that_the_agent_may_use() {
        let status = "Name:\tagent\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n";
        let files = SentFiles([(OWN_STATUS.to_owned(), status.to_owned())].into());
        assert_eq!(allowed(&files), Some(vec![0, 2]));
        assert_eq!(allowed(&SentFiles::default()), None);
        assert_eq!((count(&[0, 1, 7]), count(&[])), (8, 0));
    }
}
