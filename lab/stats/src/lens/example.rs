//! Synthetic lens runs for tests.

use crate::example;
use faultline_lens_format::{
    ByCause, ByDistance, CostTimes, CpuTotals, LensMode, ModelledMachine, Scope, Space, Spent, Totals,
};
use faultline_record::cell::{Case, TaskMode};
use faultline_record::lens::by_type::{Begins, ByType, Sharing, SiteTransfers, TypeAccess, TypeReading};
use faultline_record::lens::data::{Code, Data};
use faultline_record::lens::layout::{Inner, Keyword, Layout, Member};
use faultline_record::lens::reading::{CpuTransfers, InterruptReading, Line, LinePart, Overlap, Reading, Site};
use faultline_record::lens::settings::{LensAgain, LensSettings, SavedFile};
use faultline_record::plan::RunKind;
use faultline_record::record::RunRecord;
use faultline_record::subject::SubjectKind;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// The only instruction that moves lines.
pub(crate) const SITE: u64 = 0x40_1000;

/// The case of [`record`].
pub(crate) fn case() -> Case {
    Case { workload: "load".into(), variant: "base".into(), mode: TaskMode::Process }
}

/// A variable.
pub(crate) fn named(name: &str) -> Data {
    Data::Symbol { name: name.into(), offset: 0, field: None }
}

/// A part of a line.
pub(crate) fn part(offset: u64, transfers: u64, data: Data) -> LinePart {
    LinePart { offset, size: 8, transfers, data }
}

/// A line that holds one variable, moved by one instruction between two CPUs.
pub(crate) fn line(address: u64, transfers: u64, name: &str) -> Line {
    Line {
        address,
        space: Space::Virtual,
        data: named(name),
        transfers,
        true_sharing: transfers,
        false_sharing: 0,
        reads: Some(0),
        by_cpu: vec![
            CpuTransfers { cpu: 0, transfers: transfers / 2 },
            CpuTransfers { cpu: 1, transfers: transfers - transfers / 2 },
        ],
        by_site: vec![SiteTransfers { address: SITE, transfers }],
        parts: vec![part(0, transfers, named(name))],
    }
}

/// Totals of one CPU; only its clock matters.
pub(crate) fn cpu(cpu: u32, clock: u64) -> CpuTotals {
    CpuTotals { cpu, instructions: 0, accesses: 0, clock, transfers: 0, interrupt: None }
}

/// A reading with only these lines: 100 instructions per operation, and one second for every
/// operation of each CPU.
pub(crate) fn reading(cpus: u32, operations: u64, lines: Vec<Line>) -> Reading {
    let transfers = lines.iter().map(|line| line.transfers).sum();
    let totals = Totals {
        instructions: 100 * operations,
        accesses: operations,
        transfers,
        true_sharing: transfers,
        by_cause: ByCause { read: 0, write: transfers },
        by_distance: ByDistance { same_cache: transfers, ..ByDistance::default() },
        ..Totals::default()
    };
    let place = Code {
        function: "work".into(),
        offset: 4,
        inlined_into: None,
        between: Vec::new(),
        file: Some("/src/main.c".into()),
        line: Some(10),
        own: None,
    };
    Reading {
        format: Reading::FORMAT.into(),
        operations: NonZeroU64::new(operations).unwrap(),
        is_partial: false,
        seed: None,
        target: "x86_64".into(),
        mode: LensMode::Program,
        scope: Scope::Marks,
        machine: ModelledMachine {
            cpus,
            sockets: 1,
            cpus_per_cache: cpus,
            quantum: 5,
            private_quantum: 200,
            times: CostTimes {
                instruction_ps: 500,
                same_cache_ns: 20,
                same_socket_ns: 50,
                other_socket_ns: 150,
                memory_ns: 80,
            },
            delays: None,
            caches: None,
        },
        regions: 1,
        forks: 0,
        problems: Vec::new(),
        untyped: None,
        predicted_ns: operations as f64 / f64::from(cpus.div_ceil(2)) * 1e9,
        totals,
        cpus: Vec::new(),
        processes: Vec::new(),
        lines_moved: lines.len() as u64,
        lines,
        sites_moving: 1,
        sites: vec![Site { address: SITE, transfers, true_sharing: transfers, false_sharing: 0 }],
        interrupt: None,
        by_type: ByType::default(),
        by_object: Vec::new(),
        callers: None,
        overlap: Overlap { busy_time: 0, overlapping_time: 0 },
        spent: Spent::default(),
        code: BTreeMap::from([(SITE, place)]),
    }
}

/// A member without members of its own.
pub(crate) fn member(name: &str, of: &str, offset: u64, size: u64) -> Member {
    Member { name: Some(name.into()), of: of.into(), structure: None, offset, size, bits: None, inner: None }
}

/// An access of eight bytes by the only instruction, with transfers by reads and by writes, all due
/// to true sharing.
pub(crate) fn access(offset: u64, reads: u64, writes: u64) -> TypeAccess {
    let sharing = |transfers| Sharing { true_sharing: transfers, false_sharing: 0 };
    TypeAccess {
        offset,
        size: 8,
        reads: sharing(reads),
        writes: sharing(writes),
        others: Vec::new(),
        beside: 0,
        by_site: vec![SiteTransfers { address: SITE, transfers: reads + writes }],
    }
}

/// `struct mm_struct` with a 16-byte lock on its second line, after a hole; two of its objects
/// moved.
pub(crate) fn mm_struct(accesses: Vec<TypeAccess>) -> TypeReading {
    let lock = Inner {
        keyword: Some(Keyword::Struct),
        members: vec![member("count", "long", 64, 8), member("owner", "long", 72, 8)],
    };
    let lock =
        Member { structure: Some("rw_semaphore".into()), inner: Some(lock), ..member("mmap_lock", "rwsem_t", 64, 16) };
    let members = vec![member("flags", "int", 0, 4), member("users", "atomic_t", 8, 8), lock];
    let layout = Layout { keyword: Keyword::Struct, name: "mm_struct".into(), is_alias: false, size: 84, members };
    TypeReading { layout, begins: vec![Begins { at: 0, objects: 2 }], accesses }
}

/// Interrupts with only these lines, and 7 instructions per operation.
pub(crate) fn interrupts(operations: u64, lines: Vec<Line>) -> InterruptReading {
    let reading = reading(1, operations, lines);
    InterruptReading {
        totals: Totals { instructions: 7 * operations, ..reading.totals },
        lines_moved: reading.lines_moved,
        lines: reading.lines,
        sites_moving: reading.sites_moving,
        sites: reading.sites,
    }
}

/// A lens run of one workload: an attempt for each number of CPUs with its transfers per operation;
/// equal numbers are repeats.
pub(crate) fn record(cells: &[(u32, f64)]) -> RunRecord {
    let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(cells.len() as u32).record();
    for (index, &(cpus, transfers)) in cells.iter().enumerate() {
        record.plan[index].cell.tasks = cpus;
        let counted = line(0x1000, (transfers * 1000.0).round() as u64, "counter");
        record.attempts[index].reading = Some(Box::new(reading(cpus, 1000, vec![counted])));
    }
    record.head.subjects[0].what = SubjectKind::Kernel { image: "/boot/vmlinuz".into(), command_line: "quiet".into() };
    record.head.settings.kind = RunKind::Lens(LensSettings {
        sockets: 1,
        cpus_per_cache: None,
        costs: "default".into(),
        operations_per_task: Some(100),
        quantum: None,
        private_quantum: None,
        budgets: Vec::new(),
        again: Box::new(again()),
    });
    record
}

fn again() -> LensAgain {
    let times = CostTimes { instruction_ps: 1, same_cache_ns: 1, same_socket_ns: 1, other_socket_ns: 1, memory_ns: 1 };
    LensAgain::new(SavedFile { path: "/plugin".into(), sha256: "00".into() }, times)
}

/// A lens run with seeds, with which each attempt repeats exactly: number of CPUs, seed, transfers
/// per operation.
pub(crate) fn seeded(cells: &[(u32, u64, f64)]) -> RunRecord {
    let mut record = record(&cells.iter().map(|&(cpus, _, transfers)| (cpus, transfers)).collect::<Vec<_>>());
    for (index, &(_, seed, _)) in cells.iter().enumerate() {
        record.plan[index].seed = Some(seed);
        record.attempts[index].reading.as_mut().unwrap().seed = Some(seed);
    }
    record
}
