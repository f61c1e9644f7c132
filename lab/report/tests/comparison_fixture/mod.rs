//! Made-up comparisons with all that a report has to cope with. The figures are invented, fixed, and mean nothing.

use faultline_model::comparison::{
    ComparedWorkload, Comparison, CounterDifference, Described, Details, Ended, FactDifference, Look, ScaledCase,
    Sequential, UntestedFigure, UntestedReason,
};
use faultline_model::direction::Direction;
use faultline_model::estimate::Estimate;
use faultline_model::facts::FactValue;
use faultline_model::failure::{Failure, FailureCause};
use faultline_model::record::RunId;
use faultline_model::said::Said;
use faultline_model::scaling::{Law, Move, ParameterChange, ScalingComparison};
use faultline_model::time::UnixMillis;
use faultline_model::unmatched::{Letter, Unmatched, UnmatchedReason};
use faultline_model::workload_comparison::{
    Answer, Bounded, Caution, FewUnits, Groups, Inconclusive, Method, NotQuiet, OneBoot, Side, Unit, WorkloadComparison,
};

/// Relative deviations of a side's values, in the order of their measurement.
const DEVIATIONS: [f64; 12] = [0.004, -0.011, 0.0, 0.009, -0.003, 0.006, -0.008, 0.012, -0.005, 0.002, 0.007, -0.001];

/// A workload on both sides; the rest follows from it.
struct Shape {
    name: &'static str,
    unit: &'static str,
    direction: Direction,
    tasks: Option<u32>,
    /// Medians.
    a: f64,
    b: f64,
    /// Factor on the deviations of the values.
    spread: f64,
    units: u32,
    independent: Unit,
    answer: Answer,
    inconclusive: Option<Inconclusive>,
    p: Option<f64>,
    level: f64,
    detectable: Option<f64>,
    system: [Option<f64>; 2],
}

const FASTER: Shape = Shape {
    name: "zero_fill:base",
    unit: "fault/s",
    direction: Direction::Higher,
    tasks: Some(4),
    a: 1_130_000.0,
    b: 1_271_000.0,
    spread: 1.0,
    units: 12,
    independent: Unit::Run,
    answer: Answer::Faster,
    inconclusive: None,
    p: Some(7.4e-7),
    level: 0.99,
    detectable: Some(1.0093),
    system: [Some(0.912), Some(0.874)],
};

const SLOWER: Shape = Shape {
    name: "self_exec:static-distinct",
    unit: "exec/s",
    a: 5_712.4,
    b: 5_510.0,
    answer: Answer::Slower,
    p: Some(0.0021),
    level: 0.9875,
    system: [Some(0.731), Some(0.742)],
    ..FASTER
};

const QUICKER: Shape = Shape {
    name: "tree_build:generated",
    unit: "s",
    direction: Direction::Lower,
    a: 3.74,
    b: 3.31,
    answer: Answer::Faster,
    p: Some(0.000_12),
    level: 0.9833,
    system: [Some(0.125), None],
    ..FASTER
};

const SAME: Shape = Shape {
    name: "path_stat:shared-dir",
    unit: "stat/s",
    a: 2_400_000.0,
    b: 2_408_000.0,
    answer: Answer::Equal,
    p: Some(0.41),
    level: 0.975,
    detectable: Some(1.0131),
    ..FASTER
};

const WIDE: Shape = Shape {
    name: "fork_exit:small",
    unit: "fork/s",
    a: 8_120.0,
    b: 7_390.0,
    spread: 14.0,
    answer: Answer::Inconclusive,
    inconclusive: Some(Inconclusive::PastMargin),
    p: Some(0.21),
    level: 0.99,
    detectable: Some(1.251),
    ..FASTER
};

const UNDECIDED: Shape = Shape {
    name: "map_churn:private",
    unit: "map/s",
    a: 1_204_000.0,
    b: 1_320_000.0,
    units: 1,
    independent: Unit::Boot,
    answer: Answer::Inconclusive,
    inconclusive: Some(Inconclusive::ConfoundedBoots),
    p: None,
    level: 0.95,
    detectable: None,
    system: [None, None],
    ..FASTER
};

impl Shape {
    fn values(&self, median: f64, turned: usize) -> Vec<f64> {
        let mut deviations = DEVIATIONS;
        deviations.rotate_left(turned);
        deviations[..self.units as usize].iter().map(|deviation| median * (1.0 + deviation * self.spread)).collect()
    }

    fn side(&self, median: f64) -> Side {
        let (boots, runs) = match self.independent {
            Unit::Boot => (self.units, self.units * 3),
            Unit::Run | Unit::Summary => (1, self.units),
        };
        Side { boots, runs, intervals: runs * 20, units: self.units, median, mean: median * 1.001 }
    }

    fn comparison(&self) -> WorkloadComparison {
        let ratio = self.b / self.a;
        let around =
            |value: f64, width: f64| Bounded { value, low: value - width, high: value + width, level: self.level };
        WorkloadComparison {
            name: self.name.into(),
            unit: self.unit.into(),
            direction: self.direction,
            a: self.side(self.a),
            b: self.side(self.b),
            independent: self.independent,
            method: if self.p.is_some() { Method::Ranks } else { Method::None },
            answer: self.answer,
            inconclusive: self.inconclusive,
            margin: 0.02,
            within_margin: self.answer == Answer::Equal,
            p: self.p,
            p_corrected: self.p.map(|p| (p * 4.0).min(1.0)),
            ratio: Some(around(ratio, 0.009 * self.spread)),
            shift: self.p.map(|_| around(self.b - self.a, self.a * 0.01 * self.spread)),
            ratio_of_medians: self.p.map(|_| around(ratio, 0.011 * self.spread)),
            detectable: self.detectable,
            cautions: Vec::new(),
        }
    }

    fn compared(&self) -> ComparedWorkload {
        ComparedWorkload { comparison: self.comparison(), details: self.details() }
    }

    fn details(&self) -> Details {
        let share =
            |median: f64| Estimate { median, low: median - 0.01, high: median + 0.01, coverage: 0.96, n: self.units };
        Details {
            tasks: self.tasks,
            values: [self.values(self.a, 0), self.values(self.b, 5)],
            system_share: self.system.map(|median| median.map(share)),
            counters: Vec::new(),
            figures: Vec::new(),
            failures: [Vec::new(), Vec::new()],
        }
    }
}

fn counter(name: &str, a: f64, b: f64, p_corrected: f64) -> CounterDifference {
    CounterDifference { name: name.into(), a, b, p_corrected }
}

/// A failure in these words.
fn told(words: &str) -> Said<Failure> {
    Failure { block: None, cause: FailureCause::Told { words: words.to_owned() } }.into()
}

/// What one side has, at 4 tasks.
fn only_on(side: Letter, name: &str) -> Said<Unmatched> {
    let reason = UnmatchedReason::OneSideOnly { side };
    Unmatched { name: name.to_owned(), tasks: Some(4), measure: None, reason }.into()
}

const SHARED_BOOT: Caution = Caution::OneBoot { boots: OneBoot::Shared };
const ONE_BOOT: Caution = Caution::OneBoot { boots: OneBoot::Confounded };
const FEW_BOOTS: Caution = Caution::FewUnits(FewUnits::ForAnyTest { unit: Unit::Boot, a: 1, b: 1 });
const FEW_RUNS: Caution = Caution::FewUnits(FewUnits::ForAnyTest { unit: Unit::Run, a: 2, b: 2 });
const TWO_GROUPS: Caution = Caution::Bimodal { a: Some(Groups { up_to: 2.365e6, from: 2.414e6 }), b: None };

fn described(name: &str, setup: &[&str], run: i64) -> Described {
    Described {
        name: name.into(),
        setup: setup.iter().map(|word| (*word).to_owned()).collect(),
        run: Some(RunId(run)),
        started: Some(UnixMillis(1_795_252_714_123)),
        machine: Some("prüfstand: 8 CPUs, Example CPU 9000 @ 2.40 GHz, Linux 6.1.0-18-amd64".into()),
    }
}

const HUGE_PAGES: [&str; 2] =
    ["sysfs kernel/mm/transparent_hugepage/enabled = always", "sysctl vm.compaction_proactiveness = 0"];

fn suite(shapes: &[Shape], improvement: Option<Bounded>) -> Comparison {
    Comparison {
        format: Comparison::FORMAT.into(),
        a: described("base pages", &[], 12),
        b: described("huge pages", &HUGE_PAGES, 12),
        level: 0.95,
        seed: 1,
        resamples: 2000,
        workloads: shapes.iter().map(Shape::compared).collect(),
        improvement,
        scaling: Vec::new(),
        facts: Vec::new(),
        untested: Vec::new(),
        sequential: None,
        unmatched: Vec::new(),
    }
}

fn change(a: f64, b: f64, difference: (f64, f64, f64), change: Move) -> ParameterChange {
    let (value, low, high) = difference;
    let p = if change == Move::NoDifference { 0.4 } else { 0.0007 };
    ParameterChange { a, b, difference: Bounded { value, low, high, level: 0.9833 }, p, change }
}

fn laws() -> Vec<ScaledCase> {
    let universal = ScalingComparison {
        law: Law::Universal,
        one_cpu: change(312_000.0, 315_000.0, (1.0096, 0.991, 1.029), Move::NoDifference),
        serial: change(0.21, 0.08, (-0.13, -0.151, -0.109), Move::Fell),
        coherence: Some(change(0.0055, 0.001, (-0.0045, -0.0061, -0.0029), Move::Fell)),
    };
    let amdahl = ScalingComparison {
        law: Law::Amdahl,
        one_cpu: change(5_710.0, 5_400.0, (0.9457, 0.931, 0.961), Move::Fell),
        serial: change(0.041, 0.043, (0.002, -0.006, 0.01), Move::NoDifference),
        coherence: None,
    };
    vec![
        ScaledCase { name: "zero_fill:base".into(), unit: "fault/s".into(), comparison: universal },
        ScaledCase { name: "self_exec:static-distinct".into(), unit: "exec/s".into(), comparison: amdahl },
    ]
}

fn sequential(taken: u32, ended: Ended) -> Sequential {
    let looks = [4, 6, 8, 12, 16, 22, 30, 38, 48];
    let looks = looks.map(|blocks| Look { blocks, alpha: 0.05 * f64::from(blocks) / 184.0 });
    Sequential { level: 0.95, looks: looks.into(), taken, ended }
}

/// A further figure: its medians, its answer and its ratio.
fn figure(
    name: &str,
    unit: &str,
    (a, b): (f64, f64),
    answer: Answer,
    (value, low, high): (f64, f64, f64),
) -> WorkloadComparison {
    let mut figure = QUICKER.comparison();
    (figure.name, figure.unit, figure.direction) = (name.to_owned(), unit.to_owned(), Direction::Lower);
    (figure.a.median, figure.b.median) = (a, b);
    (figure.answer, figure.inconclusive) = (answer, None);
    figure.ratio = Some(Bounded { value, low, high, level: 0.975 });
    figure
}

/// One of each answer, ended early, with all that can stand behind it.
pub fn typical() -> Comparison {
    let mut compared = suite(&[FASTER, SLOWER, QUICKER, SAME, UNDECIDED, WIDE], None);
    let [faster, slower, quicker, same, undecided, wide] = &mut compared.workloads[..] else { unreachable!() };
    for workload in [&mut *faster, &mut *slower, &mut *same] {
        workload.comparison.cautions.push(SHARED_BOOT.into());
    }
    same.comparison.cautions.push(TWO_GROUPS.into());
    wide.comparison.cautions.push(Caution::Load { a: Some(0.52), b: Some(0.48) }.into());
    undecided.comparison.cautions = vec![FEW_BOOTS.into(), ONE_BOOT.into()];
    faster.details.counters = vec![
        counter("vmstat.pgfault", 1.02, 0.0039, 2e-6),
        counter("vmstat.thp_fault_alloc", 0.0, 0.00195, 2e-6),
        counter("vmstat.pgalloc_normal", 1.01, 1.0, 0.0004),
        counter("stat.context_switches", 0.003, 0.0031, 0.012),
        counter("vmstat.numa_hit", 1.03, 1.01, 0.021),
        counter("vmstat.pgfree", 1.5, 1.4, 0.04),
    ];
    slower.details.counters = vec![counter("vmstat.compact_stall", 0.0, 0.21, 0.0031)];
    same.details.values[0] =
        [0.985, 1.008, 0.986, 0.984, 1.006, 1.009, 0.985, 1.007, 0.984, 1.008, 1.006, 1.007].map(|x| x * 2.4e6).into();
    undecided.details.failures =
        [vec![told("mmap: Cannot allocate memory"); 2], vec![told("ended by signal 11: line1\nline2")]];
    quicker.details.figures = vec![
        figure("cpu_s", "s", (0.0241, 0.0248), Answer::Slower, (1.029, 1.021, 1.036)),
        figure("largest_process_bytes", "byte", (1.9e6, 1.9e6), Answer::Equal, (1.0, 0.999, 1.001)),
    ];
    compared.scaling = laws();
    compared.facts = vec![
        FactDifference {
            key: "kernel.transparent_hugepages".into(),
            a: Some(FactValue::Text("never".into())),
            b: Some(FactValue::Text("always".into())),
        },
        FactDifference { key: "memory.huge_pages_free".into(), a: None, b: Some(FactValue::Count(64)) },
    ];
    compared.sequential = Some(sequential(4, Ended::Settled));
    compared.untested = vec![UntestedFigure {
        name: "compile:small-c user".into(),
        figure: None,
        reason: UntestedReason::SingleValue,
        tasks: None,
        unit: "s".into(),
        direction: Direction::Lower,
        a: 1.204,
        b: 1.187,
    }];
    compared.untested.push(UntestedFigure {
        name: "compile:small-c".into(),
        figure: Some("system_s".into()),
        reason: UntestedReason::NoRatio,
        tasks: Some(2),
        unit: "s".into(),
        direction: Direction::Lower,
        a: 0.0,
        b: 0.004,
    });
    compared.unmatched = vec![only_on(Letter::B, "compile:small-c")];
    compared
}

/// A workload at 1, 2 and 4 tasks, and another one at 2 and 4, of which the first has a law.
pub fn scaled() -> Comparison {
    let at = |shape: Shape, tasks: u32, [a, b]: [f64; 2]| Shape { tasks: Some(tasks), a, b, ..shape };
    let shapes = [
        at(FASTER, 1, [312_000.0, 315_000.0]),
        at(FASTER, 2, [540_000.0, 610_000.0]),
        FASTER,
        at(QUICKER, 2, [6.9, 6.2]),
        QUICKER,
    ];
    Comparison { scaling: laws().into_iter().take(1).collect(), ..suite(&shapes, None) }
}

/// Two runs of before, on two machines; every workload has a ratio, in boots, at one level.
pub fn stored() -> Comparison {
    let booted = |shape: Shape| Shape { independent: Unit::Boot, level: 0.95, ..shape };
    let improvement = Bounded { value: 1.0412, low: 1.0123, high: 1.0712, level: 0.95 };
    let mut compared = suite(&[booted(FASTER), booted(SAME)], Some(improvement));
    compared.a = described("run 7", &["kernel ./before/bzImage"], 7);
    compared.b = described("run 9", &["kernel ./after/bzImage"], 9);
    compared.b.machine = Some("guest: 2 CPUs, QEMU TCG, Linux 6.1.0-tiny".into());
    for workload in &mut compared.workloads {
        workload.comparison.cautions.push(Caution::NotInterleaved { not_quiet: vec![] }.into());
    }
    compared
}

/// Two runs of one boot, one after the other.
pub fn in_sequence() -> Comparison {
    let mut compared = suite(&[FASTER, SAME], None);
    for ComparedWorkload { comparison: workload, .. } in &mut compared.workloads {
        (workload.answer, workload.inconclusive) = (Answer::Inconclusive, Some(Inconclusive::NotInterleaved));
        workload.within_margin = false;
        let not_quiet = vec![NotQuiet::Load, NotQuiet::Frequency];
        workload.cautions.push(Caution::NotInterleaved { not_quiet }.into());
    }
    compared
}

/// Values from a file, of which hardly anything is known, and far too few.
pub fn imported() -> Comparison {
    let few = Shape {
        name: "sleep 0.1 | cat",
        unit: "s",
        direction: Direction::Lower,
        tasks: None,
        a: 0.1042,
        b: 0.0911,
        units: 2,
        independent: Unit::Run,
        ..UNDECIDED
    };
    let mut compared = suite(&[few], None);
    for (side, name) in [(&mut compared.a, "before.json"), (&mut compared.b, "after.json")] {
        *side = Described { name: name.into(), setup: Vec::new(), run: None, started: None, machine: None };
    }
    let workload = &mut compared.workloads[0].comparison;
    workload.ratio = None;
    workload.cautions.push(FEW_RUNS.into());
    compared
}

/// Nothing in common.
pub fn empty() -> Comparison {
    let mut compared = suite(&[], None);
    compared.unmatched = vec![only_on(Letter::A, "zero_fill:base")];
    compared.sequential = Some(sequential(0, Ended::Stopped));
    compared
}

/// Text from outside that tries to be more than text, and figures that are at their limits.
pub fn hostile() -> Comparison {
    let attack = "</script><img src=x onerror=\"document.title='owned'\"><!-- <script> & \u{1b}[31m | ` \u{2028}";
    let mut compared = typical();
    for side in [&mut compared.a, &mut compared.b] {
        side.name = attack.into();
        side.setup = vec![attack.into()];
        side.machine = Some(attack.into());
    }
    for ComparedWorkload { comparison: workload, details } in &mut compared.workloads {
        workload.name.push_str(attack);
        workload.unit = format!("op/s{attack}");
        workload.cautions.push(Caution::DifferentFacts { keys: vec![attack.into()] }.into());
        details.counters.push(counter(attack, 1.0, 2.0, 0.01));
        details.failures = [vec![told(attack)], Vec::new()];
    }
    // An interval without a lower end for times: its improvement has no upper one.
    compared.workloads[2].comparison.ratio = Some(Bounded { value: 0.885, low: 0.0, high: 0.99, level: 0.9833 });
    compared.workloads[3].details.values = [Vec::new(), vec![1.0]];
    compared.scaling[0].name = attack.into();
    compared.scaling[0].unit = attack.into();
    compared.facts[0].key = attack.into();
    compared.facts[0].a = Some(FactValue::Text(attack.into()));
    compared.untested[0].name = attack.into();
    compared.untested[0].unit = attack.into();
    compared.unmatched = vec![only_on(Letter::A, attack)];
    compared
}
