//! Reports that are accepted, and reports that are refused.

use super::*;
use serde_json::{Value, json};

fn report() -> Value {
    json!({
        "format": "faultline-lens", "version": 4, "target": "x86_64", "mode": "kernel",
        "machine": {"cpus": 2, "sockets": 1, "cpus_per_cache": 2, "line_bytes": 64, "quantum": 5, "private_quantum": 200,
            "instruction_ps": 500, "same_cache_ns": 20, "same_socket_ns": 50.5, "other_socket_ns": 150, "memory_ns": 80,
            "cache_lines": null, "cache_ways": null},
        "direct_map": 0xffff_8880_0000_0000u64, "scope": "marks", "regions": 1,
        "problems": [{"kind": "stall", "text": "stood"}], "predicted_time": 1000, "predicted_time_ns": 500,
        "busy_time": 1000, "overlapping_time": 960,
        "totals": {"instructions": 1000, "accesses": 400, "transfers": 10, "true_sharing": 7, "false_sharing": 3,
            "by_cause": {"read": 4, "write": 6},
            "by_distance": {"same_cache": 10, "same_socket": 0, "other_socket": 0, "several": 0},
            "atomic": 5, "user": 0, "contents": 0, "capacity_misses": 0},
        "cpus": [{"cpu": 0, "instructions": 500, "accesses": 200, "clock": 1000, "transfers": 5, "per_cpu_base": 4096,
                "interrupt": {"instructions": 90, "accesses": 30, "transfers": 2}},
            {"cpu": 1, "instructions": 500, "accesses": 200, "clock": 990, "transfers": 5, "per_cpu_base": null}],
        "lines_moved": 1,
        "lines": [{"address": 0xffff_ffff_8200_0040u64, "space": "virtual", "contents": false, "transfers": 10,
            "true_sharing": 7, "false_sharing": 3, "by_cpu": [{"cpu": 0, "transfers": 5}, {"cpu": 1, "transfers": 5}],
            "by_site": [{"address": 0xffff_ffff_8100_0000u64, "transfers": 10}],
            "by_offset": [{"offset": 8, "size": 4, "transfers": 10}]}],
        "accesses": [{"address": 0xffff_ffff_8200_0040u64, "space": "virtual", "contents": false,
            "by_access": [[8, 4, 0xffff_ffff_8100_0000u64, 0, 3, 1, 8, 3, 40, 1], [8, 4, 0xffff_ffff_8100_0000u64, 1, 4, 2]]}],
        "sites_moving": 1,
        "sites": [{"address": 0xffff_ffff_8100_0000u64, "transfers": 10, "true_sharing": 7, "false_sharing": 3}],
        "interrupt": {
            "totals": {"instructions": 90, "accesses": 30, "transfers": 2, "true_sharing": 2, "false_sharing": 0,
                "by_cause": {"read": 2, "write": 0},
                "by_distance": {"same_cache": 2, "same_socket": 0, "other_socket": 0, "several": 0},
                "atomic": 0, "user": 0, "contents": 0, "capacity_misses": 1},
            "lines_moved": 5, "lines": [], "sites_moving": 1,
            "sites": [{"address": 0xffff_ffff_8100_0040u64, "transfers": 2, "true_sharing": 2, "false_sharing": 0}]
        },
        "samples": {"transfers": 10, "one_in": 4, "kept": [{"cpu": 1, "site": 0xffff_ffff_8100_0000u64,
            "line": 0xffff_ffff_8200_0040u64, "space": "virtual",
            "registers": [0, 0, 0, 0, 0, 0, 5, 0xffff_c900_0000_1000u64, 0, 0, 0, 0, 0, 0, 0, u64::MAX],
            "stack": "0 ffffffff81000000 2a"}]}
    })
}

fn parse(value: &Value) -> Result<RawReport, RawReportError> {
    RawReport::parse(value.to_string().as_bytes())
}

/// The report with one place changed.
fn with(pointer: &str, value: Value) -> Value {
    let mut report = report();
    *report.pointer_mut(pointer).unwrap() = value;
    report
}

#[test]
fn a_whole_report_is_read() {
    let read = parse(&report()).unwrap();
    assert_eq!(read.mode, LensMode::Kernel);
    assert_eq!(read.direct_map, Some(0xffff_8880_0000_0000));
    assert_eq!(read.lines[0].by_offset[0].offset, 8);
    assert_eq!(read.machine.same_socket_ns, 50.5);
    let [read, write] = &read.accesses.as_ref().unwrap()[0].by_access[..] else { panic!() };
    assert_eq!((read.offset, read.size, read.is_write, read.true_sharing, read.false_sharing), (8, 4, false, 3, 1));
    assert_eq!((read.others.as_slice(), write.is_write, write.others.len()), (&[(8, 3), (40, 1)][..], true, 0));
}

#[test]
fn samples_have_their_stacks_and_belong_to_the_transfers() {
    let read = parse(&report()).unwrap();
    let samples = read.samples.as_ref().unwrap();
    let [sample] = &samples.kept[..] else { panic!("{samples:?}") };
    assert_eq!((sample.stack_pointer(), samples.one_in), (0xffff_c900_0000_1000, 4));
    assert_eq!(sample.stack.0, [0, 0xffff_ffff_8100_0000, 0x2a]);
    assert_eq!(serde_json::to_value(&read).unwrap()["samples"], report()["samples"]);
    let said = |pointer: &str, value: Value| parse(&with(pointer, value)).unwrap_err().to_string();
    assert!(said("/samples/transfers", json!(9)).ends_with("a sample of 9 transfers, of the 10 there are"));
    assert!(said("/samples/one_in", json!(0)).contains("1 samples, one in 0"));
    assert!(said("/samples/kept/0/cpu", json!(2)).ends_with("a sample of CPU 2 of 2"));
    assert!(said("/samples/kept/0/stack", json!("0 x")).contains("'x' is no word of a stack"));
}

#[test]
fn accesses_are_written_as_they_are_read() {
    let read = parse(&report()).unwrap();
    let written = serde_json::to_value(&read).unwrap();
    assert_eq!(written["accesses"], report()["accesses"]);
    assert_eq!(parse(&written), Ok(read));
}

#[test]
fn a_report_of_version_3_is_read_without_accesses() {
    let mut old = with("/version", json!(3));
    old.as_object_mut().unwrap().remove("accesses");
    assert_eq!(parse(&old).unwrap().accesses, None);
    let mut lacking = report();
    lacking.as_object_mut().unwrap().remove("accesses");
    assert!(parse(&lacking).unwrap_err().to_string().contains("it has no accesses"));
}

#[test]
fn a_field_more_does_no_harm() {
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
fn what_is_wrong_is_said() {
    let said = |report: Value| parse(&report).unwrap_err().to_string();
    assert_eq!(
        said(with("/format", json!("perf"))),
        "not a report of the lens: its format is 'perf', not 'faultline-lens'"
    );
    assert_eq!(
        said(with("/version", json!(1))),
        "the lens's report has version 1; this Faultline reads versions 3 to 4"
    );
    assert!(said(with("/totals/transfers", json!(-10))).contains("invalid value: integer `-10`, expected u64"));
    assert!(said(with("/mode", json!("guess"))).contains("unknown variant `guess`"));
    assert!(
        said(with("/totals/true_sharing", json!(8))).contains("10 transfers, but 8 of true and 3 of false sharing")
    );
    assert!(said(with("/lines/0/by_cpu/1/cpu", json!(2))).contains("transfers to CPU 2 of 2"));
    assert!(said(with("/lines/0/by_offset/0/offset", json!(64))).contains("byte 64 of a line of 64"));
    assert!(said(with("/lines_moved", json!(0))).contains("lines: 1, more than the 0 there are"));
    assert!(
        said(with("/overlapping_time", json!(1001))).contains("overlapping time: 1001, more than the 1000 there are")
    );
    assert!(
        said(with("/interrupt/totals/transfers", json!(1))).contains("of interrupts, all lines: 1 transfers, but 2 of")
    );
    let access = |numbers: Value| with("/accesses/0/by_access/1", numbers);
    assert!(
        said(access(json!([8, 4, 1, 1, 4, 3]))).contains("accesses with 7 transfers of true and 4 of false sharing")
    );
    assert!(said(access(json!([64, 4, 1, 1, 4, 2]))).contains("an access to byte 64 of a line of 64"));
    assert!(said(access(json!([8, 4, 1, 1, 4, 2, 64, 1]))).contains("an access to byte 64 of a line of 64"));
    assert!(said(access(json!([8, 4, 1, 2, 4, 2]))).contains("a kind that is neither 0 nor 1"));
    assert!(said(access(json!([8, 4, 1, 1, 4, 2, 8]))).contains("an access has 7 numbers"));
    assert!(said(with("/predicted_time_ns", json!(-1.0))).contains("a predicted time of -1 ns"));
    assert!(said(json!([1, 2])).contains("can't be read"));
}

#[test]
fn every_field_is_needed() {
    let whole = report();
    let optional = ["program", "direct_map", "interrupt", "accesses", "samples"];
    for field in whole.as_object().unwrap().keys().filter(|field| !optional.contains(&field.as_str())) {
        let mut lacking = whole.clone();
        lacking.as_object_mut().unwrap().remove(field);
        let error = parse(&lacking).unwrap_err().to_string();
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
    }
}
