//! Executions with ends in network namespaces of this host, with real workloads: transmission,
//! failures, and cleanup.
//!
//! If this system or user cannot create namespaces, only the refusals are tested.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::record::{Attempt, RunRecord};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const ENDS: [&str; 6] = ["--on", "netns", "--partner", "receiver=netns", "--partner", "forwarder=netns"];

/// Time limit for the start of a region of interest on a very busy machine.
const BEGIN_LIMIT: Duration = Duration::from_secs(150);

/// The port that partners listen on (docs/FORMATS.md §3).
const ENDS_PORT: u16 = 24719;

const CONNECTION_IN_USE: i64 = 98;
const TIMED_OUT: i64 = 110;

fn run_words<'a>(workloads: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "-q", "--warmup", "50ms", "--interval", "50ms"], workloads, more].concat()
}

fn attempts(lab: &Lab) -> Vec<Attempt> {
    lab.record(1).attempts
}

fn outcomes(lab: &Lab) -> Vec<Outcome> {
    attempts(lab).into_iter().map(|attempt| attempt.outcome.unwrap()).collect()
}

fn partner_failed(role: &str, outcome: Outcome) -> Outcome {
    Outcome::PartnerFailed { role: role.parse().unwrap(), outcome: Box::new(outcome) }
}

/// True if namespaces can be created here. CI machines allow them; a developer may not be root.
fn are_possible() -> bool {
    let tried = Command::new("unshare").args(["--net", "true"]).output();
    let possible = tried.is_ok_and(|output| output.status.success());
    if !possible {
        eprintln!("left out: no network namespaces for this user");
    }
    possible
}

/// The process of this lab whose command line contains these consecutive words.
fn process(lab: &Lab, words: &[&str]) -> Option<i32> {
    let mark = format!("{}={}", crate::lab::MARK, lab.mark());
    let wanted: Vec<u8> = words.join("\0").into_bytes();
    let has = |file: String, wanted: &[u8]| {
        fs::read(file).is_ok_and(|text| text.windows(wanted.len()).any(|window| window == wanted))
    };
    let numbers =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|pid| has(format!("/proc/{pid}/environ"), mark.as_bytes()))
        .filter(|pid| !has(format!("/proc/{pid}/cmdline"), b"__keep"))
        .filter(|pid| has(format!("/proc/{pid}/cmdline"), &wanted))
        .min()
}

/// Starts one long execution. Returns during its region of interest, when the first interval is
/// saved.
fn under_way(lab: &Lab, workload: &str) -> Child {
    let arguments =
        run_words(&[workload], &[&ENDS[..], &["--tasks", "1", "--repeats", "1", "--window", "200s"]].concat());
    let child = lab.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::lab::await_within(BEGIN_LIMIT, "the measured execution", || {
        lab.attempts().is_some_and(|attempts| attempts > 0) && is_measured(lab)
    });
    child
}

fn is_measured(lab: &Lab) -> bool {
    !attempts(lab)[0].window.is_empty()
}

fn finished(lab: &Lab, child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    lab.assert_nothing_left();
    output
}

fn sums(record: &RunRecord, counter: &str) -> Vec<i64> {
    record.attempts.iter().map(|attempt| attempt.counters.get(counter).copied().unwrap_or(0)).collect()
}

#[test]
fn all_workloads_of_the_network_pass_a_router() {
    if !are_possible() {
        return;
    }
    let lab = Lab::new();
    let workloads = [
        "udp_send:loop",
        "udp_send:loop-ipv6",
        "udp_stream",
        "tcp_stream:send",
        "tcp_stream:receive",
        "tcp_stream:both",
        "tcp_connect",
        "tcp_rr",
        "udp_rr",
        "relay",
    ];
    let arguments =
        run_words(&workloads, &[&ENDS[..], &["--tasks", "1", "--repeats", "1", "--window", "300ms"]].concat());
    let output = lab.command(&arguments).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let record = lab.record(1);
    let machines: Vec<_> =
        record.subjects[0].setup.partners.iter().map(|(role, on)| (role.to_string(), on.clone())).collect();
    assert_eq!(machines, [("forwarder".to_owned(), Machine::Netns), ("receiver".to_owned(), Machine::Netns)]);
    assert!(outcomes(&lab).iter().all(|outcome| *outcome == Outcome::Done), "{:?}", outcomes(&lab));
    // The control connections take about a dozen packets. All other packets go through the router,
    // except for the variants of udp_send that send nothing.
    let (ipv4, ipv6) =
        (sums(&record, "forwarder:net.Ip.ForwDatagrams"), sums(&record, "forwarder:net.Ip6OutForwDatagrams"));
    for (attempt, (ipv4, ipv6)) in record.attempts.iter().zip(ipv4.iter().zip(&ipv6)) {
        let case = &record.plan.iter().find(|item| item.ordinal == attempt.ordinal).unwrap().cell.case;
        let passed = if case.variant.contains("ipv6") { ipv6 } else { ipv4 };
        let least = 40;
        assert!(*passed > least, "{case}: {ipv4} {ipv6}");
        let measures: Vec<&str> = attempt.measures.iter().map(|measure| measure.name.as_str()).collect();
        for name in [
            "dropped",
            "receiver:dropped",
            "receiver:peers_cpus_busy",
            "forwarder:dropped",
            "forwarder:machine_cpus_busy",
        ] {
            assert!(measures.contains(&name), "{case}: {measures:?}");
        }
        // The receiver for udp_send reads nothing, so it needs no time. Counters of 0 are left out.
        let reads = case.workload != "udp_send";
        assert_eq!(attempt.counters.contains_key("receiver:peers.cpu_ns"), reads, "{case}");
    }
    for told in ["measured: machine_cpus_busy", "receiver: peers_cpus_busy", "forwarder: machine_cpus_busy"] {
        assert!(stdout(&output).contains(told), "{told}: {}", stdout(&output));
    }
    lab.assert_nothing_left();
}

#[test]
fn flows_have_both_ends_on_one_link_or_in_one_namespace() {
    if !are_possible() {
        return;
    }
    for partner in [&["--partner", "receiver=netns"][..], &[]] {
        let lab = Lab::new();
        let more =
            [&["--on", "netns", "--tasks", "1,2", "--oversubscribe", "--repeats", "1", "--window", "100ms"], partner]
                .concat();
        let output = lab.command(&run_words(&["udp_stream:ipv6", "tcp_rr:ipv4"], &more)).output().unwrap();
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        assert_eq!(outcomes(&lab), vec![Outcome::Done; 4]);
        assert_eq!(stdout(&output).contains("receiver: "), !partner.is_empty());
        lab.assert_nothing_left();
    }
}

#[test]
fn an_end_of_its_own_may_be_on_the_loopback_device() {
    let lab = Lab::new();
    let more = ["--partner", "receiver=host", "--tasks", "1", "--repeats", "1", "--window", "100ms"];
    let output = lab.command(&run_words(&["udp_stream:ipv4", "relay:copy"], &more)).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    lab.assert_nothing_left();
    // All executions use one port: a second receiver on this host finds it taken.
    let lab = Lab::new();
    let _taken = TcpListener::bind(("127.0.0.2", ENDS_PORT)).unwrap();
    let output = lab.command(&run_words(&["tcp_rr:ipv4"], &more)).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = format!("port {ENDS_PORT}: Address already in use");
    let taken = Outcome::Failed { step: "bind".to_owned(), errno: CONNECTION_IN_USE, text };
    assert_eq!(outcomes(&lab), [partner_failed("receiver", taken)]);
    lab.assert_nothing_left();
}

#[test]
fn without_permission_nothing_runs() {
    let dropped = ["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"];
    let lab = Lab::new();
    let usual = lab.command(&run_words(&["udp_rr"], &ENDS));
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(dropped);
    }
    command.arg("--").arg(usual.get_program()).args(usual.get_args());
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert_refused(&command.output().unwrap(), 2, "this user may not make network namespaces");
    assert!(!lab.db().exists());
    lab.assert_nothing_left();
}

#[test]
fn what_no_network_joins_is_refused() {
    let lab = Lab::new();
    for (arguments, problem) in [
        (&["--on", "netns", "--partner", "receiver=host"][..], "no network joins netns and its partners' machines"),
        (&["--partner", "receiver=netns"], "no network joins host and its partners' machines"),
        (&["--partner", "sender=host"], "no selected workload has the role sender"),
        (&["--partner", "forwarder=host"], "there is no end beyond the forwarder"),
    ] {
        assert_refused(&lab.command(&run_words(&["udp_rr"], arguments)).output().unwrap(), 2, problem);
    }
    let unjoined = ["compare", "udp_rr", "--a", "on=netns", "--b", "on=netns partner.receiver=host"];
    assert_refused(&lab.command(&unjoined).output().unwrap(), 2, "no network joins netns and its partners' machines");
    let sides = ["compare", "udp_rr", "--a", "on=netns", "--b", "on=netns sysctl.vm.swappiness=1"];
    assert_refused(
        &lab.command(&sides).output().unwrap(),
        2,
        "/proc/sys/vm/swappiness is not a setting of a network namespace",
    );
    assert!(!lab.db().exists());
}

#[test]
fn a_namespace_has_settings_of_its_own() {
    if !are_possible() {
        return;
    }
    let lab = Lab::new();
    let setting = "/proc/sys/net/ipv4/tcp_sack";
    let before = fs::read_to_string(setting).unwrap();
    let other = if before.trim() == "0" { "1" } else { "0" };
    let b = format!(
        "on=netns partner.receiver=netns sysctl.net.ipv4.tcp_sack={other} sysctl.net.ipv6.conf.all.disable_ipv6=1"
    );
    let sides = [
        "compare",
        "-q",
        "--once",
        "--repeats",
        "1",
        "--tasks",
        "1",
        "--warmup",
        "10ms",
        "--window",
        "50ms",
        "--interval",
        "50ms",
    ];
    let sides =
        [&sides[..], &["udp_rr:ipv4", "udp_rr:ipv6", "--a", "on=netns partner.receiver=netns", "--b", &b]].concat();
    let output = lab.command(&sides).output().unwrap();
    assert!(lab.db().exists(), "{}", stderr(&output));
    let found = outcomes(&lab);
    assert_eq!(found.iter().filter(|outcome| **outcome == Outcome::Done).count(), 3, "{found:?}");
    let is_missing = |outcome: &&Outcome| matches!(outcome, Outcome::Unsupported { step, .. } if step == "connect");
    assert_eq!(found.iter().filter(is_missing).count(), 1, "{found:?}");
    assert_eq!(fs::read_to_string(setting).unwrap(), before);
    lab.assert_nothing_left();
}

#[test]
fn a_receiver_that_is_killed_is_recorded() {
    if !are_possible() {
        return;
    }
    for workload in ["udp_stream:ipv4", "tcp_stream:send"] {
        let lab = Lab::new();
        let child = under_way(&lab, workload);
        let receiver = process(&lab, &["--role", "receiver"]).unwrap();
        kill_process(Pid::from_raw(receiver).unwrap(), Signal::KILL).unwrap();
        let output = finished(&lab, child);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let killed = Outcome::Crashed { signal: 9, stderr: String::new() };
        assert_eq!(outcomes(&lab), [partner_failed("receiver", killed)], "{workload}");
    }
}

#[test]
fn a_link_that_goes_down_is_recorded() {
    if !are_possible() {
        return;
    }
    for workload in ["tcp_rr:ipv4", "udp_stream:ipv4"] {
        // On a very busy machine, a short window may end before the link goes down.
        let outcome = ["10s", "60s", "200s"].into_iter().find_map(|window| with_a_link_down(workload, window));
        match outcome {
            // Either the router reports that there is no route, or no answer comes.
            Some(Outcome::Failed { step, errno, .. }) => {
                let noticed = ["recv", "send", "control"].contains(&step.as_str());
                assert!(noticed && [TIMED_OUT, 101, 113].contains(&errno), "{workload}: {step} {errno}");
            }
            other => panic!("{workload}: {other:?}"),
        }
    }
}

/// Outcome of an execution whose link went down in its window; `None` if the window ended before.
fn with_a_link_down(workload: &str, window: &str) -> Option<Outcome> {
    let lab = Lab::new();
    let more = [&ENDS[..], &["--tasks", "1", "--repeats", "1", "--window", window]].concat();
    let child =
        lab.command(&run_words(&[workload], &more)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::lab::await_within(BEGIN_LIMIT, "the measured execution", || {
        lab.attempts().is_some_and(|attempts| attempts > 0) && is_measured(&lab)
    });
    // If the forwarder is gone, so is its execution.
    let is_down = process(&lab, &["--role", "forwarder"]).is_some_and(|forwarder| {
        let target = forwarder.to_string();
        let words = ["--net", "--target", &target, "ip", "link", "set", "on", "down"];
        Command::new("nsenter").args(words).status().unwrap().success()
    });
    let output = finished(&lab, child);
    let outcome = outcomes(&lab).remove(0);
    if outcome == Outcome::Done {
        eprintln!("the link of {workload} went down after a window of {window}");
        return None;
    }
    assert!(is_down);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    Some(outcome)
}

#[test]
fn ctrl_c_and_a_kill_leave_nothing() {
    if !are_possible() {
        return;
    }
    let lab = Lab::new();
    let child = under_way(&lab, "tcp_stream:send");
    assert!(process(&lab, &["__hold_namespaces"]).is_some());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = finished(&lab, child);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(outcomes(&lab), [Outcome::Interrupted]);

    let lab = Lab::new();
    crate::lab::kill(under_way(&lab, "udp_stream:ipv4"));
    lab.assert_nothing_left();

    // Kill only the holder of the namespaces. The executions in them keep them alive, and continue.
    let lab = Lab::new();
    let child = under_way(&lab, "tcp_rr:ipv4");
    let holder = process(&lab, &["__hold_namespaces"]).unwrap();
    kill_process(Pid::from_raw(holder).unwrap(), Signal::KILL).unwrap();
    crate::lab::await_within(BEGIN_LIMIT, "the end of the holder", || process(&lab, &["__hold_namespaces"]).is_none());
    let intervals = || attempts(&lab)[0].window.len();
    let before = intervals();
    // The first of them may have been measured before the holder ended.
    crate::lab::await_within(BEGIN_LIMIT, "further intervals", || intervals() > before + 20);
    let last = attempts(&lab)[0].window.last().unwrap().operations.iter().sum::<u64>();
    assert!(last > 0, "the ends still reach each other");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = finished(&lab, child);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(outcomes(&lab), [Outcome::Interrupted]);
}
