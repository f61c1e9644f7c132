//! A host over SSH that really installs kernels and reboots into them: an emulated machine with
//! OpenSSH's server on a virtual disk.
//!
//! A kernel that finds no disk panics, and a power cycle restores the previous one. Another kernel
//! panics under the workload. The SSH server is killed during an execution, and so is the command
//! itself. The results are the same in every case.

use crate::lab::repository::Repository;
use crate::lab::{await_within, stderr, stdout};
use crate::ssh_guest::disk::package;
use crate::ssh_guest::machine::Machine;
use faultline_record::outcome::Outcome;
use serde_json::Value;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Longer than a boot in full emulation on a busy machine with two CPUs.
const BACK_LIMIT: &str = "75s";

fn command(repository: &Repository, arguments: &[&str]) -> Command {
    let mut command = repository.lab.command(arguments);
    command.env("FAULTLINE_GUEST", crate::lab::guest::guest_directory()).current_dir(repository.lab.path(""));
    command
}

#[track_caller]
fn succeeds(output: &Output, machine: &Machine) -> String {
    let console = machine.console();
    let end: Vec<&str> = console.lines().rev().take(30).collect();
    assert!(output.status.success(), "{}{}\nconsole, backwards: {end:#?}", stdout(output), stderr(output));
    stdout(output)
}

/// The kernel release that the host reports.
fn release(repository: &Repository, machine: &Machine) -> String {
    let facts = command(repository, &["check", "--facts", "--on", "ssh:lab", "--format", "json"]).output().unwrap();
    let facts: Value = serde_json::from_str(&succeeds(&facts, machine)).unwrap();
    facts["kernel.release"].as_str().unwrap_or_else(|| panic!("{facts}")).to_owned()
}

/// Adds a commit whose build is a package.
fn commit(repository: &mut Repository, package: &std::path::Path, subject: &str) {
    let stem = package.with_extension("");
    let build =
        format!("#!/bin/sh\n# {subject}\ncp '{0}.tar' kernel.tar && cp '{0}.release' release\n", stem.display());
    repository.write_programs(&[("build", &build)]);
    repository.commit_all(subject);
}

#[test]
#[ignore = "boots a machine in full emulation about ten times: `make test-guest`"]
fn kernels_of_commits_are_installed_booted_and_measured_through_panics_and_kills() {
    let mut repository = Repository::new();
    let packages = repository.lab.path("packages");
    fs::create_dir(&packages).unwrap();
    let (old, old_release) = package(&packages, "old", "bookworm", "");
    let (new, new_release) = package(&packages, "new", "trixie", "");
    assert_ne!(old_release, new_release);
    let machine = Machine::start(&repository.lab, &old);
    let of = |name: &str, suite: &str| package(&packages, name, suite, name).0;
    let commits = [
        ("refused", of("refused", "bookworm")),
        ("cut", of("cut", "trixie")),
        ("broken", of("broken", "bookworm")),
        ("panic", of("panic", "trixie")),
        ("last", old.clone()),
    ];
    for (subject, package) in &commits {
        commit(&mut repository, package, subject);
    }
    let subject = "[subject.linux]\nrepository = \"repository\"\nwork = \"work\"\nbuild = \"./build\"\non = \"ssh:lab\"\nimage = \"kernel.tar\"\n\
        release_file = \"release\"\nworkloads = [\"path_stat:distinct\"]\nrepeats = 1\nseed = 3\n";
    let text = format!("{}{subject}", machine.declaration(BACK_LIMIT));
    fs::write(repository.lab.path("faultline.toml"), text).unwrap();

    // Install and boot one kernel by hand.
    assert_eq!(release(&repository, &machine), old_release);
    let words = ["run", "path_stat:distinct", "--on", "ssh:lab", "--repeats", "1", "--window", "100ms", "--quiet"];
    let mut by_hand = command(&repository, &words);
    by_hand.arg("--install").arg(&new).args(["--release", &new_release]);
    succeeds(&by_hand.output().unwrap(), &machine);
    assert_eq!(release(&repository, &machine), new_release);

    // Measure all commits. The command is killed on the way, and started again.
    let run = ["history", "run", "--quiet"];
    let child = command(&repository, &run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_within(Duration::from_secs(600), "the first executions", || {
        repository.lab.attempts_of(2).is_some_and(|count| count >= 2)
    });
    crate::lab::kill(child);
    succeeds(&command(&repository, &["resume", "--quiet"]).output().unwrap(), &machine);

    let shown = command(&repository, &["history", "show", "--format", "json"]).output().unwrap();
    let series: Value = serde_json::from_str(&succeeds(&shown, &machine)).unwrap();
    let result = |point: &Value| point["why"].as_str().or(point["result"].as_str()).unwrap_or("none").to_owned();
    let results: Vec<String> = series[0]["points"].as_array().unwrap().iter().map(result).collect();
    assert_eq!(results, ["run", "measured", "boot", "run", "measured"], "{}", machine.console());

    let record = repository.lab.record(2);
    let said = format!("{:?}", record.attempts);
    for words in ["there is no kernel in this package", "+broken", "went down while it ran"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let lost = record.attempts.iter().filter(|attempt| matches!(attempt.outcome, Some(Outcome::ConnectionLost { .. })));
    // Twice if the command was killed after the first time, and the package installed again.
    assert!((1..=2).contains(&lost.count()), "the server was killed in the midst of an execution: {said}");
    let is_done = |outcome: &Option<Outcome>| *outcome == Some(Outcome::Done);
    assert_eq!(record.attempts.iter().filter(|attempt| is_done(&attempt.outcome)).count(), 2, "none twice: {said}");
    assert!(machine.power_cycles() >= 2, "of the kernel without a disk, and of the one that panicked later");
    let boots = machine.boots();
    assert!([&old_release, &new_release].iter().all(|release| boots.contains(release)), "{boots:?}");
    repository.lab.assert_nothing_left();
}
