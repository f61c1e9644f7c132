//! Machines that are virtual or emulated, and containers.

use super::Findings;
use faultline_model::facts::Facts;
use faultline_model::warning::{Warning, WarningCode};

/// What `virtualisation.kind` says on bare metal.
const BARE_METAL: &str = "none";

/// What `emulator.accelerator` says where instructions are translated (docs/FORMATS.md §4).
const EMULATED: &str = "tcg";

const EMULATED_TEXT: &str = "The machine is emulated: its rates, and how they scale, are the emulator's on this host's CPUs, not those of any \
     hardware. Lay its figures beside its own on the same host only; `faultline lens kernel` counts what does not depend on the host.";

/// The machine is virtual, or the run is in a container.
pub(super) fn virtualised(findings: &Findings<'_>) -> Option<Warning> {
    let text = findings.record.all_facts().find_map(text)?;
    Some(Warning { code: WarningCode::Virtualised, text, cells: Vec::new() })
}

fn text(facts: &Facts) -> Option<String> {
    if facts.get_text("emulator.accelerator") == Some(EMULATED) {
        return Some(EMULATED_TEXT.to_owned());
    }
    let kind = facts.get_text("virtualisation.kind").filter(|kind| *kind != BARE_METAL);
    let hypervisor = facts.get_text("virtualisation.hypervisor");
    match (kind, hypervisor) {
        (None, None) => None,
        (Some("container"), None) => Some(
            "The run is in a container: others may share its CPUs, and the machine's counters and time shares are \
             those of all of them. \
             Measure outside where that matters."
                .to_owned(),
        ),
        (kind, hypervisor) => {
            let names: Vec<&str> = [kind, hypervisor].into_iter().flatten().collect();
            Some(format!(
                "The machine is virtual ({}): its CPUs may be shared or moved, and page faults and messages between \
                 CPUs cost more than on bare \
                 metal. Lay its figures beside its own only, or measure on bare metal.",
                names.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{of, with_fact};
    use faultline_model::facts::FactValue;
    use faultline_model::warning::WarningCode::Virtualised;

    #[test]
    fn a_virtual_machine_is_told_with_its_name() {
        let mut record = with_fact("virtualisation.kind", FactValue::Text("hypervisor".into()));
        assert!(of(&record, Virtualised)[0].text.contains("is virtual (hypervisor)"));
        record.sessions[0].facts[0].text("virtualisation.hypervisor", "KVM");
        assert!(of(&record, Virtualised)[0].text.contains("is virtual (hypervisor, KVM)"));
    }

    #[test]
    fn a_container_is_no_virtual_machine() {
        let record = with_fact("virtualisation.kind", FactValue::Text("container".into()));
        assert!(of(&record, Virtualised)[0].text.contains("in a container"));
    }

    #[test]
    fn an_emulated_machine_is_told_as_such() {
        let mut record = with_fact("virtualisation.kind", FactValue::Text("hypervisor".into()));
        record.sessions[0].facts[0].text("virtualisation.hypervisor", "QEMU, TCG");
        record.sessions[0].facts[0].text("emulator.accelerator", "tcg");
        let warnings = of(&record, Virtualised);
        assert!(warnings[0].text.contains("are the emulator's") && !warnings[0].text.contains("bare metal"));
        record.sessions[0].facts[0].text("emulator.accelerator", "kvm");
        assert!(of(&record, Virtualised)[0].text.contains("is virtual"), "the host's own CPUs execute it");
    }

    #[test]
    fn bare_metal_is_not_told() {
        let mut record = with_fact("virtualisation.kind", FactValue::Text("none".into()));
        assert!(of(&record, Virtualised).is_empty());
        record.sessions[0].facts[0].0.remove("virtualisation.kind");
        assert!(of(&record, Virtualised).is_empty());
    }
}
