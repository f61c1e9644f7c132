// SPDX-License-Identifier: GPL-2.0-or-later
//! Invalid arguments and machines: the plugin prints one line that says why, and the program does not run.

use crate::emulator::{compiled, library, run_with};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

fn refused(emulator: &str, arguments: &[&str]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    let outcome = run_with(emulator, &arguments, &compiled("endings", &[]), &["forever"]);
    assert_eq!(outcome.output.status.code(), Some(1));
    assert!(outcome.output.stdout.is_empty() && outcome.report.is_none() && outcome.left_behind == 0);
    let stderr = outcome.stderr();
    let ours: Vec<&str> = stderr.lines().filter_map(|line| line.strip_prefix("faultline lens: ")).collect();
    assert_eq!(ours.len(), 1, "{stderr}");
    ours[0].to_owned()
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn arguments_are_refused_in_one_line() {
    assert_eq!(refused("qemu-x86_64", &[]), "cpus: must be given, as cpus=N");
    assert_eq!(refused("qemu-x86_64", &["cpus=0"]), "0 CPUs: from 1 to 4094 are possible");
    assert_eq!(refused("qemu-x86_64", &["cpus=8", "sockets=3"]), "8 CPUs don't divide evenly among 3 sockets");
    assert_eq!(refused("qemu-x86_64", &["cpus=8", "whole=maybe"]), "whole=maybe: neither on nor off");
    assert!(refused("qemu-x86_64", &["cpus=8", "colour=red"]).starts_with("colour: no such argument"));
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_place_that_can_not_be_written_is_refused() {
    let outcome = run_with("qemu-x86_64", &["cpus=2".into()], &compiled("endings", &[]), &["unmarked"]);
    assert!(outcome.report.is_some());
    let directory = std::env::temp_dir();
    let file = compiled("endings", &[]);
    let output = crate::emulator::command("qemu-x86_64", &["cpus=2".into()], &directory, &file, &["unmarked"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't be written: is a directory"));
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn another_machine_s_program_is_refused() {
    assert_eq!(refused("qemu-aarch64", &["cpus=2"]), "aarch64: it reads x86-64 and 32-bit x86 instructions alone");
}

/// The emulator of machines: as named, or what `make emulator` unpacked, or this machine's own.
fn machine_emulator() -> PathBuf {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/qemu/usr/bin/qemu-system-x86_64");
    let provided = if unpacked.exists() { unpacked } else { "qemu-system-x86_64".into() };
    std::env::var_os("FAULTLINE_QEMU").map_or(provided, PathBuf::from)
}

/// Starts a machine of two CPUs without an image. Returns the plugin's line, or none if it accepts the machine.
fn machine_refused(arguments: &[&str], plugin_arguments: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.json");
    let plugin = format!("{},output={},{plugin_arguments}", library().display(), report.display());
    let output = Command::new("timeout")
        .args(["-k", "5", "60"])
        .arg(machine_emulator())
        .args(["-nodefaults", "-display", "none", "-smp", "2", "-S"])
        .args(["-plugin", &plugin, "-qmp", "stdio"])
        .args(arguments)
        .stdin(quit(directory.path()))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = stderr.lines().find_map(|line| line.strip_prefix("faultline lens: ").map(str::to_owned));
    assert_eq!(output.status.code(), Some(i32::from(line.is_some())), "{stderr}");
    line
}

/// Makes a machine that started exit at once.
fn quit(directory: &Path) -> File {
    let commands = directory.join("quit");
    std::fs::write(&commands, "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}").unwrap();
    File::open(commands).unwrap()
}

#[test]
fn machines_that_can_not_be_kept_in_step_are_refused() {
    let one_thread = ["-accel", "tcg,thread=single", "-icount", "shift=4,sleep=off"];
    assert_eq!(machine_refused(&one_thread, "cpus=2"), None);
    assert_eq!(
        machine_refused(&one_thread[..2], "cpus=2").as_deref(),
        Some("time must follow the instructions: start QEMU with -icount shift=4,sleep=off")
    );
    let threads = "CPUs must share one thread: start QEMU with -accel tcg,thread=single";
    assert_eq!(machine_refused(&["-accel", "tcg,thread=multi"], "cpus=2").as_deref(), Some(threads));
    assert_eq!(machine_refused(&["-accel", "tcg"], "cpus=2").as_deref(), Some(threads));
    assert_eq!(
        machine_refused(&one_thread, "cpus=2,quantum=499").as_deref(),
        Some("quantum=499: at least 500 in full-system emulation")
    );
    assert_eq!(
        machine_refused(&one_thread, "cpus=3").as_deref(),
        Some("the machine has 2 CPUs, cpus=3 says otherwise")
    );
}
