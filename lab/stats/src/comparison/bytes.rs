//! Operations of different sizes on the two sides. A fault of 2 MiB is not comparable with one of 4
//! KiB, but bytes per second are comparable.

use super::pairs::pairs;
use super::recorded::Plain;
use crate::datasets::{MeasuredRun, Measurement};
use faultline_record::dataset::{Measured, Series};
use std::collections::BTreeSet;

/// The end of a rate's unit.
const PER_SECOND: &str = "/s";

/// The unit of bytes per second.
const BYTES_PER_SECOND: &str = "B/s";

/// Converts the rates of cells to bytes per second, if their operations are known to have a
/// different size on the other side. Returns the indices of the first side's converted series.
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

/// Bytes of an operation, if all runs report the same number.
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
