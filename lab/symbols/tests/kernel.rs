//! Names of a kernel: its table, a `vmlinux` beside it, each CPU's variables, and what has no name.

mod compiled;

use compiled::Compiled;
use faultline_model::lens::data::Data;
use faultline_model::lens::raw::{RawReport, Space};
use faultline_symbols::{Image, Kallsyms, KernelNames, Names, name_reading};
use serde_json::{Value, json};
use std::num::NonZeroU64;

const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;
const TABLE: &str = "0000000000000000 A __per_cpu_start
0000000000020a00 A runqueues
0000000000021680 A tick_cpu_sched
0000000000034000 A __per_cpu_end
ffffffff81000000 T _stext
ffffffff81234560 t do_anonymous_page
ffffffff81234a00 t next_function
ffffffff82a01240 D jiffies_lock
ffffffff82a01280 b zonelists
ffffffff82b00000 B _end
";

fn report(lines: Value) -> RawReport {
    let areas = [0x7fc0_0000u64, 0x7fc4_0000];
    let transfers: u64 = lines.as_array().unwrap().iter().map(|line| line["transfers"].as_u64().unwrap()).sum();
    let cpu = |cpu: usize| {
        json!({"cpu": cpu, "instructions": 1, "accesses": 1, "clock": 1, "transfers": 0,
            "per_cpu_base": DIRECT_MAP + areas[cpu]})
    };
    let report = json!({
        "format": "faultline-lens", "version": 3, "busy_time": 10, "overlapping_time": 5, "target": "x86_64", "mode": "kernel",
        "machine": {"cpus": 2, "sockets": 1, "cpus_per_cache": 2, "line_bytes": 64, "quantum": 5, "private_quantum": 200,
            "instruction_ps": 500, "same_cache_ns": 20, "same_socket_ns": 50, "other_socket_ns": 150, "memory_ns": 80,
            "cache_lines": null, "cache_ways": null},
        "direct_map": DIRECT_MAP, "scope": "marks", "regions": 1,
        "problems": [], "predicted_time": 1000, "predicted_time_ns": 500,
        "totals": {"instructions": 1000, "accesses": 400, "transfers": transfers, "true_sharing": transfers, "false_sharing": 0,
            "by_cause": {"read": 0, "write": transfers},
            "by_distance": {"same_cache": transfers, "same_socket": 0, "other_socket": 0, "several": 0},
            "atomic": 0, "user": 0, "contents": 0, "capacity_misses": 0},
        "cpus": [cpu(0), cpu(1)],
        "lines_moved": lines.as_array().unwrap().len(), "lines": lines, "sites_moving": 0, "sites": [],
    });
    RawReport::parse(report.to_string().as_bytes()).unwrap()
}

fn table(text: &str) -> Kallsyms {
    Kallsyms::new(text.lines().map(|line| line.parse().unwrap())).unwrap()
}

fn names() -> KernelNames {
    KernelNames::new(table(TABLE), None, None, &report(json!([])))
}

#[test]
fn code_and_variables_by_the_table() {
    let names = names();
    let code = names.code(0xffff_ffff_8123_4570).unwrap();
    assert_eq!((code.function.as_str(), code.offset), ("do_anonymous_page", 0x10));
    assert_eq!(names.code(0x40_1000), None, "a program's own code has no name in the kernel's table");
    let lock = names.data(0xffff_ffff_82a0_1250, Space::Virtual, false);
    assert_eq!(lock, Data::Symbol { name: "jiffies_lock".into(), offset: 0x10, field: None });
    assert_eq!(
        names.data(0xffff_ffff_82b0_0100, Space::Virtual, false),
        Data::Unknown { address: 0xffff_ffff_82b0_0100 }
    );
}

#[test]
fn each_cpus_variables_are_found_through_the_direct_map() {
    let names = names();
    let of = |physical| names.data(physical, Space::Physical, false);
    assert_eq!(of(0x7fc4_0000 + 0x20a08).to_string(), "runqueues+0x8 of CPU 1");
    assert_eq!(of(0x7fc0_0000 + 0x21680).to_string(), "tick_cpu_sched of CPU 0");
    let unnamed = Data::PerCpu { cpu: 0, symbol: None, offset: 0x35000, field: None };
    assert_eq!(of(0x7fc0_0000 + 0x35000), unnamed, "beyond the variables that have names");
    let virtual_too = names.data(DIRECT_MAP + 0x7fc4_0000 + 0x20a00, Space::Virtual, false);
    assert_eq!(virtual_too.to_string(), "runqueues of CPU 1");
    assert_eq!(
        of(0x7fc8_0000),
        Data::Page { frame: 0x7fc80, offset: 0, contents: false },
        "behind the last CPU's area"
    );
}

#[test]
fn memory_without_a_name_has_a_kind() {
    let names = names();
    let at = |address, contents| names.data(address, Space::Physical, contents);
    assert_eq!(at(0x1234_5040, true), Data::Page { frame: 0x12345, offset: 0x40, contents: true });
    assert_eq!(at(0x1234_5040, false), Data::Page { frame: 0x12345, offset: 0x40, contents: false });
    let page = names.data(0xffff_ea00_0000_0000 + 64 * 0x12345 + 8, Space::Virtual, false);
    assert_eq!(page, Data::StructPage { frame: 0x12345, offset: 8, field: None });
    assert!(matches!(names.data(0xffff_c900_0001_3e40, Space::Virtual, false), Data::Vmalloc { .. }));
}

#[test]
fn randomised_regions_are_not_guessed() {
    let mut raw = report(json!([]));
    raw.direct_map = Some(0xffff_9a12_4000_0000);
    let names = KernelNames::new(table(TABLE), None, None, &raw);
    assert!(matches!(names.data(0xffff_c900_0001_3e40, Space::Virtual, false), Data::Unknown { .. }));
}

#[test]
fn a_vmlinux_adds_members_and_lines_though_the_kernel_was_moved() {
    let options = "-g -O1 -ffreestanding -fno-pie -no-pie -static -nostdlib -mcmodel=kernel -fcf-protection=none \
        -Wl,-e,take,--build-id=none,-Ttext=0xffffffff81000000,-Tdata=0xffffffff82000000,-Tbss=0xffffffff82001000";
    let built = Compiled::new("cc", "kernel.c", &options.split_whitespace().collect::<Vec<_>>());
    let moved = 0x0100_0000;
    let text = format!(
        "{:016x} T _stext\n{:016x} T take\n{:016x} D zone\nffffffff8f000000 B _end\n",
        built.address_of("_stext") + moved,
        built.address_of("take") + moved,
        built.address_of("zone") + moved
    );
    let image = Image::parse(&built.bytes).unwrap();
    let names = KernelNames::new(table(&text), Some(image.into()), None, &report(json!([])));
    let lock = names.data(built.address_of("zone") + moved + 8, Space::Virtual, false);
    assert_eq!(lock.to_string(), "zone.lock.value");
    let code = names.code(built.address_of("take") + moved).unwrap();
    assert_eq!((code.function.as_str(), code.offset), ("take", 0));
    assert!(code.source().unwrap().starts_with("kernel.c:"));
    let member =
        |offset: u64| names.data(0xffff_ea00_0000_0000 + 64 * 3 + offset, Space::Virtual, false).name().unwrap();
    assert_eq!(
        [member(0), member(8), member(16), member(24)],
        ["flags", "next", "mapping", "refcount"].map(|m| format!("struct page.{m}"))
    );
}

#[test]
fn a_report_is_named_line_by_line() {
    let raw =
        report(json!([{"address": 0xffff_ffff_82a0_1240u64, "space": "virtual", "contents": false, "transfers": 6,
        "true_sharing": 6, "false_sharing": 0, "by_cpu": [{"cpu": 0, "transfers": 6}],
        "by_site": [{"address": 0xffff_ffff_8123_4560u64, "transfers": 6}],
        "by_offset": [{"offset": 60, "size": 4, "transfers": 4}, {"offset": 0, "size": 8, "transfers": 2}]}]));
    let names = names();
    let reading = name_reading(raw, &names, NonZeroU64::new(3).unwrap());
    let line = &reading.lines[0];
    assert_eq!(line.data, Data::Symbol { name: "jiffies_lock".into(), offset: 60, field: None });
    assert_eq!(line.parts.len(), 2);
    assert_eq!(reading.code[&0xffff_ffff_8123_4560].function, "do_anonymous_page");
    assert_eq!(reading.per_operation(reading.totals.transfers), 2.0);
    assert_eq!(reading.predicted_rate(), Some(3.0 * 1e9 / 500.0));
}
