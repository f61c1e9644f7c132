//! `faultline lens program` in guests: programs with their libraries, files, threads and processes under a stock kernel, and what is
//! refused before a boot. Boots take tens of seconds each, so those tests run only when asked for: `make test-guest`. They need QEMU, a kernel in /boot,
//! a C compiler, what `make guest` builds, and what `make lens` does.

mod lab;

use faultline_model::lens::summary::{LensCurve, LensPoint};
use faultline_model::outcome::{GuestFailure, Outcome};
use faultline_model::record::{RunId, RunRecord};
use faultline_model::summary::RunSummary;
use faultline_store::Store;
use lab::guest::guest_directory;
use lab::{Lab, assert_refused, stderr, stdout};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file beside the tests of programs in user mode.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lens_program").join(name)
}

/// A program of the plugin's tests.
fn plugins(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lens/plugin/tests/programs").join(name)
}

/// Compiles a program into the lab; returns its path.
fn compiled(lab: &Lab, name: &str, from: &Path, flags: &[&str]) -> String {
    let file = lab.path(name);
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/harness");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O2", "-pthread"]).arg("-I").arg(harness).arg("-o").arg(&file).arg(from).args(flags);
    assert!(compiler.status().unwrap().success(), "{} doesn't compile; hint: apt-get install gcc", from.display());
    file.to_str().unwrap().to_owned()
}

fn command(lab: &Lab, options: &[&str], argv: &[&str]) -> Command {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lens/libfaultline_lens.so");
    let limit: &[&str] = if options.contains(&"--limit") { &[] } else { &["--limit", "2m"] };
    let mut command = lab.command(&[&["lens", "program", "--quiet"], limit, options, &["--"], argv].concat());
    command.env("FAULTLINE_LENS_PLUGIN", plugin);
    command
}

fn program(lab: &Lab, options: &[&str], argv: &[&str]) -> Output {
    guest_directory();
    command(lab, options, argv).output().unwrap()
}

#[track_caller]
fn curve(output: &Output) -> LensCurve {
    let summary: RunSummary =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}{}", stdout(output), stderr(output)));
    let [curve] = <[LensCurve; 1]>::try_from(summary.lens.unwrap().curves).unwrap();
    curve
}

#[track_caller]
fn points(lab: &Lab, options: &[&str], argv: &[&str]) -> Vec<LensPoint> {
    let output = program(lab, &[options, &["--format", "json"]].concat(), argv);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let points = curve(&output).points;
    assert!(points.iter().all(|point| point.problems.is_empty()), "{points:?}");
    points
}

fn transfers(point: &LensPoint) -> f64 {
    point.transfers.as_ref().unwrap().median
}

fn record(lab: &Lab) -> RunRecord {
    Store::open_existing(&lab.db()).unwrap().load_run(RunId(1)).unwrap()
}

#[track_caller]
fn assert_nothing_left(lab: &Lab) {
    assert_eq!(lab.left_over(), Vec::<String>::new());
    assert_eq!(lab.scratch_left(), Vec::<PathBuf>::new());
}

/// Transfers of each operation, by threads, of a program whose theory is known. Operations are per thread.
fn by_theory(name: &str, kind: &str, operations: u64) -> Vec<(f64, f64)> {
    let lab = Lab::new();
    let file = compiled(&lab, name, &plugins(&format!("{name}.c")), &[]);
    let operations = operations.to_string();
    let options = ["--threads-from", "1,2,8", "--ops", &operations];
    let points = points(&lab, &options, &[&file, kind, "{threads}", &operations]);
    assert_nothing_left(&lab);
    points.iter().map(|point| (f64::from(point.cpus), transfers(point))).collect()
}

/// The programs of the plugin's own tests (lens/plugin/tests/lens/analytic.rs), which derive these figures.
#[test]
#[ignore = "boots guests: make test-guest"]
fn counters_move_as_on_paper() {
    for (kind, operations, paper) in [("shared", 4000, 1.0), ("beside", 4000, 1.0), ("padded", 10_000, 0.0)] {
        for (threads, per_operation) in by_theory("counters", kind, operations) {
            let paper = if threads > 1.0 { paper } else { 0.0 };
            assert!((per_operation - paper).abs() < 0.05, "{kind}, {threads} threads: {per_operation}");
        }
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn spinning_locks_move_as_on_paper() {
    for (threads, per_operation) in by_theory("locks", "ticket", 400) {
        let paper = if threads > 1.0 { threads + 1.0 } else { 0.0 };
        assert!((per_operation - paper).abs() < 0.07 * (threads + 1.0), "ticket, {threads} threads: {per_operation}");
    }
    for (threads, per_operation) in by_theory("locks", "mcs", 400) {
        let paper = if threads > 1.0 { 6.0 } else { 0.0 };
        assert!((per_operation - paper).abs() < 0.4, "mcs, {threads} threads: {per_operation}");
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_ring_moves_its_lines_as_on_paper() {
    let lab = Lab::new();
    let ring = compiled(&lab, "ring", &plugins("ring.c"), &[]);
    let [point] = &points(&lab, &["--threads-from", "2", "--ops", "4000"], &[&ring, "8", "8000"])[..] else { panic!() };
    assert!((transfers(point) - 0.75).abs() < 0.03, "{point:?}");
}

/// Threads that sleep for each other: their lines move at each hand-over, which user mode does not show.
#[test]
#[ignore = "boots guests: make test-guest"]
fn threads_that_sleep_share_their_lines() {
    let lab = Lab::new();
    let sleepers = compiled(&lab, "sleepers", &source("sleepers.c"), &[]);
    let options = ["--threads-from", "2", "--ops", "500"];
    let [turns] = &points(&lab, &options, &[&sleepers, "condition", "{threads}", "500"])[..] else { panic!() };
    // The mutex, the condition variable and the number move at each turn.
    assert!((2.0..20.0).contains(&transfers(turns)), "{turns:?}");
    let names: Vec<&str> = turns.lines.iter().map(|line| line.name.as_str()).collect();
    assert!(
        names.iter().any(|name| name.starts_with("mutex")) && names.iter().any(|name| name.starts_with("passed")),
        "{names:?}"
    );
    let [locks] = &points(&lab, &options, &[&sleepers, "mutex", "{threads}", "500"])[..] else { panic!() };
    assert!(transfers(locks) > 0.05, "{locks:?}");
    assert_nothing_left(&lab);
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn processes_that_a_program_forks_are_counted() {
    let lab = Lab::new();
    let sleepers = compiled(&lab, "sleepers", &source("sleepers.c"), &[]);
    let options = ["--threads-from", "2", "--kernel-too", "--ops", "100"];
    for how in ["pipe", "socket"] {
        let [point] = &points(&lab, &options, &[&sleepers, how, "1", "200"])[..] else { panic!() };
        // Both processes' pages and the kernel's buffers between them.
        assert!(transfers(point) > 1.0, "{how}: {point:?}");
        assert!(point.code.iter().all(|place| !place.name.starts_with("0x")), "{how}: {:?}", point.code);
    }
    let reading = record(&lab).attempts.remove(0).reading.unwrap();
    assert_eq!((reading.forks, reading.regions), (1, 1));
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn scripts_bring_their_interpreters_and_further_files_come_along() {
    let lab = Lab::new();
    let counters = compiled(&lab, "counters", &source("counters.c"), &[]);
    let script = lab.path("run.sh");
    fs::write(
        &script,
        format!("#!/usr/bin/env sh\nread word < /srv/word\ntest \"$word$MODE\" = quickly || exit 9\n{counters} 2 50\n"),
    )
    .unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    fs::write(lab.path("word"), "quick\n").unwrap();
    let word = format!("{}=/srv/word", lab.path("word").display());
    let options = ["--threads-from", "2", "--whole", "--env", "MODE=ly", "--with", &word, "--with", &counters];
    let [point] = &points(&lab, &options, &[script.to_str().unwrap()])[..] else { panic!() };
    let code: Vec<&str> = point.code.iter().map(|place| place.name.as_str()).collect();
    assert!(code.iter().any(|name| name.contains("counters.c:")), "of the program that the script runs: {code:?}");
    assert!(point.instructions.as_ref().unwrap().median > 10_000.0, "{point:?}");
}

fn ended(how: &str) -> (Outcome, LensPoint) {
    let lab = Lab::new();
    let endings = compiled(&lab, "endings", &source("endings.c"), &[]);
    // One of them becomes another program.
    let options = ["--threads-from", "1", "--limit", "8s", "--with", "/bin/true", "--format", "json"];
    let output = program(&lab, &options, &[&endings, how]);
    assert_nothing_left(&lab);
    let outcome = record(&lab).attempts.remove(0).outcome.unwrap();
    (outcome, curve(&output).points.remove(0))
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn however_a_program_ends_it_is_said_with_what_was_counted() {
    let (outcome, point) = ended("crash");
    assert!(matches!(outcome, Outcome::Crashed { signal: 11, .. }), "{outcome:?}");
    assert!(point.transfers.is_none() && point.cut_short[0].instructions > 1000, "{point:?}");
    let (outcome, point) = ended("hang");
    assert!(matches!(outcome, Outcome::GuestFailed { how: GuestFailure::Hung, .. }), "{outcome:?}");
    assert!(point.cut_short[0].instructions > 1000, "{point:?}");
    let (outcome, _) = ended("three");
    assert!(matches!(outcome, Outcome::Exited { status: 3, .. }), "{outcome:?}");
    let (outcome, point) = ended("exec");
    assert_eq!(outcome, Outcome::Done, "the program that it becomes ends well");
    assert!(point.instructions.unwrap().median > 10_000.0);
    let (outcome, _) = ended("fork");
    assert_eq!(outcome, Outcome::Done);
}

#[test]
fn what_can_not_run_in_a_guest_is_refused_before_a_boot() {
    let lab = Lab::new();
    let file = |name: &str, bytes: &[u8], mode| {
        let path = lab.path(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let library = lab.path("libgone.so.1");
    let library = library.to_str().unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o", library]).status().unwrap();
    assert!(built.success());
    let needs = compiled(&lab, "needs", &source("counters.c"), &["-Wl,--no-as-needed", library]);
    fs::remove_file(library).unwrap();
    let arm = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[2, 0, 0xb7, 0], &[0; 44]].concat();
    let own = compiled(&lab, "own", &source("counters.c"), &[]);
    for (options, program, problem) in [
        (&[][..], "/nowhere/at/all".to_owned(), "cannot run /nowhere/at/all: No such file"),
        (&[], "no-such-program".to_owned(), "there is no program 'no-such-program' in PATH"),
        (&[], file("plain", b"hello\n", 0o644), "it is not executable"),
        (&[], file("text", b"hello\n", 0o755), "/text can't be run: it is not a program in ELF"),
        (&[], file("arm", &arm, 0o755), "is for another architecture (ELF machine 183), not for x86-64"),
        (&[], file("script", b"#!/nowhere/sh\n", 0o755), "/script needs the interpreter /nowhere/sh"),
        (&[], needs, "libgone.so.1, which is not here"),
        (&["--with", "/nowhere/file"], own.clone(), "`--with /nowhere/file`: No such file"),
        (&["--memory", "200"], own.clone(), "200 MiB of memory are too few for the program's files"),
        (&["--with", "x=y"], own.clone(), "absolute path in the guest"),
        (&["--env", "NAME"], own.clone(), "write it NAME=VALUE"),
        (&["--threads-from", "5000"], own, "CPUs"),
    ] {
        assert_refused(&command(&lab, options, &[&program]).output().unwrap(), 2, problem);
    }
    assert!(!lab.db().exists());
}
