//! What Linux tells of this machine, and of what limits this process.

use super::cgroup;
use crate::linux_facts;
use crate::system_files::OwnFiles;
use faultline_model::facts::Facts;
use std::path::Path;

pub(super) fn read(facts: &mut Facts, scratch: &Path) {
    let scratch = scratch.canonicalize().unwrap_or_else(|_| scratch.to_owned());
    linux_facts::read(&OwnFiles, facts, &scratch);
    if let Some(quota) = cgroup::cpu_quota() {
        facts.real("cgroup.cpu_quota_cpus", quota);
    }
}
