//! Machines that are virtual or emulated, and containers.

use super::{Findings, Warning, WarningKind};
use faultline_record::facts::Facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Virtualisation {
    /// Its instructions are translated.
    Emulated,
    /// The run is in a container.
    Container,
    /// A hypervisor runs it.
    Hypervisor {
        /// Known names of the hypervisor.
        names: Vec<String>,
    },
}

/// The value of `virtualisation.kind` on bare metal.
const BARE_METAL: &str = "none";

/// The value of `emulator.accelerator` if instructions are translated (docs/FORMATS.md §4).
const EMULATED: &str = "tcg";

/// The machine is virtual, or the run is in a container.
pub(super) fn virtualised(findings: &Findings<'_>) -> Option<Warning> {
    let how = findings.record.all_facts().find_map(how)?;
    Some(Warning { kind: WarningKind::Virtualised(how), cells: Vec::new() })
}

fn how(facts: &Facts) -> Option<Virtualisation> {
    if facts.get_text("emulator.accelerator") == Some(EMULATED) {
        return Some(Virtualisation::Emulated);
    }
    let kind = facts.get_text("virtualisation.kind").filter(|kind| *kind != BARE_METAL);
    match (kind, facts.get_text("virtualisation.hypervisor")) {
        (None, None) => None,
        (Some("container"), None) => Some(Virtualisation::Container),
        (kind, hypervisor) => {
            let names = [kind, hypervisor].into_iter().flatten().map(str::to_owned).collect();
            Some(Virtualisation::Hypervisor { names })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{of, with_fact};
    use crate::warnings::WarningCode::Virtualised;
    use crate::warnings::{Virtualisation, WarningKind};
    use faultline_record::facts::FactValue;
    use faultline_record::record::RunRecord;

    fn how(record: &RunRecord) -> Virtualisation {
        let WarningKind::Virtualised(how) = of(record, Virtualised).remove(0).kind else { unreachable!() };
        how
    }

    fn hypervisor(names: &[&str]) -> Virtualisation {
        Virtualisation::Hypervisor { names: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn a_virtual_machine_is_reported_with_its_name() {
        let mut record = with_fact("virtualisation.kind", FactValue::Text("hypervisor".into()));
        assert_eq!(how(&record), hypervisor(&["hypervisor"]));
        record.head.sessions[0].facts[0].text("virtualisation.hypervisor", "KVM");
        assert_eq!(how(&record), hypervisor(&["hypervisor", "KVM"]));
    }

    #[test]
    fn a_container_is_no_virtual_machine() {
        let record = with_fact("virtualisation.kind", FactValue::Text("container".into()));
        assert_eq!(how(&record), Virtualisation::Container);
    }

    #[test]
    fn an_emulated_machine_is_reported_as_such() {
        let mut record = with_fact("virtualisation.kind", FactValue::Text("hypervisor".into()));
        record.head.sessions[0].facts[0].text("virtualisation.hypervisor", "QEMU, TCG");
        record.head.sessions[0].facts[0].text("emulator.accelerator", "tcg");
        assert_eq!(how(&record), Virtualisation::Emulated);
        record.head.sessions[0].facts[0].text("emulator.accelerator", "kvm");
        assert_eq!(how(&record), hypervisor(&["hypervisor", "QEMU, TCG"]), "the host's own CPUs execute it");
    }

    #[test]
    fn bare_metal_is_not_reported() {
        let mut record = with_fact("virtualisation.kind", FactValue::Text("none".into()));
        assert!(of(&record, Virtualised).is_empty());
        record.head.sessions[0].facts[0].0.remove("virtualisation.kind");
        assert!(of(&record, Virtualised).is_empty());
    }
}
