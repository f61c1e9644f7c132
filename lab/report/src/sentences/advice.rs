//! Advice about a machine: a finding and its remedy.

use super::caution::unmatched_reason;
use super::{failure, percent};
use faultline_stats::advice::{Advice, BoostSwitch, NamedWorkload};
use faultline_stats::warnings::Virtualisation;
use serde::Serialize;

/// An advice in words.
#[derive(Debug, Serialize)]
pub(crate) struct AdviceWords {
    /// The finding.
    pub(crate) finding: String,
    /// The remedy.
    pub(crate) remedy: String,
}

/// Finding and remedy, a line each.
pub(crate) fn advice(advice: &Advice) -> AdviceWords {
    AdviceWords { finding: finding(advice), remedy: remedy(advice) }
}

fn finding(advice: &Advice) -> String {
    match advice {
        Advice::Unmeasured { workload, why } => {
            let why = why.as_ref().map_or_else(|| "it has no value".to_owned(), unmatched_reason);
            format!("{} could not be measured: {why}", name(workload))
        }
        Advice::Unanswered { workload, times, first } => {
            format!("{}, and has no answer: {}", failed(workload, *times), failure(first))
        }
        Advice::FewValues { workload } => format!("{} has too few values for an answer", name(workload)),
        Advice::Differs { workload, difference } => {
            format!("{} differs from itself by {}", name(workload), percent(*difference))
        }
        Advice::Others { cpus, worst } => {
            format!("other processes or kernel threads used up to {cpus:.2} of a CPU while {worst} was measured")
        }
        Advice::Busy { cpus } => format!("other programs used {cpus:.2} CPUs at the start"),
        Advice::Load { average } => format!("the load average of the last minute was {average:.2} at the start"),
        Advice::Steal { share, worst } => {
            format!("a hypervisor took away up to {} of the CPU time while {worst} was measured", percent(*share))
        }
        Advice::CpuQuota { cpus } => format!("a control group allows the CPU time of {cpus:.2} CPUs"),
        Advice::Swapped { pages } => format!("{pages} pages were swapped while tasks were measured"),
        Advice::Bimodal { workloads } => format!("values of {} fall into two groups", names(workloads)),
        Advice::Drift { workloads } => format!("values of {} rise or fall from run to run", names(workloads)),
        Advice::FrequencyScaling { governor, .. } => {
            let governor = governor.as_ref().map(|governor| format!("the governor is '{governor}': "));
            format!("{}CPUs change their frequency with the load", governor.unwrap_or_default())
        }
        Advice::Boost { .. } => {
            "boost is on: the frequency depends on temperature and on the number of busy CPUs".to_owned()
        }
        Advice::Virtualised(how) => virtualised(how),
        Advice::SlowClock { name } => format!("the clock is {name}, which is slow to read"),
        Advice::HugePages => {
            "transparent huge pages are always on: faults get one or not, depending on memory fragmentation".to_owned()
        }
        Advice::NumaBalancing => "the kernel moves pages between NUMA nodes, which causes extra page faults".to_owned(),
        Advice::FixedAddresses => "addresses are not random: every run of a build has the same memory layout, so a \
             difference may be one of layouts"
            .to_owned(),
        Advice::SharedCores { most_tasks, cores } => {
            format!("up to {most_tasks} tasks ran on {cores} physical cores: some shared one")
        }
        Advice::Blind { workload, smallest } => {
            let name = name(workload);
            match smallest {
                Some(smallest) => format!("{name}: smallest detectable change: {}", percent(*smallest)),
                None => format!("{name}: no change would be detected"),
            }
        }
    }
}

fn remedy(advice: &Advice) -> String {
    let remedy = match advice {
        Advice::Unmeasured { .. } | Advice::Unanswered { .. } => {
            "find the cause, fix it, or check with other workloads"
        }
        Advice::FewValues { .. } => "give it more time",
        Advice::Differs { .. } => {
            "check again: one check in twenty differs by chance; if the difference persists, look for periodic work (timers, \
             backups, another benchmark)"
        }
        Advice::Others { .. } => "stop them: `top` lists them",
        Advice::Busy { .. } => "stop other work",
        Advice::Load { .. } => "stop other work, and wait a minute",
        Advice::Steal { .. } => "measure on a dedicated host, or give the machine CPUs that no other guest uses",
        Advice::CpuQuota { .. } => "lift the limit (`cpu.max`), or measure with fewer tasks",
        Advice::Swapped { .. } => "free memory, or turn swapping off: `swapoff -a`",
        Advice::Bimodal { .. } => {
            "there are two states: find what switches between them (frequency, huge pages, NUMA nodes, other guests) and fix one"
        }
        Advice::Drift { .. } => "before measuring, wait until temperature, memory and caches are steady",
        Advice::FrequencyScaling { steady, .. } => return format!("`cpupower frequency-set -g {steady}`"),
        Advice::Boost { switch: BoostSwitch::IntelPstate } => {
            "`echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`"
        }
        Advice::Boost { switch: BoostSwitch::Cpufreq } => "`echo 0 > /sys/devices/system/cpu/cpufreq/boost`",
        Advice::Virtualised(how) => remedy_of_virtualised(how),
        Advice::SlowClock { .. } => {
            "`dmesg | grep -i clocksource` shows why the kernel does not trust the CPU's counter; if you trust it: \
             `clocksource=tsc` on the kernel's command line"
        }
        Advice::HugePages => "unless you measure them: `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
        Advice::NumaBalancing => "`sysctl kernel.numa_balancing=0`",
        Advice::FixedAddresses => "`sysctl kernel.randomize_va_space=2`",
        Advice::SharedCores { .. } => {
            "measure with no more tasks than cores, or `echo off > /sys/devices/system/cpu/smt/control`"
        }
        Advice::Blind { .. } => "use a quieter machine or more time: four times the blocks detect half the change",
    };
    remedy.to_owned()
}

fn virtualised(how: &Virtualisation) -> String {
    match how {
        Virtualisation::Emulated => "the machine is emulated".to_owned(),
        Virtualisation::Container => {
            "the run is in a container: programs outside may use the same CPUs unseen".to_owned()
        }
        Virtualisation::Hypervisor { names } if names.is_empty() => "the machine is virtual".to_owned(),
        Virtualisation::Hypervisor { names } => format!("the machine is virtual ({})", names.join(", ")),
    }
}

fn remedy_of_virtualised(how: &Virtualisation) -> &'static str {
    match how {
        Virtualisation::Emulated => {
            "compare its rates only with runs on this emulator; `faultline lens kernel` counts events that do not depend on the \
             host"
        }
        Virtualisation::Container => "keep the host idle, or measure outside the container",
        Virtualisation::Hypervisor { .. } => {
            "measure on bare metal, or pin each virtual CPU to a core that no other guest uses"
        }
    }
}

/// The failures of a workload: `x:base×1 failed twice`.
fn failed(workload: &NamedWorkload, times: u32) -> String {
    let name = name(workload);
    match times {
        1 => format!("{name} failed once"),
        2 => format!("{name} failed twice"),
        more => format!("{name} failed {more} times"),
    }
}

/// A workload with its number of tasks: `zero_fill:base×2`.
fn name(workload: &NamedWorkload) -> String {
    let tasks = workload.tasks.map_or_else(String::new, |tasks| format!("×{tasks}"));
    format!("{}{tasks}", workload.name)
}

fn names(workloads: &[NamedWorkload]) -> String {
    workloads.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::failure::{Failure, FailureCause};
    use faultline_record::outcome::Outcome;
    use faultline_stats::unmatched::{Letter, UnmatchedReason};

    fn load() -> NamedWorkload {
        NamedWorkload { name: "load:base".to_owned(), tasks: Some(2) }
    }

    fn exited() -> Failure {
        let outcome = Outcome::Exited { status: 3, stderr: String::new() };
        Failure { block: Some(0), cause: FailureCause::Ended { outcome } }
    }

    #[test]
    fn workloads_stand_under_their_names_with_what_is_known_of_them() {
        let found = |advice| finding(&advice);
        let why = Some(UnmatchedReason::NoValue { side: Letter::A, failure: Some(exited()) });
        let unmeasured = Advice::Unmeasured { workload: load(), why };
        let text = "load:base×2 could not be measured: the first side has no value (repeat 1: exit status 3)";
        assert_eq!(found(unmeasured), text);
        let unmeasured = Advice::Unmeasured { workload: NamedWorkload { tasks: None, ..load() }, why: None };
        assert_eq!(found(unmeasured), "load:base could not be measured: it has no value");
        let unanswered = Advice::Unanswered { workload: load(), times: 34, first: exited() };
        let text = "load:base×2 failed 34 times, and has no answer: repeat 1: exit status 3";
        assert_eq!(found(unanswered), text);
        let failed = |times| found(Advice::Unanswered { workload: load(), times, first: exited() });
        assert_eq!(failed(1), "load:base×2 failed once, and has no answer: repeat 1: exit status 3");
        assert_eq!(failed(2), "load:base×2 failed twice, and has no answer: repeat 1: exit status 3");
        let differs = Advice::Differs { workload: load(), difference: 0.1 };
        assert_eq!(found(differs), "load:base×2 differs from itself by 10.0 %");
        let few = Advice::FewValues { workload: load() };
        assert_eq!(found(few), "load:base×2 has too few values for an answer");
        let other = NamedWorkload { name: "other".to_owned(), tasks: None };
        let groups = Advice::Bimodal { workloads: vec![load(), other] };
        assert_eq!(found(groups), "values of load:base×2, other fall into two groups");
        let blind = |smallest| found(Advice::Blind { workload: load(), smallest });
        assert_eq!(blind(Some(0.251)), "load:base×2: smallest detectable change: 25.1 %");
        assert_eq!(blind(None), "load:base×2: no change would be detected");
    }

    #[test]
    fn a_remedy_is_for_the_machine_at_hand() {
        let governor = |name: Option<&str>| {
            advice(&Advice::FrequencyScaling { governor: name.map(str::to_owned), steady: "performance".to_owned() })
        };
        let powersave = governor(Some("powersave"));
        assert_eq!(powersave.finding, "the governor is 'powersave': CPUs change their frequency with the load");
        assert_eq!(powersave.remedy, "`cpupower frequency-set -g performance`");
        assert_eq!(governor(None).finding, "CPUs change their frequency with the load");
        assert!(remedy(&Advice::Boost { switch: BoostSwitch::IntelPstate }).contains("no_turbo"));
        assert!(remedy(&Advice::Boost { switch: BoostSwitch::Cpufreq }).contains("cpufreq/boost"));
    }

    #[test]
    fn kinds_of_machines_are_distinguished() {
        let of = |how| finding(&Advice::Virtualised(how));
        let hypervisor =
            |names: &[&str]| Virtualisation::Hypervisor { names: names.iter().map(|&name| name.into()).collect() };
        assert_eq!(of(hypervisor(&["KVM"])), "the machine is virtual (KVM)");
        assert_eq!(of(hypervisor(&[])), "the machine is virtual");
        assert_eq!(of(Virtualisation::Emulated), "the machine is emulated");
        assert!(of(Virtualisation::Container).contains("container"));
    }
}
