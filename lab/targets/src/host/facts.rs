//! Facts about this host: what is known on every system here, what one system alone knows in a file of its own. What any Linux tells in `/proc` and
//! `/sys`, this one or a guest's, is read by `linux_facts`: a new fact from there is of both.
//!
//! Keys are dotted and end in their unit; docs/FORMATS.md lists those that others rely on. What can't be read is left out.

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

/// Reads all facts; takes well under a second.
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
