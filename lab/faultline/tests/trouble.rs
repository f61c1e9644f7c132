//! Failures around a run. Each gives one clear line or a recorded failure, loses no saved sample,
//! and leaves no process behind.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use faultline_record::outcome::Outcome;
use faultline_record::record::{RunId, RunRecord};
use faultline_store::Store;
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

const SHORT: &[&str] = &["--tasks", "1", "--repeats", "2", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

fn record(lab: &Lab) -> RunRecord {
    Store::open_existing(&lab.db()).unwrap().load_run(RunId(1)).unwrap()
}

fn outcomes(lab: &Lab) -> Vec<Outcome> {
    record(lab).attempts.into_iter().map(|attempt| attempt.outcome.unwrap()).collect()
}

/// Runs the fake `name` next to a good one. Asserts that the good one's samples are saved, and no
/// process is left.
fn run_fake(lab: &Lab, name: &str) -> Output {
    lab.good_fake("good");
    let arguments = with(&["run", "good", name, "--limit", "1s"], SHORT);
    let output = lab.faked(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(lab.left_over(), Vec::<String>::new());
    assert_eq!(lab.scratch_left(), Vec::<std::path::PathBuf>::new());
    let well = outcomes(lab).into_iter().filter(|outcome| *outcome == Outcome::Done).count();
    assert_eq!(well, 2, "the good workload's samples");
    output
}

fn failures(lab: &Lab) -> Vec<Outcome> {
    outcomes(lab).into_iter().filter(|outcome| *outcome != Outcome::Done).collect()
}

#[test]
fn a_workload_that_hangs_is_killed_with_all_its_children() {
    let lab = Lab::new();
    // One child leaves the process group, one ignores TERM, INT and HUP.
    lab.fake("hang", "header; setsid sleep 1000 & (trap '' TERM INT HUP; sleep 1000) & sleep 1000");
    let began = Instant::now();
    let output = run_fake(&lab, "hang");
    assert!(began.elapsed() < Duration::from_secs(20), "took {:?}", began.elapsed());
    assert_eq!(failures(&lab), vec![Outcome::TimedOut { limit_ms: 1000 }; 2]);
    assert!(stdout(&output).contains("no end within its limit of 1.0 s; killed"), "{}", stdout(&output));
}

#[test]
fn a_workload_that_leaves_children_behind_is_cleared_up_after() {
    let lab = Lab::new();
    lab.fake(
        "leaves",
        "setsid sleep 1000 >/dev/null 2>&1 & header; echo interval 2 10000002 100; echo end 10000003; echo done",
    );
    let output = lab.faked(&with(&["run", "leaves"], SHORT)).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(lab.left_over(), Vec::<String>::new());
}

#[test]
fn a_workload_that_crashes_is_recorded_with_its_last_words() {
    let lab = Lab::new();
    lab.fake("crash", "header; echo 'the page was not there' >&2; kill -SEGV $$");
    run_fake(&lab, "crash");
    let crashed = Outcome::Crashed { signal: 11, stderr: "the page was not there\n".into() };
    assert_eq!(failures(&lab), vec![crashed; 2]);
}

#[test]
fn rubbish_is_recorded_with_its_line() {
    for (body, expected) in [
        ("echo hello", "expected a line of the format, got 'hello'"),
        ("echo ready 5", "the first line is not a workload's header"),
        ("header; echo 'interval 5 4 1'", "an interval that ends at 4, not after its begin at 5"),
        ("header; head -c 100000 /dev/zero | tr '\\0' x; sleep 100", "longer than 65536 bytes"),
        ("header; head -c 1000 /dev/urandom | tr -d '\\n'; echo", ""),
        ("header; exec yes", "expected a line of the format, got 'y'"),
        ("header; exit 0", "the output is cut off"),
        ("header; echo end 3; echo done", "done without an interval"),
        ("header; echo interval 2 3 1; echo interval 3 4 1; echo end 5; echo done", "2 intervals where 1 were planned"),
        ("", "the output is cut off"),
    ] {
        let lab = Lab::new();
        lab.fake("rubbish", body);
        run_fake(&lab, "rubbish");
        let found = failures(&lab);
        assert_eq!(found.len(), 2, "{body}");
        for outcome in found {
            let Outcome::Rubbish { problem, .. } = &outcome else { panic!("{body}: {outcome:?}") };
            assert!(problem.contains(expected), "{body}: {problem}");
        }
    }
}

#[test]
fn what_a_workload_tells_of_itself_is_recorded() {
    let lab = Lab::new();
    lab.fake("fails", "header; echo 'failure os mmap 12 Cannot allocate memory'; exit 71");
    run_fake(&lab, "fails");
    let failed = Outcome::Failed { step: "mmap".into(), errno: 12, text: "Cannot allocate memory".into() };
    assert_eq!(failures(&lab), vec![failed; 2]);

    let lab = Lab::new();
    lab.fake("exits", "header; echo 'no luck' >&2; exit 3");
    run_fake(&lab, "exits");
    assert_eq!(failures(&lab), vec![Outcome::Exited { status: 3, stderr: "no luck\n".into() }; 2]);

    // A measurement that the machine cannot make does not fail the run.
    let lab = Lab::new();
    lab.fake(
        "cannot",
        "echo 'faultline-workload 1 cannot'; echo 'failure unsupported huge_pages 0 none here'; exit 69",
    );
    let output = lab.faked(&with(&["run", "cannot"], SHORT)).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("unsupported here: huge_pages: none here"), "{}", stdout(&output));
}

#[test]
fn a_workload_that_is_missing_ends_the_run_and_a_resume_goes_on() {
    let lab = Lab::new();
    lab.fake(
        "vanishes",
        "header; echo interval 2 10000002 100; echo end 10000003; [ -e \"$0.kept\" ] || mv \"$0\" \"$0.kept\"; echo done",
    );
    let output = lab.faked(&with(&["run", "vanishes", "--quiet"], SHORT)).output().unwrap();
    assert_refused(&output, 1, "there is no workload ");
    assert!(stderr(&output).contains("`faultline resume 1` continues"), "{}", stderr(&output));
    let found = outcomes(&lab);
    assert!(matches!(&found[..], [Outcome::Done, Outcome::LabFailed { .. }]), "{found:?}");
    let program = lab.path("fakes/vanishes");
    fs::copy(program.with_extension("kept"), &program).unwrap();
    let resumed = lab.faked(&["resume", "--quiet"]).output().unwrap();
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert_eq!(outcomes(&lab)[2..], [Outcome::Done]);
}

#[test]
fn a_keeper_that_is_killed_takes_its_workload_along() {
    let lab = Lab::new();
    // One child leaves the process group and holds our pipes open.
    lab.fake("waits", "setsid sleep 1000 & header; kill -9 $PPID; sleep 1000");
    let output = lab.faked(&with(&["run", "waits"], SHORT)).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let killed = Outcome::Crashed { signal: 9, stderr: "its keeper was killed".into() };
    assert_eq!(outcomes(&lab), vec![killed; 2]);
    assert_eq!(lab.left_over(), Vec::<String>::new());
    assert_eq!(lab.scratch_left(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn two_runs_on_one_database_at_once() {
    let lab = Lab::new();
    lab.good_fake("good");
    lab.fake("slow", "header; sleep 3; echo interval 2 10000002 100; echo end 10000003; echo done");
    let first =
        lab.faked(&with(&["run", "slow"], SHORT)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::lab::await_that("the first run", || {
        Store::open_existing(&lab.db()).and_then(|store| store.list_runs()).is_ok_and(|runs| runs.len() == 1)
    });
    let second = lab.faked(&with(&["run", "good"], SHORT)).output().unwrap();
    assert_refused(&second, 2, "is measuring into");
    assert!(lab.faked(&["list"]).output().unwrap().status.success(), "reading is always possible");
    assert!(lab.faked(&["show", "1"]).output().unwrap().status.success(), "reading is always possible");
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success(), "{}", stderr(&first));
    assert_eq!(outcomes(&lab), vec![Outcome::Done; 2]);
}

#[test]
fn a_database_that_can_not_be_used_is_named_and_left_alone() {
    let lab = Lab::new();
    lab.good_fake("good");
    fs::write(lab.db(), "no database at all, but a letter of more than a hundred bytes, to fill a header".repeat(9))
        .unwrap();
    let before = fs::read(lab.db()).unwrap();
    for arguments in [with(&["run", "good"], SHORT), vec!["list"], vec!["show"], vec!["resume"]] {
        assert_refused(&lab.faked(&arguments).output().unwrap(), 2, "the file is not a database");
    }
    assert_eq!(fs::read(lab.db()).unwrap(), before);

    let directory = Lab::new();
    fs::create_dir(directory.db()).unwrap();
    assert_refused(&directory.run(&["list"]), 2, "the file or its directory does not exist, or you may not access it");
    let elsewhere = directory.run(&["list", "--db", "/proc/nowhere/db"]);
    assert_refused(&elsewhere, 2, "there is no database at");
    let below_a_file = lab.faked(&["run", "good", "--tasks", "1", "--db", "/dev/null/db"]).output().unwrap();
    assert_refused(&below_a_file, 2, "cannot create the directory /dev/null for the database");
    let mistyped = lab.path("no/such");
    let database = mistyped.join("db").display().to_string();
    for command in [&["run", "good", "--tasks", "1"][..], &["import", "x.csv"]] {
        fs::write(lab.path("x.csv"), "ms\n1\n").unwrap();
        let output = lab.faked(&[command, &["--db", &database]].concat()).current_dir(lab.path("")).output().unwrap();
        assert_refused(&output, 2, "no/such for the database");
        assert!(!lab.path("no").exists());
    }
    let no_name = lab.faked(&["list", "--db", ""]).output().unwrap();
    assert_eq!(no_name.status.code(), Some(2), "{}", stderr(&no_name));
}

#[test]
fn a_full_disk_ends_the_run_and_a_resume_goes_on() {
    let lab = Lab::new();
    lab.fake(
        "prints",
        "header; echo interval 2 10000002 100; echo end 10000003
         i=0; while [ $i -lt 400 ]; do echo \"counter some.counter.with.a.long.name.$i 12345\"; i=$((i + 1)); done; echo done",
    );
    let script = "mkdir $1/disk; mount -t tmpfs -o size=8m tmpfs $1/disk; export FAULTLINE_DB=$1/disk/db.sqlite
        head -c 7500000 /dev/zero > $1/disk/filler
        $2 run prints --tasks 1 --repeats 60 --warmup 0ms --window 10ms --interval 10ms --quiet 2>&1 && echo not full
        $2 list --format csv
        rm $1/disk/filler
        $2 resume --quiet > /dev/null
        $2 list --format csv";
    let Some(output) = lab.in_namespace(script) else { return };
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    let problem = text.lines().next().unwrap();
    assert!(problem.starts_with("faultline: cannot save a sample in the database"), "{text}");
    assert!(problem.ends_with("the disk is full") || problem.ends_with("reading or writing failed"), "{text}");
    assert!(text.contains("\nhint: "), "{text}");
    let ended: Vec<u32> = lines_of_runs(&text);
    assert_eq!(ended.len(), 2, "{text}");
    assert!(ended[0] > 0 && ended[0] < 60, "saved before the disk was full: {text}");
    assert_eq!(ended[1], 60, "{text}");
}

/// The column `ended` of every line of run 1.
fn lines_of_runs(text: &str) -> Vec<u32> {
    let header = text.lines().find(|line| line.starts_with("run,")).unwrap();
    let column = header.split(',').position(|name| name == "ended").unwrap();
    let lines = text.lines().filter(|line| line.starts_with("1,"));
    // The list of CPUs contains no comma here, because there is only one.
    lines.map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_read_only_database_is_named() {
    let lab = Lab::new();
    lab.good_fake("good");
    assert!(lab.faked(&with(&["run", "good"], SHORT)).output().unwrap().status.success());
    let script = "mount --bind $1 $1; mount -o remount,bind,ro $1; export FAULTLINE_DB=$1/db.sqlite TMPDIR=/tmp
        $2 run good --tasks 1 2>&1; echo status $?";
    let Some(output) = lab.in_namespace(&format!("set +e; {script}")) else { return };
    let text = stdout(&output);
    assert!(text.starts_with("faultline: cannot "), "{text}{}", stderr(&output));
    assert!(text.contains("\nhint: ") && text.ends_with("status 2\n") && text.lines().count() == 3, "{text}");
    assert_eq!(outcomes(&lab), vec![Outcome::Done; 2]);
}

#[test]
fn no_room_for_copies_of_a_program_ends_the_run() {
    let lab = Lab::new();
    let workloads = crate::lab::program().parent().unwrap().parent().unwrap().join("workloads");
    let script = format!(
        "export FAULTLINE_WORKLOADS={} FAULTLINE_DB=$1/db.sqlite; mkdir $1/small; mount -t tmpfs -o size=64k tmpfs $1/small
         $2 run self_exec:static-distinct --tasks 1 --repeats 1 --scratch $1/small --quiet || echo status $?; ls $1/small",
        workloads.display()
    );
    let Some(output) = lab.in_namespace(&script) else { return };
    let text = stdout(&output);
    assert!(text.ends_with("status 1\n"), "{text}{}", stderr(&output));
    let found = outcomes(&lab);
    let Outcome::LabFailed { text } = &found[0] else { panic!("{found:?}") };
    assert!(text.starts_with("the disk is full: "), "{text}");
    assert_refused(&Output { status: ExitStatus::from_raw(1 << 8), ..output }, 1, "the disk is full: ");
}

#[test]
fn standard_output_that_is_closed_or_full() {
    let lab = Lab::new();
    lab.good_fake("good");
    let arguments = with(&["run", "good", "--quiet"], SHORT);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = lab.faked(&arguments).stdout(writer).output().unwrap();
    assert_eq!((closed.status.code(), stderr(&closed).as_str()), (Some(0), ""));
    assert_eq!(outcomes(&lab), vec![Outcome::Done; 2]);

    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let refused = lab.faked(&["show"]).stdout(full).output().unwrap();
    assert_refused(&refused, 1, "cannot write to standard output: No space left on device");

    let page = lab.faked(&["show", "1", "-o", "/dev/full/page.html"]).output().unwrap();
    assert_refused(&page, 2, "cannot write /dev/full/page.html: Not a directory");
    let target = lab.path("page.html");
    assert!(lab.faked(&["show", "-o", target.to_str().unwrap()]).output().unwrap().status.success());
    assert!(File::open(target).unwrap().metadata().unwrap().len() > 1000);
}

#[test]
fn standard_error_that_is_closed_does_not_end_a_run() {
    let lab = Lab::new();
    lab.good_fake("good");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = lab.faked(&with(&["run", "good"], SHORT)).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(outcomes(&lab), vec![Outcome::Done; 2]);
}

#[test]
fn odd_names_of_a_database_are_names_of_files() {
    let lab = Lab::new();
    lab.good_fake("good");
    for name in [":memory:", "file:x?mode=memory", "file:real.sqlite", "with blank.sqlite"] {
        let run = with(&["run", "good", "--db", name], SHORT);
        assert!(lab.faked(&run).current_dir(lab.path("")).output().unwrap().status.success(), "{name}");
        let list = lab.faked(&["list", "--format", "csv", "--db", name]).current_dir(lab.path("")).output().unwrap();
        assert_eq!(stdout(&list).lines().count(), 2, "{name}: {}{}", stdout(&list), stderr(&list));
        assert!(lab.path(name).exists(), "{name}");
    }
}

#[test]
fn a_symbolic_link_to_a_database_is_the_same_database() {
    let lab = Lab::new();
    lab.good_fake("good");
    lab.fake("slow", "header; sleep 2; echo interval 2 10000002 100; echo end 10000003; echo done");
    assert!(lab.faked(&with(&["run", "good"], SHORT)).output().unwrap().status.success());
    std::os::unix::fs::symlink(lab.db(), lab.path("link.sqlite")).unwrap();
    let mut first = lab.faked(&with(&["run", "slow"], SHORT)).spawn().unwrap();
    crate::lab::await_that("the second run", || {
        Store::open_existing(&lab.db()).and_then(|store| store.list_runs()).is_ok_and(|runs| runs.len() == 2)
    });
    let linked = lab.path("link.sqlite");
    let second = lab.faked(&with(&["run", "good", "--db", linked.to_str().unwrap()], SHORT)).output().unwrap();
    assert_refused(&second, 2, "is measuring into");
    assert!(first.wait().unwrap().success());
}

#[test]
fn a_database_that_is_removed_under_way_ends_the_run() {
    let lab = Lab::new();
    let remove = format!("rm -f '{}'", lab.db().display());
    lab.fake("removes", &format!("header; {remove}; echo interval 2 10000002 100; echo end 10000003; echo done"));
    let output = lab.faked(&with(&["run", "removes", "--quiet"], SHORT)).output().unwrap();
    assert_refused(&output, 1, "was removed or replaced during the run");
}

#[test]
fn a_page_goes_where_it_is_sent_and_replaces_nothing_else() {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    let lab = Lab::new();
    lab.good_fake("good");
    let (page, link, fifo) = (lab.path("page.html"), lab.path("link.html"), lab.path("fifo"));
    fs::write(&page, "old").unwrap();
    fs::set_permissions(&page, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&page, &link).unwrap();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());

    // A table whose reader is gone must not cost the page.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = with(&["run", "good", "-o", link.to_str().unwrap()], SHORT);
    assert!(lab.faked(&run).stdout(writer).output().unwrap().status.success());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>")
            || fs::read_to_string(&page).unwrap().starts_with("<!doctype html>")
    );
    assert_eq!(fs::metadata(&page).unwrap().mode() & 0o777, 0o600, "a file that was there keeps its mode");

    let reading = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    assert!(lab.faked(&["show", "-o", fifo.to_str().unwrap()]).output().unwrap().status.success());
    assert!(reading.join().unwrap().len() > 1000);
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn a_resume_that_can_not_measure_leaves_the_run_open() {
    let lab = Lab::new();
    lab.good_fake("good");
    lab.fake("slow", "header; sleep 30");
    let child = lab.faked(&with(&["run", "slow", "good"], SHORT)).stderr(Stdio::null()).spawn().unwrap();
    crate::lab::await_that("a saved plan", || {
        Store::open_existing(&lab.db()).and_then(|store| store.list_runs()).is_ok_and(|runs| runs.len() == 1)
    });
    crate::lab::kill(child);
    let before = record(&lab).attempts.len();

    fs::rename(lab.path("fakes/slow"), lab.path("slow")).unwrap();
    assert_refused(&lab.faked(&["resume"]).output().unwrap(), 1, "needs the workload slow:only, which is not here");
    fs::rename(lab.path("slow"), lab.path("fakes/slow")).unwrap();
    let nowhere = lab.faked(&["resume", "--scratch", "/proc"]).output().unwrap();
    assert_refused(&nowhere, 2, "cannot make scratch files in /proc");
    assert_eq!(record(&lab).attempts.len(), before);

    lab.good_fake("slow");
    assert!(lab.faked(&["resume"]).output().unwrap().status.success());
}

#[test]
fn being_stopped_for_a_while_is_no_time_out() {
    use rustix::process::{Pid, Signal, kill_process};
    let lab = Lab::new();
    lab.fake("naps", "header; sleep 1; echo interval 2 10000002 100; echo end 10000003; echo done");
    let run =
        ["run", "naps", "--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];
    let child = lab.faked(&[&run[..], &["--limit", "3s"]].concat()).stderr(Stdio::null()).spawn().unwrap();
    crate::lab::await_that("an attempt", || {
        Store::open_existing(&lab.db())
            .and_then(|store| store.load_run(RunId(1)))
            .is_ok_and(|run| !run.attempts.is_empty())
    });
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_secs(4));
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(outcomes(&lab), vec![Outcome::Done]);
    assert!(ended.status.success());
}

#[test]
fn the_time_limit_is_saved_with_the_run() {
    let lab = Lab::new();
    lab.good_fake("good");
    assert!(lab.faked(&with(&["run", "good", "--limit", "90s"], SHORT)).output().unwrap().status.success());
    assert_eq!(record(&lab).settings.limit_ms, Some(90_000));
}

#[test]
fn a_workload_that_never_stops_describing_itself_is_named() {
    let lab = Lab::new();
    lab.good_fake("good");
    lab.fake("endless", "");
    fs::write(lab.path("fakes/endless"), "#!/bin/sh\nsleep 1000 & exit 0\n").unwrap();
    let began = Instant::now();
    assert_refused(
        &lab.faked(&["run", "--list"]).output().unwrap(),
        2,
        "is not a workload: it did not end within 10 s",
    );
    assert!(began.elapsed() < Duration::from_secs(40));
    assert_eq!(lab.left_over(), Vec::<String>::new());
}
