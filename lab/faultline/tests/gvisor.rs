//! gVisor as a target: a kernel in a process, compared with this host in one run. Each execution
//! starts its own gVisor, and removes all of it.

use crate::lab::guest::guest_directory;
use crate::lab::{Lab, assert_refused, await_boot, stderr, stdout};
use faultline_record::outcome::Outcome;
use faultline_record::record::Attempt;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::process::Stdio;

fn command(lab: &Lab, words: &[&str]) -> std::process::Command {
    let mut command = lab.command(words);
    command.env("FAULTLINE_GUEST", guest_directory());
    command
}

#[test]
#[ignore = "needs gVisor: `make test-guest`"]
fn gvisor_stands_beside_this_host_in_one_comparison() {
    let lab = Lab::new();
    let words = [
        "compare",
        "self_exec:static-distinct",
        "zero_fill:base",
        "path_stat:distinct",
        "--tasks",
        "1",
        "--b",
        "on=gvisor",
        "--repeats",
        "6",
        "--once",
        "--warmup",
        "0ms",
        "--window",
        "200ms",
        "--interval",
        "100ms",
        "--format",
        "json",
    ];
    let output = command(&lab, &words).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    lab.assert_nothing_left();
    let record = lab.record(1);
    let machines: BTreeSet<String> = record.subjects.iter().map(|subject| subject.machine.to_string()).collect();
    assert_eq!(machines, ["gvisor", "host"].map(str::to_owned).into());
    assert_eq!(record.attempts.len(), 36);
    assert!(record.attempts.iter().all(|attempt| attempt.outcome == Some(Outcome::Done)), "{:?}", record.attempts);
    let uncounted = |attempt: &&Attempt| attempt.notes.get("faults").is_some_and(|text| text == "uncounted");
    assert_eq!(record.attempts.iter().filter(uncounted).count(), 6, "zero_fill in gVisor, which counts no faults");
    let said = stdout(&output);
    assert!(said.contains("\"path_stat:distinct") && said.contains("gVisor"), "{said}");
}

#[test]
#[ignore = "needs gVisor: `make test-guest`"]
fn a_run_that_is_stopped_or_killed_leaves_nothing() {
    let lab = Lab::new();
    let words = ["run", "path_stat:distinct", "--on", "gvisor", "--repeats", "100", "--window", "10s", "--quiet"];
    for (run, signal, status) in [(1, Signal::TERM, Some(130)), (2, Signal::KILL, None)] {
        let mut command = command(&lab, &words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        await_boot("an execution", || {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before an execution");
            lab.attempts_of(run).is_some_and(|attempts| attempts > 0)
        });
        // gVisor for this execution has started, or is about to.
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), status);
        lab.assert_nothing_left();
    }
}

#[test]
fn a_missing_gvisor_is_refused() {
    let lab = Lab::new();
    let run = |on: &str| command(&lab, &["run", "path_stat", "--on", on]).output().unwrap();
    assert_refused(&run("gvisor:runsc=/nowhere/runsc"), 2, "/nowhere/runsc --version: ");
    assert_refused(&run("gvisor:runsc=/bin/false"), 2, "/bin/false --version: ");
    assert!(!lab.db().exists());
}
