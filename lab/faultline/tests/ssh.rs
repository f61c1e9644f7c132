//! Workloads on a host over SSH: a real OpenSSH server on loopback. Runs are stored like others.
//! Problems of a host are refused before anything runs. A cut connection loses at most one
//! execution, and nothing stays on the host.

pub mod routed;
pub mod server;

use crate::lab::{Lab, assert_refused, await_that, stderr, stdout};
use crate::ssh::routed::{FAR, NEAR, Routed};
use crate::ssh::server::Server;
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::record::{Attempt, RunRecord, RunState};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};

const SHORT: [&str; 10] =
    ["--tasks", "1", "--repeats", "2", "--warmup", "0ms", "--window", "300ms", "--interval", "100ms"];

/// Twenty executions, long enough to disturb one of them.
const LONG: [&str; 12] = [
    "path_stat:distinct",
    "--tasks",
    "1",
    "--repeats",
    "20",
    "--warmup",
    "0ms",
    "--window",
    "400ms",
    "--interval",
    "20ms",
    "--quiet",
];

/// The command with the guest's parts.
fn command(lab: &Lab, arguments: &[&str]) -> std::process::Command {
    let mut command = lab.command(arguments);
    command.env("FAULTLINE_GUEST", crate::lab::guest::guest_directory()).current_dir(lab.path(""));
    command
}

fn run(lab: &Lab, arguments: &[&str]) -> Output {
    command(lab, arguments).output().unwrap()
}

#[track_caller]
fn output_of(lab: &Lab, arguments: &[&str]) -> String {
    let output = run(lab, arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// A long run on the host, after some of its executions have ended.
fn under_way(lab: &Lab, on: &str) -> Child {
    let words: Vec<&str> = ["run"].into_iter().chain(LONG).chain(["--on", on]).collect();
    let child = command(lab, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_that("some executions", || lab.attempts().is_some_and(|count| count >= 3));
    child
}

#[track_caller]
fn assert_nothing_left(lab: &Lab, server: &Server) {
    lab.assert_nothing_left();
    assert_eq!(server.left(), Vec::<String>::new());
}

/// Resumes, and checks that exactly one attempt of each item succeeded.
#[track_caller]
fn assert_resumed(lab: &Lab) -> RunRecord {
    output_of(lab, &["resume", "--quiet"]);
    let record = lab.record(1);
    assert_eq!((record.state, record.plan.len()), (RunState::Finished, 20));
    for item in &record.plan {
        let own = record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal);
        assert_eq!(own.filter(|attempt| attempt.outcome == Some(Outcome::Done)).count(), 1, "item {}", item.ordinal);
    }
    record
}

fn lost(record: &RunRecord) -> usize {
    let is_lost = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::ConnectionLost { .. }));
    record.attempts.iter().filter(|attempt| is_lost(&attempt.outcome)).count()
}

#[test]
fn a_run_on_a_host_is_stored_with_its_facts_and_leaves_nothing_there() {
    let lab = Lab::new();
    let server = Server::start(&lab);
    let on = server.machine();
    let words: Vec<&str> = ["run", "path_stat", "fork_exit", "--on", &on].into_iter().chain(SHORT).collect();
    let table = output_of(&lab, &words);
    assert!(table.contains("path_stat"), "{table}");
    assert_nothing_left(&lab, &server);

    let record = lab.record(1);
    assert_eq!(record.state, RunState::Finished);
    assert!(record.attempts.iter().all(|attempt| attempt.outcome == Some(Outcome::Done)), "{:?}", record.attempts);
    let Machine::Ssh(host) = &record.subjects[0].machine else { panic!("{:?}", record.subjects) };
    assert_eq!(host.destination(), server.destination());
    let facts = record.all_facts().next().unwrap();
    // The host is this machine, so the facts are equal.
    let own = |name: &str| fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).unwrap().trim().to_owned();
    assert_eq!(facts.get_text("kernel.release"), Some(&*own("osrelease")));
    assert_eq!(facts.get_text("host.name"), Some(&*own("hostname")));
    assert_eq!(facts.get_text("boot.id"), Some(&*own("random/boot_id")));
    let usable = std::thread::available_parallelism().unwrap().get() as i64;
    assert!(facts.get_count("cpu.usable").is_some_and(|cpus| cpus >= usable), "{facts:?}");
    assert!(facts.get_text("workload.path_stat.sha256").is_some());

    assert!(output_of(&lab, &["check", "--facts", "--on", &on]).contains(&own("osrelease")));
    assert!(output_of(&lab, &["run", "--list", "--on", &on]).contains("path_stat"));
    assert!(output_of(&lab, &["show", "1"]).contains("path_stat"));
    assert_nothing_left(&lab, &server);
}

#[test]
fn ends_of_a_network_may_be_hosts() {
    for from in ["host", "ssh"] {
        let lab = Lab::new();
        let server = Server::start(&lab);
        let (machine, receiver) = (server.machine(), format!("receiver={}", server.machine()));
        let on = if from == "ssh" { &machine } else { "host" };
        let words = ["run", "tcp_rr:ipv4", "udp_stream:ipv4", "--on", on, "--partner", &receiver, "--quiet"];
        let table = output_of(&lab, &words.into_iter().chain(SHORT).collect::<Vec<_>>());
        assert!(table.contains("receiver: peers_cpus_busy"), "{table}");
        assert_nothing_left(&lab, &server);
        let record = lab.record(1);
        assert_eq!(record.attempts.len(), 4);
        assert!(record.attempts.iter().all(|attempt| attempt.outcome == Some(Outcome::Done)), "{:?}", record.attempts);
    }
    // One end on this host, measured from a host. The connection uses IPv4, so there is no other
    // route.
    let lab = Lab::new();
    let server = Server::start(&lab);
    let machine = server.machine();
    let words = ["run", "udp_rr:ipv4", "udp_rr:ipv6", "--on", &machine, "--partner", "receiver=host", "--quiet"];
    output_of(&lab, &words.into_iter().chain(SHORT).collect::<Vec<_>>());
    assert_nothing_left(&lab, &server);
    let unsupported =
        |outcome: &Outcome| matches!(outcome, Outcome::Unsupported { text, .. } if text.ends_with("(the receiver)"));
    let record = lab.record(1);
    let outcomes: Vec<_> = record.attempts.iter().map(|attempt| attempt.outcome.as_ref().unwrap()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| unsupported(outcome)).count(), 2, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| ***outcome == Outcome::Done).count(), 2, "{outcomes:?}");
}

/// Each host has its own address. The forwarder is a host on the route between the others.
#[test]
fn hosts_of_a_network_send_receive_and_forward() {
    let lab = Lab::new();
    let server = Server::start(&lab);
    let Some(routed) = Routed::start(&server) else { return };
    let (near, far) = (server.machine_at(NEAR), server.machine_at(FAR));
    let (receiver, forwarder) = (format!("receiver={far}"), format!("forwarder={near}"));
    let through = ["run", "tcp_stream:send", "udp_rr:ipv4", "--partner", &receiver, "--partner", &forwarder, "--quiet"];
    let between = ["run", "tcp_rr:ipv4", "--on", &near, "--partner", &receiver, "--quiet"];
    for (number, words) in [&through[..], &between].into_iter().enumerate() {
        let words: Vec<&str> = words.iter().copied().chain(SHORT).collect();
        let output = routed.inside(&command(&lab, &words)).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}{}", stdout(&output), stderr(&output));
        assert_nothing_left(&lab, &server);
        let record = lab.record(number as i64 + 1);
        assert!(record.attempts.iter().all(|attempt| attempt.outcome == Some(Outcome::Done)), "{:?}", record.attempts);
    }
    let record = lab.record(1);
    let forwarded = |attempt: &Attempt| {
        let counters = attempt.counters.iter().filter(|(name, _)| *name == "forwarder:net.Ip.ForwDatagrams");
        counters.map(|(_, count)| *count).sum::<i64>()
    };
    assert!(record.attempts.iter().all(|attempt| forwarded(attempt) > 100), "{:?}", record.attempts);
}

#[test]
fn sides_of_a_comparison_may_be_on_hosts() {
    let lab = Lab::new();
    let server = Server::start(&lab);
    let (on, env) = (format!("on={}", server.machine()), format!("on={} env.MALLOC_ARENA_MAX=1", server.machine()));
    let sides = ["compare", "path_stat:distinct", "--a", &on, "--b", &env, "--once", "--format", "json"];
    let words: Vec<&str> = sides.into_iter().chain(SHORT).collect();
    assert!(output_of(&lab, &words).contains("MALLOC_ARENA_MAX"));
    assert_nothing_left(&lab, &server);
    let kernel = ["compare", "path_stat:distinct", "--a", &on, "--b", "kernel=ssh/log"];
    assert_refused(&run(&lab, &kernel), 2, "a kernel image runs in a guest");
    let away = ["compare", "--a", &format!("{on} command=true"), "--b", &on];
    assert_refused(&run(&lab, &away), 2, "cannot run on another machine");
}

#[test]
fn what_is_wrong_with_a_host_is_refused_before_anything_runs() {
    let lab = Lab::new();
    let mut server = Server::start(&lab);
    let (on, destination) = (server.machine(), server.destination());
    let refused = |on: &str, problem: &str, hint: &str| {
        let words: Vec<&str> = ["run", "path_stat", "--on", on].into_iter().chain(SHORT).collect();
        let output = run(&lab, &words);
        assert_refused(&output, 2, problem);
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
        assert!(!lab.db().exists());
        assert_nothing_left(&lab, &server);
    };
    server.know_nothing();
    refused(&on, &format!("the host key of {destination} is not known"), "ssh-keyscan -p");
    server.know("other_key");
    refused(&on, &format!("the host key of {destination} has changed"), "ssh-keygen -R");
    server.know("host_key");
    refused(&format!("{on},identity=/nowhere/key"), "cannot use /nowhere/key as the key file", "existing");
    refused(&format!("{on},scratch=/nowhere"), "cannot run programs on", "scratch=");
    server.authorise("other_key");
    refused(&on, &format!("{destination} accepts none of your keys"), "identity=FILE");
    let other = server.path("other_key");
    let by_other_key = format!("{on},identity={}", other.display());
    output_of(&lab, &["run", "--list", "--on", &by_other_key]);
    server.stop();
    let output = run(&lab, &["run", "--list", "--on", &on]);
    assert_refused(&output, 2, &format!("cannot connect to {destination}: ssh: connect to host 127.0.0.1"));
}

#[test]
fn a_host_that_asks_for_a_password_is_reported_and_gets_none() {
    let lab = Lab::new();
    let server = Server::start_with(&lab, "PasswordAuthentication yes\n");
    server.authorise("other_key");
    let output = run(&lab, &["run", "--list", "--on", &server.machine()]);
    assert_refused(&output, 2, "asks for a password");
    assert!(stderr(&output).contains("passwords never"), "{}", stderr(&output));
}

#[test]
fn a_connection_that_is_cut_loses_one_execution_and_the_run_goes_on_later() {
    let lab = Lab::new();
    let mut server = Server::start(&lab);
    let on = server.machine();
    let child = under_way(&lab, &on);
    server.cut();
    let cut = child.wait_with_output().unwrap();
    assert_refused(&cut, 1, &format!("the connection to {} was lost", server.destination()));
    assert!(stderr(&cut).contains("`faultline resume 1` continues"), "{}", stderr(&cut));
    assert_nothing_left(&lab, &server);
    assert_eq!(lost(&lab.record(1)), 1);

    server.stop();
    assert_refused(&run(&lab, &["resume", "--quiet"]), 2, "cannot connect to");
    server.listen();
    let record = assert_resumed(&lab);
    assert_eq!(lost(&record), 1);
    assert_nothing_left(&lab, &server);
}

#[test]
fn a_server_that_is_restarted_without_its_connections_is_not_noticed() {
    let lab = Lab::new();
    let mut server = Server::start(&lab);
    let child = under_way(&lab, &server.machine());
    server.restart_listener();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(lost(&lab.record(1)), 0);
    assert_nothing_left(&lab, &server);
}

#[test]
fn ctrl_c_leaves_nothing_on_the_host() {
    let lab = Lab::new();
    let server = Server::start(&lab);
    let child = under_way(&lab, &server.machine());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", stderr(&stopped));
    assert_nothing_left(&lab, &server);
    assert_resumed(&lab);
    assert_nothing_left(&lab, &server);
}

#[test]
fn a_kill_leaves_nothing_on_the_host() {
    let lab = Lab::new();
    let server = Server::start(&lab);
    crate::lab::kill(under_way(&lab, &server.machine()));
    assert_eq!(lab.left_over(), Vec::<String>::new());
    await_that("an empty host", || server.left().is_empty());
    assert_resumed(&lab);
    assert_nothing_left(&lab, &server);
}

/// Outcome of one variant of `troubled` on a host.
fn trouble(variant: &str) -> Outcome {
    let lab = Lab::new();
    let server = Server::start(&lab);
    let guest = crate::lab::guest::troubled(&lab);
    let (workload, on) = (format!("troubled:{variant}"), server.machine());
    let words: Vec<&str> = ["run", &workload, "--on", &on, "--limit", "2s"].into_iter().chain(SHORT).collect();
    let output = lab.command(&words).arg("--guest").arg(guest).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    assert_nothing_left(&lab, &server);
    let record = lab.record(1);
    assert_eq!(record.attempts.len(), 2, "the connection serves the next execution, too");
    record.attempts[0].outcome.clone().unwrap()
}

#[test]
fn workloads_that_get_into_trouble_are_recorded_as_on_this_host() {
    assert_eq!(trouble("crash"), Outcome::Crashed { signal: 6, stderr: "about to crash\nnow\n".into() });
    assert_eq!(trouble("hang"), Outcome::TimedOut { limit_ms: 2000 });
    // Two processes, one of which is not the agent's child.
    assert_eq!(trouble("deadlock"), Outcome::TimedOut { limit_ms: 2000 });
    assert!(matches!(trouble("cut"), Outcome::Rubbish { .. }));
}

#[test]
fn hostile_names_do_nothing() {
    let lab = Lab::new();
    let server = Server::start(&lab);
    let planted = lab.path("planted");
    let inject = format!("touch {}", planted.display());
    for name in [
        format!("-oProxyCommand={inject}"),
        format!("a;{inject}"),
        format!("$({inject})@127.0.0.1"),
        format!("-l@127.0.0.1 {inject}"),
        "a\u{1b}[2Jb".to_owned(),
    ] {
        let output = run(&lab, &["run", "path_stat", "--on", &format!("ssh:{name}")]);
        assert_eq!(output.status.code(), Some(2), "{name:?}");
        assert!(stderr(&output).contains("is not the name of a"), "{}", stderr(&output));
    }
    // A directory of the host may have any name.
    let scratch =
        server.path(&format!("a 'b' \"c\" `{}` $({}) \\ !x;", inject.replace('/', ","), inject.replace('/', ",")));
    fs::create_dir(&scratch).unwrap();
    let on = format!("{},scratch={}", server.machine(), scratch.display().to_string().replace(',', ",,"));
    let words: Vec<&str> = ["run", "path_stat:distinct", "--on", &on].into_iter().chain(SHORT).collect();
    output_of(&lab, &words);
    assert!(!planted.exists());
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
    assert_nothing_left(&lab, &server);
}
