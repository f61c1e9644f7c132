//! `faultline lens kernel` from end to end: boots of the distribution's own kernel with the real
//! plugin. They take tens of seconds each, so each test is ignored by default; run `make
//! test-guest`. Needs a kernel (`make kernel`), and the products of `make guest` and `make lens`.

use crate::lab::guest::troubled;
use crate::lab::{Lab, assert_refused, lens, stderr, stdout};
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_record::record::{Attempt, RunId, RunState};
use faultline_stats::lens::summary::LensPoint;
use faultline_stats::summary::RunSummary;
use faultline_store::Store;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A short workload on two CPUs.
const SHARED: &[&str] = &["fault_existing:shared", "--tasks", "2", "--ops", "64"];

fn command(lab: &Lab, arguments: &[&str]) -> Command {
    lens::command(lab, &[&["lens", "kernel", "--quiet"], arguments].concat())
}

fn kernel(lab: &Lab, arguments: &[&str]) -> Output {
    command(lab, arguments).output().unwrap()
}

/// Names of all data on the point's lines.
fn held(point: &LensPoint) -> Vec<&str> {
    point.lines.iter().flat_map(|line| &line.held).map(|held| held.name.as_str()).collect()
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn transfers_of_shared_faults_are_counted_and_named() {
    let lab = Lab::new();
    let page = lab.path("page.html");
    let more = ["--format", "json", "--budget", "fault_existing<=1@2", "-o", page.to_str().unwrap()];
    let output = kernel(&lab, &[SHARED, &more].concat());
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    let summary: RunSummary = serde_json::from_slice(&output.stdout).unwrap();
    let counted = summary.lens.unwrap();
    let point = &counted.curves[0].points[0];
    assert_eq!((point.cpus, point.operations, point.failures.len()), (2, Some(128), 0), "{point:?}");
    assert!(point.problems.is_empty(), "{:?}", point.problems);
    assert!(point.transfers.as_ref().unwrap().median > 1.0, "{:?}", point.transfers);
    let code: Vec<&str> = point.code.iter().take(5).map(|place| place.name.as_str()).collect();
    let expected = ["page_remove_rmap", "next_uptodate_page", "next_uptodate_folio", "folio_remove_rmap_ptes"];
    assert!(code.iter().any(|name| expected.contains(name)), "{code:?}");
    assert!(code.iter().all(|name| !name.starts_with("0x")), "{code:?}");
    let names = held(point);
    assert!(names.iter().any(|name| name.starts_with("struct page._refcount")), "{names:?}");
    // The message names the exceeded budget, and the code to look at.
    let said = stderr(&output);
    assert!(said.contains("budget exceeded") && code.iter().any(|name| said.contains(name)), "{said}");
    assert!(fs::read_to_string(page).unwrap().contains("fault_existing"));
    let shown = stdout(&lab.run(&["show"]));
    assert!(shown.contains("fault_existing:shared · processes · per page"), "{shown}");
    lab.assert_nothing_left();
}

/// The only point of a run on a machine of `sockets` sockets.
fn counted(words: &[&str], sockets: &str) -> LensPoint {
    let lab = Lab::new();
    let output = kernel(&lab, &[words, &["--tasks", "2", "--sockets", sockets, "--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let summary: RunSummary = serde_json::from_slice(&output.stdout).unwrap();
    lab.assert_nothing_left();
    summary.lens.unwrap().curves.remove(0).points.remove(0)
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn what_a_stock_kernel_allocated_has_types_and_members() {
    let churn: &[&str] = &["map_churn:threads", "--ops", "256"];
    let faults: &[&str] = &["fault_existing:shared", "--mode", "thread", "--ops", "64"];
    for (words, sockets) in [(churn, "1"), (faults, "2")] {
        let point = counted(words, sockets);
        assert_eq!(point.untyped, None, "{words:?}");
        let names = held(&point);
        let lock = names.iter().any(|name| name.starts_with("mm_struct.mmap_lock.") && name.contains(" at 0x"));
        assert!(lock, "{words:?}: {names:?}");
        // In a short region, the scheduler's own work may appear only in interrupts.
        let by_interrupts = point.interrupts.iter().flat_map(|figures| &figures.lines).flat_map(|line| &line.held);
        let all = names.iter().copied().chain(by_interrupts.map(|held| held.name.as_str()));
        let of_cpus: Vec<&str> = all.filter(|name| name.contains(" of CPU ")).collect();
        assert!(of_cpus.iter().any(|name| name.starts_with("runqueues.")), "{words:?}: {of_cpus:?}");
        let allocated: f64 =
            point.lines.iter().filter(|line| line.name.starts_with("kernel memory")).map(|line| line.share).sum();
        assert!(allocated < 0.05, "{words:?}: {allocated} of the transfers are of memory without a use");
    }
}

#[test]
#[ignore = "boots a guest: make test-guest"]
fn what_can_not_be_counted_is_refused() {
    let lab = Lab::new();
    let text = lab.path("text");
    fs::write(&text, "no kernel\n".repeat(1000)).unwrap();
    let refused = |arguments: &[&str], status, problem: &str| {
        assert_refused(&kernel(&lab, arguments), status, problem);
    };
    refused(&["zero_fill", "--kernel", text.to_str().unwrap()], 2, "/text is not a kernel image");
    refused(&["zero_fill", "--kernel", "/nowhere/at/all"], 2, "cannot read the kernel image /nowhere/at/all");
    refused(&["zero_fill", "--vmlinux", text.to_str().unwrap()], 2, "/text: not an ELF file");
    refused(&["zero_fill", "--tasks", "3", "--sockets", "2"], 2, "3 CPUs don't divide evenly among 2 sockets");
    refused(&["zero_fill", "--baseline", "7"], 2, "there is no database");
    refused(&["zero_fill", "--tasks", "1", "--append", "rdinit=/nowhere"], 1, "Kernel panic - not syncing");
    assert!(!lab.db().exists());
    lab.assert_nothing_left();
}

#[test]
fn an_unknown_workload_is_refused_before_a_boot() {
    let lab = Lab::new();
    // It has the head of a Linux image and cannot boot.
    let image = lab.path("bzImage");
    let mut bytes = vec![0; 0x1000];
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    fs::write(&image, bytes).unwrap();
    let kernel = |workload| kernel(&lab, &[workload, "--tasks", "1", "--kernel", image.to_str().unwrap()]);
    assert_refused(&kernel("zero_fil"), 2, "there is no workload 'zero_fil'");
    assert_refused(&kernel("zero_fill:fast"), 2, "zero_fill has no variant 'fast'");
    assert!(!lab.db().exists());
}

/// Outcome of the only attempt of a failed run.
fn failed(lab: &Lab, command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("1 failed"), "{}", stdout(&output));
    lab.assert_nothing_left();
    let [attempt] = &lab.record(1).attempts[..] else { panic!("one attempt") };
    attempt.outcome.clone().unwrap()
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_guest_that_takes_too_long_is_switched_off() {
    let lab = Lab::new();
    let outcome = failed(&lab, &mut command(&lab, &["zero_fill:base", "--tasks", "2", "--limit", "200ms"]));
    let Outcome::GuestFailed { how: GuestFailure::Hung, text, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(text, "the guest did not end within its limit of 0.2 s; powered off");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_guest_that_hangs_leaves_what_it_counted_until_then() {
    let lab = Lab::new();
    let guest = troubled(&lab);
    let words = ["troubled:deadlock", "--tasks", "2", "--limit", "10s"];
    let outcome = failed(&lab, command(&lab, &words).arg("--guest").arg(guest));
    assert!(matches!(outcome, Outcome::GuestFailed { how: GuestFailure::Hung, .. }), "{outcome:?}");
    let summary: RunSummary = serde_json::from_slice(&lab.run(&["show", "--format", "json"]).stdout).unwrap();
    let counted = summary.lens.unwrap();
    let point = &counted.curves[0].points[0];
    assert!(point.transfers.is_none(), "half a count is no figure: {point:?}");
    let [cut] = &point.cut_short[..] else { panic!("{point:?}") };
    assert!(cut.transfers >= 1000, "each turn moved a line: {cut:?}");
    let clocks: Vec<u64> = cut.clocks.iter().map(|at| at.clock).collect();
    assert!(clocks.len() == 2 && clocks.iter().all(|&clock| clock > 10_000), "both ran to the end: {cut:?}");
    let turn = &cut.lines[0];
    assert!(turn.transfers >= 1000.0 && turn.by_cpu.len() == 2, "{turn:?}");
    assert!(!turn.code.is_empty() && !cut.code.is_empty(), "{cut:?}");
    let shown = stdout(&lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = [
        "no figure: the guest did not end within its limit of 10.0 s; powered off; counted until then: ",
        "; clocks stood at ",
        &format!("; moved most: {}", turn.name),
    ];
    assert!(expected.iter().all(|words| shown.contains(words)), "{shown}");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_panic_is_recorded_with_the_end_of_the_console() {
    let lab = Lab::new();
    let guest = troubled(&lab);
    let outcome = failed(&lab, command(&lab, &["troubled:panic", "--tasks", "1"]).arg("--guest").arg(guest));
    let Outcome::GuestFailed { how: GuestFailure::Panicked, text, console } = outcome else { panic!("{outcome:?}") };
    assert!(text.contains("Kernel panic - not syncing") && console.contains("Call Trace"), "{text} {console}");
}

/// Waits until one attempt has ended and further boots are under way.
fn await_a_reading(lab: &Lab) {
    let record = || Store::open_existing(&lab.db()).ok()?.load_run(RunId(1)).ok();
    let has_reading = || record().is_some_and(|record| record.attempts.iter().any(|attempt| attempt.reading.is_some()));
    crate::lab::await_boot("a reading", has_reading);
    std::thread::sleep(Duration::from_secs(1));
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn ctrl_c_leaves_no_emulator_and_what_was_counted() {
    let lab = Lab::new();
    let words = ["zero_fill:base", "--tasks", "1", "--ops", "64", "--repeats", "9"];
    let child = command(&lab, &words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    await_a_reading(&lab);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", stderr(&stopped));
    let said = "stopped; everything measured is saved as run 1\nhint: `faultline resume 1` continues\n";
    assert_eq!(stderr(&stopped), said);
    lab.assert_nothing_left();
    let record = lab.record(1);
    assert!(record.attempts.iter().any(|attempt| attempt.reading.is_some()), "{:?}", record.attempts);
    assert_eq!(record.attempts.last().unwrap().outcome, Some(Outcome::Interrupted));
    let resumed = lens::command(&lab, &["resume", "1", "--quiet"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}{}", stdout(&resumed), stderr(&resumed));
    assert_all_counted_alike(&lab, 2);
    lab.assert_nothing_left();
}

/// Each planned execution has one reading, all from equal machines. Each block has the next seed.
fn assert_all_counted_alike(lab: &Lab, sessions: usize) {
    let record = lab.record(1);
    assert_eq!((record.state, record.sessions.len()), (RunState::Finished, sessions));
    // Two guests run at a time. An earlier one may have been stopped in its region, with the counts
    // up to that time.
    let done = |attempt: &&Attempt| attempt.outcome == Some(Outcome::Done);
    let first = record.attempts.iter().filter(done).find_map(|attempt| attempt.reading.as_ref()).unwrap();
    for item in &record.plan {
        assert_eq!(item.seed, Some(1 + u64::from(item.block)), "item {}", item.ordinal);
        let of_item = record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal);
        let counted: Vec<_> = of_item.filter(done).collect();
        assert_eq!(counted.len(), 1, "item {}", item.ordinal);
        let reading = counted[0].reading.as_ref().unwrap();
        assert_eq!(reading.machine, first.machine, "item {}", item.ordinal);
        assert_eq!(reading.operations, first.operations, "item {}", item.ordinal);
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_run_that_is_killed_goes_on_with_the_same_kernel_alone() {
    let lab = Lab::new();
    let image = crate::lab::guest::kernel().path;
    let kernel = lab.path("kernel");
    fs::copy(&image, &kernel).unwrap();
    let words = [
        "zero_fill:base",
        "--tasks",
        "2",
        "--ops",
        "64",
        "--repeats",
        "3",
        "--sockets",
        "2",
        "--costs",
        "epyc-milan",
        "--quantum",
        "2000",
        "--cache",
        "1024x8",
        "--memory",
        "512",
        "--append",
        "loglevel=4",
        "--kernel",
        kernel.to_str().unwrap(),
    ];
    let child = command(&lab, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_a_reading(&lab);
    crate::lab::kill(child);
    assert_eq!(lab.left_over(), Vec::<String>::new());

    fs::write(&kernel, "another").unwrap();
    let other = lens::command(&lab, &["resume", "1"]).output().unwrap();
    assert_refused(&other, 1, "/kernel has changed since run 1 began, so counts before and after are not comparable");
    fs::copy(&image, &kernel).unwrap();
    let resumed = lens::command(&lab, &["resume", "1", "--quiet"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}{}", stdout(&resumed), stderr(&resumed));
    assert_all_counted_alike(&lab, 2);
    let facts: Vec<_> =
        lab.record(1).sessions.iter().map(|session| session.facts[0].0.get("emulator.arguments").cloned()).collect();
    assert_eq!(facts[0], facts[1], "another machine");
    lab.assert_nothing_left();
}
