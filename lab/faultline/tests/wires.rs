//! Executions whose ends are guests on wires between their emulators: all network workloads,
//! between two guests and through a third that forwards; several flows; and an end that is killed.

use crate::lab::{Lab, assert_refused, await_within, guest, stderr, stdout};
use faultline_record::outcome::Outcome;
use faultline_record::record::RunRecord;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

const GUEST: &str = "qemu:cpus=1,memory=256M";

const WORKLOADS: [&str; 10] = [
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

fn command(lab: &Lab, workloads: &[&str], on: &str, partners: &[&str], more: &[&str]) -> Command {
    let run = ["run", "-q", "--warmup", "50ms", "--interval", "100ms", "--on", on];
    let mut command = guest::command(lab, &[&run, workloads, more].concat());
    command.args(partners.iter().flat_map(|partner| ["--partner".to_owned(), format!("{partner}={GUEST}")]));
    command
}

/// The record of a run, after asserting that every execution succeeded.
fn done(lab: &Lab, mut command: Command) -> RunRecord {
    let output = command.output().unwrap();
    let record = lab.record(1);
    let failed: Vec<_> = record.attempts.iter().filter(|attempt| attempt.outcome != Some(Outcome::Done)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    lab.assert_nothing_left();
    record
}

const ONCE: [&str; 6] = ["--tasks", "1", "--repeats", "1", "--window", "300ms"];

#[test]
#[ignore = "boots guests: make test-guest"]
fn all_workloads_of_the_network_pass_between_two_guests() {
    let lab = Lab::new();
    let record = done(&lab, command(&lab, &WORKLOADS, GUEST, &["receiver"], &ONCE));
    for attempt in &record.attempts {
        let measures: Vec<&str> = attempt.measures.iter().map(|measure| measure.name.as_str()).collect();
        assert!(measures.contains(&"receiver:dropped"), "{measures:?}");
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn all_workloads_of_the_network_pass_through_a_third_guest() {
    let lab = Lab::new();
    let record = done(&lab, command(&lab, &WORKLOADS, GUEST, &["receiver", "forwarder"], &ONCE));
    for attempt in &record.attempts {
        let case = &record.plan.iter().find(|item| item.ordinal == attempt.ordinal).unwrap().cell.case;
        let counter = if case.variant.contains("ipv6") {
            "forwarder:net.Ip6OutForwDatagrams"
        } else {
            "forwarder:net.Ip.ForwDatagrams"
        };
        // The control connections alone take about a dozen packets.
        let passed = attempt.counters.get(counter).copied().unwrap_or(0);
        assert!(passed > 40, "{case}: {passed} packets passed");
        let measures: Vec<&str> = attempt.measures.iter().map(|measure| measure.name.as_str()).collect();
        assert!(measures.contains(&"forwarder:machine_cpus_busy"), "{measures:?}");
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn several_flows_pass() {
    let lab = Lab::new();
    let more = ["--tasks", "1,2", "--repeats", "1", "--window", "300ms"];
    let two = format!("{GUEST},cpus=2").replace("cpus=1,", "");
    done(&lab, command(&lab, &["udp_stream:ipv4", "tcp_stream:send", "tcp_rr:ipv6"], &two, &["receiver"], &more));
}

/// The emulator in this lab that owns this socket as its end of a wire.
fn emulator_at(lab: &Lab, socket: &str) -> Option<i32> {
    let mark = format!("{}={}", crate::lab::MARK, lab.mark());
    let has = |file: String, wanted: &str| {
        fs::read(file).is_ok_and(|text| text.windows(wanted.len()).any(|window| window == wanted.as_bytes()))
    };
    let numbers =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|pid| has(format!("/proc/{pid}/environ"), &mark))
        .filter(|pid| !has(format!("/proc/{pid}/cmdline"), "__keep"))
        .find(|pid| has(format!("/proc/{pid}/cmdline"), &format!("/{socket},remote.type")))
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_receiver_whose_machine_is_gone_is_recorded_and_nothing_stays() {
    let lab = Lab::new();
    let more = ["--tasks", "1", "--repeats", "1", "--window", "200s"];
    let mut command = command(&lab, &["udp_rr:ipv4"], GUEST, &["receiver"], &more);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_measured =
        || lab.attempts().is_some_and(|attempts| attempts > 0) && !lab.record(1).attempts[0].window.is_empty();
    await_within(Duration::from_secs(300), "the measured execution", is_measured);
    let receiver = emulator_at(&lab, "0f").expect("the receiver's emulator");
    kill_process(Pid::from_raw(receiver).unwrap(), Signal::KILL).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    let outcome = lab.record(1).attempts[0].outcome.clone().unwrap();
    assert!(matches!(&outcome, Outcome::PartnerFailed { role, .. } if role.to_string() == "receiver"), "{outcome:?}");
    lab.assert_nothing_left();
}

#[test]
fn guests_and_other_machines_are_not_joined() {
    let lab = Lab::new();
    let mut command = lab.command(&["run", "udp_rr", "--on", GUEST, "--partner", "receiver=netns"]);
    assert_refused(&command.output().unwrap(), 2, "no network joins qemu:");
    assert!(!lab.db().exists());
}
