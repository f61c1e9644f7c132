//! Facts about this host: those known on every system here, and those of one system, which have their own file. `linux_facts` reads what
//! every Linux has in `/proc` and `/sys`, for this host and for guests. So a new fact from there applies to both.
//!
//! Keys are dotted and end in their unit. docs/FORMATS.md lists those that other code relies on. Facts that cannot be read are left out.

#[cfg(target_os = "linux")]
mod busy;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod filesystem;
mod software;
mod virtualisation;

#[cfg(not(target_os = "linux"))]
#[path = "facts/bsd.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "facts/linux.rs"]
mod system;

use super::HostPaths;
use faultline_model::facts::Facts;

/// Reads all facts; takes about half a second.
pub(super) fn read(paths: &HostPaths, usable_cpus: &[u32]) -> Facts {
    let mut facts = Facts::default();
    kernel(&mut facts);
    facts.count("cpu.usable", usable_cpus.len() as i64);
    facts.count("memory.page_bytes", rustix::param::page_size() as i64);
    system::read(&mut facts, &paths.scratch);
    virtualisation::read(&mut facts);
    software::read(&mut facts, &paths.workloads);
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
