//! What tests of guests share: the guest's parts, and a workload that gets into trouble.

use super::{Lab, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `make guest` built, beside the command under test.
pub fn guest_directory() -> PathBuf {
    let directory = program().parent().unwrap().parent().unwrap().join("guest");
    assert!(directory.join("agent").exists(), "no {}; hint: `make guest`", directory.display());
    directory
}

/// The emulator that `FAULTLINE_QEMU` names, or that `make emulator` unpacked beside the command under test.
pub fn emulator() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FAULTLINE_QEMU") {
        return Some(named.into());
    }
    let file = program().parent().unwrap().parent().unwrap().join("qemu/usr/bin/qemu-system-x86_64");
    file.exists().then_some(file)
}

/// A directory for guests with the agent and one workload, `troubled`.
pub fn troubled(lab: &Lab) -> PathBuf {
    let directory = lab.path("guest");
    fs::create_dir_all(directory.join("workloads")).unwrap();
    fs::copy(guest_directory().join("agent"), directory.join("agent")).unwrap();
    compile("troubled.c", &directory.join("workloads/troubled"), &["-static"]);
    directory
}

pub fn compile(source: &str, output: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest").join(source);
    let status = Command::new("cc").args(options).arg("-o").arg(output).arg(source).status().unwrap();
    assert!(status.success(), "no compiler, or no static C library; hint: apt-get install gcc libc6-dev");
}
