//! What stands behind a workload's comparison, as far as its values tell.

use super::pairs::Pair;
use crate::compare::{Placed, Workload, units};
use faultline_model::compared::Details;
use faultline_model::dataset::{Measured, Series};

/// The details of a pair; shares and counters are left open.
pub(crate) fn details(pair: &Pair, workload: &Workload, series: [&Series; 2]) -> Details {
    let units = units(&workload.a, &workload.b);
    Details {
        tasks: pair.tasks,
        values: [in_time(units.a), in_time(units.b)],
        system_share: [None, None],
        counters: Vec::new(),
        failures: series.map(failures),
    }
}

/// The values in the order in which they were measured; those whose place isn't known stay where they are.
fn in_time(mut units: Vec<Placed>) -> Vec<f64> {
    if units.iter().all(|unit| unit.order.is_some()) {
        units.sort_by_key(|unit| unit.order);
    }
    units.into_iter().map(|unit| unit.value).collect()
}

fn failures(series: &Series) -> Vec<String> {
    let failure = |measured: &Measured| match measured {
        Measured::Missing(text) => Some(text.clone()),
        Measured::Values(_) | Measured::Summary(_) => None,
    };
    series.points.iter().filter_map(|point| failure(&point.measured)).collect()
}
