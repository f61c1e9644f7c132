//! A host over SSH that claims to be a BSD. It is this machine: its `uname` and `sysctl` are
//! scripts that print FreeBSD's output, and its agent and workloads are built without Linux code
//! (`-U__linux__`). This covers the choice of programs, the facts, the settings, and the agent's
//! POSIX code. Calls that only a BSD has are not tested.

use crate::lab::{Lab, MARK, assert_refused, stderr, stdout};
use crate::ssh::server::Server;
use faultline_record::outcome::Outcome;
use faultline_record::record::RunState;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Tasks are not pinned to CPUs, because POSIX has no call for it.
const SHORT: [&str; 13] = [
    "--tasks",
    "1",
    "--repeats",
    "2",
    "--warmup",
    "0ms",
    "--window",
    "300ms",
    "--interval",
    "100ms",
    "--pin",
    "none",
    "--quiet",
];

/// Output of `sysctl NAME…` on the host. For unknown names it prints an error, and ends with status
/// 1.
const PRINTED: &str = "kern.ostype: FreeBSD\nkern.osrelease: 14.1-RELEASE\nkern.version: FreeBSD 14.1-RELEASE GENERIC\n\n\
    kern.hostname: lab.example\nkern.boottime: { sec = 1732700000, usec = 123456 } Wed Nov 27 09:33:20 2026\nhw.ncpu: 3\n\
    hw.physmem: 17100009472\nvm.loadavg: { 0.15 0.22 0.19 }\n";

/// A `sysctl` with one setting, whose value is a file. It logs each write.
const SYSCTL: &str = "#!/bin/sh
here=$(dirname \"$0\")
case $1=$2 in
-n=kern.ipc.knob) cat \"$here/knob\" ;;
-w=kern.ipc.knob=*) echo \"${2#*=}\" | tee -a \"$here/written\" >\"$here/knob\" ;;
-*) echo \"sysctl: unknown oid '$2'\" >&2; exit 1 ;;
*) cat \"$here/printed\"; echo \"sysctl: unknown oid 'hw.ncpuonline'\" >&2; exit 1 ;;
esac
";

/// The directory of the host's own programs.
fn host(lab: &Lab) -> PathBuf {
    lab.path("host")
}

fn script(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Starts a server on a host that claims to be this system.
fn start(lab: &Lab, system: &str) -> Server {
    let host = host(lab);
    fs::create_dir(&host).unwrap();
    script(&host.join("uname"), &format!("#!/bin/sh\necho {system}\n"));
    script(&host.join("sysctl"), SYSCTL);
    fs::write(host.join("printed"), PRINTED).unwrap();
    fs::write(host.join("knob"), "1\n").unwrap();
    let (mark, there) = (lab.mark(), lab.path("ssh"));
    let environment = format!(
        "SetEnv {MARK}={mark} TMPDIR={}/remote PATH={}:/usr/sbin:/usr/bin:/sbin:/bin\n",
        there.display(),
        host.display()
    );
    Server::start_with(lab, &environment)
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap().to_owned()
}

/// Runs make in `directory`.
fn make(directory: &str, words: &[&str]) {
    let mut command = Command::new("make");
    command.arg("--silent").arg("-C").arg(sources().join(directory)).args(words);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

/// The agent, built without Linux code.
fn agent(lab: &Lab) -> PathBuf {
    make("lab/targets/guest", &["portable", &format!("BUILD={}", lab.path("agent").display())]);
    lab.path("agent-portable/agent")
}

/// A directory of guest parts that has programs only for FreeBSD.
fn guest(lab: &Lab) -> PathBuf {
    let workloads = lab.path("guest/x86_64-freebsd/workloads");
    fs::create_dir_all(&workloads).unwrap();
    fs::copy(agent(lab), workloads.with_file_name("agent")).unwrap();
    let (build, program) = (format!("BUILD={}", workloads.display()), workloads.join("path_stat"));
    make("workloads", &[&build, "TARGET_FLAGS=-U__linux__ -U__linux", program.to_str().unwrap()]);
    crate::lab::guest::compile("troubled.c", &workloads.join("troubled"), &[]);
    lab.path("guest")
}

fn run(lab: &Lab, words: &[&str]) -> Output {
    let mut command = lab.command(words);
    command.args(SHORT).arg("--guest").arg(lab.path("guest")).current_dir(lab.path(""));
    command.output().unwrap()
}

#[track_caller]
fn assert_nothing_left(lab: &Lab, server: &Server) {
    lab.assert_nothing_left();
    assert_eq!(server.left(), Vec::<String>::new());
}

#[test]
fn a_bsd_gets_its_own_programs_and_says_its_facts_by_sysctl() {
    let lab = Lab::new();
    let server = start(&lab, "FreeBSD amd64");
    let guest = guest(&lab);
    let output = run(&lab, &["run", "path_stat:distinct", "--on", &server.machine()]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_nothing_left(&lab, &server);

    let record = lab.record(1);
    assert_eq!(record.state, RunState::Finished);
    assert!(record.attempts.iter().all(|attempt| attempt.outcome == Some(Outcome::Done)), "{:?}", record.attempts);
    let facts = record.all_facts().next().unwrap();
    for (key, value) in [
        ("kernel.name", "FreeBSD"),
        ("kernel.release", "14.1-RELEASE"),
        ("kernel.version", "FreeBSD 14.1-RELEASE GENERIC"),
        ("host.name", "lab.example"),
        ("cpu.architecture", "amd64"),
        ("boot.id", "{ sec = 1732700000, usec = 123456 } Wed Nov 27 09:33:20 2026"),
    ] {
        assert_eq!(facts.get_text(key), Some(value));
    }
    assert_eq!((facts.get_count("cpu.usable"), facts.get_count("cpu.logical")), (Some(3), Some(3)));
    assert_eq!(facts.get_count("memory.total_bytes"), Some(17_100_009_472));
    let sent = Command::new("sha256sum").arg(guest.join("x86_64-freebsd/workloads/path_stat")).output().unwrap();
    let digest = facts.get_text("workload.path_stat.sha256").unwrap();
    assert!(stdout(&sent).starts_with(digest), "{digest}");
}

#[test]
fn settings_of_a_bsd_are_changed_by_sysctl_and_put_back() {
    let lab = Lab::new();
    let server = start(&lab, "FreeBSD amd64");
    guest(&lab);
    let (a, b) = (format!("on={}", server.machine()), format!("on={} sysctl.kern.ipc.knob=7", server.machine()));
    let output = run(&lab, &["compare", "path_stat:distinct", "--a", &a, "--b", &b, "--once"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(lab.record(1).attempts.iter().all(|attempt| attempt.outcome == Some(Outcome::Done)));
    let written = fs::read_to_string(host(&lab).join("written")).unwrap();
    assert!(written.starts_with("7\n1\n") && written.ends_with("7\n1\n"), "{written}");
    assert_eq!(fs::read_to_string(host(&lab).join("knob")).unwrap(), "1\n");

    let unknown = format!("on={} sysctl.kern.none=7", server.machine());
    let output = run(&lab, &["compare", "path_stat:distinct", "--a", &a, "--b", &unknown, "--once"]);
    assert!(!output.status.success(), "{}", stdout(&output));
    let is_refused = |outcome: &Outcome| format!("{outcome:?}").contains("kern.none can't be read");
    let record = lab.record(2);
    assert!(record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()).any(is_refused), "{record:?}");
    assert_nothing_left(&lab, &server);
}

#[test]
fn a_system_without_programs_is_refused_with_what_builds_them() {
    for (system, directory, hint) in [
        ("FreeBSD amd64", "x86_64-freebsd", "`make guest-bsd` builds the programs"),
        ("DragonFly x86_64", "x86_64-dragonfly", "`make guest-bsd` does not build for it"),
    ] {
        let lab = Lab::new();
        let server = start(&lab, system);
        fs::create_dir(lab.path("guest")).unwrap();
        let output = run(&lab, &["run", "path_stat", "--on", &server.machine()]);
        let missing = lab.path("guest").join(directory);
        let problem = format!("there are no programs for {system}: {} is missing", missing.display());
        assert_refused(&output, 2, &format!("cannot connect to {}: {problem}", server.destination()));
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
        assert!(!lab.db().exists());
        assert_nothing_left(&lab, &server);
    }
}

#[test]
fn workloads_that_hang_are_killed_with_their_process_group() {
    let lab = Lab::new();
    let server = start(&lab, "FreeBSD amd64");
    guest(&lab);
    for (number, variant, outcome) in [
        (1, "hang", Outcome::TimedOut { limit_ms: 2000 }),
        (2, "deadlock", Outcome::TimedOut { limit_ms: 2000 }),
        (3, "crash", Outcome::Crashed { signal: 6, stderr: "about to crash\nnow\n".into() }),
    ] {
        let workload = format!("troubled:{variant}");
        let output = run(&lab, &["run", &workload, "--on", &server.machine(), "--limit", "2s"]);
        assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
        assert_nothing_left(&lab, &server);
        let record = lab.record(number);
        assert_eq!(record.attempts.len(), 2, "the connection serves the next execution, too");
        assert_eq!(record.attempts[0].outcome, Some(outcome));
    }
}

/// The agent's answer to a plan with one shell command, until its input ends, and the time it took.
fn answer(lab: &Lab, shell: &str, limit_ms: u32) -> (String, Duration) {
    let directory = lab.path("served");
    fs::create_dir_all(&directory).unwrap();
    let began = Instant::now();
    let mut agent = Command::new(agent(lab))
        .arg("serve")
        .arg(&directory)
        .env(MARK, lab.mark())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let plan: Vec<u8> =
        ["4", "run", "/bin/sh", "-c", shell].iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    let mut input = agent.stdin.take().unwrap();
    input.write_all(format!("do {} {limit_ms}\n", plan.len()).as_bytes()).unwrap();
    input.write_all(&plan).unwrap();
    let (mut said, mut output) = (Vec::new(), agent.stdout.take().unwrap());
    let mut byte = [0];
    while !said.ends_with(b"\nend 0 \n") && output.read(&mut byte).unwrap() == 1 {
        said.push(byte[0]);
    }
    drop(input);
    assert!(agent.wait().unwrap().success());
    assert!(!directory.exists());
    (String::from_utf8(said).unwrap(), began.elapsed())
}

#[test]
fn remaining_processes_are_killed_or_reported() {
    let lab = Lab::new();
    let (said, _) = answer(&lab, "sleep 1000 & exec sleep 1000", 300);
    assert!(said.contains("timed-out 3 300"), "{said}");
    lab.assert_nothing_left();
    let (said, _) = answer(&lab, "sleep 1000 >&- 2>&- & echo x", 60_000);
    assert!(said.contains("out 1 x\nexit 1 0\nend"), "{said}");
    lab.assert_nothing_left();
    // The process leaves the process group, and POSIX has no other way to find it.
    let (said, took) = answer(&lab, "setsid sleep 9 >&- 2>&- & sleep 0.3", 60_000);
    assert!(said.contains("exit 1 0\nfailed 29 a process could not be killed\nend"), "{said}");
    assert!(took >= Duration::from_secs(5), "{took:?}");
    crate::lab::await_that("the end of what left", || lab.left_over().is_empty());
}
