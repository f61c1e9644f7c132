//! Facts about this host: those of every supported system, and those of Linux or a BSD.
//! `linux_facts` reads `/proc` and `/sys` for this host and for guests, so a new fact from
//! there applies to both.
//!
//! Keys are dotted and end in their unit. docs/FORMATS.md lists the facts that other code relies
//! on. Facts that cannot be read are left out.

/// Facts of a BSD, from `sysctl`.
#[cfg(not(target_os = "linux"))]
mod system {
    use crate::bsd_facts::{self, Sysctls};
    use crate::search_path::first_line;
    use faultline_record::facts::Facts;
    use std::path::Path;

    pub(super) fn read(facts: &mut Facts, _scratch: &Path) {
        bsd_facts::read(&Sysctls::of(|name| first_line("sysctl", &["-n", name])), facts);
    }
}
#[cfg(target_os = "linux")]
#[path = "facts/linux.rs"]
mod system;

use super::HostPaths;
use crate::search_path::first_line;
use faultline_record::facts::Facts;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Reads all facts. Takes about 0.5 s.
pub(super) fn read(paths: &HostPaths, usable_cpus: &[u32]) -> Facts {
    let mut facts = Facts::default();
    kernel(&mut facts);
    facts.count("cpu.usable", usable_cpus.len() as i64);
    facts.count("memory.page_bytes", rustix::param::page_size() as i64);
    system::read(&mut facts, &paths.scratch);
    virtualisation(&mut facts);
    software(&mut facts, &paths.workloads);
    if paths.sandbox.is_some() {
        facts.text("sandbox", "namespaces");
    }
    facts
}

fn kernel(facts: &mut Facts) {
    let uname = rustix::system::uname();
    facts.text("host.name", uname.nodename().to_string_lossy());
    facts.text("kernel.name", uname.sysname().to_string_lossy());
    facts.text("kernel.release", uname.release().to_string_lossy());
    facts.text("kernel.version", uname.version().to_string_lossy());
    facts.text("cpu.architecture", uname.machine().to_string_lossy());
}

fn software(facts: &mut Facts, workloads: &Path) {
    facts.text("faultline.version", env!("CARGO_PKG_VERSION"));
    if let Some(compiler) = first_line("cc", &["--version"]) {
        facts.text("software.compiler", compiler);
    }
    if let Some(libc) = first_line("getconf", &["GNU_LIBC_VERSION"]) {
        facts.text("software.libc", libc);
    }
    if let Some(linker) = first_line("ld", &["--version"]) {
        facts.text("software.linker", linker);
    }
    hashes(facts, workloads);
}

/// Two runs are comparable only if their workloads are the same programs.
fn hashes(facts: &mut Facts, workloads: &Path) {
    for program in super::list(workloads).unwrap_or_default() {
        let (Ok(bytes), Some(name)) = (std::fs::read(&program), program.file_name()) else { continue };
        let digest = Sha256::digest(&bytes);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        facts.text(&format!("workload.{}.sha256", name.to_string_lossy()), hex);
    }
}

/// `virtualisation.kind`: `none`, `hypervisor` or `container`. `virtualisation.hypervisor`: the
/// name that the hypervisor reports.
fn virtualisation(facts: &mut Facts) {
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
