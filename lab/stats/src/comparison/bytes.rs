//! Operations of different size on the two sides: a fault of 2 MiB isn't one of 4 KiB, and their rates say nothing. Bytes per second do.

use super::pairs::pairs;
use super::recorded::Plain;
use crate::datasets::{MeasuredRun, Measurement};
use faultline_model::dataset::{Measured, Series};
use std::collections::BTreeSet;

/// How a rate's unit ends.
const PER_SECOND: &str = "/s";

/// The unit of bytes per second.
const BYTES_PER_SECOND: &str = "B/s";

/// Makes bytes per second of the rates of cells whose operations are known to be of another size on the other side. Gives the first side's series, by
/// index, for which it did so.
pub(super) fn in_bytes(measured: &mut [Measurement<'_>; 2]) -> BTreeSet<usize> {
    let [a, b] = measured;
    let mut converted = BTreeSet::new();
    for pair in pairs(&a.dataset, &b.dataset, &Plain([&a.dataset, &b.dataset]), None).pairs {
        let sizes = [size(&a.runs[pair.a]), size(&b.runs[pair.b])];
        let [Some(size_a), Some(size_b)] = sizes else { continue };
        if size_a != size_b && pair.unit.ends_with(PER_SECOND) {
            convert(&mut a.dataset.series[pair.a], size_a);
            convert(&mut b.dataset.series[pair.b], size_b);
            converted.insert(pair.a);
        }
    }
    converted
}

/// Bytes of an operation, where all runs say the same.
fn size(runs: &[MeasuredRun<'_>]) -> Option<u64> {
    let sizes: BTreeSet<Option<u64>> = runs.iter().map(|run| run.repeat.attempt.bytes_per_operation).collect();
    if sizes.len() == 1 { sizes.into_iter().next()? } else { None }
}

fn convert(series: &mut Series, bytes: u64) {
    series.unit = BYTES_PER_SECOND.to_owned();
    for point in &mut series.points {
        if let Measured::Values(values) = &mut point.measured {
            values.iter_mut().for_each(|value| *value *= bytes as f64);
        }
    }
}
