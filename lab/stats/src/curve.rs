//! A case's curve: its points, their speed-up, and the verdict.

use crate::counters::counters_per_operation;
use crate::disturbance::doubt;
use crate::estimate::estimate;
use crate::figures::{Curve, Point};
use crate::gather::{About, CaseCells, CellRepeats};
use crate::judge::verdict;
use crate::machine::Cpus;
use crate::said::Said;
use crate::shares::{system_share, time_shares};
use crate::side_figures::side_figures;
use crate::speedup::{base, efficiency, speedup};
use std::collections::BTreeMap;

/// The curve of a case, on a machine of these CPUs.
pub(crate) fn curve(case: &CaseCells<'_>, cpus: &Cpus) -> Curve {
    let base = base(&case.cells);
    let points: Vec<Point> = case.cells.iter().map(|cell| point(&case.about, base, cell)).collect();
    let base_tasks = base.map(|base| base.tasks);
    let doubt = |tasks| {
        let judged = case.cells.iter().find(|cell| cell.tasks == tasks)?;
        doubt(case, base?, judged, cpus)
    };
    Curve {
        case: case.case.clone(),
        operation: case.about.operation.clone(),
        text: case.about.text.clone(),
        unit: case.about.unit.clone(),
        direction: case.about.direction,
        base_tasks,
        verdict: verdict(base_tasks, &points, cpus, doubt),
        points,
        notes: notes(&case.cells),
    }
}

fn point(about: &About, base: Option<&CellRepeats<'_>>, cell: &CellRepeats<'_>) -> Point {
    let values = cell.values();
    let speedup = base.and_then(|base| speedup(about.direction, base, cell));
    Point {
        tasks: cell.tasks,
        value: estimate(&values),
        speedup,
        efficiency: base.zip(speedup).and_then(|(base, speedup)| efficiency(base, cell, &speedup)),
        system_share: system_share(&cell.repeats),
        shares: time_shares(&cell.repeats),
        repeats: values,
        intervals: cell.repeats.iter().map(|repeat| repeat.attempt.window.len() as u32).sum(),
        side: side_figures(about, &cell.repeats),
        counters: counters_per_operation(&cell.repeats),
        failures: cell.failures.iter().cloned().map(Said::from).collect(),
    }
}

/// Notes of the attempt that began last. Attempts are ordered by id because a clock may go back.
fn notes(cells: &[CellRepeats<'_>]) -> BTreeMap<String, String> {
    let attempts = cells.iter().flat_map(|cell| &cell.repeats).map(|repeat| repeat.attempt);
    let last = attempts.max_by_key(|attempt| attempt.id);
    last.map(|attempt| attempt.notes.clone()).unwrap_or_default()
}
