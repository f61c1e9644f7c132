//! Whether this machine is a guest, and of which hypervisor.

use faultline_model::facts::Facts;

/// `virtualisation.kind`: `none`, `hypervisor` or `container`; `virtualisation.hypervisor`: the name that the hypervisor reports.
pub(super) fn read(facts: &mut Facts) {
    let hypervisor = hypervisor();
    let container = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];
    let contained = container.iter().any(|path| std::path::Path::new(path).exists());
    let kind = match (&hypervisor, contained) {
        (_, true) => "container",
        (Some(_), false) => "hypervisor",
        (None, false) => "none",
    };
    facts.text("virtualisation.kind", kind);
    if let Some(name) = hypervisor {
        facts.text("virtualisation.hypervisor", name);
    }
}

#[cfg(target_arch = "x86_64")]
fn hypervisor() -> Option<String> {
    let cpuid = raw_cpuid::CpuId::new();
    if !cpuid.get_feature_info()?.has_hypervisor() {
        return None;
    }
    let name = cpuid.get_hypervisor_info().map(|info| format!("{:?}", info.identify()));
    Some(name.unwrap_or_else(|| "unknown".to_owned()))
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> Option<String> {
    let compatible = std::fs::read_to_string("/sys/firmware/devicetree/base/hypervisor/compatible").ok()?;
    Some(compatible.trim_end_matches('\0').to_owned())
}
