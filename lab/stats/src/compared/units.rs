//! A series' runs as samples of a comparison.

use crate::compare::{Boot, Run, Samples};
use faultline_model::dataset::{DataPoint, Measured, Series};
use faultline_model::facts::Facts;

/// The samples of a series; `block` tells which block its points belong to. What has no value is left out; a figure that sums values up counts as one.
pub(crate) fn samples(series: &Series, facts: &Facts, block: impl Fn(usize) -> Option<u32>) -> Samples {
    let with_values = |(_, point): &(usize, &DataPoint)| !matches!(point.measured, Measured::Missing(_));
    let run = |(index, point): (usize, &DataPoint)| {
        let intervals = point.measured.values().to_vec();
        (point.boot.clone(), Run { order: point.order, block: block(index), intervals })
    };
    let runs = series.points.iter().enumerate().filter(with_values).map(run);
    Samples { boots: by_boot(runs), facts: facts.clone() }
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
