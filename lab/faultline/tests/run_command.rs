//! `faultline run -- COMMAND`: the table of a command, its amount of executions, and the commands
//! around them.

use crate::lab::{Lab, assert_refused, await_that, kill, stderr, stdout};
use faultline_record::outcome::Outcome;
use faultline_record::record::RunState;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};

/// A directory of the user, with a log that commands write.
fn place(lab: &Lab) -> PathBuf {
    let place = lab.path("place");
    fs::create_dir_all(&place).unwrap();
    place
}

fn run_there(lab: &Lab, arguments: &[&str]) -> Output {
    let words = [&["run", "-q"], arguments].concat();
    lab.command(&words).current_dir(place(lab)).output().unwrap()
}

fn log(lab: &Lab) -> String {
    fs::read_to_string(place(lab).join("log")).unwrap_or_default()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_command_has_one_compact_table() {
    let lab = Lab::new();
    let output = run_there(&lab, &["--repeats", "6", "--", "sh", "-c", "sleep 0.02"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  ") && line.ends_with("  6")).collect();
    assert_eq!(rows.len(), 4, "{text}");
    for (row, name) in rows.iter().zip(["time ", "user time ", "system time ", "peak memory "]) {
        assert!(row.trim_start().starts_with(name), "{text}");
    }
    assert!(text.contains("\nsh -c sleep 0.02\n") && text.contains("6 of 6 executions succeeded"), "{text}");

    let shown = json(&lab.run(&["show", "1", "--format", "json"]));
    let time = &shown["command"]["figures"][0];
    assert_eq!((&time["quantity"], &time["estimate"]["n"]), (&"time".into(), &6.into()));
    assert!(time["smallest"].as_f64().unwrap() >= 0.02, "{time}");
    assert_eq!(shown["command"]["figures"][3]["quantity"], "memory");
    assert!(stdout(&lab.run(&["show", "1", "--format", "markdown"])).contains("| peak memory |"));
}

#[test]
fn it_runs_ten_times_and_at_least_three_seconds() {
    let lab = Lab::new();
    let executions = |words: &[&str]| {
        let found = json(&run_there(&lab, &[&["--format", "json"], words].concat()));
        assert_eq!(found["progress"]["planned"], found["progress"]["done"]);
        found["command"]["figures"][0]["estimate"]["n"].as_u64().unwrap()
    };
    assert_eq!(executions(&["--", "sleep", "0.4"]), 10);
    let many = executions(&["--", "sleep 0.05"]);
    assert!((11..=60).contains(&many), "{many}");
    assert_eq!(executions(&["--repeats", "3", "--", "sleep 0.01"]), 3);
}

#[test]
fn setup_preparation_and_warm_up_run_around_the_executions() {
    let lab = Lab::new();
    let around = ["--shell", "--setup", "echo setup >> log", "--prepare", "echo prepare >> log"];
    let words =
        [&around[..], &["--warmup", "2", "--repeats", "3", "--format", "json", "--", "echo run >> log"]].concat();
    let found = json(&run_there(&lab, &words));
    assert_eq!(log(&lab), format!("setup\n{}", "prepare\nrun\n".repeat(5)));
    assert_eq!(found["command"]["figures"][0]["estimate"]["n"], 3);
    assert_eq!(found["command"]["command"], "echo run >> log");
    lab.assert_nothing_left();
}

#[test]
fn a_setup_may_build_the_program() {
    let lab = Lab::new();
    let setup = ["--setup", "cp /bin/true prog", "--repeats", "1", "--", "./prog"];
    assert!(run_there(&lab, &setup).status.success());
    let without = run_there(&lab, &["--setup", "true", "--repeats", "1", "--", "./other"]);
    assert_refused(&without, 2, "./other");
}

#[test]
fn a_failed_setup_ends_the_run_before_it_begins() {
    let lab = Lab::new();
    let failed = run_there(&lab, &["--setup", "sh -c 'echo no room >&2; exit 3'", "--", "true"]);
    assert_refused(&failed, 2, "the setup failed: sh ended with status 3: no room");
    let hangs = run_there(&lab, &["--limit", "1s", "--setup", "sleep 1000", "--", "true"]);
    assert_refused(&hangs, 2, "the setup failed: no end within its limit of 1.0 s");
    assert_eq!(lab.attempts(), None);
    lab.assert_nothing_left();
}

#[test]
fn a_failed_preparation_is_the_outcome_of_the_execution() {
    let lab = Lab::new();
    let failed = run_there(&lab, &["--repeats", "2", "--prepare", "sh -c 'echo no room >&2; exit 3'", "--", "true"]);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    assert!(stdout(&failed).contains("prepare: sh ended with status 3: no room"), "{}", stdout(&failed));
    for attempt in lab.record(1).attempts {
        assert!(matches!(&attempt.outcome, Some(Outcome::Failed { step, .. }) if step == "prepare"), "{attempt:?}");
    }
}

#[test]
fn a_command_that_always_fails_says_so_once_without_the_columns_of_a_curve() {
    let lab = Lab::new();
    let run = ["--repeats", "3", "--ignore-failure", "--", "sh", "-c", "echo no room >&2; exit 3"];
    let failed = run_there(&lab, &run);
    let text = stdout(&failed);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    assert!(text.contains("  no figure: command: sh ended with status 3: no room (3×)\n"), "{text}");
    assert!(!text.contains("speed-up") && !text.contains("efficiency"), "{text}");
    let listed = stdout(&lab.run(&["list"]));
    assert!(listed.contains("  sh -c echo no room >&2; exit 3  "), "{listed}");
    let compared = lab.run(&["compare", "-q", "--repeats", "6", "false", "true"]);
    let reason =
        "run 2 can't be compared: a side has no value; program:given×1 on side A: command: false ended with status 1\n";
    assert!(stderr(&compared).contains(reason), "{}", stderr(&compared));
}

#[test]
fn a_run_ends_with_its_first_failure() {
    let lab = Lab::new();
    let failed = run_there(&lab, &["--repeats", "5", "--", "sh", "-c", "echo run >> log; test $(wc -l < log) -lt 2"]);
    assert_eq!((failed.status.code(), log(&lab).as_str()), (Some(1), "run\nrun\n"), "{}", stderr(&failed));
    assert!(stdout(&failed).contains("1 of 5 executions succeeded, 1 failed, 3 skipped\n"), "{}", stdout(&failed));
    let hint = "hint: the run ended with its first failure; `--ignore-failure` goes on\n";
    assert!(stderr(&failed).ends_with(hint), "{}", stderr(&failed));
    assert_refused(&lab.run(&["resume"]), 2, "every run is finished");
    assert_refused(&run_there(&lab, &["zero_fill", "--ignore-failure"]), 2, "--ignore-failure belongs to a command");
}

#[test]
fn options_of_commands_and_of_workloads_are_told_apart() {
    let lab = Lab::new();
    let refused = |words: &[&str], problem: &str| assert_refused(&run_there(&lab, words), 2, problem);
    refused(&["zero_fill", "--prepare", "true"], "--prepare belongs to a command, and workloads are measured");
    refused(&["zero_fill", "--warmup", "3"], "the warm-up of a workload is a time, and 3 has no unit");
    refused(&["--warmup", "1s", "--", "true"], "the warm-up of a command is a number of executions");
    refused(&["--", "./nowhere", "1"], "./nowhere");
    refused(&["--"], "there is no command after `--`");
    refused(
        &["zero_fill", "--export-json", "out.json"],
        "--export-json belongs to a command, and workloads are measured",
    );
    refused(
        &["--", "sort words | wc"],
        "the command 'sort words | wc' needs a shell for its '|', and runs without one",
    );
    refused(&["--prepare", "rm -f cache/*", "--", "true"], "--prepare 'rm -f cache/*' needs a shell for its '*'");
    refused(&["--on", "qemu", "--", "true"], "a command of this host cannot run on another machine");
}

#[test]
fn executions_are_exported_as_hyperfine_writes_them() {
    let lab = Lab::new();
    let output = run_there(&lab, &["--repeats", "4", "--export-json", "out.json", "--", "sleep 0.01"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let written: Value = serde_json::from_slice(&fs::read(place(&lab).join("out.json")).unwrap()).unwrap();
    let command = &written["results"][0];
    assert_eq!(command["command"], "sleep 0.01");
    assert_eq!(command["times"].as_array().unwrap().len(), 4);
    assert_eq!(command["memory_usage_byte"].as_array().unwrap().len(), 4);
    assert!(command["median"].as_f64().unwrap() >= 0.01 && command["user"].is_f64() && command["system"].is_f64());
    // Read back, it has the name and measures of the run.
    let file = place(&lab).join("out.json");
    let compared = lab.run(&["compare", "1", file.to_str().unwrap(), "--assume-quiet", "--format", "json"]);
    assert!(stdout(&compared).contains("sleep 0.01"), "{}{}", stdout(&compared), stderr(&compared));
}

#[test]
fn a_stopped_run_continues_from_any_directory() {
    let lab = Lab::new();
    fs::copy("/bin/sleep", place(&lab).join("nap")).unwrap();
    let words = ["run", "-q", "--repeats", "8", "--setup", "test -e nap", "--", "./nap", "0.2"];
    let child = lab.command(&words).current_dir(place(&lab)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    await_that("two executions", || lab.attempts().is_some_and(|attempts| attempts >= 2));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", stderr(&stopped));
    lab.assert_nothing_left();

    fs::rename(place(&lab).join("nap"), place(&lab).join("away")).unwrap();
    let failed = lab.command(&["resume", "-q"]).current_dir("/").output().unwrap();
    assert_eq!(failed.status.code(), Some(2), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("everything measured is saved; `faultline resume` continues"), "{failed:?}");
    fs::rename(place(&lab).join("away"), place(&lab).join("nap")).unwrap();

    let resumed = lab.command(&["resume", "-q"]).current_dir("/").output().unwrap();
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    let record = lab.record(1);
    let done = record.attempts.iter().filter(|attempt| attempt.outcome == Some(Outcome::Done)).count();
    assert_eq!((record.state, done), (RunState::Finished, 8));
}

#[test]
fn a_killed_run_leaves_no_preparation() {
    let lab = Lab::new();
    let words = ["run", "-q", "--prepare", "sh -c 'echo begun >> log; sleep 1000; true'", "--", "true"];
    let child = lab.command(&words).current_dir(place(&lab)).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    await_that("a preparation", || log(&lab) == "begun\n");
    kill(child.unwrap());
    lab.assert_nothing_left();
}

#[test]
fn copies_at_once_have_the_table_of_a_curve() {
    let lab = Lab::new();
    let words = ["--tasks", "1,2", "--oversubscribe", "--repeats", "2", "--", "sleep 0.02"];
    let text = stdout(&run_there(&lab, &words));
    assert!(text.contains("sleep 0.02\n") && text.contains("program:given") && text.contains("efficiency"), "{text}");
}

#[test]
fn a_comparison_prepares_both_commands() {
    let lab = Lab::new();
    let around = ["--shell", "--setup", "echo setup >> log", "--prepare", "echo prepare >> log", "--warmup", "1"];
    let words = [
        &["compare", "-q", "--once", "--repeats", "2", "--format", "json"],
        &around[..],
        &["echo a >> log", "echo b >> log"],
    ];
    let found = json(&lab.command(&words.concat()).current_dir(place(&lab)).output().unwrap());
    assert_eq!(found["a"]["name"], "echo a >> log");
    let log = log(&lab);
    let count = |line: &str| log.lines().filter(|other| *other == line).count();
    assert_eq!([count("setup"), count("prepare"), count("a"), count("b")], [1, 6, 3, 3], "{log}");
    assert!(log.starts_with("setup\nprepare\n"), "{log}");
    let there = place(&lab).canonicalize().unwrap();
    let subjects = lab.record(1).head.subjects;
    assert!(subjects.iter().all(|side| side.setup.directory.as_deref() == there.to_str()), "for a resume");

    let mixed = lab.run(&["compare", "-q", "zero_fill", "--a", "", "--b", "env.X=1", "--prepare", "true"]);
    assert_refused(&mixed, 2, "--prepare belongs to a command");
}
