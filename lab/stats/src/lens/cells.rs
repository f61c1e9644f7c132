//! A record's readings by case and number of CPUs.

use crate::gather::{About, about, failure, place};
use crate::progress::{Standing, standings};
use faultline_record::cell::Case;
use faultline_record::failure::{Failure, FailureCause};
use faultline_record::lens::reading::{Overlap, Reading};
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::record::{Attempt, RunRecord};
use std::collections::BTreeMap;

/// The note in which a workload gives its page faults per operation.
const FAULTS: &str = "faults_per_operation";

/// The readings of a cell.
#[derive(Debug, Default, Clone)]
pub(crate) struct CellReadings<'a> {
    /// Number of CPUs.
    pub(crate) cpus: u32,
    /// Readings of successful attempts, by block.
    pub(crate) readings: Vec<&'a Reading>,
    /// Page faults per operation, as noted by the workloads of these attempts.
    pub(crate) faults: Vec<f64>,
    /// The failures, by block.
    pub(crate) failures: Vec<Failure>,
    /// Readings of attempts that were cut short, with their outcomes.
    pub(crate) cut_short: Vec<(&'a Outcome, &'a Reading)>,
    /// Number of items that have not ended, or were skipped.
    pub(crate) missing: u32,
}

impl<'a> CellReadings<'a> {
    /// A figure of each reading, by block.
    pub(crate) fn values(&self, figure: impl Fn(&Reading) -> f64) -> Vec<f64> {
        self.readings.iter().map(|reading| figure(reading)).collect()
    }

    /// The reading with the median of transfers per operation; the lower one of two middle ones.
    pub(crate) fn typical(&self) -> Option<&'a Reading> {
        let mut readings = self.readings.clone();
        readings.sort_by(|a, b| transfers(a).total_cmp(&transfers(b)));
        readings.get(readings.len().checked_sub(1)? / 2).copied()
    }
}

/// True if an attempt of the run was counted to its end.
pub fn has_counts(record: &RunRecord) -> bool {
    let standings = standings(record);
    cases(record, &standings).iter().flat_map(|case| &case.cells).any(|cell| !cell.readings.is_empty())
}

/// Transfers per operation.
pub(crate) fn transfers(reading: &Reading) -> f64 {
    reading.per_operation(reading.totals.transfers)
}

/// Instructions per operation.
pub(crate) fn instructions(reading: &Reading) -> f64 {
    reading.per_operation(reading.totals.instructions)
}

/// Lines per operation fetched from memory because a cache had evicted them.
pub(crate) fn capacity_misses(reading: &Reading) -> f64 {
    reading.per_operation(reading.totals.capacity_misses)
}

/// Share of the busy time in which at least two CPUs were busy; `None` if it was not counted, or if
/// no CPU was busy.
pub(crate) fn overlap(reading: &Reading) -> Option<f64> {
    let Overlap { busy_time, overlapping_time } = reading.overlap;
    (busy_time > 0).then(|| overlapping_time as f64 / busy_time as f64)
}

/// A case with its readings, by number of CPUs.
#[derive(Debug)]
pub(crate) struct CaseReadings<'a> {
    pub(crate) case: &'a Case,
    pub(crate) about: About,
    pub(crate) cells: Vec<CellReadings<'a>>,
}

/// Every planned case, in the order of the workloads.
pub(crate) fn cases<'a>(record: &'a RunRecord, standings: &[(&'a PlanItem, Standing<'a>)]) -> Vec<CaseReadings<'a>> {
    let mut items: BTreeMap<&Case, Vec<&(&'a PlanItem, Standing<'a>)>> = BTreeMap::new();
    for standing in standings {
        items.entry(&standing.0.cell.case).or_default().push(standing);
    }
    let mut cases: Vec<CaseReadings<'a>> = items
        .into_iter()
        .map(|(case, items)| CaseReadings {
            case,
            about: about(&record.workloads, items[0].0),
            cells: cells(record, items),
        })
        .collect();
    cases.sort_by_key(|case| place(&record.workloads, case.case));
    cases
}

fn cells<'a>(record: &'a RunRecord, mut items: Vec<&(&'a PlanItem, Standing<'a>)>) -> Vec<CellReadings<'a>> {
    items.sort_by_key(|(item, _)| (item.block, item.ordinal));
    let mut cells: BTreeMap<u32, CellReadings<'a>> = BTreeMap::new();
    for (item, standing) in items {
        let cell = cells.entry(item.cell.tasks).or_default();
        cell.cpus = item.cell.tasks;
        cell.cut_short
            .extend(record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal).filter_map(cut_short));
        match standing {
            Standing::Done(attempt) => match &attempt.reading {
                Some(reading) => {
                    cell.readings.push(reading);
                    cell.faults.extend(attempt.notes.get(FAULTS).and_then(|text| text.parse::<f64>().ok()));
                }
                None => cell.failures.push(failure(item, FailureCause::NoReport)),
            },
            Standing::Failed(attempt) => {
                cell.failures
                    .extend(attempt.outcome.clone().map(|outcome| failure(item, FailureCause::Ended { outcome })));
            }
            Standing::Skipped | Standing::Left => cell.missing += 1,
        }
    }
    cells.into_values().collect()
}

/// The outcome and reading of an attempt that did not succeed.
fn cut_short(attempt: &Attempt) -> Option<(&Outcome, &Reading)> {
    let reading = attempt.reading.as_deref().filter(|reading| reading.is_partial)?;
    Some((attempt.outcome.as_ref()?, reading))
}
