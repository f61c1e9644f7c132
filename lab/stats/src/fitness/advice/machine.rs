//! Advice from the machine's facts: settings that change its speed or hide changes.

use crate::advice::{Advice, BoostSwitch};
use crate::warnings::Findings;
use crate::warnings::Virtualisation;
use faultline_record::facts::{FactValue, Facts};

/// The governor that keeps the frequency constant, as Linux names it.
const STEADY_GOVERNOR: &str = "performance";

/// Clock sources, as Linux names them, that take about a microsecond to read or have a coarse
/// resolution.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

/// Advice from the facts at the start of the run.
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
    let governor = facts.get_text("cpu.governor");
    let changes = match governor {
        Some(governor) => governor != STEADY_GOVERNOR,
        None => is_on(facts, "cpu.frequency_scaling"),
    };
    changes
        .then(|| Advice::FrequencyScaling { governor: governor.map(str::to_owned), steady: STEADY_GOVERNOR.to_owned() })
}

fn boost(facts: &Facts) -> Option<Advice> {
    let intel = facts.get_text("cpu.frequency_driver").is_some_and(|driver| driver.starts_with("intel"));
    let switch = if intel { BoostSwitch::IntelPstate } else { BoostSwitch::Cpufreq };
    is_on(facts, "cpu.boost").then_some(Advice::Boost { switch })
}

fn virtualised(facts: &Facts) -> Option<Advice> {
    if facts.get_text("emulator.accelerator") == Some("tcg") {
        return Some(Advice::Virtualised(Virtualisation::Emulated));
    }
    let how = match (facts.get_text("virtualisation.kind"), facts.get_text("virtualisation.hypervisor")) {
        (Some("container"), None) => Virtualisation::Container,
        (None | Some("none"), None) => return None,
        (_, hypervisor) => Virtualisation::Hypervisor { names: hypervisor.map(str::to_owned).into_iter().collect() },
    };
    Some(Advice::Virtualised(how))
}

fn clock(facts: &Facts) -> Option<Advice> {
    let clock = facts.get_text("clock.source").filter(|clock| SLOW_CLOCKS.contains(clock))?;
    Some(Advice::SlowClock { name: clock.to_owned() })
}

fn huge_pages(facts: &Facts) -> Option<Advice> {
    (facts.get_text("huge_pages.transparent") == Some("always")).then_some(Advice::HugePages)
}

fn numa_balancing(facts: &Facts) -> Option<Advice> {
    let several = facts.get_count("numa.nodes").is_some_and(|nodes| nodes > 1);
    (several && facts.get_count("numa.balancing").is_some_and(|on| on != 0)).then_some(Advice::NumaBalancing)
}

/// Source: T. Mytkowicz, A. Diwan, M. Hauswirth, P. F. Sweeney, Producing Wrong Data Without Doing
/// Anything Obviously Wrong!, ASPLOS 2009.
fn fixed_addresses(facts: &Facts) -> Option<Advice> {
    (facts.get_count("aslr.randomize_va_space") == Some(0)).then_some(Advice::FixedAddresses)
}

fn shared_cores(findings: &Findings<'_>) -> Option<Advice> {
    let cores = findings.cpus.cores?;
    let most_tasks = findings.record.plan.iter().map(|item| item.cell.tasks).max()?;
    (most_tasks > cores).then_some(Advice::SharedCores { most_tasks, cores })
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
    fn causes_of_frequency_changes_are_reported_with_their_remedy() {
        assert_eq!(governor(&facts(|_| ())), None);
        let advice = |governor: &str| {
            Some(Advice::FrequencyScaling { governor: Some(governor.to_owned()), steady: STEADY_GOVERNOR.to_owned() })
        };
        assert_eq!(governor(&facts(|facts| facts.text("cpu.governor", "powersave"))), advice("powersave"));
        assert!(boost(&facts(|_| ())).is_none());
        let turbo = |driver: &'static str| {
            boost(&facts(|facts| {
                facts.flag("cpu.boost", true);
                facts.text("cpu.frequency_driver", driver);
            }))
        };
        assert_eq!(turbo("intel_pstate"), Some(Advice::Boost { switch: BoostSwitch::IntelPstate }));
        assert_eq!(turbo("acpi-cpufreq"), Some(Advice::Boost { switch: BoostSwitch::Cpufreq }));
    }

    #[test]
    fn kinds_of_machines_are_distinguished() {
        assert_eq!(virtualised(&facts(|_| ())), None);
        let of = |kind: &'static str, hypervisor: &'static str, accelerator: &'static str| {
            let advice = virtualised(&facts(|facts| {
                facts.text("virtualisation.kind", kind);
                facts.text("virtualisation.hypervisor", hypervisor);
                facts.text("emulator.accelerator", accelerator);
            }));
            let Some(Advice::Virtualised(how)) = advice else { panic!("{advice:?}") };
            how
        };
        assert_eq!(of("hypervisor", "KVM", ""), Virtualisation::Hypervisor { names: vec!["KVM".to_owned()] });
        assert_eq!(of("hypervisor", "QEMU, TCG", "tcg"), Virtualisation::Emulated);
        assert_eq!(of("container", "", ""), Virtualisation::Container);
    }

    #[test]
    fn settings_of_the_kernel_are_reported_when_they_bear_on_figures() {
        assert_eq!(clock(&facts(|facts| facts.text("clock.source", "tsc"))), None);
        let slow = clock(&facts(|facts| facts.text("clock.source", "hpet")));
        assert_eq!(slow, Some(Advice::SlowClock { name: "hpet".to_owned() }));
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
