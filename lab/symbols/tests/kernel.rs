//! Names of a kernel: its symbol table, a `vmlinux` beside it, each CPU's variables, and memory
//! without a name.

use crate::compiled::Compiled;
use faultline_lens_format::{RawAccess, RawCounts, RawLine, RawReport, Space};
use faultline_record::lens::counted::{AgentReport, CountedReport};
use faultline_record::lens::data::Data;
use faultline_symbols::{Image, Kallsyms, KernelNames, Names, name_reading};
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

fn report(lines: Vec<RawLine>) -> CountedReport {
    let (direct_map, operation) = (Some(DIRECT_MAP), RawCounts::of_lines(lines));
    let per_cpu_bases = vec![DIRECT_MAP + 0x7fc0_0000, DIRECT_MAP + 0x7fc4_0000];
    CountedReport {
        counts: RawReport { direct_map, operation, ..RawReport::empty(2) },
        agent: AgentReport { per_cpu_bases, ..AgentReport::default() },
    }
}

fn table(text: &str) -> Kallsyms {
    Kallsyms::new(text.lines().map(|line| line.parse().unwrap())).unwrap()
}

fn names() -> KernelNames {
    KernelNames::new(table(TABLE), None, None, &report(Vec::new()))
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
    let mut raw = report(Vec::new());
    raw.counts.direct_map = Some(0xffff_9a12_4000_0000);
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
    let names = KernelNames::new(table(&text), Some(image.into()), None, &report(Vec::new()));
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
    let site = 0xffff_ffff_8123_4560;
    let access = |offset, size, true_sharing| {
        let others = Vec::new();
        RawAccess { offset, size, site, is_write: true, true_sharing, false_sharing: 0, others }
    };
    let raw = report(vec![RawLine {
        address: 0xffff_ffff_82a0_1240,
        space: Space::Virtual,
        contents: false,
        by_cpu: vec![(0, 6)],
        accesses: vec![access(0, 8, 2), access(60, 4, 3), access(60, 4, 1)],
    }]);
    let names = names();
    let reading = name_reading(raw, &names, NonZeroU64::new(3).unwrap());
    let line = &reading.lines[0];
    assert_eq!(line.data, Data::Symbol { name: "jiffies_lock".into(), offset: 60, field: None });
    let parts = line.parts.iter().map(|part| (part.offset, part.size, part.transfers)).collect::<Vec<_>>();
    assert_eq!(parts, [(60, 4, 4), (0, 8, 2)], "most transfers first");
    assert_eq!(line.by_site.iter().map(|of| (of.address, of.transfers)).collect::<Vec<_>>(), [(site, 6)]);
    assert_eq!(reading.sites.iter().map(|of| (of.address, of.true_sharing)).collect::<Vec<_>>(), [(site, 6)]);
    assert_eq!(reading.code[&0xffff_ffff_8123_4560].function, "do_anonymous_page");
    assert_eq!(reading.per_operation(reading.totals.transfers), 2.0);
    assert_eq!(reading.predicted_rate(), Some(3.0 * 1e9 / 500.0));
}
