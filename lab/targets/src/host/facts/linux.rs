//! Facts that only a process on this machine can read under Linux: its limits, and the file system of its scratch files. `linux_facts` reads the rest.

use super::{cgroup, filesystem};
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
