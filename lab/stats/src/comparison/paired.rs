//! What two series that belong together hold: samples for the tests, and what stands behind the answer.

use super::pairs::Pair;
use crate::two_sample::{Boot, Conditions, Placed, Run, Samples, Workload, units};
use faultline_model::comparison::Details;
use faultline_model::dataset::{DataPoint, Measured, Series};
use faultline_model::facts::Facts;
use faultline_model::failure::Failure;
use faultline_model::said::Said;

/// The samples of a series, measured under these `conditions`; `block` tells which block its points belong to. What has no value is left out; a figure that sums values up counts as one.
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

/// Runs sorted by their boots, in the order in which these first come.
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

/// The details of a pair; shares, counters and further figures are left open.
pub(crate) fn details(pair: &Pair, workload: &Workload, failures: [Vec<Failure>; 2]) -> Details {
    let units = units(&workload.a, &workload.b);
    Details {
        tasks: pair.tasks,
        values: [in_time(units.a), in_time(units.b)],
        system_share: [None, None],
        counters: Vec::new(),
        figures: Vec::new(),
        failures: failures.map(|side| side.into_iter().map(Said::from).collect()),
    }
}

/// The values in the order in which they were measured; those whose place isn't known stay where they are.
fn in_time(mut units: Vec<Placed>) -> Vec<f64> {
    if units.iter().all(|unit| unit.order.is_some()) {
        units.sort_by_key(|unit| unit.order);
    }
    units.into_iter().map(|unit| unit.value).collect()
}
