//! `faultline lens program` from end to end: real programs in guests with the real plugin, their
//! results, the saved data, and failures. Needs a C compiler, the emulator, a kernel and the
//! guest's parts (`make guest kernel`), and the plugin (`make lens`).
//!
//! Each boot takes ten seconds or more, so tests with many boots are ignored by default; run `make
//! test-guest`.

use crate::lab::lens::{self, assert_status, compiled, curve, line_of, plugin, point, points, transfers};
use crate::lab::{Lab, assert_refused, stderr, stdout};
use faultline_lens_format::{ModelledMachine, Scope};
use faultline_record::failure::FailureCause;
use faultline_record::lens::problem::Problem;
use faultline_record::lens::reading::Reading;
use faultline_record::outcome::{Outcome, Uncounted};
use faultline_record::record::RunState;
use faultline_stats::lens::comparison::{Difference, LensComparison};
use faultline_stats::lens::summary::LensPoint;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn counters() -> String {
    compiled("counters", &["counters.c"], &[])
}

fn padded() -> String {
    compiled("padded", &["counters.c"], &["-DPADDED"])
}

fn endings() -> String {
    compiled("endings", &["endings.c"], &[])
}

fn program(lab: &Lab, options: &[&str], argv: &[&str]) -> Output {
    lens::program(lab, options, argv).output().unwrap()
}

/// Displayed name of the code that adds to a counter.
fn adding() -> String {
    format!("work counters.c:{}", line_of("counters.c", "atomic_fetch_add(&counter"))
}

fn compared(lab: &Lab, a: &str, b: &str) -> LensComparison {
    let output = lab.run(&["lens", "compare", a, b, "--format", "json"]);
    assert_status(&output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(differences: &[Difference]) -> BTreeSet<&str> {
    differences.iter().map(|difference| difference.of.text.as_deref().expect("JSON has the name")).collect()
}

/// Additions of a task. The program's first thread delays one of the four at their start by up to
/// 150 additions, in which the other three go on alone; among 2,000 they hardly count.
const TURNS: &str = "2000";

const FOUR: &[&str] = &["--tasks", "4", "--ops", TURNS];

fn four<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [FOUR, more].concat()
}

#[test]
fn counters_that_were_not_padded_are_named_and_close_the_gates() {
    let lab = Lab::new();
    let (beside, padded) = (counters(), padded());
    let code = format!("{} in member", adding());
    assert_status(&program(&lab, FOUR, &[&padded, "{tasks}", TURNS]), 0);
    // Worse than the baseline, although the program has another name.
    let budgets = ["--budget", "counters<=0.5@4", "--budget", "instructions:counters:program<=100@4"];
    let gates = four(&[&budgets[..], &["--baseline", "1", "--label", "beside"]].concat());
    let worse = program(&lab, &gates, &[&beside, "{tasks}", TURNS]);
    assert_status(&worse, 1);
    let said = stderr(&worse);
    assert!(said.contains("1 of 2 budgets kept") && said.contains(&code), "{said}");
    assert!(said.contains("Run 2 against the baseline, run 1: limit exceeded"), "{said}");
    assert!(said.contains("counter[0].hits (after on a line with counter["), "{said}");
    assert!(stdout(&worse).starts_with("Run 2"), "the run is shown all the same: {}", stdout(&worse));
    assert_eq!(lab.record(2).settings.lens().unwrap().budgets.len(), 2);

    let comparison = compared(&lab, "2", "1");
    let [cell] = &comparison.cells[..] else { panic!("{comparison:?}") };
    let all = ["counter[0].hits", "counter[1].hits", "counter[2].hits", "counter[3].hits"];
    assert_eq!((names(&cell.data), names(&cell.code)), (BTreeSet::from(all), BTreeSet::from([&code[..]])));
    assert!((cell.transfers.0.median - 1.0).abs() < 0.05 && cell.transfers.1.median < 0.02, "{cell:?}");
    let table = stdout(&lab.run(&["lens", "compare", "2", "1"]));
    assert!(table.contains("went") && table.contains("counter[2].hits") && table.contains(&code), "{table}");
    assert_is_shown_in_every_format(&lab, &stdout(&worse));
    lab.assert_nothing_left();
}

/// Lengths of host paths, the host's environment, and the way in which the program is named must
/// not move the program's stack or the kernel's allocations.
#[test]
fn counts_do_not_depend_on_where_the_program_and_its_directory_are() {
    let lab = Lab::new();
    let long = format!("{}/{}", "much/longer/name/of/a/directory", "x".repeat(200));
    let curves = [("a", "relative"), (&long, "absolute"), ("in/path", "in PATH")].map(|(name, named)| {
        let here = lab.path(name);
        let (bin, scratch) = (here.join("bin"), here.join("scratch"));
        for directory in [&bin, &scratch] {
            fs::create_dir_all(directory).unwrap();
        }
        let file = bin.join("counters");
        fs::copy(counters(), &file).unwrap();
        let program = match named {
            "relative" => "bin/counters",
            "absolute" => file.to_str().unwrap(),
            _ => "counters",
        };
        let mut command = lens::program(&lab, &["--tasks", "2", "--format", "json"], &[program, "2", "300"]);
        command.current_dir(&here).env("TMPDIR", &scratch).env("HOME", &here).env("PWD", &here);
        if named == "in PATH" {
            let usual = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{usual}", bin.display())).env("UNUSED", "y".repeat(3000));
        }
        let output = command.output().unwrap();
        assert_status(&output, 0);
        curve(&output)
    });
    assert!(transfers(&curves[0].points[0]) > 0.0, "{curves:?}");
    let reports = curves.map(|curve| serde_json::to_string(&curve).unwrap());
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    lab.assert_nothing_left();
}

/// Checks all formats of the second run, labelled `beside`. `table` is the output at its end.
fn assert_is_shown_in_every_format(lab: &Lab, table: &str) {
    let shown = |more: &[&str]| stdout(&lab.run(&[&["show", "2"], more].concat()));
    assert_eq!(shown(&[]), table);
    let json = lab.run(&["show", "2", "--format", "json"]);
    let seen = point(&json);
    assert_eq!((seen.cpus, seen.operations, &seen.seeds[..]), (4, Some(8000), &[Some(1)][..]));
    assert_eq!(seen.lines[0].by_cpu.len(), 4, "CPUs that fetched the counters");
    assert!(shown(&["--format", "csv"]).contains("counters,program,thread,operation,4,"));
    let markdown = shown(&["--format", "markdown"]);
    assert!(markdown.starts_with("**Run 2") && markdown.contains("crew.left"), "{markdown}");
    let list = stdout(&lab.run(&["list"]));
    assert!(list.lines().any(|line| line.contains("1 of 1") && line.contains("beside")), "{list}");
    let page = lab.path("page.html");
    assert_status(&lab.run(&["show", "2", "-o", page.to_str().unwrap()]), 0);
    assert!(fs::read_to_string(page).unwrap().contains("counters"));
    let resumed = lab.run(&["resume", "2", "--quiet"]);
    assert_status(&resumed, 1);
    let said = stderr(&resumed);
    assert!(said.contains("run 2 is already finished") && said.contains("1 of 2 budgets kept"), "{said}");
    assert!(said.contains("Run 2 against the baseline, run 1: limit exceeded"), "{said}");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn what_is_as_good_as_the_baseline_keeps_it() {
    let lab = Lab::new();
    let counters = counters();
    let json = four(&["--format", "json"]);
    let first = program(&lab, &json, &[&counters, "{tasks}", TURNS]);
    let second =
        program(&lab, &four(&["--baseline", "1", "--budget", "counters<=2@4"]), &[&counters, "{tasks}", TURNS]);
    assert_status(&second, 0);
    let said = stderr(&second);
    assert!(said.contains("Run 2 against the baseline, run 1: limit kept") && said.contains("budget kept"), "{said}");
    assert!(stdout(&lab.run(&["lens", "compare", "1", "2"])).contains("identical"), "{:?}", compared(&lab, "1", "2"));
    let failed = program(&lab, &["--budget", "endings<=1@8"], &[&endings(), "three"]);
    assert_status(&failed, 1);
    assert!(stderr(&failed).contains("endings:program at 8: exit status 3: no more beds"), "{}", stderr(&failed));
    for sides in [["1", "3"], ["3", "1"]] {
        assert_refused(&lab.run(&[&["lens", "compare"][..], &sides].concat()), 2, "run 3 has no counts");
    }
    let gate = ["lens", "program", "--baseline", "3", "--", "/bin/true"];
    assert_refused(&lens::command(&lab, &gate).output().unwrap(), 2, "run 3 has no counts");
    assert_eq!(transfers(&point(&first)), transfers(&point(&lab.run(&["show", "2", "--format", "json"]))));
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_lock_that_was_split_is_named_and_nothing_else() {
    let lab = Lab::new();
    let (one, two) = (compiled("one/bank", &["bank.c"], &[]), compiled("two/bank", &["bank.c"], &["-DSPLIT"]));
    assert_status(&program(&lab, FOUR, &[&one, "{tasks}", TURNS]), 0);
    assert_status(&program(&lab, &four(&["--baseline", "1"]), &[&two, "{tasks}", TURNS]), 0);
    let worse = program(&lab, &four(&["--baseline", "2"]), &[&one, "{tasks}", TURNS]);
    assert_status(&worse, 1);
    assert!(stderr(&worse).contains("accounts_lock.serving"), "{}", stderr(&worse));
    let comparison = compared(&lab, "1", "2");
    let cell = &comparison.cells[0];
    let locks = ["accounts_lock.next", "accounts_lock.serving", "orders_lock.next", "orders_lock.serving"];
    assert_eq!(names(&cell.data), BTreeSet::from(locks), "{cell:?}");
    // A ticket lock contended by n threads: n + 1 transfers.
    assert!((cell.transfers.0.median - 5.0).abs() < 0.2 && (cell.transfers.1.median - 3.0).abs() < 0.2, "{cell:?}");
    let waits = format!("take bank.c:{} in member", line_of("bank.c", "!= mine"));
    assert_eq!(cell.code[0].of.text.as_ref(), Some(&waits), "{cell:?}");
    assert!(names(&cell.code).iter().all(|name| name.contains(" bank.c:")), "{cell:?}");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn the_program_gets_the_number_of_threads() {
    let lab = Lab::new();
    let counters = counters();
    let cpus = |output: &Output| curve(output).points.iter().map(|point| point.cpus).collect::<Vec<_>>();
    let json = ["--format", "json"];
    assert_eq!(cpus(&program(&lab, &json, &[&counters, "{tasks}", "50"])), [1, 2, 4, 8]);
    assert_eq!(cpus(&program(&lab, &json, &[&counters, "3", "50"])), [8]);
    let some = program(&lab, &["--tasks", "3,2,3", "--format", "json"], &[&counters, "{tasks}", "50"]);
    assert_eq!(cpus(&some), [2, 3]);
    // More threads than CPUs share them, as on any machine.
    let many = points(&lab, &["--tasks", "2"], &[&counters, "6", "50"]);
    assert_eq!(many[0].cpus, 2);
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn operations_and_repeats_are_reckoned_by() {
    let lab = Lab::new();
    let counters = counters();
    let run =
        |options: &[&str]| points(&lab, &[&["--tasks", "2"], options].concat(), &[&counters, "2", "100"]).remove(0);
    let whole = run(&[]);
    assert_eq!(whole.operations, Some(1));
    let per = run(&["--ops", "100", "--repeats", "3"]);
    assert_eq!((per.operations, per.repeats.len(), per.transfers.as_ref().unwrap().n), (Some(200), 3, 3));
    assert_eq!(per.seeds, [Some(1), Some(2), Some(3)]);
    // The first repeat has the seed of the other run, so its counts are equal.
    let ratio = transfers(&whole) / per.repeats[0];
    assert!((ratio / 200.0 - 1.0).abs() < 1e-9, "{ratio}");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn marks_bound_the_region_unless_the_whole_run_is_counted() {
    let lab = Lab::new();
    let endings = endings();
    let json = ["--tasks", "1", "--format", "json"];
    let unmarked = program(&lab, &json, &[&endings, "unmarked"]);
    assert_status(&unmarked, 1);
    let failures = point(&unmarked).failures;
    let why = Uncounted::NoMark;
    let cause = FailureCause::Ended { outcome: Outcome::NotCounted { why } };
    assert_eq!(failures.iter().map(|failure| failure.cause.clone()).collect::<Vec<_>>(), [cause]);
    let hint = "`lens program --whole` counts the whole run";
    assert!(failures[0].text.as_ref().is_some_and(|text| text.ends_with(hint)), "{failures:?}");
    let instructions = |output: &Output| point(output).instructions.unwrap().median;
    let between = instructions(&program(&lab, &json, &[&endings, ""]));
    assert!((3000.0..10_000.0).contains(&between), "{between}");
    let twice = instructions(&program(&lab, &json, &[&endings, "twice"]));
    assert!((1.8..2.2).contains(&(twice / between)), "two regions add up: {twice}");
    let whole = instructions(&program(&lab, &[&json[..], &["--whole"]].concat(), &[&endings, "unmarked"]));
    assert!(whole > 2.0 * between, "{whole}");
    // Without marks, the whole program is counted. A bare name is looked up in PATH.
    let other = program(&lab, &json, &["true"]);
    assert_status(&other, 0);
    assert!(instructions(&other) > 10_000.0);
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn functions_and_time_bound_the_region_of_a_program_without_marks() {
    let lab = Lab::new();
    let counters = counters();
    let run = |options: &[&str]| {
        let options = [&["--tasks", "2", "--format", "json"], options].concat();
        program(&lab, &options, &[&counters, "2", "500"])
    };
    let instructions = |output: &Output| point(output).instructions.unwrap().median;
    let whole = run(&["--whole"]);
    let threads = run(&["--from", "pthread_create"]);
    let begun = run(&["--from", "main", "--to", "pthread_create"]);
    let (of_whole, of_threads, of_begun) = (instructions(&whole), instructions(&threads), instructions(&begun));
    assert!(of_begun > 0.0 && of_begun < of_threads && of_threads < of_whole, "{of_begun} {of_threads} {of_whole}");
    assert!(transfers(&point(&threads)) > 900.0, "the additions of the threads");
    assert!(transfers(&point(&begun)) < 10.0, "no thread has begun");
    assert!(point(&begun).problems.is_empty(), "{:?}", point(&begun).problems);
    let endless = point(&run(&["--from", "main", "--to", "pthread_detach"]));
    let not_reached = Problem::EndNotReached { function: "pthread_detach".to_owned() };
    assert_eq!(endless.problems.iter().map(|problem| problem.what.clone()).collect::<Vec<_>>(), [not_reached]);
    let late = run(&["--after", "1h"]);
    assert_status(&late, 1);
    let why = Uncounted::NoReport { problem: "the program ended before 3600000 ms of the guest's time".to_owned() };
    let cause = FailureCause::Ended { outcome: Outcome::NotCounted { why } };
    assert_eq!(point(&late).failures.iter().map(|failure| failure.cause.clone()).collect::<Vec<_>>(), [cause]);
    let now = instructions(&program(&lab, &["--after", "1ms", "--format", "json"], &["sleep", "1"]));
    assert!(now > 0.0);
    assert_refused(&run(&["--from", "nothing"]), 2, "no file of the guest has a function nothing");
    assert_refused(&run(&["--from", "main", "--to", "main"]), 2, "begin and end with the same function, main");
}

/// A script starts the program and waits in between: its own work must not be counted.
#[test]
#[ignore = "boots guests: make test-guest"]
fn a_process_is_counted_alone() {
    let lab = Lab::new();
    let counters = counters();
    let script = lab.path("twice.sh");
    fs::write(&script, "#!/bin/sh\n\"$1\" 2 500; (exec \"$1\" 2 500)\nsleep 0\n").unwrap();
    let mut permissions = fs::metadata(&script).unwrap().permissions();
    permissions.set_mode(0o755);
    fs::set_permissions(&script, permissions).unwrap();
    let run = |options: &[&str]| {
        let options = [&["--tasks", "2", "--whole", "--format", "json", "--with", "/usr/bin/sleep"], options].concat();
        program(&lab, &options, &[script.to_str().unwrap(), &counters])
    };
    let all = point(&run(&[]));
    let one = point(&run(&["--process", "counters"]));
    let names = |point: &LensPoint| {
        let rows = point.processes.iter().map(|of| (of.name.clone(), of.processes, of.is_counted));
        rows.collect::<BTreeSet<_>>()
    };
    let rows = |is_counted| BTreeSet::from([("counters".to_owned(), 2, true), ("sleep".to_owned(), 1, is_counted)]);
    assert!(names(&all).is_superset(&rows(true)), "{:?}", all.processes);
    assert!(names(&one).is_superset(&rows(false)), "{:?}", one.processes);
    let sum = |point: &LensPoint| point.processes.iter().map(|of| of.instructions).sum::<f64>();
    let instructions = |point: &LensPoint| point.instructions.unwrap().median;
    assert_eq!(instructions(&all), sum(&all), "each instruction belongs to a program");
    let own = one.processes.iter().find(|of| of.is_counted).unwrap();
    assert_eq!((instructions(&one), transfers(&one)), (own.instructions, own.transfers));
    assert_eq!(sum(&all), sum(&one), "the machine does the same");
    let refused = run(&["--process", "nowhere"]);
    assert_refused(&refused, 2, "no process can be named nowhere: the guest has no file of that name");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn ctrl_c_keeps_what_was_counted_of_the_attempt_under_way() {
    let lab = Lab::new();
    let words = ["--tasks", "1"];
    let mut command = lens::program(&lab, &words, &[&endings(), "hang"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    crate::lab::await_boot("an attempt", || lab.attempts() == Some(1));
    // Enough time to boot, and to reach the hang.
    std::thread::sleep(Duration::from_secs(60));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    lab.assert_nothing_left();
    let record = lab.record(1);
    let [attempt] = &record.attempts[..] else { panic!("one attempt") };
    assert_eq!(attempt.outcome, Some(Outcome::Interrupted));
    assert!(attempt.reading.as_ref().is_some_and(|reading| reading.is_partial), "{attempt:?}");
    let shown = stdout(&lab.run(&["show"]));
    assert!(shown.contains("no figure: interrupted; counted until then: "), "{shown}");
}

/// Options for a machine that differs from the default in every setting.
const ODD: &[&str] = &[
    "--tasks",
    "1",
    "--repeats",
    "3",
    "--ops",
    "2000",
    "--seed",
    "3",
    "--sockets",
    "2",
    "--cpus-per-cache",
    "1",
    "--cache",
    "512x8",
    "--quantum",
    "7",
    "--private-quantum",
    "90",
    "--costs",
    "measured",
    "--whole",
    "--budget",
    "counters<=1000@1",
    "--budget",
    "counters<=0.0001@1",
];

/// Writes costs as `faultline lens calibrate` does.
fn keep_costs(lab: &Lab, other_socket_ns: u32) {
    let directory = lab.path("data/faultline");
    fs::create_dir_all(&directory).unwrap();
    let costs = format!(
        r#"{{"format": "faultline-costs/1", "source": "a test",
            "times": {{"instruction_ps": 400, "same_cache_ns": 21, "same_socket_ns": 43,
                "other_socket_ns": {other_socket_ns}, "memory_ns": 87}},
            "delays": {{"atomic_ps": 4000, "request_percent": 75, "wake_ns": 5000, "interrupt_ns": 1000,
                "entry_ns": 50}}}}"#
    );
    fs::write(directory.join("costs.json"), costs).unwrap();
}

/// True if each report directory has the directory of its keeper, which removes both. While a
/// report changes keepers, a kill would leave it behind.
fn each_report_has_a_keeper(lab: &Lab) -> bool {
    let is_for_report = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("faultline-lens-");
    let (reports, keepers): (Vec<_>, Vec<_>) = lab.scratch_left().into_iter().partition(is_for_report);
    !keepers.is_empty() && reports.len() == keepers.len()
}

#[test]
fn a_run_that_is_killed_goes_on_with_the_same_machine_and_program_alone() {
    let lab = Lab::new();
    let (elsewhere, own) = (lab.path("elsewhere"), lab.path("elsewhere/counters"));
    fs::create_dir_all(&elsewhere).unwrap();
    fs::copy(counters(), &own).unwrap();
    keep_costs(&lab, 131);
    let in_place = |mut command: Command| {
        command.env("XDG_DATA_HOME", lab.path("data")).current_dir(&elsewhere);
        command
    };
    let mut begun = in_place(lens::program(&lab, ODD, &["./counters", "{tasks}", "2000"]));
    let child = begun.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Checked while the process is stopped, so that nothing changes between the check and the kill.
    let signal = |signal| kill_process(Pid::from_child(&child), signal).unwrap();
    crate::lab::await_boot("a second boot", || {
        signal(Signal::STOP);
        let is_time = lab.attempts() >= Some(2) && each_report_has_a_keeper(&lab);
        if !is_time {
            signal(Signal::CONT);
        }
        is_time
    });
    crate::lab::kill(child);
    crate::lab::await_that("an empty scratch directory", || lab.scratch_left().is_empty());
    lab.assert_nothing_left();
    let killed = lab.record(1);

    let resume = || in_place(lens::command(&lab, &["resume", "1", "--quiet"]));
    let refused = |command: &mut Command, status, problem: &str| {
        assert_refused(&command.output().unwrap(), status, problem);
    };
    refused(resume().current_dir(lab.path("")), 1, "and its program may use files there");
    fs::copy(padded(), &own).unwrap();
    let changed = "/counters has changed since run 1 began, so counts before and after are not comparable";
    refused(&mut resume(), 1, changed);
    fs::remove_file(&own).unwrap();
    refused(&mut resume(), 1, "run 1 needs the program /");
    fs::copy(counters(), &own).unwrap();
    assert_eq!(lab.record(1), killed, "nothing was begun");

    // Costs calibrated in the meantime: the run keeps those it began with.
    keep_costs(&lab, 977);
    let last = resume().output().unwrap();
    // The gates of the run are applied, and one is closed.
    assert_status(&last, 1);
    assert!(stderr(&last).contains("1 of 2 budgets kept"), "{}", stderr(&last));
    let record = lab.record(1);
    assert_eq!((record.state, record.sessions.len(), record.plan.len()), (RunState::Finished, 2, 3));
    let machine = |reading: &Reading| ModelledMachine { cpus: 0, ..reading.machine.clone() };
    for item in &record.plan {
        let of_item = record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal);
        let counted: Vec<_> = of_item.filter(|attempt| attempt.outcome == Some(Outcome::Done)).collect();
        assert_eq!(counted.len(), 1, "item {}", item.ordinal);
        let reading = counted[0].reading.as_ref().unwrap();
        assert_eq!(reading.scope, Scope::Whole);
        let first = record.attempts.iter().find_map(|attempt| attempt.reading.as_ref()).unwrap();
        assert_eq!(machine(reading), machine(first), "item {}", item.ordinal);
        assert_eq!((reading.machine.times.other_socket_ns, reading.seed), (131, item.seed));
    }
    lab.assert_nothing_left();
}

#[test]
fn what_is_missing_is_named_before_anything_is_run() {
    let lab = Lab::new();
    let counters = counters();
    let refused = |name: &str, value: &str, problem: &str| {
        let mut command = lens::program(&lab, &[], &[&counters, "2", "50"]);
        assert_refused(&command.env(name, value).output().unwrap(), 2, problem);
    };
    refused("FAULTLINE_LENS_PLUGIN", "/nowhere/lens.so", "there is no plugin /nowhere/");
    refused("FAULTLINE_LENS_PLUGIN", &counters, "/counters is not a QEMU plugin");
    refused("FAULTLINE_LENS_PLUGIN", "/", "there is no plugin /");
    let older = lab.path("older.so");
    fs::write(&older, b"\0qemu_plugin_install\0faultline_lens_interface_0\0").unwrap();
    refused("FAULTLINE_LENS_PLUGIN", older.to_str().unwrap(), "/older.so was built for another version of Faultline");
    refused("FAULTLINE_QEMU", "/nowhere/qemu", "there is no program /nowhere/qemu");
    refused("FAULTLINE_KERNEL", "/nowhere/kernel", "cannot read the kernel image /nowhere/kernel");
    assert!(!lab.db().exists());
}

#[test]
fn machines_that_can_not_be_are_refused() {
    let lab = Lab::new();
    let counters = counters();
    let data = lab.path("data");
    let run = |options: &[&str], word: &str| {
        let mut command = lens::program(&lab, options, &[&counters, word, "50"]);
        command.env("XDG_DATA_HOME", &data).output().unwrap()
    };
    for (options, problem) in [
        (&["--sockets", "0"][..], "invalid value '0' for '--sockets <N>': it must be a whole number from 1 to 64"),
        (&["--sockets", "65"], "it must be a whole number from 1 to 64"),
        (&["--cpus-per-cache", "0"], "it must be a whole number from 1 to 4096"),
        (&["--tasks", "5000"], "it must be a whole number from 1 to 4096"),
        (&["--tasks", "4096"], "impossible machine: 4097 CPUs"),
        (&["--tasks", "0"], "it must be a whole number from 1 to 4096"),
        (&["--tasks", "1,2"], "several numbers of tasks are given, but the arguments do not contain {tasks}"),
        (&["--repeats", "0"], "it must be a whole number from 1 to 1000000"),
        (&["--repeats", "4294967295"], "it must be a whole number from 1 to 1000000"),
        (&["--cache", "3x2"], "3 lines don't divide into sets of 2 ways"),
        (&["--cache", "0x1"], "0 cache lines: must be 1 … 16777216"),
        (&["--costs", "free"], "there is no cost table 'free'"),
        (&["--costs", "measured"], "the costs of this machine have not been measured"),
        (&["--quantum", "99999999999999"], "it must be a whole number from 1 to 1099511627776"),
        (&["--quantum", "9", "--private-quantum", "8"], "the private quantum, 8, is below the quantum, 9"),
        (&["--scratch", "/nowhere/at/all"], "there is no directory /nowhere/at/all for scratch files"),
        (&["--scratch", "/proc"], "cannot make scratch files in /proc"),
        (&["--baseline", "1"], "there is no database at "),
        (&["--tasks", "4", "--budget", "counters<=0.5@8"], "is for 8 CPUs, which are not run"),
        (
            &["--tasks", "4", "--budget", "meters<=0.5@4"],
            "the budget 'meters<=0.5@4' names neither a case of the run nor a type",
        ),
        (&["--tasks", "4", "--budget", "type:mm_struct<=2@4"], "a type of the program: mm_struct"),
        (&["--db", "/proc/faultline.sqlite"], "cannot open the database /proc/faultline.sqlite"),
        (&["--user-mode"], "unexpected argument '--user-mode' found"),
    ] {
        assert_refused(&run(options, "2"), 2, problem);
    }
    fs::create_dir_all(data.join("faultline")).unwrap();
    fs::write(data.join("faultline/costs.json"), "{}").unwrap();
    assert_refused(&run(&["--costs", "measured"], "2"), 1, "costs.json is not a cost table");
    assert!(!lab.db().exists());
}

#[test]
fn a_run_that_measured_time_is_neither_baseline_nor_compared() {
    let lab = Lab::new();
    lab.good_fake("good");
    let run =
        ["run", "good", "--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];
    assert!(lab.faked(&run).output().unwrap().status.success());
    assert_refused(&lab.run(&["lens", "compare", "1", "1"]), 2, "run 1 measured time, not transfers");
    let held = program(&lab, &["--baseline", "1"], &[&counters(), "2", "50"]);
    assert_refused(&held, 2, "run 1 measured time, not transfers");
    let other = program(&lab, &["--baseline", "2"], &[&counters(), "2", "50"]);
    assert_refused(&other, 2, "there is no run 2 in ");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_database_that_can_not_be_written_is_named() {
    let lab = Lab::new();
    let counters = counters();
    assert_status(&program(&lab, &["--tasks", "2", "--ops", "50"], &[&counters, "2", "50"]), 0);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let script = format!(
        "set +e; mount --bind $1 $1; mount -o remount,bind,ro $1; export FAULTLINE_DB=$1/db.sqlite TMPDIR=/tmp
        $2 lens program --plugin {} --guest {} -- {counters} 2 50 2>&1; echo status $?",
        plugin().display(),
        target.join("guest").display()
    );
    if let Some(output) = lab.in_namespace(&script) {
        let text = stdout(&output);
        assert!(text.starts_with("faultline: cannot "), "{text}{}", stderr(&output));
        assert!(text.contains("\nhint: ") && text.ends_with("status 2\n") && text.lines().count() == 3, "{text}");
    }
    assert_eq!(lab.record(1).attempts[0].outcome, Some(Outcome::Done));
    let text = lab.path("text");
    fs::write(&text, "no database\n").unwrap();
    let refused = program(&lab, &["--db", text.to_str().unwrap()], &[&counters, "2", "50"]);
    assert_refused(&refused, 2, "text");
    assert_eq!(fs::read_to_string(text).unwrap(), "no database\n");
}
