//! A made-up comparison of two runs under the lens, and gates. The figures are invented, fixed, and mean nothing.

use crate::lens_fixture::{case, code, lines};
use faultline_model::cell::TaskMode;
use faultline_model::lens::comparison::{CellComparison, Change, Difference, LensComparison, Spread, Unmatched};
use faultline_model::lens::gate::{Check, GateReport, NoFigure, Standing};
use faultline_model::record::RunId;

fn spread(median: f64, n: u32) -> Spread {
    let width = if n > 1 { 0.05 } else { 0.0 };
    Spread { median, low: median * (1.0 - width), high: median * (1.0 + width), n }
}

fn difference(name: &str, change: Change, a: f64, b: f64, n: u32) -> Difference {
    Difference {
        name: name.into(),
        change,
        a: spread(a, n),
        b: spread(b, n),
        beside_a: Vec::new(),
        beside_b: Vec::new(),
    }
}

/// A lock was split: what it did, in two cells; a third is in one run only.
pub fn comparison() -> LensComparison {
    let shared = case("fault_existing", "shared", TaskMode::Process);
    let mut hits = difference("counters.hits", Change::Less, 1.6, 0.4, 3);
    hits.beside_a = vec!["counters.misses".into()];
    let cell = |cpus, data, code| CellComparison {
        case: shared.clone(),
        cpus,
        transfers: (spread(7.7, 3), spread(3.1, 1)),
        transfers_change: Change::Less,
        instructions: (spread(2512.0, 3), spread(2518.0, 1)),
        data,
        code,
    };
    let data = vec![
        difference("zone.lock", Change::Went, 3.46, 0.0, 3),
        hits,
        difference("zone.locks[1]", Change::Came, 0.0, 0.3, 3),
        difference("kernel memory moved by do_fault memory.c:12 + unlock spinlock.h:9", Change::More, 0.1, 0.2, 3),
    ];
    let mut same = cell(2, Vec::new(), Vec::new());
    same.transfers_change = Change::Same;
    LensComparison {
        format: LensComparison::FORMAT.into(),
        a: RunId(12),
        b: RunId(15),
        cells: vec![
            same,
            cell(8, data, vec![difference("do_anonymous_page memory.c:4071", Change::Less, 4.0, 0.6, 3)]),
        ],
        unmatched: vec![Unmatched { case: shared, cpus: 64, missing_in: RunId(15) }],
    }
}

/// One limit of each standing.
pub fn budgets() -> GateReport {
    let check = |cell: &str, limit: f64, standing| Check {
        cell: cell.into(),
        metric: "transfers".into(),
        limit: Some(limit),
        standing,
        differences: Vec::new(),
    };
    let exceeded = Standing::Exceeded { value: 7.2, lines: lines(8, 7.2), code: code(7.2) };
    GateReport {
        format: GateReport::FORMAT.into(),
        run: RunId(12),
        baseline: None,
        checks: vec![
            check("counters:program at 8", 0.01, Standing::Kept { value: 0.0006 }),
            check("fault_existing:shared at 8", 1.5, exceeded),
            check("fault_existing:own at 8", 1.5, NoFigure::NoSuchCell.into()),
        ],
    }
}

/// A run held to another, with what grew.
pub fn baseline() -> GateReport {
    let mut report = budgets();
    report.baseline = Some(RunId(7));
    report.checks.truncate(2);
    report.checks[1].differences = comparison().cells[1].data[2..].to_vec();
    report
}
