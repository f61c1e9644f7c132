//! What the facts say about the machine: what may change its speed, or hide what does.

use super::told;
use crate::warnings::Findings;
use faultline_model::comparison::Advice;
use faultline_model::facts::{FactValue, Facts};

/// The governor that holds a frequency, as Linux calls it.
const STEADY_GOVERNOR: &str = "performance";

/// Clocks whose reading takes about a microsecond, or which are coarse, as Linux calls them.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

/// What the facts of the run's start give cause to say.
pub(super) fn machine(findings: &Findings<'_>) -> Vec<Advice> {
    let Some(facts) = findings.record.facts() else { return Vec::new() };
    let checks: [fn(&Facts) -> Option<Advice>; 7] =
        [governor, boost, virtualised, clock, huge_pages, numa_balancing, fixed_addresses];
    let told = checks.iter().filter_map(|check| check(facts));
    told.chain(shared_cores(findings)).collect()
}

fn is_on(facts: &Facts, key: &str) -> bool {
    facts.0.get(key) == Some(&FactValue::Flag(true))
}

fn governor(facts: &Facts) -> Option<Advice> {
    let finding = match facts.get_text("cpu.governor") {
        Some(STEADY_GOVERNOR) => return None,
        Some(governor) => format!("the governor is '{governor}': CPUs change their frequency with their load"),
        None if is_on(facts, "cpu.frequency_scaling") => "CPUs change their frequency with their load".to_owned(),
        None => return None,
    };
    Some(told(finding, format!("`cpupower frequency-set -g {STEADY_GOVERNOR}`")))
}

fn boost(facts: &Facts) -> Option<Advice> {
    let intel = facts.get_text("cpu.frequency_driver").is_some_and(|driver| driver.starts_with("intel"));
    let remedy = match intel {
        true => "`echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`",
        false => "`echo 0 > /sys/devices/system/cpu/cpufreq/boost`",
    };
    let finding = "boost is on: frequency goes by temperature, and by how many CPUs are busy";
    is_on(facts, "cpu.boost").then(|| told(finding, remedy))
}

fn virtualised(facts: &Facts) -> Option<Advice> {
    if facts.get_text("emulator.accelerator") == Some("tcg") {
        let remedy = "take its rates for this host's emulator alone; `faultline lens kernel` counts what doesn't depend on the host";
        return Some(told("the machine is emulated", remedy));
    }
    match (facts.get_text("virtualisation.kind"), facts.get_text("virtualisation.hypervisor")) {
        (Some("container"), None) => Some(told(
            "the run is in a container: others may work on the same CPUs unseen",
            "see that its host does nothing else, or measure outside",
        )),
        (None | Some("none"), None) => None,
        (_, hypervisor) => Some(told(
            format!("the machine is virtual{}", hypervisor.map(|name| format!(" ({name})")).unwrap_or_default()),
            "measure on bare metal, or pin each of its CPUs to a core that no other guest may use",
        )),
    }
}

fn clock(facts: &Facts) -> Option<Advice> {
    let clock = facts.get_text("clock.source").filter(|clock| SLOW_CLOCKS.contains(clock))?;
    let remedy = "`dmesg | grep -i clocksource` says why the CPU's own counter isn't trusted; if it may be: `clocksource=tsc` on the kernel's \
                  command line";
    Some(told(format!("the clock is {clock}, which is slow to read"), remedy))
}

fn huge_pages(facts: &Facts) -> Option<Advice> {
    (facts.get_text("huge_pages.transparent") == Some("always")).then(|| {
        told(
            "transparent huge pages are on for all: whether a fault gets one depends on how fragmented memory is",
            "unless they are what you measure: `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
        )
    })
}

fn numa_balancing(facts: &Facts) -> Option<Advice> {
    let several = facts.get_count("numa.nodes").is_some_and(|nodes| nodes > 1);
    (several && facts.get_count("numa.balancing").is_some_and(|on| on != 0)).then(|| {
        told(
            "the kernel moves pages between NUMA nodes, and makes them fault for it",
            "`sysctl kernel.numa_balancing=0`",
        )
    })
}

/// Source: T. Mytkowicz, A. Diwan, M. Hauswirth, P. F. Sweeney, Producing Wrong Data Without Doing Anything Obviously Wrong!, ASPLOS 2009.
fn fixed_addresses(facts: &Facts) -> Option<Advice> {
    (facts.get_count("aslr.randomize_va_space") == Some(0)).then(|| {
        told(
            "addresses aren't random: every run of a build has the same layout in memory, and a difference may be that of two layouts",
            "`sysctl kernel.randomize_va_space=2`",
        )
    })
}

fn shared_cores(findings: &Findings<'_>) -> Option<Advice> {
    let cores = findings.cpus.cores?;
    let most = findings.record.plan.iter().map(|item| item.cell.tasks).max()?;
    (most > cores).then(|| {
        told(
            format!("up to {most} tasks ran on {cores} physical cores: some shared one"),
            "measure with no more tasks than cores, or `echo off > /sys/devices/system/cpu/smt/control`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(set: impl Fn(&mut Facts)) -> Facts {
        let mut facts = crate::example::quiet_facts();
        set(&mut facts);
        facts
    }

    #[test]
    fn a_remedy_is_for_the_machine_at_hand() {
        assert_eq!(governor(&facts(|_| ())), None);
        let advice = governor(&facts(|facts| facts.text("cpu.governor", "powersave"))).unwrap();
        assert!(advice.finding.contains("'powersave'") && advice.remedy.contains("-g performance"));
        assert!(boost(&facts(|_| ())).is_none());
        let turbo = |driver: &'static str| {
            boost(&facts(|facts| {
                facts.flag("cpu.boost", true);
                facts.text("cpu.frequency_driver", driver);
            }))
        };
        assert!(turbo("intel_pstate").unwrap().remedy.contains("no_turbo"));
        assert!(turbo("acpi-cpufreq").unwrap().remedy.contains("cpufreq/boost"));
    }

    #[test]
    fn kinds_of_machines_are_told_apart() {
        assert_eq!(virtualised(&facts(|_| ())), None);
        let of = |kind: &'static str, hypervisor: &'static str, accelerator: &'static str| {
            let told = virtualised(&facts(|facts| {
                facts.text("virtualisation.kind", kind);
                facts.text("virtualisation.hypervisor", hypervisor);
                facts.text("emulator.accelerator", accelerator);
            }));
            told.unwrap().finding
        };
        assert_eq!(of("hypervisor", "KVM", ""), "the machine is virtual (KVM)");
        assert_eq!(of("hypervisor", "QEMU, TCG", "tcg"), "the machine is emulated");
        assert!(of("container", "", "").contains("container"));
    }

    #[test]
    fn settings_of_the_kernel_are_told_when_they_bear_on_figures() {
        assert_eq!(clock(&facts(|facts| facts.text("clock.source", "tsc"))), None);
        assert!(clock(&facts(|facts| facts.text("clock.source", "hpet"))).unwrap().finding.contains("hpet"));
        assert_eq!(huge_pages(&facts(|facts| facts.text("huge_pages.transparent", "madvise"))), None);
        assert!(huge_pages(&facts(|facts| facts.text("huge_pages.transparent", "always"))).is_some());
        assert_eq!(fixed_addresses(&facts(|facts| facts.count("aslr.randomize_va_space", 2))), None);
        assert!(fixed_addresses(&facts(|facts| facts.count("aslr.randomize_va_space", 0))).is_some());
        let nodes = |count: i64| {
            facts(|facts| {
                facts.count("numa.nodes", count);
                facts.count("numa.balancing", 1);
            })
        };
        assert!(numa_balancing(&nodes(1)).is_none() && numa_balancing(&nodes(2)).is_some());
    }
}
