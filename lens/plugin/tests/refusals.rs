// SPDX-License-Identifier: GPL-2.0-or-later
//! Invalid arguments and machines: the plugin prints one line with the reason, and the machine does
//! not start. Needs `qemu-system-x86_64` (`make emulator`). The counts are tested with whole
//! guests: `lens_*.rs` among the tests of the command.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The plugin that cargo built with these tests.
fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let library = tests.with_file_name("libfaultline_lens.so");
    assert!(library.exists(), "{}: not built", library.display());
    library
}

/// The emulator: from the environment, or unpacked by `make emulator`, or this machine's own.
fn emulator() -> PathBuf {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/qemu/usr/bin/qemu-system-x86_64");
    let provided = if unpacked.exists() { unpacked } else { "qemu-system-x86_64".into() };
    std::env::var_os("FAULTLINE_QEMU").map_or(provided, PathBuf::from)
}

const ONE_THREAD: &[&str] = &["-accel", "tcg,thread=single", "-icount", "shift=4,sleep=off"];

/// Starts a machine of two CPUs without an image. Returns the plugin's line, or `None` if it
/// accepts the machine.
fn refused_with(arguments: &[&str], plugin_arguments: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("timeout")
        .args(["-k", "5", "60"])
        .arg(emulator())
        .args(["-nodefaults", "-display", "none", "-smp", "2", "-S"])
        .args(["-plugin", &format!("{},{plugin_arguments}", library().display()), "-qmp", "stdio"])
        .args(arguments)
        .stdin(quit(directory.path()))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<_> = stderr.lines().filter_map(|line| line.strip_prefix("faultline lens: ")).collect();
    assert!(lines.len() <= 1, "{stderr}");
    assert_eq!(output.status.code(), Some(lines.len() as i32), "{stderr}");
    lines.first().map(|&line| line.to_owned())
}

/// The plugin's line about arguments in addition to the report's path.
fn refused(plugin_arguments: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.json");
    let line = refused_with(ONE_THREAD, &format!("output={}{plugin_arguments}", report.display()));
    assert_eq!(line.is_none(), report.exists(), "a machine that starts leaves a report");
    line
}

/// Input that makes a started machine exit at once.
fn quit(directory: &Path) -> File {
    let commands = directory.join("quit");
    std::fs::write(&commands, "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}").unwrap();
    File::open(commands).unwrap()
}

#[test]
fn arguments_are_refused_in_one_line() {
    for (arguments, line) in [
        ("", "cpus: missing; pass cpus=N"),
        (",cpus=0", "0 CPUs: must be 1 … 4094"),
        (",cpus=2,sockets=3", "2 CPUs don't divide evenly among 3 sockets"),
        (",cpus=2,whole=maybe", "whole=maybe: expected on or off"),
        (",cpus=2,quantum=499", "quantum=499: must be at least 500 for a kernel"),
        (",cpus=2,kernel_too=on", "kernel_too: requires agent"),
        (",cpus=3", "cpus=3: the machine has 2 CPUs"),
    ] {
        assert_eq!(refused(arguments).as_deref(), Some(line));
    }
    assert!(refused(",cpus=2,colour=red").unwrap().starts_with("colour: unknown argument"));
    assert_eq!(refused(",cpus=2"), None);
    assert_eq!(refused(",cpus=2,quantum=0,agent=1000-2000"), None);
}

#[test]
fn a_place_that_can_not_be_written_is_refused() {
    let directory = std::env::temp_dir();
    let line = refused_with(ONE_THREAD, &format!("output={},cpus=2", directory.display()));
    assert!(line.unwrap().ends_with(": is a directory"));
}

#[test]
fn machines_that_can_not_be_kept_in_step_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let output = format!("output={},cpus=2", directory.path().join("report.json").display());
    let refused = |arguments: &[&str]| refused_with(arguments, &output);
    assert_eq!(
        refused(&ONE_THREAD[..2]).as_deref(),
        Some("time must follow the instructions: start QEMU with -icount shift=4,sleep=off")
    );
    let threads = "CPUs must share one thread: start QEMU with -accel tcg,thread=single";
    assert_eq!(refused(&["-accel", "tcg,thread=multi"]).as_deref(), Some(threads));
    assert_eq!(refused(&["-accel", "tcg"]).as_deref(), Some(threads));
}
