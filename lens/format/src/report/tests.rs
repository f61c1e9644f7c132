//! Reports that are accepted, and reports that are refused.

use super::*;
use serde_json::{Value, json};

fn report() -> Value {
    let totals = |transfers: u64, true_sharing: u64| {
        json!({"instructions": 1000, "accesses": 400, "transfers": transfers, "true_sharing": true_sharing,
            "false_sharing": transfers - true_sharing, "by_cause": {"read": transfers, "write": 0},
            "by_distance": {"same_cache": transfers, "same_socket": 0, "other_socket": 0, "several": 0},
            "atomic": 0, "user": 0, "contents": 0, "capacity_misses": 1})
    };
    let line = |by_cpu: Value, accesses: Value| {
        json!({"address": 0xffff_ffff_8200_0040u64, "space": "virtual", "contents": false,
            "by_cpu": by_cpu, "accesses": accesses})
    };
    let accesses =
        json!([[8, 4, 0xffff_ffff_8100_0000u64, 0, 3, 1, 8, 3, 40, 1], [8, 4, 0xffff_ffff_8100_0000u64, 1, 4, 2]]);
    json!({
        "format": "faultline-lens", "version": 1, "target": "x86_64", "mode": "kernel", "scope": "marks", "regions": 1,
        "ended_by_call": 1, "stalled": {"kind": "idle", "seconds": 60, "last_new_code": 0xffff_ffff_8100_0000u64},
        "machine": {"cpus": 2, "sockets": 1, "cpus_per_cache": 2, "quantum": 5, "private_quantum": 200,
            "times": {"instruction_ps": 500, "same_cache_ns": 20, "same_socket_ns": 50, "other_socket_ns": 150,
                "memory_ns": 80},
            "delays": null, "caches": {"lines": 64, "ways": 8}},
        "direct_map": 0xffff_8880_0000_0000u64,
        "predicted_time": 1001, "busy_time": 1000, "overlapping_time": 960,
        "spent": {"transfers": 1, "holds": 2, "waits": 10, "atomics": 3, "wakes": 4, "interrupts": 5, "entries": 6,
            "times_woken": 7, "times_interrupted": 8, "busiest_line": 9},
        "cpus": [{"cpu": 0, "instructions": 500, "accesses": 200, "transfers": 5, "clock": 1000,
                "interrupt": {"instructions": 90, "accesses": 30, "transfers": 2}},
            {"cpu": 1, "instructions": 500, "accesses": 200, "transfers": 5, "clock": 990, "interrupt": null}],
        "processes": [{"name": "counters", "processes": 2, "is_counted": true, "instructions": 900, "accesses": 300,
            "true_sharing": 7, "false_sharing": 3}],
        "operation": {"totals": totals(10, 7), "lines": [line(json!([[0, 5], [1, 5]]), accesses)]},
        "interrupt": {"totals": totals(2, 2), "lines": [line(json!([]), json!([[0, 8, 7, 0, 2, 0]]))]},
        "samples": {"transfers": 10, "one_in": 4, "kept": [{"cpu": 1, "site": 0xffff_ffff_8100_0000u64,
            "line": 0xffff_ffff_8200_0040u64, "space": "virtual",
            "registers": [0, 0, 0, 0, 0, 0, 5, 0xffff_c900_0000_1000u64, 0, 0, 0, 0, 0, 0, 0, u64::MAX],
            "stack": "0 ffffffff81000000 2a"}]}
    })
}

fn parse(value: &Value) -> Result<RawReport, RawReportError> {
    RawReport::parse(value.to_string().as_bytes())
}

/// The error about the report with one value changed.
fn refused(pointer: &str, value: Value) -> String {
    let mut report = report();
    *report.pointer_mut(pointer).unwrap() = value;
    parse(&report).unwrap_err().to_string()
}

#[test]
fn a_report_is_read_and_written_without_a_change() {
    let read = parse(&report()).unwrap();
    assert_eq!((read.mode, read.direct_map), (LensMode::Kernel, Some(0xffff_8880_0000_0000)));
    assert_eq!((read.predicted_ns(), read.machine.times.same_socket_ns), (500.0, 50));
    let [line] = &read.operation.lines[..] else { panic!("{read:?}") };
    let [load, store] = &line.accesses[..] else { panic!("{line:?}") };
    assert_eq!((load.offset, load.size, load.is_write, load.true_sharing, load.false_sharing), (8, 4, false, 3, 1));
    assert_eq!((load.others.as_slice(), store.is_write, store.others.len()), (&[(8, 3), (40, 1)][..], true, 0));
    assert_eq!((line.transfers(), line.true_sharing(), store.transfers()), (10, 7, 6));
    let [sample] = &read.samples.as_ref().unwrap().kept[..] else { panic!("{read:?}") };
    assert_eq!(sample.stack_pointer(), 0xffff_c900_0000_1000);
    assert_eq!(sample.stack.0, [0, 0xffff_ffff_8100_0000, 0x2a]);
    assert_eq!(serde_json::to_value(&read).unwrap(), report());
}

#[test]
fn unknown_fields_are_ignored() {
    let mut more = report();
    more["added_later"] = json!(1);
    parse(&more).unwrap();
}

#[test]
fn every_cut_is_noticed() {
    let text = report().to_string();
    for length in 0..text.len() {
        assert_eq!(RawReport::parse(&text.as_bytes()[..length]), Err(RawReportError::CutOff), "at {length}");
    }
}

#[test]
fn other_formats_and_versions_are_refused() {
    let error = refused("/format", json!("perf"));
    assert_eq!(error, "not a report of the lens: its format is 'perf', not 'faultline-lens'");
    let error = refused("/version", json!(2));
    assert_eq!(error, "the lens's report has version 2; this Faultline reads version 1");
    assert!(parse(&json!([1, 2])).unwrap_err().to_string().contains("cannot read the lens's report"));
}

#[test]
fn contradictions_are_refused() {
    assert!(refused("/operation/totals/transfers", json!(-10)).contains("invalid value: integer `-10`, expected u64"));
    assert!(refused("/mode", json!("guess")).contains("unknown variant `guess`"));
    let error = refused("/operation/totals/true_sharing", json!(8));
    assert!(error.ends_with("10 transfers, but 8 of true and 3 of false sharing"), "{error}");
    assert!(refused("/operation/lines/0/by_cpu/1/0", json!(2)).ends_with("transfers to CPU 2 of 2"));
    assert!(refused("/operation/lines/0/by_cpu/1/1", json!(6)).ends_with("by CPU: 11, more than 10 in all"));
    assert!(refused("/overlapping_time", json!(1001)).ends_with("overlapping time: 1001, more than 1000 in all"));
    assert!(refused("/ended_by_call", json!(2)).ends_with("regions that ended with a call: 2, more than 1 in all"));
    assert!(refused("/interrupt/totals/transfers", json!(1)).contains("in interrupts, 1 transfers, but 2 of"));
    assert!(refused("/machine/cpus", json!(0)).ends_with("a machine without CPUs"));
    assert!(refused("/samples/transfers", json!(9)).ends_with("a sample of 9 transfers, not of 10"));
    assert!(refused("/samples/one_in", json!(0)).contains("1 samples, one in 0"));
    assert!(refused("/samples/kept/0/cpu", json!(2)).ends_with("a sample of CPU 2 of 2"));
    assert!(refused("/samples/kept/0/stack", json!("0 x")).contains("'x': not a stack word"));
}

#[test]
fn invalid_accesses_are_refused() {
    let access = |numbers: Value| refused("/operation/lines/0/accesses/1", numbers);
    assert!(access(json!([8, 4, 1, 1, 4, 3])).ends_with("7 transfers of true and 4 of false sharing, not 7 and 3"));
    assert!(access(json!([61, 4, 1, 1, 4, 2])).ends_with("an access up to byte 65 of a line of 64"));
    assert!(access(json!([8, 4, 1, 1, 4, 2, 64, 1])).ends_with("an access up to byte 68 of a line of 64"));
    assert!(access(json!([8, 4, 1, 2, 4, 2])).contains("a kind that is neither 0 nor 1"));
    assert!(access(json!([8, 4, 1, 1, 4, 2, 8])).contains("an access has 7 numbers"));
}

#[test]
fn every_field_is_required() {
    let whole = report();
    for field in whole.as_object().unwrap().keys().filter(|field| {
        !["direct_map", "ended_by_call", "interrupt", "processes", "samples", "stalled"].contains(&field.as_str())
    }) {
        let mut lacking = whole.clone();
        lacking.as_object_mut().unwrap().remove(field);
        let error = parse(&lacking).unwrap_err().to_string();
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
    }
}
