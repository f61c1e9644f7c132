// SPDX-License-Identifier: GPL-2.0-or-later
//! Arguments and machines that can't be: one line that says so, and the program isn't run.

use crate::emulator::{compiled, run_with};

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
fn arguments_are_refused_in_one_line() {
    assert_eq!(refused("qemu-x86_64", &[]), "cpus: must be given, as cpus=N");
    assert_eq!(refused("qemu-x86_64", &["cpus=0"]), "0 CPUs: from 1 to 4094 are possible");
    assert_eq!(refused("qemu-x86_64", &["cpus=8", "sockets=3"]), "8 CPUs don't divide evenly among 3 sockets");
    assert_eq!(refused("qemu-x86_64", &["cpus=8", "whole=maybe"]), "whole=maybe: neither on nor off");
    assert!(refused("qemu-x86_64", &["cpus=8", "colour=red"]).starts_with("colour: no such argument"));
}

#[test]
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
fn another_machine_s_program_is_refused() {
    assert_eq!(refused("qemu-aarch64", &["cpus=2"]), "aarch64: it reads x86-64 and 32-bit x86 instructions alone");
}
