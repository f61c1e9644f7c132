//! Scaling laws of cases that were measured at several numbers of tasks.

use super::pairs::Pair;
use crate::comparison::ScaledCase;
use crate::scaling::{FitError, Law, Point, ScalingComparison, compare, fit, scaling};
use crate::two_sample::{Placed, Workload, units};
use crate::unmatched::{Unmatched, UnmatchedReason};
use faultline_record::direction::Direction;

/// Minimum number of points to fit a law: one more than Amdahl's law has parameters.
const FEWEST_POINTS: usize = 3;

/// The laws of every case with rates at [`FEWEST_POINTS`] or more numbers of tasks on both sides,
/// in the order of the pairs; and the cases that no law fits.
pub(crate) fn scaled_cases(measured: &[(&Pair, &Workload)], level: f64) -> (Vec<ScaledCase>, Vec<Unmatched>) {
    let mut names: Vec<&str> = Vec::new();
    for (pair, _) in measured.iter().filter(|(pair, _)| pair.direction == Direction::Higher) {
        if !names.contains(&pair.name.as_str()) {
            names.push(&pair.name);
        }
    }
    let mut scaled = Vec::new();
    let mut unfitted = Vec::new();
    for name in names {
        let cells: Vec<&(&Pair, &Workload)> = measured.iter().filter(|(pair, _)| pair.name == name).collect();
        let (a, b): (Vec<Point>, Vec<Point>) =
            cells.iter().filter_map(|(pair, workload)| points(pair, workload)).unzip();
        if a.len() < FEWEST_POINTS {
            continue;
        }
        match compared(&a, &b, level) {
            Ok(comparison) => {
                scaled.push(ScaledCase { name: name.to_owned(), unit: cells[0].0.unit.clone(), comparison });
            }
            Err(why) => unfitted.push(Unmatched {
                name: name.to_owned(),
                tasks: None,
                measure: None,
                reason: UnmatchedReason::NoLaw { why },
            }),
        }
    }
    (scaled, unfitted)
}

/// The rates of both sides at the pair's number of tasks.
fn points(pair: &Pair, workload: &Workload) -> Option<(Point, Point)> {
    let cpus = pair.tasks?;
    let units = units(&workload.a, &workload.b);
    let point = |units: Vec<Placed>| Point { cpus, rates: units.into_iter().map(|unit| unit.value).collect() };
    Some((point(units.a), point(units.b)))
}

/// Both sides with one law: the universal one if a side needs it and both can be fitted with it.
/// Fails if no law can be fitted.
fn compared(a: &[Point], b: &[Point], level: f64) -> Result<ScalingComparison, FitError> {
    let both = [scaling(a, level)?, scaling(b, level)?];
    let universal = both.iter().all(|side| side.universal.is_some());
    let law = match universal && both.iter().any(|side| side.chosen == Law::Universal) {
        true => Law::Universal,
        false => Law::Amdahl,
    };
    compare(&fit(a, law, level)?, &fit(b, law, level)?, level)
}
