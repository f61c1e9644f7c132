//! `faultline ci` under the real lens, in a repository made by the tests. Needs the same parts as
//! the tests of `lens_program`.

use crate::bisect_counted::{MAKEFILE, PROGRAM};
use crate::lab::lens::assert_status;
use crate::lab::repository::Repository;
use crate::lab::{lens, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::process::Output;

/// A program with one thread and this number of steps.
const SERIAL: &str = "int main(void) { for (volatile int i = 0; i < @STEPS@; i++); return 0; }\n";

/// Commits: a program with one thread, and with 2 % more work.
fn serial() -> Repository {
    let mut repository = Repository::new();
    for steps in ["400000", "408000"] {
        repository.write(&[("counters.c", &SERIAL.replace("@STEPS@", steps)), ("Makefile", MAKEFILE)]);
        repository.commit_all(steps);
    }
    repository
}

/// Commits: counters apart, a file that no build has, counters on one line, a broken program.
fn repository() -> Repository {
    let mut repository = Repository::new();
    let program = PROGRAM.replace("@TIMES@", "20000");
    let apart = program.replace("@ALIGNED@", "alignas(64)");
    let together = program.replace("@ALIGNED@", "");
    for (number, text) in [&apart, &apart, &together, &together.replace("int main", "int main int")].iter().enumerate()
    {
        repository.write(&[("counters.c", text), ("Makefile", MAKEFILE), ("NEWS", &format!("version {number}\n"))]);
        repository.commit_all(&format!("commit {number}"));
    }
    repository
}

fn ci(repository: &Repository, range: &str, options: &[&str]) -> Output {
    let builds = ["ci", range, "--build", "make", "--keep", "counters", "--tasks", "2", "--time", "0", "--quiet"];
    let mut command = lens::command(&repository.lab, &[&builds[..], options, &["--", "./counters"]].concat());
    command.current_dir(repository.path()).env("XDG_CACHE_HOME", repository.lab.path("cache"));
    command.output().unwrap()
}

#[test]
fn a_change_that_executes_more_is_worse() {
    let repository = serial();
    let report = repository.lab.path("report");
    let output = ci(&repository, "HEAD~1..HEAD", &["--report", report.to_str().unwrap()]);
    assert_status(&output, 1);
    let text = stdout(&output);
    assert!(text.lines().next().unwrap().contains(" is worse than "), "{text}");
    assert!(text.lines().any(|line| line.contains("  instructions  ") && line.ends_with("worse")), "{text}");
    assert!(!text.contains("  transfers  "), "it has one thread: {text}");
    let sentences = text.replace('\n', " ");
    assert!(sentences.contains("Transfers do not decide if CPUs work at the same time in less than 10 %"), "{text}");
    assert!(sentences.contains("'./counters' has other code in main counters.c:1."), "{text}");
    let written = |name: &str| fs::read_to_string(report.join(name)).unwrap();
    assert!(written("ci.md").contains("| instructions"), "{}", written("ci.md"));
    let json: Value = serde_json::from_str(&written("ci.json")).unwrap();
    assert_eq!(json["state"], "worse", "{json:#}");
    let place = json!({"quantity": "instructions", "function": "main", "file": "counters.c", "line": 1});
    assert_eq!(json["programs"][0]["lines"], json!([place]), "{json:#}");
    let row = &json["programs"][0]["rows"][0];
    assert!(row.get("interval").is_none() && row.get("executions").is_none(), "exact: {row:#}");
    assert!(written("junit.xml").contains("failures=\"1\""), "{}", written("junit.xml"));
}

#[test]
fn a_change_that_makes_threads_share_a_line_is_worse() {
    let output = ci(&repository(), "HEAD~2..HEAD~1", &[]);
    assert_status(&output, 1);
    let text = stdout(&output);
    let transfers = text.lines().find(|line| line.contains("  transfers  ")).expect(&text);
    assert!(transfers.ends_with("worse"), "{text}");
    let moved = text.replace('\n', " ");
    assert!(moved.contains("Transfers of './counters' change in ") && moved.contains(" counters.c:"), "{text}");
    assert!(text.lines().any(|line| line.contains("  instructions  ") && !line.ends_with("worse")), "{text}");
}

#[test]
fn equal_builds_pass_and_a_broken_one_cannot_be_measured() {
    let repository = repository();
    let same = ci(&repository, "HEAD~3..HEAD~2", &[]);
    assert_status(&same, 0);
    assert!(stdout(&same).contains(" have the same builds."), "{}", stdout(&same));
    let broken = ci(&repository, "HEAD~1..HEAD", &[]);
    assert_status(&broken, 2);
    assert!(stdout(&broken).contains(" does not build: "), "{}", stdout(&broken));
}

#[test]
fn a_wrong_request_is_refused_before_anything_is_built() {
    let repository = repository();
    for (range, problem) in [
        ("HEAD", "'HEAD' is no range of commits"),
        ("HEAD..HEAD", "are the same commit"),
        ("HEAD..HEAD~1", "'HEAD~1' is older than 'HEAD'"),
        ("HEAD~1..nowhere", "no commit 'nowhere'"),
    ] {
        let output = ci(&repository, range, &[]);
        assert_eq!(output.status.code(), Some(2), "{range}");
        assert!(stderr(&output).contains(problem), "{range}: {}", stderr(&output));
    }
    let mut without = lens::command(&repository.lab, &["ci", "HEAD~1..HEAD", "--build", "make"]);
    let output = without.current_dir(repository.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--build belongs to a command, and there is none"), "{}", stderr(&output));
}
