//! Samples of two paired series for the tests, and details of the answer.

use super::pairs::Pair;
use crate::comparison::Details;
use crate::said::Said;
use crate::two_sample::{Boot, Conditions, Placed, Run, Samples, Workload, units};
use faultline_record::dataset::{DataPoint, Measured, Series};
use faultline_record::facts::Facts;
use faultline_record::failure::Failure;

/// The samples of a series, measured under these `conditions`; `block` gives the block of its
/// points. Points without a value are left out. A figure that summarises values counts as one.
pub(crate) fn samples(
    series: &Series,
    facts: &Facts,
    conditions: Conditions,
    block: impl Fn(usize) -> Option<u32>,
) -> Samples {
    let with_values = |(_, point): &(usize, &DataPoint)| !point.measured.values().is_empty();
    let run = |(index, point): (usize, &DataPoint)| {
        let intervals = point.measured.values().to_vec();
        (point.boot.clone(), Run { order: point.order, block: block(index), intervals })
    };
    let runs = series.points.iter().enumerate().filter(with_values).map(run);
    let are_summaries = !series.points.iter().any(|point| matches!(point.measured, Measured::Values(_)));
    Samples { boots: by_boot(runs), are_summaries, facts: facts.clone(), conditions }
}

/// Runs grouped by boot, in order of first appearance.
pub(crate) fn by_boot(runs: impl Iterator<Item = (Option<String>, Run)>) -> Vec<Boot> {
    let mut boots: Vec<Boot> = Vec::new();
    for (id, run) in runs {
        match boots.iter_mut().find(|boot| boot.id == id) {
            Some(boot) => boot.runs.push(run),
            None => boots.push(Boot { id, runs: vec![run] }),
        }
    }
    boots
}

/// The details of a pair; shares, counters and further figures are filled in later.
pub(crate) fn details(pair: &Pair, workload: &Workload, failures: [Vec<Failure>; 2]) -> Details {
    let units = units(&workload.a, &workload.b);
    Details {
        tasks: pair.tasks,
        values: [in_time(units.a), in_time(units.b)],
        system_share: [None, None],
        counters: Vec::new(),
        figures: Vec::new(),
        by_cpu_time: None,
        failures: failures.map(|side| side.into_iter().map(Said::from).collect()),
    }
}

/// The values in the order of measurement; values with unknown order keep their places.
fn in_time(mut units: Vec<Placed>) -> Vec<f64> {
    if units.iter().all(|unit| unit.order.is_some()) {
        units.sort_by_key(|unit| unit.order);
    }
    units.into_iter().map(|unit| unit.value).collect()
}
