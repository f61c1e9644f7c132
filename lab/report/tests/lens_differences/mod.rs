//! A made-up comparison of two runs under the lens, and gates. The figures are invented, fixed, and mean nothing.

use crate::lens_fixture::types::types;
use crate::lens_fixture::{case, code, lines};
use faultline_model::cell::TaskMode;
use faultline_model::estimate::Estimate;
use faultline_model::lens::budget::Metric;
use faultline_model::lens::comparison::{
    Basis, CellComparison, Change, Difference, InGeneral, LensComparison, SeedPair, Spread, Surrounding, Unmatched,
    WhyUnmatched,
};
use faultline_model::lens::gate::{Check, GateReport, NoFigure, Standing};
use faultline_model::lens::key::{CodePlace, Key, Unnamed};
use faultline_model::lens::untyped::Untyped;
use faultline_model::record::RunId;

fn spread(median: f64, n: u32) -> Spread {
    let width = if n > 1 { 0.05 } else { 0.0 };
    Spread { median, low: median * (1.0 - width), high: median * (1.0 + width), n }
}

fn named(name: &str) -> Key {
    Key::Named { name: name.into() }
}

fn place(function: &str, source: &str) -> Option<CodePlace> {
    Some(CodePlace { function: function.into(), source: Some(source.into()), inlined_into: None })
}

fn difference(of: Key, change: Change, a: f64, b: f64, n: u32) -> Difference {
    Difference {
        of: of.into(),
        change,
        a: spread(a, n),
        b: spread(b, n),
        difference: b - a,
        beside_a: Vec::new(),
        beside_b: Vec::new(),
    }
}

/// A lock was split: what it did, in two cells; a third is in one run only.
pub fn comparison() -> LensComparison {
    let shared = case("fault_existing", "shared", TaskMode::Process);
    let mut hits = difference(named("counters.hits"), Change::Less, 1.6, 0.4, 3);
    hits.beside_a = vec![named("counters.misses").into()];
    let cell = |cpus, data, code| CellComparison {
        case: shared.clone(),
        cpus,
        basis: Basis::Repeats,
        transfers: (spread(7.7, 3), spread(3.1, 1)),
        transfers_difference: -4.6,
        transfers_change: Change::Less,
        instructions: (spread(2512.0, 3), spread(2518.0, 1)),
        instructions_difference: 6.0,
        data,
        code,
    };
    let moved_by = vec![place("do_fault", "memory.c:12"), place("unlock", "spinlock.h:9")];
    let unnamed = Key::Unnamed { what: Unnamed::KernelPage, moved_by };
    let code = Key::Code { place: place("do_anonymous_page", "memory.c:4071") };
    let data = vec![
        difference(named("zone.lock"), Change::Went, 3.46, 0.0, 3),
        hits,
        difference(named("zone.locks[1]"), Change::Came, 0.0, 0.3, 3),
        difference(unnamed, Change::More, 0.1, 0.2, 3),
    ];
    let mut same = cell(2, Vec::new(), Vec::new());
    same.transfers_change = Change::Same;
    LensComparison {
        format: LensComparison::FORMAT.into(),
        a: RunId(12),
        b: RunId(15),
        differing: vec![Surrounding::Emulator, Surrounding::Plugin, Surrounding::Memory],
        same_subject: false,
        cells: vec![same, cell(8, data, vec![difference(code, Change::Less, 4.0, 0.6, 3)])],
        unmatched: vec![
            Unmatched { case: shared.clone(), cpus: 64, why: WhyUnmatched::NoCounts { missing_in: RunId(15) } },
            Unmatched {
                case: shared.clone(),
                cpus: 16,
                why: WhyUnmatched::OtherOperation { a: "fault".into(), b: "page".into() },
            },
            Unmatched { case: shared, cpus: 32, why: WhyUnmatched::InterruptsApart { only_in: RunId(15) } },
        ],
    }
}

/// Seeds in common: one that repeats itself, one that differs, a few, and enough of them; each at another number of CPUs.
pub fn by_seed() -> LensComparison {
    let estimate = |median: f64, n: i32| Estimate {
        median,
        low: median - 0.3,
        high: median + 0.3,
        coverage: 1.0 - 0.5f64.powi(n - 1),
        n: n as u32,
    };
    let few = InGeneral::TooFewSeeds { difference: estimate(0.94, 3), needed: 6 };
    let mut comparison = comparison();
    let cell = comparison.cells[0].clone();
    let cell = |cpus, seeds: u64, left_out, added: f64, in_general| {
        let is_same = added == 0.0;
        let pair = |seed: u64| SeedPair {
            seed,
            transfers: (7.7, 7.7 + added),
            instructions: (2512.0, 2512.0 + added),
            identical: is_same,
        };
        let n = seeds as u32;
        CellComparison {
            cpus,
            basis: Basis::Seeds { pairs: (1..=seeds).map(pair).collect(), left_out, in_general },
            transfers: (spread(7.7, n), spread(7.7 + added, n)),
            transfers_difference: added,
            transfers_change: if added.abs() < 0.2 { Change::Same } else { Change::More },
            instructions: (spread(2512.0, n), spread(2512.0 + added, n)),
            instructions_difference: added,
            data: match added.abs() < 0.2 {
                true => Vec::new(),
                false => vec![difference(named("zone.lock"), Change::More, 3.46, 3.46 + added, n)],
            },
            code: Vec::new(),
            ..cell.clone()
        }
    };
    comparison.cells = vec![
        cell(2, 1, (0, 0), 0.0, InGeneral::OneSeed { needed: 6 }),
        cell(4, 1, (0, 2), 0.94, InGeneral::OneSeed { needed: 6 }),
        cell(8, 3, (1, 2), 0.94, few),
        cell(16, 6, (0, 0), 0.94, InGeneral::More { difference: estimate(0.94, 6) }),
        cell(
            32,
            6,
            (1, 0),
            0.01,
            InGeneral::Same { difference: Estimate { low: -0.1, high: 0.2, ..estimate(0.01, 6) } },
        ),
        cell(64, 6, (0, 0), -0.1, InGeneral::Inconclusive { difference: estimate(-0.1, 6) }),
    ];
    comparison.unmatched.clear();
    comparison.differing.clear();
    comparison
}

/// One limit of each standing.
pub fn budgets() -> GateReport {
    let check = |(of, case): (Option<&str>, &str), limit: f64, seeds: &[u64], standing| Check {
        of: of.map(str::to_owned),
        case: case.into(),
        cpus: 8,
        metric: Metric::Transfers,
        limit: Some(limit),
        seeds: seeds.to_vec(),
        standing,
        differences: Vec::new(),
    };
    let exceeded = Standing::Exceeded { value: 7.2, lines: lines(8, 7.2), code: code(7.2), of: None };
    let of = Some(Box::new(types().types.remove(0)));
    let exceeded_of_type = Standing::Exceeded { value: 4.75, lines: lines(8, 10.0), code: code(10.0), of };
    GateReport {
        format: GateReport::FORMAT.into(),
        run: RunId(12),
        baseline: None,
        checks: vec![
            check((None, "counters:program"), 0.01, &[], Standing::Kept { value: 0.0006 }),
            check((None, "fault_existing:shared"), 1.5, &[1, 2, 3], exceeded),
            check((None, "fault_existing:own"), 1.5, &[], NoFigure::NoSuchCell.into()),
            check((Some("mm_struct"), "fault_existing:shared"), 2.0, &[1, 2, 3], exceeded_of_type),
            check(
                (Some("zone"), "counters:program"),
                2.0,
                &[],
                NoFigure::NoTypes { why: Some(Untyped::NoTypes) }.into(),
            ),
        ],
    }
}

/// The growth of a run against another.
pub fn baseline() -> GateReport {
    let mut report = budgets();
    report.baseline = Some(RunId(7));
    report.checks.truncate(2);
    report.checks[1].seeds = vec![1];
    report.checks[1].differences = comparison().cells[1].data[2..].to_vec();
    report
}
