//! Made-up runs under the lens. The figures are invented, fixed, and mean nothing.

pub mod callers;
pub mod types;

use faultline_model::cell::{Case, TaskMode};
use faultline_model::estimate::Estimate;
use faultline_model::failure::{Failure, FailureCause};
use faultline_model::lens::place::Place;
use faultline_model::lens::problem::Problem;
use faultline_model::lens::raw::{ByDistance, CpuTransfers};
use faultline_model::lens::settings::LensSettings;
use faultline_model::lens::summary::{
    AgainstOne, CpuClock, CutShort, Growth, Held, InterruptFigures, LensCurve, LensPoint, LensSummary, LensVerdict,
    LineFigures, Loss, Reach,
};
use faultline_model::outcome::Outcome;
use faultline_model::record::{RunId, RunState};
use faultline_model::said::Said;
use faultline_model::subject::SubjectKind;
use faultline_model::summary::{Progress, RunSummary};
use faultline_model::time::UnixMillis;
use faultline_model::warning::{Warning, WarningKind};

/// A case by its names.
pub fn case(workload: &str, variant: &str, mode: TaskMode) -> Case {
    Case { workload: workload.into(), variant: variant.into(), mode }
}

fn of(median: f64, n: u32) -> Estimate {
    let width = if n > 1 { 0.01 } else { 0.0 };
    Estimate {
        median,
        low: median * (1.0 - width),
        high: median * (1.0 + width),
        coverage: 1.0 - 0.5f64.powi(n as i32 - 1),
        n,
    }
}

fn place(name: &str, inlined_into: Option<&str>, share: f64, all: f64) -> Place {
    Place {
        name: name.into(),
        inlined_into: inlined_into.map(str::to_owned),
        between: Vec::new(),
        transfers: share * all,
        share,
        false_share: Some(0.25),
    }
}

/// A line of `share` of all transfers, fetched the more by the CPUs the higher their number.
fn line(name: &str, address: u64, share: f64, all: f64, cpus: u32, others: &[&str]) -> LineFigures {
    let by_cpu = (0..cpus).filter(|cpu| cpu % 5 != 4 || share > 0.2);
    let main = Held { name: name.into(), offset: 0, share: 1.0 - 0.2 * others.len() as f64 };
    let held = (1u64..).zip(others).map(|(index, other)| Held { name: (*other).into(), offset: index * 8, share: 0.2 });
    LineFigures {
        name: name.into(),
        address: format!("{address:#x}"),
        transfers: share * all,
        share,
        false_share: if others.is_empty() { 0.0 } else { 0.4 },
        held: std::iter::once(main).chain(held).collect(),
        by_cpu: by_cpu
            .map(|cpu| CpuTransfers { cpu, transfers: (share * 1000.0) as u64 * u64::from(cpu + 1) })
            .collect(),
        code: vec![
            Place { false_share: None, ..place("do_anonymous_page memory.c:4071", None, 0.7, share * all) },
            Place {
                false_share: None,
                ..place("arch_atomic_inc atomic.h:94", Some("mod_zone_page_state"), 0.3, share * all)
            },
        ],
    }
}

fn point(cpus: u32, transfers: f64, n: u32) -> LensPoint {
    LensPoint {
        cpus,
        transfers: Some(of(transfers, n)),
        false_share: Some(0.125),
        instructions: Some(of(2512.4 + 3.0 * f64::from(cpus), n)),
        capacity_misses: Some(of(0.75, n)),
        interrupts: Some(InterruptFigures {
            transfers: of(0.05 * f64::from(cpus), n),
            instructions: of(310.5, n),
            lines: Vec::new(),
            code: vec![place("tick_do_update_jiffies64", None, 0.5, 0.05 * f64::from(cpus))],
        }),
        faults: Some(0.063),
        overlap: Some(if cpus == 1 { 0.0 } else { 0.98 }),
        rate: Some(of(612_345.0 * f64::from(cpus) / (1.0 + 0.2 * transfers), n)),
        speedup: Some(f64::from(cpus) / (1.0 + 0.2 * transfers)),
        withheld: None,
        repeats: vec![transfers; n as usize],
        seeds: (1..=n.into()).map(Some).collect(),
        operations: Some(4096 * u64::from(cpus)),
        by_distance: Some(ByDistance { same_cache: 1000, ..ByDistance::default() }),
        lines_moved: if cpus == 1 { 0 } else { 431 },
        lines: if cpus == 1 { Vec::new() } else { lines(cpus, transfers) },
        code: if cpus == 1 { Vec::new() } else { code(transfers) },
        problems: Vec::new(),
        failures: Vec::new(),
        types: None,
        callers: None,
        untyped: None,
        cut_short: Vec::new(),
    }
}

/// Lines, the most transfers first.
pub fn lines(cpus: u32, all: f64) -> Vec<LineFigures> {
    vec![
        line("zone.lock", 0xffff_ffff_82a0_1240, 0.45, all, cpus, &[]),
        line("counters.hits", 0xffff_ffff_82a0_1280, 0.22, all, cpus, &["counters.misses"]),
        line(
            "runqueues.lock of CPU 3",
            0x7fc4_0a00,
            0.12,
            all,
            cpus,
            &["runqueues.nr_running of CPU 3", "runqueues.clock of CPU 3"],
        ),
        line("struct page.refcount of frame 0x12345", 0xffff_ea00_0048_d140, 0.05, all, cpus, &[]),
        line("kernel memory, frame 0x7fc01+0x40", 0x7fc0_1040, 0.01, all, cpus, &[]),
    ]
}

/// Code, the most transfers first.
pub fn code(all: f64) -> Vec<Place> {
    vec![
        place("do_anonymous_page memory.c:4071", None, 0.55, all),
        place("arch_atomic_inc atomic.h:94", Some("mod_zone_page_state"), 0.22, all),
        place("0x401136", None, 0.02, all),
    ]
}

/// A failure in these words.
fn told(words: &str) -> Said<Failure> {
    Failure { block: Some(0), cause: FailureCause::Told { words: words.to_owned() } }.into()
}

fn failed(cpus: u32, failures: &[&str]) -> LensPoint {
    LensPoint {
        cpus,
        transfers: None,
        false_share: None,
        instructions: None,
        capacity_misses: None,
        interrupts: None,
        faults: None,
        overlap: None,
        rate: None,
        speedup: None,
        withheld: None,
        repeats: Vec::new(),
        seeds: Vec::new(),
        operations: None,
        by_distance: None,
        lines_moved: 0,
        lines: Vec::new(),
        code: Vec::new(),
        problems: Vec::new(),
        failures: failures.iter().map(|text| told(text)).collect(),
        types: None,
        callers: None,
        untyped: None,
        cut_short: Vec::new(),
    }
}

/// An attempt that was cut short with a CPU far behind, and one that was never busy.
fn cut_short(ending: Outcome) -> CutShort {
    CutShort {
        ending,
        transfers: 5204,
        instructions: 3_141_592,
        clocks: [91_200, 4_711, 91_350, 0].into_iter().zip(0..).map(|(clock, cpu)| CpuClock { cpu, clock }).collect(),
        lines: lines(4, 5204.0),
        code: code(5204.0),
    }
}

fn subject() -> SubjectKind {
    SubjectKind::Kernel { image: "/boot/vmlinuz-6.1.0-18-amd64".into(), command_line: "quiet nokaslr".into() }
}

fn settings() -> LensSettings {
    LensSettings {
        sockets: 2,
        cpus_per_cache: None,
        costs: "typical".into(),
        operations_per_task: Some(4096),
        quantum: None,
        private_quantum: None,
        budgets: Vec::new(),
        again: None,
    }
}

fn summary(curves: Vec<LensCurve>, warnings: Vec<Warning>) -> RunSummary {
    let done: u32 = curves.iter().flat_map(|curve| &curve.points).map(|point| point.repeats.len() as u32).sum();
    let failed: u32 = curves.iter().flat_map(|curve| &curve.points).map(|point| point.failures.len() as u32).sum();
    RunSummary {
        format: RunSummary::FORMAT.into(),
        run: RunId(12),
        label: Some("größer | nach dem Umbau ✓".into()),
        started: UnixMillis(1_795_252_714_123),
        state: RunState::Finished,
        machine: "prüfstand: 2 CPUs, Example CPU 9000 @ 2.40 GHz, Linux 6.1.0-18-amd64".into(),
        progress: Progress { planned: done + failed, done, failed, unsupported: 0, skipped: 0 },
        curves: Vec::new(),
        warnings: warnings.into_iter().map(Into::into).collect(),
        lens: Some(LensSummary { subject: subject(), settings: settings(), seeds: vec![1, 2, 3], curves }),
    }
}

/// A case that grows with failures under way, one that is free, one with a fixed price, one with nothing.
pub fn typical() -> RunSummary {
    let shared = case("fault_existing", "shared", TaskMode::Process);
    let mut points = vec![
        point(1, 0.0, 1),
        point(2, 4.8, 1),
        point(8, 7.2, 3),
        point(32, 9.7, 1),
        failed(64, &["guest hung\nafter boot"]),
    ];
    points[3].types = Some(types::types());
    points[3].callers = Some(callers::callers());
    points[4].cut_short = vec![cut_short(Outcome::NotStarted { text: "guest hung\nafter boot".into() })];
    let stall = "CPU 3 stood at clock 123 for 10 s; from then on CPUs were not kept in step";
    points[3].problems.push(Problem::Older { kind: "stall".into(), words: stall.into() }.into());
    let reach = Reach { from_cpus: 2, from: 4.8, to_cpus: 32, to: 9.7, per_doubling: 1.225 };
    let grows = LensCurve {
        case: shared.clone(),
        operation: "fault".into(),
        text: "pages that all tasks map from one file".into(),
        points,
        verdict: LensVerdict::Grows { reach, growth: Growth::Logarithmic },
        against_one: Some(AgainstOne { one: 0.0, cpus: 32, speedup: 10.884, lost: 0.66, loss: Loss::Most }),
    };
    let padded = LensCurve {
        case: case("counters", "program", TaskMode::Thread),
        operation: "operation".into(),
        text: String::new(),
        points: [point(2, 0.0004, 1), point(8, 0.0006, 1)]
            .into_iter()
            .map(|point| LensPoint { interrupts: None, faults: None, ..point })
            .collect(),
        verdict: LensVerdict::Free {
            reach: Reach { from_cpus: 2, from: 0.0004, to_cpus: 8, to: 0.0006, per_doubling: 0.0001 },
        },
        against_one: None,
    };
    let beside = LensCurve {
        case: case("beside", "program", TaskMode::Thread),
        operation: "operation".into(),
        text: String::new(),
        points: vec![point(1, 0.0, 1), point(2, 2.0, 1), point(8, 2.0, 1)],
        verdict: LensVerdict::Flat { reach: Reach { from_cpus: 2, from: 2.0, to_cpus: 8, to: 2.0, per_doubling: 0.0 } },
        against_one: Some(AgainstOne { one: 0.0, cpus: 8, speedup: 0.074, lost: 0.990_75, loss: Loss::Most }),
    };
    let nothing = LensCurve {
        case: case("zero_fill", "huge", TaskMode::Process),
        operation: "fault".into(),
        text: "huge pages of 2 MiB".into(),
        points: vec![
            failed(2, &["unsupported here: huge pages: this kernel has none"]),
            LensPoint { cut_short: vec![cut_short(Outcome::Interrupted)], ..failed(4, &[]) },
            failed(8, &[]),
        ],
        verdict: LensVerdict::TooFewPoints,
        against_one: None,
    };
    let cells = vec![faultline_model::cell::Cell { case: shared, tasks: 64 }];
    let kind =
        WarningKind::Incomplete { planned: 10, failed: 2, unsupported: 0, skipped: 0, open: 0, resumable: false };
    let hardly = vec![faultline_model::cell::Cell { case: beside.case.clone(), tasks: 2 }];
    let little = WarningKind::LittleOverlap { share: 0.042, worst: hardly[0].clone(), limit: 0.5 };
    let warnings = vec![Warning { kind, cells }, Warning { kind: little, cells: hardly }];
    summary(vec![grows, padded, nothing, beside], warnings)
}

/// Text from outside that tries to be more than text, and a machine with many CPUs.
pub fn hostile() -> RunSummary {
    let attack = "</script><img src=x onerror=\"document.title='owned'\"><!-- <script> & \u{1b}[31m | ` \u{2028}";
    let mut run = typical();
    run.label = Some(attack.into());
    let lens = run.lens.as_mut().unwrap();
    lens.subject = SubjectKind::Program { argv: vec![attack.into(), "{threads}".into()] };
    lens.settings.costs = attack.into();
    let curve = &mut lens.curves[0];
    curve.case.variant = attack.into();
    curve.operation = attack.into();
    curve.text = attack.into();
    curve.points[3] = point(64, 13.1, 1);
    let point = &mut curve.points[3];
    point.lines[0].name = attack.into();
    point.lines[1].held[1].name = attack.into();
    point.lines[0].code[0].name = attack.into();
    point.code[0].inlined_into = Some(attack.into());
    point.callers = Some(callers::callers());
    point.callers.as_mut().unwrap().frames[0].name = Some(attack.into());
    point.problems.push(Problem::Older { kind: attack.into(), words: attack.into() }.into());
    curve.points[4].failures = vec![told(attack)];
    curve.points[4].cut_short[0].lines[0].name = attack.into();
    curve.points[4].cut_short[0].code[0].name = attack.into();
    run
}

/// Names as long as those of real programs.
pub fn long_names() -> RunSummary {
    let mut run = typical();
    for point in &mut run.lens.as_mut().unwrap().curves[0].points {
        for line in &mut point.lines {
            line.name = format!("<faultline_frames::allocator::PerCpuCache<{}> as Default>::default::EMPTY", line.name);
            line.code[0].name =
                "<faultline_frames::allocator::PerCpuCache as faultline_frames::FrameSource>::take_one_or_refill cache.rs:1234".into();
            line.code[1].inlined_into = Some("core::sync::atomic::AtomicU64::compare_exchange_weak".into());
        }
        for place in &mut point.code {
            place.inlined_into = Some("alloc::collections::btree::map::BTreeMap<K,V,A>::get_or_insert_with".into());
        }
    }
    run
}

/// A run of which nothing was planned.
pub fn empty() -> RunSummary {
    summary(Vec::new(), Vec::new())
}
