//! Choice of the emulator for guests, and refusals before anything boots. The emulators are fakes
//! that print a version, and fail when asked to boot.

use crate::lab::{Lab, assert_refused, stderr};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command, installed in the lab. Only files added by a test are next to it.
fn installed(lab: &Lab, arguments: &[&str]) -> Command {
    let program = lab.path("bin/faultline");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    // A copy takes longer, but works across file systems.
    if !program.exists() && fs::hard_link(crate::lab::program(), &program).is_err() {
        fs::copy(crate::lab::program(), &program).unwrap();
    }
    let mut command = lab.command(arguments);
    let mut moved = Command::new(program);
    moved.args(arguments).env("PATH", lab.path("path")).env_remove("FAULTLINE_QEMU").stdin(std::process::Stdio::null());
    for (name, value) in command.env("FAULTLINE_GUEST", lab.path("fakes")).get_envs() {
        match value {
            Some(value) => moved.env(name, value),
            None => moved.env_remove(name),
        };
    }
    moved
}

/// A fake emulator of this version. It prints its path when asked to boot.
fn emulator(lab: &Lab, directory: &str, version: &str) -> PathBuf {
    let directory = lab.path(directory);
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("qemu-system-x86_64");
    let script = format!(
        "#!/bin/sh\ncase $1 in\n--version) echo 'QEMU emulator version {version}' ;;\n-help) echo '-plugin FILE' ;;\n*) echo \"qemu: booted $0\" >&2; exit 1 ;;\nesac\n"
    );
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

const BESIDE: &str = "libexec/faultline/qemu/usr/bin";
const LENS: &[&str] = &["lens", "kernel", "zero_fill"];
const TIMED: &[&str] = &["run", "zero_fill", "--on", "qemu"];

#[test]
fn without_an_emulator_nothing_is_run() {
    let lab = Lab::new();
    let own = crate::lab::program().to_str().unwrap();
    for arguments in [TIMED, LENS, &["lens", "program", "--", own]] {
        assert_refused(&installed(&lab, arguments).output().unwrap(), 2, "there is no qemu-system-x86_64 here");
    }
    assert!(!lab.db().exists());
}

#[test]
fn an_emulator_that_is_too_old_for_the_lens_is_refused_before_a_boot() {
    let lab = Lab::new();
    let old = emulator(&lab, "path", "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)");
    let output = installed(&lab, LENS).output().unwrap();
    assert_refused(&output, 2, &format!("{} is too old for the lens (QEMU emulator version 7.2.22", old.display()));
    assert!(
        stderr(&output).contains("hint: QEMU 10 or newer is needed: `make emulator` provides it"),
        "{}",
        stderr(&output)
    );
    // An emulator named explicitly is refused too, even with a newer one next to the command.
    emulator(&lab, BESIDE, "10.0.2");
    for named in [&["--qemu", old.to_str().unwrap()][..], &[]] {
        let mut command = installed(&lab, &[LENS, named].concat());
        if named.is_empty() {
            command.env("FAULTLINE_QEMU", &old);
        }
        assert_refused(&command.output().unwrap(), 2, "is too old for the lens");
    }
    assert!(!lab.db().exists());
}

/// The emulator that this command would boot.
fn booted(lab: &Lab, arguments: &[&str]) -> String {
    let output = installed(lab, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    let (_, path) = said.split_once("qemu: booted ").unwrap_or_else(|| panic!("{said}"));
    path.split_whitespace().next().unwrap().trim_end_matches([',', ';', '.']).to_owned()
}

/// The parts of a guest and a kernel, as far as a fake emulator needs them.
fn parts(lab: &Lab) -> PathBuf {
    // The header of an ELF file for x86-64.
    let mut program = vec![0; 64];
    program[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0");
    fs::create_dir_all(lab.path("fakes/workloads")).unwrap();
    for name in ["fakes/agent", "fakes/workloads/zero_fill"] {
        fs::write(lab.path(name), &program).unwrap();
        fs::set_permissions(lab.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut image = vec![0; 0x206];
    image[0x202..].copy_from_slice(b"HdrS");
    fs::write(lab.path("kernel"), image).unwrap();
    lab.path("kernel")
}

#[test]
fn the_named_emulator_comes_first_then_that_beside_the_command_then_that_in_path() {
    let lab = Lab::new();
    let on = format!("qemu:kernel={}", parts(&lab).display());
    let timed = ["run", "zero_fill", "--on", &on, "--quiet"];
    let shown = |path: &Path| path.display().to_string();
    // Timed runs accept an old emulator.
    let in_path = emulator(&lab, "path", "7.2.22");
    assert_eq!(booted(&lab, &timed), shown(&in_path));
    let beside = emulator(&lab, BESIDE, "10.0.2");
    assert_eq!(booted(&lab, &timed), shown(&beside));
    let named = emulator(&lab, "elsewhere", "11.1.3");
    assert_eq!(booted(&lab, &[&timed[..], &["--qemu", named.to_str().unwrap()]].concat()), shown(&named));
}
