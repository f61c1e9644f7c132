//! A disk image as a target. The tests make a small system from the distribution's packages. It
//! boots with its own loader in the emulator, and is measured over SSH or its serial console.
//!
//! When its kernel panics, or its only CPU is taken for good, it is power-cycled and measured
//! again. Nothing is written to the image.

use crate::lab::guest::{emulator, guest_directory, troubled};
use crate::lab::{Lab, assert_refused, await_within, kill, stderr, stdout};
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_record::record::Attempt;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// The name of the image. The client's known-hosts file lists its host key under this name.
const IMAGE: &str = "small.img";

/// The password of a system with a login at its serial console. A password from a file may contain
/// commas and blanks.
const PASSWORD: &str = "correct, horse";

/// A lab with a bootable image, and with the workloads `path_stat` and `troubled` for it.
fn lab() -> Lab {
    with_image(Lab::new())
}

/// A lab with an image that has a login at the serial console, and no SSH server.
fn serial_lab() -> Lab {
    let lab = Lab::new();
    fs::create_dir_all(lab.path("machine")).unwrap();
    fs::write(lab.path("machine/password"), format!("{PASSWORD}\n")).unwrap();
    with_image(lab)
}

fn with_image(lab: Lab) -> Lab {
    let machine = lab.path("machine");
    let (kernel, _) = crate::ssh_guest::disk::package(&lab.path(""), "kernel", "bookworm", "");
    crate::ssh_guest::disk::make(&machine, &kernel);
    crate::ssh_guest::disk::log_in(&machine, IMAGE);
    crate::ssh_guest::disk::run(
        Command::new(crate::ssh_guest::disk::script("image.sh")).arg(&machine).arg(lab.path(IMAGE)),
    );
    let workloads = troubled(&lab).join("workloads");
    fs::copy(guest_directory().join("workloads/path_stat"), workloads.join("path_stat")).unwrap();
    lab
}

/// The command with the guest's parts and the emulator.
fn command(lab: &Lab, words: &[&str]) -> Command {
    let mut command = lab.command(words);
    command.arg("--guest").arg(lab.path("guest")).current_dir(lab.path(""));
    command.args(emulator().iter().flat_map(|file| ["--qemu".as_ref(), file.as_os_str()]));
    command
}

/// The machine specification of the image.
fn image(keys: &str) -> String {
    format!("image:{IMAGE},cpus=1,memory=512M,{keys}")
}

/// Runs the command on the image.
fn on_image(lab: &Lab, words: &[&str], keys: &str) -> Output {
    command(lab, &[words, &["--on", &image(keys)]].concat()).output().unwrap()
}

const LOGGED_IN: &str = "config=machine/ssh_config,boot_limit=10m";
const AT_CONSOLE: &str = "login=serial,password=machine/password,boot_limit=10m";

fn stamp(file: &Path) -> (u64, SystemTime) {
    let about = file.metadata().unwrap();
    (about.len(), about.modified().unwrap())
}

fn failure(attempt: &Attempt) -> Option<(GuestFailure, &str, &str)> {
    match attempt.outcome.as_ref().unwrap() {
        Outcome::GuestFailed { how, text, console } => Some((*how, text, console)),
        _ => None,
    }
}

#[test]
#[ignore = "boots an image in full emulation five times: `make test-guest`"]
fn an_image_is_booted_measured_and_switched_off_and_on_after_a_panic_and_a_freeze() {
    is_measured_and_switched_off_and_on(&lab(), LOGGED_IN);
}

#[test]
#[ignore = "boots an image in full emulation five times: `make test-guest`"]
fn an_image_is_measured_and_switched_off_and_on_by_its_serial_ports() {
    let lab = serial_lab();
    is_measured_and_switched_off_and_on(&lab, AT_CONSOLE);
    let facts = lab.record(1).facts().unwrap().clone();
    assert_eq!(facts.get_text("image.login"), Some("serial"));
    assert!(facts.0.values().all(|value| !format!("{value:?}").contains(PASSWORD)), "{facts:?}");
}

fn is_measured_and_switched_off_and_on(lab: &Lab, keys: &str) {
    let before = stamp(&lab.path(IMAGE));
    let words = [
        "run",
        "path_stat:distinct",
        "troubled:panic",
        "troubled:freeze",
        "--repeats",
        "2",
        "--warmup",
        "0ms",
        "--window",
        "200ms",
        "--interval",
        "100ms",
        "--quiet",
    ];
    let output = on_image(lab, &words, keys);
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    lab.assert_nothing_left();

    let record = lab.record(1);
    let of = |name: &str| {
        let is_its = |attempt: &&Attempt| record.plan[attempt.ordinal as usize].cell.to_string().starts_with(name);
        record.attempts.iter().filter(is_its).collect::<Vec<_>>()
    };
    let measured = of("path_stat");
    assert_eq!(measured.len(), 2);
    assert!(measured.iter().all(|attempt| attempt.outcome == Some(Outcome::Done)), "{measured:?}");
    let first_failure = record.attempts.iter().position(|attempt| failure(attempt).is_some()).unwrap();
    let last_measured = record.attempts.iter().rposition(|attempt| attempt.outcome == Some(Outcome::Done)).unwrap();
    assert!(first_failure < last_measured, "measured again after it failed");

    let (how, text, console) = failure(of("troubled:panic")[0]).unwrap();
    assert_eq!(how, GuestFailure::Panicked);
    assert_eq!(text, "the image's system panicked: Kernel panic - not syncing: sysrq triggered crash");
    assert!(console.contains("Call Trace"), "{console}");
    let (how, text, _) = failure(of("troubled:freeze")[0]).unwrap();
    assert_eq!((how, text), (GuestFailure::Hung, "the image's system stopped responding; powered off"));

    let facts = record.facts().unwrap();
    assert_eq!(facts.get_text("kernel.name"), Some("Linux"));
    assert!(facts.get_text("kernel.release").is_some_and(|release| release.contains("cloud")), "{facts:?}");
    assert_eq!(facts.get_text("virtualisation.hypervisor"), Some("QEMU, TCG"));
    assert_eq!(facts.get_count("cpu.logical"), Some(1));
    assert_eq!(stamp(&lab.path(IMAGE)), before, "nothing is written to it");
}

/// Starts the command, and waits until `condition` holds.
fn started(mut command: Command, what: &str, mut condition: impl FnMut() -> bool) -> Child {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut has_ended = false;
    await_within(Duration::from_secs(900), what, || {
        has_ended = child.try_wait().unwrap().is_some();
        has_ended || condition()
    });
    match has_ended {
        true => panic!("it ended before {what}: {}", stderr(&child.wait_with_output().unwrap())),
        false => child,
    }
}

/// Interrupts the command, and asserts that it was stopped.
fn stop(child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", stderr(&stopped));
}

#[test]
#[ignore = "boots images in full emulation three times: `make test-guest`"]
fn a_refused_login_at_the_serial_console_is_explained() {
    let lab = serial_lab();
    let refused = |keys: &str, problem: &str| {
        let output = on_image(&lab, &["check", "--facts"], keys);
        assert_refused(&output, 2, problem);
        lab.assert_nothing_left();
    };
    fs::write(lab.path("wrong"), "correct horse\n").unwrap();
    refused("login=serial,password=wrong", "small.img does not let root log in at its serial console");
    refused("login=serial", "small.img asks for a password");
    // Refused before anything boots.
    refused("login=serial,password=nowhere", "cannot take a password from");
    refused("login=serial,config=machine/ssh_config", "'config' is for SSH, and login=serial uses none");
    refused("password=machine/password", "'password' is for the serial console");
    fs::write(lab.path(IMAGE), vec![0; 1 << 20]).unwrap();
    refused("login=serial,boot_limit=3s", "could not log in to the image small.img within 3 s");
    assert!(!lab.db().exists());
}

#[test]
#[ignore = "boots an image in full emulation three times: `make test-guest`"]
fn a_run_by_serial_ports_that_is_stopped_leaves_nothing_and_is_resumed() {
    let lab = serial_lab();
    let on = image(AT_CONSOLE);
    let words =
        ["run", "path_stat:distinct", "--on", &on, "--repeats", "2", "--warmup", "0ms", "--window", "2s", "--quiet"];
    stop(started(command(&lab, &words), "an emulator", || !lab.scratch_left().is_empty()));
    lab.assert_nothing_left();
    stop(started(command(&lab, &words), "an execution", || lab.attempts().is_some_and(|attempts| attempts > 0)));
    lab.assert_nothing_left();
    let last = command(&lab, &["resume", "--quiet"]).output().unwrap();
    assert_eq!(last.status.code(), Some(0), "{}{}", stdout(&last), stderr(&last));
    lab.assert_nothing_left();
}

#[test]
#[ignore = "boots an image in full emulation four times: `make test-guest`"]
fn a_run_that_is_stopped_or_killed_leaves_nothing_and_is_resumed() {
    let lab = lab();
    let on = image(LOGGED_IN);
    let words =
        ["run", "path_stat:distinct", "--on", &on, "--repeats", "4", "--warmup", "0ms", "--window", "2s", "--quiet"];
    let booting = started(command(&lab, &words), "an emulator", || !lab.scratch_left().is_empty());
    stop(booting);
    lab.assert_nothing_left();
    assert!(!lab.db().exists(), "nothing was begun");

    let executing = |words: &[&str], begun: usize| {
        started(command(&lab, words), "an execution", || lab.attempts().is_some_and(|attempts| attempts >= begun))
    };
    stop(executing(&words, 1));
    lab.assert_nothing_left();
    let resume = ["resume", "--quiet"];
    let begun = lab.attempts().unwrap();
    kill(executing(&resume, begun + 1));
    lab.assert_nothing_left();

    let last = command(&lab, &resume).output().unwrap();
    assert_eq!(last.status.code(), Some(0), "{}{}", stdout(&last), stderr(&last));
    lab.assert_nothing_left();
    let record = lab.record(1);
    assert_eq!(record.plan.len(), 4);
    for item in &record.plan {
        assert_eq!(record.final_attempt(item.ordinal).unwrap().outcome, Some(Outcome::Done));
    }
}

#[test]
#[ignore = "boots an image in full emulation: `make test-guest`"]
fn a_key_that_is_not_known_and_images_that_do_not_boot_are_refused() {
    let lab = lab();
    let words = ["check", "--facts"];
    fs::write(lab.path("machine/known_hosts"), "").unwrap();
    let stranger = on_image(&lab, &words, LOGGED_IN);
    assert_refused(&stranger, 2, "the host key of small.img is not known");
    assert!(stderr(&stranger).contains("'small.img', a blank, and what is in"), "{}", stderr(&stranger));

    fs::write(lab.path(IMAGE), vec![0; 1 << 20]).unwrap();
    let nothing = on_image(&lab, &words, "config=machine/ssh_config,boot_limit=3s");
    assert_refused(&nothing, 2, "could not log in to the image small.img within 3 s");
    fs::remove_file(lab.path(IMAGE)).unwrap();
    assert_refused(&on_image(&lab, &words, LOGGED_IN), 2, "cannot read the disk image");
    lab.assert_nothing_left();
    assert!(!lab.db().exists());
}
