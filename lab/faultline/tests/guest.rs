//! Guests run by the command: real boots in QEMU of the distribution's own kernel. They take
//! minutes, so each test is ignored by default; run `make test-guest`. Without QEMU, a kernel or
//! the guest's programs, they fail and name the missing part.

use crate::lab::Lab;
use crate::lab::guest::{compile, guest_directory, kernel, machine, troubled};
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_store::Store;
use faultline_targets::network::Attachment;
use faultline_targets::qemu::{GuestExecution, QemuMachine};
use faultline_targets::{Ending, Execution, Plugin, StopFlag, Target};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::ops::ControlFlow;
use std::process::Stdio;
use std::time::Duration;

/// One short window.
const ONCE: &[&str] = &["--repeats", "1", "--warmup", "0ms", "--window", "200ms", "--interval", "100ms", "--quiet"];

fn run(lab: &Lab, arguments: &[&str]) -> std::process::Output {
    guest_directory();
    lab.run(&[&["run"], arguments, ONCE].concat())
}

#[test]
#[ignore = "boots a guest: make test-guest"]
fn a_workload_runs_in_a_guest() {
    let lab = Lab::new();
    let output = run(&lab, &["zero_fill:base", "--on", "qemu:cpus=2", "--tasks", "2"]);
    assert!(output.status.success(), "{}{}", crate::lab::stdout(&output), crate::lab::stderr(&output));
    assert!(crate::lab::stdout(&output).contains("QEMU TCG CPU"), "{}", crate::lab::stdout(&output));
    let record = lab.record(1);
    assert_eq!(record.attempts[0].outcome, Some(Outcome::Done));
    assert_eq!(record.attempts[0].window.len(), 2);
    let facts = record.facts().unwrap();
    assert_eq!(facts.get_count("cpu.logical"), Some(2));
    assert_eq!(facts.get_text("virtualisation.hypervisor"), Some("QEMU, TCG"));
    assert!(facts.get_text("host.kernel.release").is_some());
    let machine = record.subjects[0].machine.to_string();
    assert!(
        machine.starts_with("qemu:cpus=2,sockets=1,memory=1024M,kernel=/") && machine.contains("/vmlinuz"),
        "{machine}"
    );
    lab.assert_nothing_left();
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn two_sockets_are_two_nodes() {
    let lab = Lab::new();
    guest_directory();
    let output = lab.run(&[
        "check",
        "--facts",
        "--on",
        "qemu:cpus=4,sockets=2,append=transparent_hugepage=never",
        "--format",
        "json",
    ]);
    let facts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = crate::lab::stdout(&output);
    assert!(text.contains("numa.node1.cpus") && text.contains("\"2-3\""), "{text}");
    assert!(text.contains("\"huge_pages.transparent\"") && text.contains("\"never\""), "{facts}");
    lab.assert_nothing_left();
}

/// Outcome of one variant of `troubled`.
fn trouble(lab: &Lab, variant: &str) -> Outcome {
    let directory = troubled(lab);
    let mut command = lab.command(&["run", &format!("troubled:{variant}"), "--on", "qemu:cpus=1", "--limit", "10s"]);
    let output = command.args(ONCE).arg("--guest").arg(directory).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}{}", crate::lab::stdout(&output), crate::lab::stderr(&output));
    lab.assert_nothing_left();
    lab.record(1).attempts[0].outcome.clone().unwrap()
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_panic_is_recorded_with_the_end_of_the_console() {
    match trouble(&Lab::new(), "panic") {
        Outcome::GuestFailed { how: GuestFailure::Panicked, text, console } => {
            assert_eq!(text, "the guest's kernel panicked: Kernel panic - not syncing: sysrq triggered crash");
            assert!(console.contains("Call Trace"), "{console}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_guest_that_hangs_is_switched_off() {
    match trouble(&Lab::new(), "hang") {
        Outcome::GuestFailed { how: GuestFailure::Hung, text, .. } => {
            assert_eq!(text, "the guest did not end within its limit of 10.0 s; powered off");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_crash_in_a_guest_is_that_of_the_workload() {
    let expected = Outcome::Crashed { signal: 6, stderr: "about to crash\nnow\n".into() };
    assert_eq!(trouble(&Lab::new(), "crash"), expected);
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn output_that_is_cut_off_is_seen_to_be() {
    let outcome = trouble(&Lab::new(), "cut");
    assert!(matches!(&outcome, Outcome::Rubbish { .. }), "{outcome:?}");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_workload_that_is_not_in_the_guest_is_refused() {
    let lab = Lab::new();
    let directory = troubled(&lab);
    let arguments = ["run", "zero_fill", "--on", "qemu:cpus=1", "--guest", directory.to_str().unwrap()];
    crate::lab::assert_refused(&lab.run(&arguments), 2, "there is no workload 'zero_fill'");
    lab.assert_nothing_left();
    assert!(!lab.db().exists());
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn images_that_do_not_boot_are_refused() {
    let lab = Lab::new();
    let image = lab.path("bzImage");
    fs::write(&image, "no kernel\n".repeat(1000)).unwrap();
    let on = format!("qemu:cpus=1,boot_limit=5s,kernel={}", image.display());
    crate::lab::assert_refused(&run(&lab, &["zero_fill", "--on", &on]), 2, "bzImage is not a kernel image");
    // The header of a kernel without its body. The emulator executes invalid code.
    let mut head = fs::read(kernel().path).unwrap();
    head[0x1000..].fill(0xf4);
    fs::write(&image, head).unwrap();
    crate::lab::assert_refused(
        &run(&lab, &["zero_fill", "--on", &on]),
        1,
        "did not come up, and printed nothing for 5.0 s",
    );
    let panics = "qemu:cpus=1,append=rdinit=/nowhere,append=root=/dev/nothing";
    crate::lab::assert_refused(&run(&lab, &["zero_fill", "--on", panics]), 1, "Kernel panic - not syncing");
    let slow = "qemu:cpus=1,boot_limit=300ms";
    crate::lab::assert_refused(
        &run(&lab, &["zero_fill", "--on", slow]),
        1,
        "did not come up, and printed nothing for 0.3 s",
    );
    crate::lab::assert_refused(
        &run(&lab, &["zero_fill", "--on", "qemu:kernel=/nowhere/at/all"]),
        2,
        "cannot read the kernel image",
    );
    lab.assert_nothing_left();
    assert!(!lab.db().exists());
}

#[test]
#[ignore = "needs the guest's programs: make test-guest"]
fn what_is_missing_is_named() {
    let lab = Lab::new();
    let directory = troubled(&lab);
    let guest = directory.to_str().unwrap();
    let arguments = ["run", "troubled", "--on", "qemu:cpus=1", "--guest", guest];
    compile("troubled.c", &directory.join("workloads/troubled"), &[]);
    crate::lab::assert_refused(&lab.run(&arguments), 1, "it needs shared libraries, which a guest does not have");
    fs::remove_file(directory.join("agent")).unwrap();
    crate::lab::assert_refused(&lab.run(&arguments), 1, "/agent into a guest: No such file");
}

/// Blocks of two short executions.
const LONG: &[&str] = &[
    "run",
    "path_stat:distinct",
    "--on",
    "qemu:cpus=2",
    "--tasks",
    "1,2",
    "--repeats",
    "2",
    "--warmup",
    "0ms",
    "--window",
    "100ms",
    "--interval",
    "100ms",
    "--quiet",
];

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_killed_command_leaves_no_emulator_and_the_rest_can_be_resumed() {
    let lab = Lab::new();
    guest_directory();
    let ended = |lab: &Lab| {
        let store = Store::open_existing(&lab.db()).ok()?;
        Some(store.list_runs().ok()?.first()?.ended)
    };
    let child = lab.command(LONG).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let wait_for = |count: u32| {
        crate::lab::await_boot("the end of an execution", || ended(&lab).is_some_and(|ended| ended >= count));
    };
    wait_for(1);
    crate::lab::kill(child);
    lab.assert_nothing_left();

    let child = lab.command(&["resume", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(2);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", crate::lab::stderr(&stopped));
    lab.assert_nothing_left();

    let last = lab.run(&["resume", "--quiet"]);
    assert!(last.status.success(), "{}{}", crate::lab::stdout(&last), crate::lab::stderr(&last));
    let record = lab.record(1);
    for item in &record.plan {
        assert_eq!(record.final_attempt(item.ordinal).unwrap().outcome, Some(Outcome::Done));
    }
    assert_eq!(record.sessions.len(), 3);
    assert!(record.sessions.iter().all(|session| session.facts[0].get_count("cpu.logical") == Some(2)));
    lab.assert_nothing_left();
}

fn plugin(lab: &Lab) -> Plugin {
    let file = lab.path("plug,in.so");
    compile("plugin.c", &file, &["-shared", "-fPIC"]);
    let told = lab.path("told").to_str().unwrap().to_owned();
    let values = vec![("output".to_owned(), told), ("list".to_owned(), "1,2".to_owned())];
    Plugin { file, values, directory: None }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn symbols_offsets_and_a_plugin_come_with_a_boot() {
    let lab = Lab::new();
    let machine = machine(&lab, guest_directory());
    let stop = StopFlag::default();
    let symbols = machine.symbols(&stop).unwrap();
    assert!(symbols.len() > 10_000, "{}", symbols.len());
    assert!(symbols.iter().any(|symbol| symbol.name == "_text" && symbol.address == 0xffff_ffff_8100_0000));
    assert_eq!(machine.symbols(&stop).unwrap(), symbols, "those of the cache");
    let array = symbols.iter().find(|symbol| symbol.name == "__per_cpu_offset").unwrap().address;

    let words = ["--variant", "base", "--mode", "process", "--tasks", "2", "--ops", "100"];
    let execution = Execution {
        workload: "zero_fill".to_owned(),
        arguments: words.map(str::to_owned).to_vec(),
        limit: Duration::from_secs(60),
        directory: None,
        environment: Vec::new(),
        system_settings: Vec::new(),
        attachment: Attachment::Already,
    };
    let plugin = plugin(&lab);
    let wanted = GuestExecution {
        execution: &execution,
        plugin: Some(&plugin),
        at_end: None,
        per_cpu_offset: Some(array),
        program: None,
        seed: None,
    };
    let mut lines = Vec::new();
    let executed = machine.execute_in_guest(
        &wanted,
        &mut |line| {
            lines.push(String::from_utf8(line.to_vec()).unwrap());
            ControlFlow::Continue(())
        },
        &stop,
    );
    assert_eq!(executed.ending, Ending::Exited { status: 0, stderr: String::new() }, "{}", executed.console);
    assert_eq!(lines.last().unwrap(), "done");
    assert_eq!(executed.no_per_cpu_offsets, None);
    assert_eq!(executed.per_cpu_offsets.len(), 2);
    assert!(
        executed.per_cpu_offsets.iter().all(|&offset| offset >> 40 == 0x00ff_ff88),
        "{:x?}",
        executed.per_cpu_offsets
    );
    assert_eq!(fs::read_to_string(lab.path("told")).unwrap(), "list=1,2\n");
    lab.assert_nothing_left();
}

const RATIO: &str = "/proc/sys/vm/overcommit_ratio";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Outcome and output of a workload with these settings of the guest's system.
fn execute_with(
    machine: &QemuMachine,
    workload: &str,
    words: &[&str],
    settings: &[(&str, &str)],
) -> (Ending, Vec<String>) {
    let execution = Execution {
        workload: workload.to_owned(),
        arguments: words.iter().map(|word| (*word).to_owned()).collect(),
        limit: Duration::from_secs(60),
        directory: None,
        environment: vec![("GREETING".to_owned(), "hello = you".to_owned())],
        system_settings: settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect(),
        attachment: Attachment::Already,
    };
    let mut lines = Vec::new();
    let sink = &mut |line: &[u8]| {
        lines.push(String::from_utf8(line.to_vec()).unwrap());
        ControlFlow::Continue(())
    };
    let ending = machine.execute(&execution, sink, &StopFlag::default());
    (ending, lines)
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn environment_and_settings_reach_a_guest() {
    let lab = Lab::new();
    let directory = troubled(&lab);
    compile("shows.c", &directory.join("workloads/shows"), &["-static"]);
    fs::copy(guest_directory().join("workloads/program"), directory.join("workloads/program")).unwrap();
    let machine = machine(&lab, directory);
    let well = Ending::Exited { status: 0, stderr: String::new() };

    let (ending, lines) = execute_with(&machine, "shows", &[], &[(RATIO, "47"), (HUGE_PAGES, "never")]);
    assert_eq!(
        (ending, lines),
        (well.clone(), ["hello = you", "47", "always madvise [never]"].map(str::to_owned).to_vec())
    );
    for (settings, reason) in [
        (
            [(HUGE_PAGES, "never"), (RATIO, "much")],
            "/proc/sys/vm/overcommit_ratio can't be set to 'much': Invalid argument",
        ),
        (
            [("/proc/sys/vm/none", "1"), (RATIO, "47")],
            "/proc/sys/vm/none can't be set to '1': No such file or directory",
        ),
    ] {
        let (ending, lines) = execute_with(&machine, "shows", &[], &settings);
        assert_eq!((ending, lines), (Ending::NotStarted { text: reason.to_owned() }, Vec::new()));
    }
    // Each execution has its own boot. A command of the user can run there too, if the guest has
    // it.
    let (ending, lines) = execute_with(&machine, "program", &["--tasks", "2", "--", "/workloads/shows"], &[]);
    assert_eq!(ending, well);
    assert!(lines.iter().any(|line| line.starts_with("measure real_s s lower 0.")), "{lines:?}");
    let (ending, lines) = execute_with(&machine, "shows", &[], &[]);
    assert_eq!((ending, &*lines[0], &*lines[1]), (well, "hello = you", "50"));
    lab.assert_nothing_left();
}
