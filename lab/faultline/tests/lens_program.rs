//! `faultline lens program` from one end to the other: real programs in QEMU's user mode with the real plugin, what is said of
//! them, what is saved, and what goes wrong. Needs a C compiler, QEMU's user mode (Debian: qemu-user), and the plugin, which
//! `make lens` builds.

mod lab;

use faultline_model::lens::comparison::{Difference, LensComparison};
use faultline_model::lens::raw::{Machine, Scope};
use faultline_model::lens::reading::Reading;
use faultline_model::lens::summary::{LensCurve, LensPoint};
use faultline_model::outcome::Outcome;
use faultline_model::record::{RunId, RunRecord, RunState};
use faultline_model::summary::RunSummary;
use faultline_store::Store;
use lab::{Lab, assert_refused, stderr, stdout};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A file beside the tests.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lens_program").join(name)
}

/// The number of the line of a test program that holds `text`.
fn line_of(name: &str, text: &str) -> usize {
    let source = fs::read_to_string(source(name)).unwrap();
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

/// The directory of compiled programs, the same for all tests.
fn place() -> &'static Path {
    static PLACE: OnceLock<TempDir> = OnceLock::new();
    PLACE.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// A test program, compiled as `name`.
fn compiled(name: &str, from: &str, flags: &[&str]) -> String {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = place().join(name);
    if !file.exists() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/harness");
        let mut compiler = Command::new("cc");
        compiler.args(["-g", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]).args(flags).arg("-I").arg(harness);
        let status = compiler.arg("-o").arg(&file).arg(source(from)).status();
        assert!(status.is_ok_and(|status| status.success()), "{from} doesn't compile; hint: apt-get install gcc");
    }
    file.to_str().unwrap().to_owned()
}

fn counters() -> String {
    compiled("counters", "counters.c", &[])
}

fn endings() -> String {
    compiled("endings", "endings.c", &[])
}

/// A program for 32-bit x86, which needs no C library for it.
fn short() -> String {
    let (object, file) = (place().join("short.o"), place().join("short"));
    let run = |command: &mut Command| {
        assert!(command.status().unwrap().success(), "no 32-bit program; hint: apt-get install binutils");
    };
    run(Command::new("as").arg("--32").arg("-o").arg(&object).arg(source("short.s")));
    run(Command::new("ld").args(["-m", "elf_i386", "-o"]).arg(&file).arg(&object));
    file.to_str().unwrap().to_owned()
}

/// The command under the lens, one at a time.
fn one_by_one() -> MutexGuard<'static, ()> {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn command(lab: &Lab, arguments: &[&str]) -> Command {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lens/libfaultline_lens.so");
    assert!(plugin.exists(), "no {}; hint: `make lens`", plugin.display());
    let emulator = Command::new("qemu-x86_64").arg("--version").output();
    assert!(emulator.is_ok(), "no qemu-x86_64; hint: apt-get install qemu-user");
    let mut command = lab.command(arguments);
    command.env("FAULTLINE_LENS_PLUGIN", plugin);
    command
}

fn faultline(lab: &Lab, arguments: &[&str]) -> Output {
    let _one = one_by_one();
    command(lab, arguments).output().unwrap()
}

/// `faultline lens program` with some options; a minute is the limit.
fn program(lab: &Lab, options: &[&str], argv: &[&str]) -> Output {
    faultline(lab, &arguments(options, argv))
}

fn arguments<'a>(options: &[&'a str], argv: &[&'a str]) -> Vec<&'a str> {
    [&["lens", "program", "--user-mode", "--quiet", "--limit", "60s"], options, &["--"], argv].concat()
}

#[track_caller]
fn assert_status(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{}{}", stdout(output), stderr(output));
}

#[track_caller]
fn assert_nothing_left(lab: &Lab) {
    assert_eq!(lab.left_over(), Vec::<String>::new());
    assert_eq!(lab.scratch_left(), Vec::<PathBuf>::new());
}

/// The one document on standard output.
#[track_caller]
fn curve(output: &Output) -> LensCurve {
    let summary: RunSummary = serde_json::from_slice(&output.stdout).unwrap();
    let [curve] = <[LensCurve; 1]>::try_from(summary.lens.unwrap().curves).unwrap();
    curve
}

#[track_caller]
fn point(output: &Output) -> LensPoint {
    let [point] = <[LensPoint; 1]>::try_from(curve(output).points).unwrap();
    point
}

fn record(lab: &Lab, run: i64) -> RunRecord {
    Store::open_existing(&lab.db()).unwrap().load_run(RunId(run)).unwrap()
}

fn compared(lab: &Lab, a: &str, b: &str) -> LensComparison {
    let output = faultline(lab, &["lens", "compare", a, b, "--format", "json"]);
    assert_status(&output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(differences: &[Difference]) -> BTreeSet<&str> {
    differences.iter().map(|difference| difference.name.as_str()).collect()
}

const FOUR: &[&str] = &["--threads-from", "4", "--ops", "500"];

fn four<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [FOUR, more].concat()
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn counters_that_were_padded_are_named_and_nothing_else() {
    let lab = Lab::new();
    let (beside, padded) = (counters(), compiled("padded", "counters.c", &["-DPADDED"]));
    let code = format!("work counters.c:{} in member", line_of("counters.c", "atomic_fetch_add(&counter"));
    assert_status(&program(&lab, FOUR, &[&beside, "{threads}", "500"]), 0);
    // Better than the baseline, though of another name, and then worse.
    let better = program(&lab, &four(&["--baseline", "1"]), &[&padded, "{threads}", "500"]);
    assert_status(&better, 0);
    assert!(stderr(&better).contains("Run 2 against the baseline, run 1: limit kept"), "{}", stderr(&better));
    let worse = program(&lab, &four(&["--baseline", "2"]), &[&beside, "{threads}", "500"]);
    assert_status(&worse, 1);
    let said = stderr(&worse);
    assert!(said.contains("Run 3 against the baseline, run 2: limit exceeded"), "{said}");
    assert!(said.contains("counter[0].hits (after on a line with counter[") && said.contains(&code), "{said}");

    let comparison = compared(&lab, "1", "2");
    let [cell] = &comparison.cells[..] else { panic!("{comparison:?}") };
    let all = ["counter[0].hits", "counter[1].hits", "counter[2].hits", "counter[3].hits"];
    assert_eq!((names(&cell.data), names(&cell.code)), (BTreeSet::from(all), BTreeSet::from([&code[..]])));
    assert!((cell.transfers.0.median - 1.0).abs() < 0.05 && cell.transfers.1.median < 0.02, "{cell:?}");
    let table = stdout(&faultline(&lab, &["lens", "compare", "1", "2"]));
    assert!(table.contains("went") && table.contains("counter[2].hits") && table.contains(&code), "{table}");

    let comparison = compared(&lab, "1", "3");
    assert!(comparison.cells[0].data.is_empty() && comparison.cells[0].code.is_empty(), "{comparison:?}");
    assert_nothing_left(&lab);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_lock_that_was_split_is_named_and_nothing_else() {
    let lab = Lab::new();
    let (one, two) = (compiled("one/bank", "bank.c", &[]), compiled("two/bank", "bank.c", &["-DSPLIT"]));
    assert_status(&program(&lab, FOUR, &[&one, "{threads}", "500"]), 0);
    assert_status(&program(&lab, &four(&["--baseline", "1"]), &[&two, "{threads}", "500"]), 0);
    let worse = program(&lab, &four(&["--baseline", "2"]), &[&one, "{threads}", "500"]);
    assert_status(&worse, 1);
    assert!(stderr(&worse).contains("accounts_lock.serving"), "{}", stderr(&worse));
    let comparison = compared(&lab, "1", "2");
    let cell = &comparison.cells[0];
    let locks = ["accounts_lock.next", "accounts_lock.serving", "orders_lock.next", "orders_lock.serving"];
    assert_eq!(names(&cell.data), BTreeSet::from(locks), "{cell:?}");
    // A ticket lock with n at it: n + 1.
    assert!((cell.transfers.0.median - 5.0).abs() < 0.2 && (cell.transfers.1.median - 3.0).abs() < 0.2, "{cell:?}");
    let waits = format!("take bank.c:{} in member", line_of("bank.c", "!= mine"));
    assert_eq!(cell.code[0].name, waits, "{cell:?}");
    assert!(cell.code.iter().all(|code| code.name.contains(" bank.c:")), "{cell:?}");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn threads_that_sleep_before_they_begin_contend_all_the_same() {
    let beside = compiled("beside", "beside.c", &[]);
    let lab = Lab::new();
    let options = ["--threads-from", "2,4", "--repeats", "5", "--ops", "5000"];
    let output = program(&lab, &[&options[..], &["--format", "json"]].concat(), &[&beside, "{threads}", "5000"]);
    assert_status(&output, 0);
    for point in &curve(&output).points {
        // A host that is busy elsewhere may let a woken thread wait for longer than the lens does, now and then.
        let median = point.transfers.as_ref().unwrap().median;
        assert!((median - 1.0).abs() < 0.05, "{:?}", point.repeats);
    }
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn budgets_are_held_to() {
    let lab = Lab::new();
    let counters = counters();
    let with = |budgets: &[&str]| {
        let each = budgets.iter().flat_map(|&budget| ["--budget", budget]);
        program(&lab, &four(&each.collect::<Vec<_>>()), &[&counters, "{threads}", "500"])
    };
    let kept = with(&["counters<=2@4", "instructions:counters:program<=100@4"]);
    assert_status(&kept, 0);
    assert!(stderr(&kept).contains("2 of 2 budgets kept"), "{}", stderr(&kept));

    let exceeded = with(&["counters<=0.5@4", "false_sharing:counters<=2@4"]);
    assert_status(&exceeded, 1);
    let said = stderr(&exceeded);
    let code = format!("work counters.c:{}", line_of("counters.c", "atomic_fetch_add(&counter"));
    assert!(said.contains("1 of 2 budgets kept") && said.contains("counter[") && said.contains(&code), "{said}");
    assert!(stdout(&exceeded).starts_with("Run 2"), "the run is shown all the same");

    for (budget, reason) in
        [("counters<=0.5@8", "is for 8 CPUs, which are not run"), ("meters<=0.5@4", "names a case that is not run")]
    {
        assert_refused(&with(&[budget]), 2, reason);
    }
    assert_eq!(record(&lab, 2).settings.lens().unwrap().budgets.len(), 2);

    let failed = program(&lab, &["--budget", "endings<=1@8"], &[&endings(), "three"]);
    assert_status(&failed, 1);
    assert!(stderr(&failed).contains("endings:program at 8: exit status 3: no more beds"), "{}", stderr(&failed));
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn the_program_is_told_the_number_of_threads() {
    let lab = Lab::new();
    let counters = counters();
    let json = ["--format", "json"];
    let cpus = |output: &Output| curve(output).points.iter().map(|point| point.cpus).collect::<Vec<_>>();
    let all = program(&lab, &json, &[&counters, "{threads}", "50"]);
    assert_status(&all, 0);
    assert_eq!(cpus(&all), [1, 2, 4, 8]);
    let all = curve(&all);
    assert!(all.points.iter().all(|point| point.problems.is_empty() && point.lines_moved < 8), "{all:?}");
    let fetched: Vec<usize> = all.points.iter().map(|point| point.lines[0].by_cpu.len()).collect();
    assert_eq!(fetched[1..], [2, 4, 8], "CPUs that fetched the counters");
    assert_eq!(cpus(&program(&lab, &json, &[&counters, "3", "50"])), [8]);
    let some = program(&lab, &["--threads-from", "3,2,3", "--format", "json"], &[&counters, "{threads}", "50"]);
    assert_eq!(cpus(&some), [2, 3]);
    let untold = program(&lab, &["--threads-from", "1,2"], &[&counters, "2", "50"]);
    assert_refused(&untold, 2, "several numbers of threads are given, but the arguments do not contain {threads}");
    let sockets = program(
        &lab,
        &["--threads-from", "2", "--sockets", "2", "--cpus-per-cache", "2", "--format", "json"],
        &[&counters, "{threads}", "50"],
    );
    assert_status(&sockets, 0);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn more_threads_than_cpus_are_said_and_pass_no_budget() {
    let lab = Lab::new();
    let many = program(&lab, &["--threads-from", "2", "--budget", "counters<=9999@2"], &[&counters(), "6", "50"]);
    assert_status(&many, 1);
    let reason = "the program had 7 threads at once, the machine has 3 CPUs";
    assert!(stdout(&many).replace("\n         ", " ").contains(reason), "{}", stdout(&many));
    assert!(stderr(&many).contains(reason), "{}", stderr(&many));
    assert_nothing_left(&lab);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn operations_and_repeats_are_reckoned_by() {
    let lab = Lab::new();
    let counters = counters();
    let run = |options: &[&str]| program(&lab, &[options, &["--format", "json"]].concat(), &[&counters, "2", "100"]);
    let at_two = ["--threads-from", "2"];
    let whole = point(&run(&at_two));
    assert_eq!(whole.operations, Some(1));
    let per = point(&run(&[&at_two[..], &["--ops", "100", "--repeats", "3"]].concat()));
    assert_eq!((per.operations, per.repeats.len(), per.transfers.as_ref().unwrap().n), (Some(200), 3, 3));
    let ratio = whole.transfers.unwrap().median / per.transfers.unwrap().median;
    assert!((ratio / 200.0 - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn marks_are_kept_to_unless_told_otherwise() {
    let lab = Lab::new();
    let endings = endings();
    let json = ["--format", "json"];
    let unmarked = program(&lab, &json, &[&endings, "unmarked"]);
    assert_status(&unmarked, 1);
    let failures = point(&unmarked).failures;
    let text = "not counted: the program executed no begin mark, so nothing was counted; `--whole` counts all of a run";
    assert_eq!(failures.iter().map(|failure| failure.cause.to_string()).collect::<Vec<_>>(), [text]);
    let instructions = |output: &Output| point(output).instructions.unwrap().median;
    let between = instructions(&program(&lab, &json, &[&endings, ""]));
    assert!((3000.0..10_000.0).contains(&between), "{between}");
    let whole = instructions(&program(&lab, &["--whole", "--format", "json"], &[&endings, "unmarked"]));
    assert!(whole > 2.0 * between, "{whole}");
    // Without marks there is nothing else to count. A name alone is looked up as a shell does.
    let other = program(&lab, &json, &["true"]);
    assert_status(&other, 0);
    assert!(instructions(&other) > 10_000.0);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_run_can_be_shown_again_in_every_format() {
    let lab = Lab::new();
    let counters = counters();
    let two = ["--threads-from", "1,2", "--ops", "50", "--label", "of two"];
    let argv = [&counters[..], "{threads}", "50"];
    let table = program(&lab, &two, &argv);
    assert_status(&table, 0);
    assert_eq!(stderr(&table), "");
    assert_eq!(stdout(&faultline(&lab, &["show"])), stdout(&table));
    let json = program(&lab, &[&two[..], &["--format", "json", "--budget", "counters<=9@2"]].concat(), &argv);
    assert_eq!(curve(&json).points.len(), 2);
    assert!(stderr(&json).contains("budget kept"), "{}", stderr(&json));
    assert_eq!(stdout(&faultline(&lab, &["show", "2", "--format", "json"])), stdout(&json));
    let csv = stdout(&faultline(&lab, &["show", "1", "--format", "csv"]));
    assert!(csv.starts_with("run,") && csv.contains("counters,program,thread,operation,2,"), "{csv}");
    let markdown = stdout(&faultline(&lab, &["show", "1", "--format", "markdown"]));
    assert!(markdown.starts_with("**Run 1") && markdown.contains("crew.left"), "{markdown}");
    let list = stdout(&faultline(&lab, &["list"]));
    assert_eq!(list.lines().filter(|line| line.contains("2 of 2") && line.contains("of two")).count(), 2, "{list}");
    let page = lab.path("page.html");
    assert_status(&faultline(&lab, &["report", "1", "-o", page.to_str().unwrap()]), 0);
    assert!(fs::read_to_string(page).unwrap().contains("counters"));
    let resumed = faultline(&lab, &["resume", "1", "--quiet"]);
    assert_status(&resumed, 0);
    assert!(stderr(&resumed).contains("run 1 is already finished"), "{}", stderr(&resumed));
    assert_nothing_left(&lab);
}

/// Runs `endings` in its own lab; what is said of it.
fn ended(how: &str, status: i32) -> String {
    let lab = Lab::new();
    let began = Instant::now();
    let _one = one_by_one();
    let arguments =
        ["lens", "program", "--user-mode", "--quiet", "--limit", "3s", "--format", "json", "--", &endings(), how];
    let output = command(&lab, &arguments).output().unwrap();
    assert_status(&output, status);
    assert!(began.elapsed() < Duration::from_secs(30), "{how} took {:?}", began.elapsed());
    assert_nothing_left(&lab);
    let point = point(&output);
    let problems = point.problems.iter().map(|problem| problem.text.clone());
    let failures = point.failures.iter().map(|failure| failure.cause.to_string());
    problems.chain(failures).collect::<Vec<_>>().join("; ")
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn however_a_program_ends_it_is_said_and_nothing_is_left() {
    assert_eq!(ended("", 0), "");
    assert_eq!(ended("fork", 0), "the program forked once; the process that it started was not counted");
    assert!(ended("exec", 1).contains("the lens left no report: the program calls execve"));
    assert!(ended("crash", 1).starts_with("ended by signal 11: "));
    assert_eq!(ended("three", 1), "exit status 3: no more beds");
    assert_eq!(ended("hang", 1), "no end within its limit of 3.0 s; killed");
    assert_eq!(ended("orphan", 1), "no end within its limit of 3.0 s; killed");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_program_that_ends_when_it_is_asked_to_leaves_what_it_counted() {
    let lab = Lab::new();
    let words =
        ["lens", "program", "--user-mode", "--quiet", "--limit", "2s", "--format", "json", "--", &endings(), "orderly"];
    let output = faultline(&lab, &words);
    assert_status(&output, 1);
    assert_nothing_left(&lab);
    let point = point(&output);
    let [cut] = &point.cut_short[..] else { panic!("{point:?}") };
    assert!(point.transfers.is_none() && cut.instructions > 1000, "{point:?}");
    assert_eq!(cut.ending.to_string(), "no end within its limit of 2.0 s; killed");
    let reading = record(&lab, 1).attempts.remove(0).reading.unwrap();
    assert!(reading.is_partial && reading.operations.get() == 1, "{reading:?}");
    let shown = stdout(&lab.run(&["show"]));
    assert!(shown.contains("limit of 2.0 s; killed; counted until then: "), "{shown}");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn ctrl_c_keeps_what_was_counted_of_the_attempt_under_way() {
    let lab = Lab::new();
    let endings = endings();
    let words = arguments(&[], &[&endings, "orderly"]);
    let _one = one_by_one();
    let child = command(&lab, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    lab::await_that("a program under way", || lab.scratch_left().len() == 2);
    // Let it come to where it hangs.
    std::thread::sleep(Duration::from_secs(1));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_nothing_left(&lab);
    let [attempt] = &record(&lab, 1).attempts[..] else { panic!("one attempt") };
    assert_eq!(attempt.outcome, Some(Outcome::Interrupted));
    assert!(attempt.reading.as_ref().is_some_and(|reading| reading.is_partial), "{attempt:?}");
    let shown = stdout(&lab.run(&["show"]));
    assert!(shown.contains("no figure: interrupted; counted until then: "), "{shown}");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_command_that_is_killed_leaves_nothing_behind() {
    let lab = Lab::new();
    let endings = endings();
    let words = arguments(&[], &[&endings, "hang"]);
    let _one = one_by_one();
    let child = command(&lab, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Its own directory for the report, and the keeper's.
    lab::await_that("a program under way", || lab.scratch_left().len() == 2);
    lab::kill(child);
    lab::await_that("an empty scratch directory", || lab.scratch_left().is_empty());
    assert_nothing_left(&lab);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn ctrl_c_keeps_what_was_counted() {
    let lab = Lab::new();
    let endings = endings();
    // By this seed the one told of 4, which hangs, is not the first.
    let words = arguments(&["--threads-from", "1,2,4", "--seed", "2"], &[&endings, "{threads}"]);
    let _one = one_by_one();
    let child = command(&lab, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let open = |lab: &Lab| {
        let record = Store::open_existing(&lab.db()).ok()?.load_run(RunId(1)).ok()?;
        record.attempts.iter().any(|attempt| attempt.outcome.is_none()).then_some(record)
    };
    let hangs = |record: RunRecord| {
        let begun = record.attempts.last().unwrap().ordinal;
        record.plan.iter().any(|item| item.ordinal == begun && item.cell.tasks == 4)
    };
    lab::await_that("an attempt that hangs", || open(&lab).is_some_and(hangs));
    // It has begun to be recorded; let the emulator come up too.
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", stderr(&stopped));
    let said = "stopped; everything measured is saved as run 1\nhint: `faultline resume 1` continues\n";
    assert_eq!(stderr(&stopped), said);
    assert_nothing_left(&lab);

    let record = record(&lab, 1);
    let counted = record.attempts.iter().filter(|attempt| attempt.reading.is_some()).count();
    assert!(counted >= 1 && counted + 1 == record.attempts.len(), "{record:?}");
    assert_eq!(record.attempts.last().unwrap().outcome, Some(Outcome::Interrupted));
    let shown = stdout(&lab.run(&["show"]));
    assert!(shown.contains("1 not run yet") && shown.contains("4  no figure: not run"), "{shown}");
    // What hangs still hangs: it gets the limit of the resume.
    let resumed = command(&lab, &["resume", "--quiet", "--limit", "2s"]).output().unwrap();
    assert_status(&resumed, 1);
    let after = self::record(&lab, 1);
    assert_eq!((after.state, after.sessions.len()), (RunState::Finished, 2));
    assert_eq!(after.attempts[..record.attempts.len()], record.attempts[..], "what was there stays");
    let last = after.attempts.last().unwrap().outcome.clone();
    assert!(matches!(last, Some(Outcome::TimedOut { limit_ms: 2000 })), "{last:?}");
    assert_nothing_left(&lab);
}

/// A machine that is another in everything that can be said of it.
const ODD: &[&str] = &[
    "--threads-from",
    "1,2,3",
    "--repeats",
    "4",
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
];

/// Costs as `faultline lens calibrate` keeps them.
fn keep_costs(lab: &Lab, other_socket_ns: u32) {
    let directory = lab.path("data/faultline");
    fs::create_dir_all(&directory).unwrap();
    let costs = format!(
        r#"{{"format": "faultline-costs/1", "source": "a test", "instruction_ps": 400, "same_cache_ns": 21, "same_socket_ns": 43,
            "other_socket_ns": {other_socket_ns}, "memory_ns": 87}}"#
    );
    fs::write(directory.join("costs.json"), costs).unwrap();
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_run_that_is_killed_again_and_again_is_counted_whole_on_the_same_machine() {
    let lab = Lab::new();
    let counters = counters();
    let budgets = ["--budget", "counters<=1000@3", "--budget", "counters<=0.0001@3"];
    let begun = [ODD, &budgets].concat();
    let begun = arguments(&begun, &[&counters, "{threads}", "2000"]);
    let resumed = ["resume", "1", "--quiet"];
    let _one = one_by_one();
    keep_costs(&lab, 131);
    let finals = || {
        let record = Store::open_existing(&lab.db()).ok()?.load_run(RunId(1)).ok()?;
        Some(record.attempts.iter().filter(|attempt| attempt.outcome.as_ref().is_some_and(Outcome::is_final)).count())
    };
    for (kill, words) in [&begun[..], &resumed, &resumed].into_iter().enumerate() {
        let mut command = command(&lab, words);
        command.env("XDG_DATA_HOME", lab.path("data")).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        lab::await_that("counted executions", || finals().is_some_and(|finals| finals > 2 * kill));
        lab::kill(child);
        lab::await_that("an empty scratch directory", || lab.scratch_left().is_empty());
        assert_nothing_left(&lab);
        // Measured anew in between: the run keeps those that it began with.
        keep_costs(&lab, 977);
    }
    let killed_at = finals().unwrap();
    assert!(killed_at < 12, "the kills came too late: {killed_at}");
    let last = command(&lab, &resumed).output().unwrap();
    // Held to its gates, of which one is not kept.
    assert_status(&last, 1);
    assert!(stderr(&last).contains("1 of 2 budgets kept"), "{}", stderr(&last));

    let record = record(&lab, 1);
    assert_eq!((record.state, record.sessions.len(), record.plan.len()), (RunState::Finished, 4, 12));
    for item in &record.plan {
        let of_item = record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal);
        let counted: Vec<_> = of_item.filter(|attempt| attempt.outcome == Some(Outcome::Done)).collect();
        assert_eq!(counted.len(), 1, "item {}", item.ordinal);
        let reading = counted[0].reading.as_ref().unwrap();
        assert_eq!(reading.scope, Scope::Whole);
        let first = record.attempts[0].reading.as_ref().unwrap();
        let machine = |reading: &Reading| Machine { cpus: 0, ..reading.machine.clone() };
        assert_eq!(machine(reading), machine(first), "item {}", item.ordinal);
        assert_eq!(reading.machine.other_socket_ns, 131.0);
    }
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_resume_with_something_else_is_refused() {
    let lab = Lab::new();
    let (endings, elsewhere) = (endings(), lab.path("elsewhere"));
    fs::create_dir_all(elsewhere.join("bin")).unwrap();
    let own = elsewhere.join("bin/endings");
    fs::copy(&endings, &own).unwrap();
    let _one = one_by_one();
    let words = arguments(&[], &["bin/endings", "hang"]);
    let mut begun = command(&lab, &words);
    let child = begun.current_dir(&elsewhere).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    lab::await_that("a program under way", || lab.scratch_left().len() == 2);
    lab::kill(child);
    lab::await_that("an empty scratch directory", || lab.scratch_left().is_empty());

    let refused = |directory: &Path, problem: &str| {
        let output = command(&lab, &["resume", "1"]).current_dir(directory).output().unwrap();
        assert_refused(&output, 1, problem);
    };
    refused(&lab.path(""), "and its program may use files there");
    fs::copy(counters(), &own).unwrap();
    refused(&elsewhere, "bin/endings has changed since run 1 began, so counts before and after are not comparable");
    fs::remove_file(&own).unwrap();
    refused(&elsewhere, "run 1 needs the program /");
    let record = record(&lab, 1);
    assert_eq!((record.sessions.len(), record.attempts.len()), (1, 1), "nothing was begun");

    // As an older version saved it.
    let database = rusqlite::Connection::open(lab.db()).unwrap();
    database.execute("UPDATE run SET settings = json_remove(settings, '$.kind.again')", []).unwrap();
    let output = command(&lab, &["resume", "1"]).output().unwrap();
    assert_refused(&output, 2, "run 1 cannot be resumed, because an older version of Faultline began it");
}

/// A directory with some of QEMU's user mode.
fn emulators(lab: &Lab, names: &[&str]) -> PathBuf {
    let directory = lab.path("emulators");
    fs::create_dir(&directory).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in names {
        let found = std::env::split_paths(&path).map(|part| part.join(name)).find(|file| file.exists());
        symlink(found.unwrap_or_else(|| panic!("no {name}; hint: apt-get install qemu-user")), directory.join(name))
            .unwrap();
    }
    directory
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_32_bit_program_needs_its_own_emulator() {
    let lab = Lab::new();
    let short = short();
    let counted = program(&lab, &["--format", "json"], &[&short]);
    assert_status(&counted, 0);
    assert_eq!(point(&counted).instructions.unwrap().median, 3.0);
    let only = emulators(&lab, &["qemu-x86_64"]);
    let refused = command(&lab, &arguments(&[], &[&short])).env("PATH", only).output().unwrap();
    assert_refused(&refused, 2, "/short is a 32-bit program, and there is no qemu-i386 here");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn what_is_missing_is_named_before_anything_is_run() {
    let lab = Lab::new();
    let counters = counters();
    let words = arguments(&[], &[&counters, "2", "50"]);
    let refused = |change: &dyn Fn(&mut Command) -> &mut Command, status, problem: &str| {
        let mut command = command(&lab, &words);
        assert_refused(&change(&mut command).output().unwrap(), status, problem);
    };
    refused(&|command| command.env("PATH", "/nowhere"), 2, "there is no qemu-x86_64 here");
    let old = emulators(&lab, &[]);
    fs::write(old.join("qemu-x86_64"), "#!/bin/sh\necho '-strace   log system calls'\n").unwrap();
    fs::set_permissions(old.join("qemu-x86_64"), Permissions::from_mode(0o755)).unwrap();
    refused(&|command| command.env("PATH", &old), 2, "/qemu-x86_64 was built without plugins");
    refused(&|command| command.env("FAULTLINE_LENS_PLUGIN", "/nowhere/lens.so"), 2, "there is no plugin /nowhere/");
    refused(&|command| command.env("FAULTLINE_LENS_PLUGIN", &counters), 2, "/counters is not a QEMU plugin");
    refused(&|command| command.env("FAULTLINE_LENS_PLUGIN", "/"), 2, "there is no plugin /");
    assert!(!lab.db().exists());
}

#[test]
fn what_is_no_program_is_refused() {
    let lab = Lab::new();
    let file = |name: &str, text: &str, mode| {
        let path = lab.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (name, problem) in [
        (file("script", "#!/bin/sh\necho hello\n", 0o755), "/script can't be run: it is a script, not a program"),
        (file("text", "hello\n", 0o755), "/text can't be run: it is not a program in ELF"),
        (file("plain", "hello\n", 0o644), "/plain is not executable"),
        (lab.path("").to_str().unwrap().to_owned(), " is not a file"),
        ("/nowhere/at/all".to_owned(), "/nowhere/at/all cannot be run: No such file or directory"),
        ("no-such-program".to_owned(), "no-such-program is not in PATH"),
    ] {
        assert_refused(&program(&lab, &[], &[&name]), 2, problem);
    }
    assert!(!lab.db().exists());
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn machines_that_can_not_be_are_refused() {
    let lab = Lab::new();
    let counters = counters();
    let data = lab.path("data");
    for (options, problem) in [
        (&["--sockets", "0"][..], "impossible machine: 0 sockets"),
        (&["--sockets", "65"], "impossible machine: 65 sockets"),
        (&["--cpus-per-cache", "0"], "impossible machine: "),
        (&["--threads-from", "5000"], "impossible machine: 5001 CPUs"),
        (&["--threads-from", "0"], "the number of threads is 0"),
        (&["--repeats", "0"], "the number of repeats is 0"),
        (&["--repeats", "4294967295"], "4294967295 repeats of 1 cells are too many"),
        (&["--cache", "3x2"], "3 lines don't divide into sets of 2 ways"),
        (&["--cache", "0x1"], "a cache of 0 lines"),
        (&["--costs", "free"], "there is no cost table 'free'"),
        (&["--costs", "measured"], "the costs of this machine have not been measured"),
        (&["--quantum", "99999999999999"], "a quantum of 99999999999999 is too long"),
        (&["--quantum", "9", "--private-quantum", "8"], "the private quantum, 8, is below the quantum, 9"),
        (&["--scratch", "/nowhere/at/all"], "there is no directory /nowhere/at/all for scratch files"),
    ] {
        let words = arguments(options, &[&counters, "2", "50"]);
        assert_refused(&command(&lab, &words).env("XDG_DATA_HOME", &data).output().unwrap(), 2, problem);
    }
    fs::create_dir_all(data.join("faultline")).unwrap();
    fs::write(data.join("faultline/costs.json"), "{}").unwrap();
    let words = arguments(&["--costs", "measured"], &[&counters, "2", "50"]);
    let damaged = command(&lab, &words).env("XDG_DATA_HOME", &data).output().unwrap();
    assert_refused(&damaged, 1, "costs.json is not a cost table");
    let no_runs = program(&lab, &["--baseline", "1"], &[&counters, "2", "50"]);
    assert_refused(&no_runs, 2, "there is no database at ");
    let unwritable = program(&lab, &["--scratch", "/proc"], &[&counters, "2", "50"]);
    assert_refused(&unwritable, 2, "cannot make scratch files in /proc");
    assert!(!lab.db().exists());
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_run_that_measured_time_is_neither_baseline_nor_compared() {
    let lab = Lab::new();
    lab.good_fake("good");
    let run =
        ["run", "good", "--cpus", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];
    assert!(lab.faked(&run).output().unwrap().status.success());
    assert_refused(&lab.run(&["lens", "compare", "1", "1"]), 2, "run 1 measured time, not transfers");
    let held = program(&lab, &["--baseline", "1"], &[&counters(), "2", "50"]);
    assert_refused(&held, 2, "run 1 measured time, not transfers");
    let other = program(&lab, &["--baseline", "2"], &[&counters(), "2", "50"]);
    assert_refused(&other, 2, "there is no run 2 in ");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_database_that_can_not_be_written_is_named() {
    let lab = Lab::new();
    let counters = counters();
    let short = ["--threads-from", "2", "--ops", "50"];
    assert_status(&program(&lab, &short, &[&counters, "2", "50"]), 0);
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lens/libfaultline_lens.so");
    let script = format!(
        "set +e; mount --bind $1 $1; mount -o remount,bind,ro $1; export FAULTLINE_DB=$1/db.sqlite TMPDIR=/tmp
        $2 lens program --user-mode --plugin {} -- {counters} 2 50 2>&1; echo status $?",
        plugin.display()
    );
    if let Some(output) = lab.in_namespace(&script) {
        let text = stdout(&output);
        assert!(text.starts_with("faultline: cannot "), "{text}{}", stderr(&output));
        assert!(text.contains("\nhint: ") && text.ends_with("status 2\n") && text.lines().count() == 3, "{text}");
    }
    assert_eq!(record(&lab, 1).attempts[0].outcome, Some(Outcome::Done));
    let text = lab.path("text");
    fs::write(&text, "no database\n").unwrap();
    let refused = program(&lab, &["--db", text.to_str().unwrap()], &[&counters, "2", "50"]);
    assert_refused(&refused, 2, "text");
    assert_eq!(fs::read_to_string(text).unwrap(), "no database\n");
}
