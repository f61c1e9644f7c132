//! Refusals before anything runs: one line, a hint, exit status 2, and no run in the database.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const SHORT: [&str; 10] =
    ["--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];

#[track_caller]
fn refused(lab: &Lab, arguments: &[&str], problem: &str) {
    assert_refused(&lab.run(arguments), 2, problem);
    assert!(!lab.db().exists(), "{arguments:?} made a database");
}

#[test]
fn a_program_that_cannot_be_run_is_no_side() {
    let lab = Lab::new();
    let program = lab.path("prog");
    let name = program.to_str().unwrap().to_owned();
    let sides = |lab: &Lab, problem: &str| refused(lab, &["compare", "--a", &name, "--b", "/bin/true"], problem);
    sides(&lab, "prog: No such file or directory");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    sides(&lab, "prog: it is not executable");
    refused(
        &lab,
        &["compare", "--a", "command=nosuchprogram", "--b", "/bin/true"],
        "no program 'nosuchprogram' in PATH",
    );
    refused(&lab, &["compare", "--a", "/bin", "--b", "/bin/true"], "cannot run /bin: it is a directory");
    refused(&lab, &["run", "--tree", "/etc", "--command", "nosuchprogram -j2"], "no program 'nosuchprogram' in PATH");
}

#[test]
fn a_setting_that_may_not_be_written_is_no_side() {
    let lab = Lab::new();
    lab.good_fake("good");
    let script = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys
        exec \"$2\" --db \"$1/db.sqlite\" compare good --b sysctl.vm.overcommit_memory=1";
    let Some(output) = lab.in_namespace(script) else { return };
    if stderr(&output).contains("mount: ") {
        println!("skipped: this machine lets us mount nothing");
        return;
    }
    assert_refused(&output, 2, "cannot change the setting /proc/sys/vm/overcommit_memory: ");
    assert!(!lab.db().exists());
}

#[test]
fn a_size_has_to_fit_the_workload_and_the_machine() {
    let lab = Lab::new();
    refused(&lab, &["run", "zero_fill:base", "--size", "10"], "--size 10 is too small for zero_fill:base");
    refused(&lab, &["run", "zero_fill:base", "--size", "20TiB"], "is too large for zero_fill:base");
    refused(
        &lab,
        &["run", "zero_fill:base", "--tasks", "1", "--size", "15TiB"],
        "needs 15360.0 GiB, and the machine has ",
    );
    refused(&lab, &["run", "path_stat", "--size", "4MiB"], "--size has no meaning for path_stat");
    refused(&lab, &["run", "tree_build", "--size", "6000"], "--size 6000 is too large for tree_build:generated");
    refused(&lab, &["compare", "zero_fill", "--b", "env.X=1", "--size", "10"], "--size 10 is too small");
    refused(&lab, &["run", "zero_fill", "--size", "-5"], "not a size; write it like 4MiB or 200");
}

#[test]
fn the_time_has_to_hold_one_block() {
    let lab = Lab::new();
    refused(
        &lab,
        &["run", "zero_fill:base", "--tasks", "1", "--time", "300ms"],
        "a time budget of 0.3 s is too short for one block",
    );
    refused(
        &lab,
        &["compare", "zero_fill:base", "--a", "", "--tasks", "1", "--time", "700ms"],
        "windows and warm-ups of 0.8 s",
    );
    refused(&lab, &["check", "--time", "1s"], "too short for one block");
}

#[test]
fn a_page_that_cannot_be_written_is_refused_without_naming_temporary_files() {
    let lab = Lab::new();
    lab.good_fake("good");
    let directory = lab.path("directory");
    fs::create_dir(&directory).unwrap();
    let nowhere = lab.path("nowhere/page.html");
    let below_a_file = lab.path("fakes/good/page.html");
    for (page, why) in [
        (directory.to_str().unwrap(), "is a directory"),
        (nowhere.to_str().unwrap(), "No such file or directory"),
        (below_a_file.to_str().unwrap(), "Not a directory"),
        ("/proc/page.html", ""),
    ] {
        let run = [&["run", "good", "-o", page][..], &SHORT].concat();
        let output = lab.faked(&run).output().unwrap();
        assert_refused(&output, 2, &format!("cannot write {page}: "));
        let said = stderr(&output);
        assert!(said.contains(why) && !said.contains(".faultline-"), "{said}");
        assert!(!lab.db().exists(), "{page}");
        assert_refused(&lab.faked(&["show", "-o", page]).output().unwrap(), 2, &format!("cannot write {page}: "));
    }
    let output = lab.faked(&["run", "good", "--scratch", "/proc"]).output().unwrap();
    assert_refused(&output, 2, "cannot make scratch files in /proc: ");
    assert!(!stderr(&output).contains(".tmp"), "{}", stderr(&output));
}

#[test]
fn a_page_that_turns_out_unwritable_does_not_cost_the_table() {
    let lab = Lab::new();
    let directory = lab.path("pages");
    fs::create_dir(&directory).unwrap();
    let page = directory.join("page.html");
    lab.fake(
        "good",
        &format!("rm -r '{}'; header; echo interval 2 10000002 100; echo end 10000003; echo done", directory.display()),
    );
    let run = [&["run", "good", "-q", "-o", page.to_str().unwrap()][..], &SHORT].concat();
    let output = lab.faked(&run).output().unwrap();
    assert_refused(&output, 1, "cannot write ");
    assert!(stdout(&output).contains("good:only"), "{}", stdout(&output));
}

#[test]
fn a_label_is_not_empty() {
    let lab = Lab::new();
    for label in ["", " ", " x"] {
        refused(&lab, &["run", "zero_fill", "--label", label], "'--label <TEXT>'");
    }
}

#[test]
fn budgets_for_what_is_not_run_are_refused() {
    let lab = Lab::new();
    let program = ["lens", "program", "--tasks", "8", "--budget", "true<=5@4", "--", "/bin/true", "{tasks}"];
    refused(&lab, &program, "the budget 'true<=5@4' is for 4 CPUs, which are not run");
    let kernel = ["lens", "kernel", "zero_fill", "--tasks", "2", "--budget", "zero_fill<=5@4"];
    refused(&lab, &kernel, "is for 4 CPUs, which are not run");
    let other = ["lens", "kernel", "zero_fill", "--tasks", "2", "--budget", "fz:base<=5@2"];
    refused(&lab, &other, "the budget 'fz:base<=5@2' names neither a case of the run nor a type");
}

/// The command without anything beside it, as `cargo install` leaves it.
fn alone(lab: &Lab) -> PathBuf {
    let alone = lab.path("bin/faultline");
    fs::create_dir(lab.path("bin")).unwrap();
    fs::hard_link(crate::lab::program(), &alone)
        .or_else(|_| fs::copy(crate::lab::program(), &alone).map(drop))
        .unwrap();
    alone
}

#[test]
fn a_command_alone_builds_its_workloads_once() {
    let lab = Lab::new();
    let alone = alone(&lab);
    let run = |path: Option<&str>, arguments: &[&str]| {
        let mut command = std::process::Command::new(&alone);
        command.env("FAULTLINE_DB", lab.db()).env("XDG_CACHE_HOME", lab.path("cache")).args(arguments);
        command.env_remove("FAULTLINE_WORKLOADS").env("TMPDIR", lab.path("scratch"));
        if let Some(path) = path {
            command.env("PATH", path);
        }
        command.output().unwrap()
    };
    assert_refused(&run(Some("/nowhere"), &["run", "--list"]), 2, "there is no make here");
    let measured = run(None, &["run", "--repeats", "2", "--", "/bin/true"]);
    assert!(measured.status.success(), "{measured:?}");
    assert!(stderr(&measured).contains("building the workloads with cc"), "{}", stderr(&measured));
    // Built ones need no compiler.
    let listed = run(Some("/nowhere"), &["run", "--list"]);
    assert!(listed.status.success() && stdout(&listed).contains("fork_exit"), "{listed:?}");
    let kept: Vec<_> = fs::read_dir(lab.path("cache/faultline")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].join("sources/Makefile").is_file() && !kept[0].join("programs/objects").exists());
    assert_eq!(lab.scratch_left(), Vec::<PathBuf>::new());
}

#[test]
fn missing_parts_are_a_bad_request() {
    let lab = Lab::new();
    let alone = alone(&lab);
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&alone);
        command.env("FAULTLINE_DB", lab.db()).env_remove("FAULTLINE_WORKLOADS").env_remove("FAULTLINE_LENS_PLUGIN");
        command.args(arguments).output().unwrap()
    };
    // The first missing part depends on the machine: emulator, kernel, guest or plugin.
    assert_refused(&run(&["run", "zero_fill", "--on", "qemu"]), 2, "");
    assert_refused(&run(&["lens", "kernel", "zero_fill", "--tasks", "2"]), 2, "");
    assert_refused(&run(&["lens", "program", "--", "/bin/true"]), 2, "");
    let text = lab.path("text");
    fs::write(&text, "no kernel").unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o644)).unwrap();
    let on = format!("qemu:kernel={}", text.display());
    assert_refused(&run(&["run", "zero_fill", "--on", &on]), 2, "");
    assert_refused(&run(&["lens", "kernel", "zero_fill", "--kernel", text.to_str().unwrap()]), 2, "");
    assert!(!lab.db().exists());
}
