//! The disk of a small system with an OpenSSH server, and the keys for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of a script that makes the disk, or is installed on it.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ssh_guest").join(name)
}

pub fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A package with a kernel: its file, and the kernel's release. `suite` selects the kernel; for
/// `instruction`, see `package.sh`.
pub fn package(directory: &Path, name: &str, suite: &str, instruction: &str) -> (PathBuf, String) {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/host-kernels").join(suite);
    assert!(unpacked.is_dir(), "no {}; hint: packages/host-kernels.sh", unpacked.display());
    let file = directory.join(name);
    run(Command::new(script("package.sh")).arg(unpacked).arg(&file).arg(instruction));
    let release = fs::read_to_string(file.with_extension("release")).unwrap();
    (file.with_extension("tar"), release.trim().to_owned())
}

/// Makes `disk.img` in a new directory, with this kernel and new keys.
pub fn make(directory: &Path, kernel: &Path) {
    fs::create_dir_all(directory).unwrap();
    for name in ["host_key", "key"] {
        run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(directory.join(name)));
    }
    fs::copy(directory.join("key.pub"), directory.join("authorized_keys")).unwrap();
    run(Command::new(script("disk.sh")).arg(directory).arg(kernel));
}

/// Writes `ssh_config` for OpenSSH's client, which logs in to the system whose host key is listed
/// as `known_as`.
pub fn log_in(directory: &Path, known_as: &str) {
    let known = fs::read_to_string(directory.join("host_key.pub")).unwrap();
    fs::write(directory.join("known_hosts"), format!("{known_as} {known}")).unwrap();
    let there = directory.display();
    let config = format!(
        "UserKnownHostsFile {there}/known_hosts\nGlobalKnownHostsFile /dev/null\nIdentityFile {there}/key\nIdentitiesOnly yes\n\
         IdentityAgent none\n"
    );
    fs::write(directory.join("ssh_config"), config).unwrap();
}
