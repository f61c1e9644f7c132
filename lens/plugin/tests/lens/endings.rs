// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that fork, crash, have no region mark, have another word size or too many threads, or are killed.

use crate::emulator::{Outcome, command, compiled, number, run, run_with};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

fn end(how: &str) -> Outcome {
    let outcome = run(2, &[], "endings", &[how]);
    assert_eq!(outcome.left_behind, 0);
    outcome
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn of_a_program_that_forks_the_parent_alone_is_counted() {
    let outcome = end("fork");
    assert!(outcome.output.status.success());
    assert_eq!(number(&outcome.report()["forks"]), 1);
    // Twice the work, not three times: 10,000 turns with a load and a store each.
    assert!((40_000..45_000).contains(&outcome.total("accesses")), "{}", outcome.total("accesses"));
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_program_that_replaces_itself_is_said_to() {
    let outcome = end("exec");
    assert!(outcome.output.status.success() && outcome.report.is_none());
    assert!(outcome.stderr().contains("the program calls execve"));
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_program_that_crashes_ends_as_without_the_plugin() {
    for (how, signal) in [("crash", 11), ("abort", 6)] {
        let outcome = end(how);
        // `timeout` kills itself with the signal that ended its child.
        let status = outcome.output.status;
        assert!(status.signal() == Some(signal) || status.code() == Some(128 + signal), "{status:?}");
        assert!(outcome.stderr().contains("uncaught target signal"));
    }
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_program_without_marks_is_reported_as_such_or_counted_whole() {
    let outcome = end("unmarked");
    assert_eq!(outcome.problems(), ["no_mark"]);
    assert_eq!(outcome.total("accesses"), 0);
    let whole = run(2, &["whole=on"], "endings", &["unmarked"]);
    assert!(whole.problems().is_empty());
    assert!(whole.total("accesses") > 20_000);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn two_regions_add_up() {
    let outcome = end("twice");
    assert_eq!(number(&outcome.report()["regions"]), 2);
    assert!((39_900..40_100).contains(&outcome.total("accesses")), "{}", outcome.total("accesses"));
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_32_bit_program_needs_its_own_emulator() {
    // Without a C library, because a 64-bit system may lack the 32-bit one.
    let file = compiled("word_size", &["-m32", "-static", "-nostdlib"]);
    let wrong = run_with("qemu-x86_64", &["cpus=2".into()], &file, &[]);
    assert_eq!(wrong.output.status.code(), Some(255));
    assert!(wrong.stderr().contains("Invalid ELF image") && wrong.report.is_none());
    let right = run_with("qemu-i386", &["cpus=2".into(), "whole=on".into()], &file, &[]);
    assert!(right.output.status.success());
    assert_eq!(right.report()["target"], "i386");
    assert!((20_000..20_100).contains(&right.total("accesses")), "{}", right.total("accesses"));
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn more_threads_than_cpus_is_a_problem_in_the_report() {
    let outcome = run(4, &[], "counters", &["shared", "8", "500"]);
    assert!(outcome.output.status.success());
    assert_eq!(outcome.problems(), ["too_many_threads"]);
    assert_eq!(outcome.stderr().matches("has no CPU on a machine of 4").count(), 1);
    let text = outcome.report()["problems"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("9 threads at once, the machine has 4 CPUs"), "{text}");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_killed_program_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let file = compiled("endings", &[]);
    let mut child = command("qemu-x86_64", &["cpus=2".into()], &place.path().join("report.json"), &file, &["forever"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let emulator = std::fs::read_to_string(children).unwrap().trim().to_owned();
    // A shell builtin: the program `kill` comes in a separate package.
    let status = std::process::Command::new("sh").args(["-c", "kill -KILL $0", &emulator]).status().unwrap();
    child.wait().unwrap();
    assert_eq!((line.as_str(), status.success()), ("running\n", true));
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    assert!(!std::path::Path::new("/proc").join(emulator).exists());
}
