//! Cost of a clock source, found by comparing a guest with itself. Only the clock source of its
//! kernel differs. Timed in packets per second with a confidence interval, and counted under the
//! lens in instructions.

use crate::lab::guest::command;
use crate::lab::{Lab, lens, stderr, stdout};
use faultline_stats::summary::RunSummary;
use serde_json::Value;

#[test]
#[ignore = "boots guests: make test-guest"]
fn packets_a_second_follow_the_clock_source() {
    let lab = Lab::new();
    let words = [
        "compare",
        "udp_send:loop",
        "--tasks",
        "1",
        "--a",
        "on=qemu:cpus=1,append=clocksource=tsc",
        "--b",
        "on=qemu:cpus=1,append=clocksource=hpet",
        // Upper limit: the comparison ends as soon as the result is significant. A busy host needs
        // more repeats.
        "--repeats",
        "24",
        "--warmup",
        "0ms",
        "--window",
        "3s",
        "--interval",
        "100ms",
        "--format",
        "json",
    ];
    let output = command(&lab, &words).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    lab.assert_nothing_left();
    let record = lab.record(1);
    let sources: Vec<_> =
        record.sessions[0].facts.iter().map(|facts| facts.get_text("clock.source").unwrap_or_default()).collect();
    // Right after the boot, a kernel may still report `tsc-early`.
    let is_as_asked = sources.len() == 2 && sources[0].starts_with("tsc") && sources[1] == "hpet";
    assert!(is_as_asked, "the machines differ in it: {sources:?}");
    let said: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let (workload, ratio) = (&said["workloads"][0], &said["workloads"][0]["ratio"]);
    assert_eq!(workload["answer"], "slower", "a host that is too busy shows nothing: {said:#}");
    // Reading an emulated counter takes one instruction. Reading an emulated timer leaves the
    // guest.
    assert!(ratio["value"].as_f64().is_some_and(|value| value < 0.9), "{said:#}");
    println!("{} with hpet, in ratio to tsc: {ratio}", workload["answer"]);
}

/// Instructions per packet with this clock source.
fn instructions(source: &str) -> f64 {
    let lab = Lab::new();
    let clock = format!("clocksource={source}");
    let words = ["lens", "kernel", "udp_send:loop", "--tasks", "1", "--ops", "64", "--append", &clock];
    let output = lens::command(&lab, &[&words[..], &["--quiet", "--format", "json"]].concat()).output().unwrap();
    lens::assert_status(&output, 0);
    let summary: RunSummary = serde_json::from_slice(&output.stdout).unwrap();
    lab.assert_nothing_left();
    summary.lens.unwrap().curves[0].points[0].instructions.as_ref().unwrap().median
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn a_clock_that_is_read_in_the_kernel_costs_instructions() {
    let [tsc, hpet] = ["tsc", "hpet"].map(instructions);
    println!("{tsc} instructions for a packet with tsc, {hpet} with hpet");
    // Four system calls that read a register replace four reads of the CPU's counter by the program
    // itself.
    assert!(hpet > tsc + 4.0 * 100.0, "{tsc} instructions for a packet with tsc, {hpet} with hpet");
}
