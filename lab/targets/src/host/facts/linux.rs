//! What only a process of this machine can tell under Linux: what limits it, how busy the machine is, and the file system under its
//! scratch files. The rest is `linux_facts`.

use super::{busy, cgroup, filesystem};
use crate::linux_facts;
use crate::system_files::OwnFiles;
use faultline_model::facts::Facts;
use std::path::Path;

pub(super) fn read(facts: &mut Facts, scratch: &Path) {
    let scratch = scratch.canonicalize().unwrap_or_else(|_| scratch.to_owned());
    linux_facts::read(&OwnFiles, facts, &scratch);
    if facts.get_text(linux_facts::SCRATCH_FILESYSTEM).is_none()
        && let Some(kind) = filesystem::kind(&scratch)
    {
        facts.text(linux_facts::SCRATCH_FILESYSTEM, kind);
    }
    if let Some(quota) = cgroup::cpu_quota() {
        facts.real("cgroup.cpu_quota_cpus", quota);
    }
    if let Some(busy) = busy::busy_cpus() {
        facts.real("load.busy_cpus", busy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_a_file_system() {
        let mut facts = Facts::default();
        read(&mut facts, Path::new("/"));
        assert!(facts.get_text(linux_facts::SCRATCH_FILESYSTEM).is_some());
    }
}
