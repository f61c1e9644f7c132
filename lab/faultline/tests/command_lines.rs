//! Comparison of two command lines in hyperfine's syntax. Also: programs are never read as files of
//! results.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

/// A lab with the programs `old` and `new`, which take their first argument in hundredths of a
/// second. `old` is so much slower that a busy machine does not hide it.
fn lab() -> Lab {
    let lab = Lab::new();
    for (name, more) in [("old", "0.15"), ("new", "0.00")] {
        let file = lab.path(name);
        fs::write(&file, format!("#!/bin/sh\nsleep 0.0${{1:-1}}\nsleep {more}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    lab
}

fn compare(lab: &Lab, arguments: &[&str]) -> Output {
    let words: Vec<&str> = ["compare"].into_iter().chain(arguments.iter().copied()).collect();
    lab.command(&words).current_dir(lab.path("")).output().unwrap()
}

#[track_caller]
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

#[test]
fn two_command_lines_are_a_live_comparison_at_one_task() {
    let lab = lab();
    for (a, b) in [("./old 1", "./new 1"), ("./old", "./new"), ("old", "new")] {
        let found = json(&compare(&lab, &[a, b, "-q", "--repeats", "12", "--format", "json"]));
        assert_eq!((&found["a"]["name"], &found["b"]["name"]), (&a.into(), &b.into()));
        let workloads = found["workloads"].as_array().unwrap();
        assert_eq!(workloads.len(), 1, "one number of tasks: {workloads:?}");
        assert_eq!((&workloads[0]["answer"], &workloads[0]["tasks"]), (&"faster".into(), &1.into()), "{a}");
    }
    let found = json(&compare(
        &lab,
        &["sh -c ./old", "sh -c ./new", "-q", "--repeats", "6", "--tasks", "1,2", "--format", "json"],
    ));
    assert_eq!(found["workloads"].as_array().unwrap().len(), 2, "more tasks only where they are asked for");
}

#[test]
fn a_variant_may_be_a_command_line_too() {
    let lab = lab();
    let found = json(&compare(
        &lab,
        &["--a", "sh -c ./old", "--b", "sh -c ./new", "-q", "--repeats", "12", "--format", "json"],
    ));
    assert_eq!(found["workloads"][0]["answer"], "faster");
    assert_refused(&compare(&lab, &["--a", "old 1", "--b", "new 1"]), 2, "there is no variant 'old', and no program");
    assert!(stderr(&compare(&lab, &["--a", "old 1", "--b", "new 1"])).contains("'./old'"));
    fs::write(lab.path("faultline.toml"), "[variant.sh]\nenvironment = { X = 1 }\n").unwrap();
    let both = compare(&lab, &["--a", "sh ./old", "--b", "sh ./new"]);
    assert_refused(&both, 2, "'sh' is both a variant that faultline.toml declares and a program in PATH");
    assert!(stderr(&both).contains("\"command='sh ./old'\""));
}

#[test]
fn an_argument_that_is_neither_is_refused_in_one_line() {
    let lab = lab();
    assert_refused(
        &compare(&lab, &["./old 1", "./nwe 1"]),
        2,
        "'./nwe 1' is neither a run, file or import nor a command: cannot run ./nwe",
    );
    assert_refused(&compare(&lab, &["nosuchprogram 1", "./new 1"]), 2, "there is no program 'nosuchprogram' in PATH");
    fs::write(lab.path("figures.json"), HYPERFINE).unwrap();
    assert_refused(
        &compare(&lab, &["./old 1", "figures.json"]),
        2,
        "'./old 1' is a command, but 'figures.json' is a run, file or import",
    );
    assert_refused(&compare(&lab, &["first", "second"]), 2, "there is no file, run or import 'first'");
    assert_refused(&compare(&lab, &["sleep 1"]), 2, "'sleep 1' is a command, and there is no second one");
    let empty = "'' is neither a run, file or import nor a command: it is empty";
    assert_refused(&compare(&lab, &["", "sleep 1"]), 2, empty);
    let piped = "the command 'sleep 1 | cat' needs a shell for its '|', and runs without one";
    assert_refused(&compare(&lab, &["sleep 1 | cat", "sleep 1"]), 2, piped);
    assert!(!lab.db().exists());
}

#[test]
fn the_bytes_of_a_program_are_never_shown() {
    let lab = lab();
    let program = crate::lab::program().to_str().unwrap();
    for arguments in [&["compare", program][..], &["import", program], &["export", program, "--to", "bencher"]] {
        let output = lab.run(arguments);
        assert_refused(&output, 2, "is a program, not a file of figures");
        assert!(stderr(&output).contains("faultline compare './old ARGS' './new ARGS'"), "{}", stderr(&output));
    }
    let bytes = lab.path("bytes");
    fs::write(&bytes, b"\x7fELF\0\x01\x02").unwrap();
    let output = lab.run(&["compare", bytes.to_str().unwrap(), "1"]);
    assert_refused(&output, 2, "is a program, not a file of figures");
}

const HYPERFINE: &str = r#"{"results": [
    {"command": "sort small", "mean": 1.0, "times": [1.00, 1.01, 1.02, 0.99, 1.00, 1.01, 1.02, 0.98]},
    {"command": "sort big", "mean": 2.0, "times": [2.00, 2.01, 2.02, 1.99, 2.00, 2.01, 2.02, 1.98]}]}"#;

#[test]
fn two_commands_of_one_file_are_compared() {
    let lab = lab();
    fs::write(lab.path("times.json"), HYPERFINE).unwrap();
    for (a, b) in [("times.json:1", "times.json:2"), ("times.json:sort small", "times.json:sort big")] {
        let found = json(&compare(&lab, &[a, b, "--format", "json"]));
        assert_eq!(found["a"]["name"], a);
        let workload = &found["workloads"][0];
        assert_eq!(workload["name"], "sort small vs sort big");
        let ratio = workload["values"]["b"][0].as_f64().or(workload["b"]["median"].as_f64());
        assert!(ratio.is_none_or(|value| value > 1.5), "{workload}");
    }
    let output = compare(&lab, &["times.json:3", "times.json:1"]);
    assert_refused(&output, 2, "times.json has no benchmark '3'");
    assert!(stderr(&output).contains("it has 1: sort small, 2: sort big"), "{}", stderr(&output));
    let one = compare(&lab, &["times.json"]);
    assert_refused(&one, 2, "only 'times.json' is given");
    assert!(stderr(&one).contains("times.json:1 times.json:2"), "{}", stderr(&one));
    let exported =
        lab.command(&["export", "times.json:2", "--to", "hyperfine"]).current_dir(lab.path("")).output().unwrap();
    assert!(
        stdout(&exported).contains("sort big") && !stdout(&exported).contains("sort small"),
        "{}",
        stdout(&exported)
    );
}
