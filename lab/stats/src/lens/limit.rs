//! The limit that one line sets to a case: its transfers happen one after another, so they need
//! their time however many CPUs there are.
//!
//! This is the bottleneck bound of Denning and Buzen, "The operational analysis of queueing network
//! models", ACM Computing Surveys 10 (3), 1978, with the busiest line as the bottleneck.

use crate::lens::cells::CaseReadings;
use crate::lens::summary::LineLimit;
use faultline_record::lens::reading::Reading;

/// The limit by the line that takes longest at the greatest number of CPUs ≥ 2 with a figure.
/// `None` without such a figure, or if no line moved.
pub(crate) fn line_limit(case: &CaseReadings<'_>) -> Option<LineLimit> {
    let last = case.cells.iter().rev().filter(|cell| cell.cpus >= 2).find(|cell| !cell.readings.is_empty())?;
    let reading = last.typical()?;
    let line_ns = moves_ns(reading) / operations(reading);
    let alone = case.cells.iter().find(|cell| cell.cpus == 1).and_then(|cell| cell.typical());
    let work_ns = alone.map_or_else(|| work_ns(reading, last.cpus), |one| one.predicted_ns / operations(one));
    let transfers = reading.per_operation(reading.lines.first()?.transfers);
    let cpus = work_ns / line_ns;
    (line_ns > 0.0 && cpus.is_finite()).then_some(LineLimit { transfers, cpus })
}

fn operations(reading: &Reading) -> f64 {
    reading.operations.get() as f64
}

/// Minimum time of the busiest line's moves. With modelled requests a CPU requests a line again as
/// soon as it has lost it, so moves overlap: each takes a request's time.
fn moves_ns(reading: &Reading) -> f64 {
    let request = reading.machine.delays.map_or(1.0, |delays| f64::from(delays.request_percent) / 100.0);
    nanoseconds(reading, reading.spent.busiest_line) * request
}

/// Time of an operation on one CPU if that was not counted: all time of the CPUs without
/// transfers. It includes waiting, so the limit may be too high but not too low.
fn work_ns(reading: &Reading, cpus: u32) -> f64 {
    let all_ns = reading.predicted_ns * f64::from(cpus);
    (all_ns - nanoseconds(reading, reading.spent.transfers)).max(0.0) / operations(reading)
}

fn nanoseconds(reading: &Reading, clocks: u64) -> f64 {
    clocks as f64 * f64::from(reading.machine.times.instruction_ps) / 1000.0
}

#[cfg(test)]
mod tests {
    use crate::lens::example;
    use crate::lens::summary::LensVerdict;
    use crate::summarise;
    use faultline_lens_format::{DelayTimes, Spent};
    use faultline_record::record::RunRecord;

    /// A run of 1000 operations, each of 8 clocks of 0.5 ns on one CPU, whose line takes so many
    /// clocks per operation.
    fn record(cells: &[(u32, f64)], line_clocks: u64) -> RunRecord {
        let mut record = example::record(cells);
        for (attempt, &(cpus, _)) in record.attempts.iter_mut().zip(cells) {
            let reading = attempt.reading.as_mut().unwrap();
            let busiest_line = if cpus == 1 { 0 } else { line_clocks * 1000 };
            let transfers = busiest_line;
            reading.spent = Spent { busiest_line, transfers, ..Spent::default() };
            reading.predicted_ns =
                if cpus == 1 { 4000.0 } else { (8000 + busiest_line) as f64 / 2.0 / f64::from(cpus) };
        }
        record
    }

    fn verdict(record: &RunRecord) -> LensVerdict {
        summarise(record).lens.unwrap().curves.remove(0).verdict
    }

    fn limit(record: &RunRecord) -> (f64, f64) {
        match verdict(record) {
            LensVerdict::Contended { limit, .. } => (limit.transfers, limit.cpus),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_counter_that_moves_in_each_operation_is_contended_and_no_fixed_price() {
        let counter = [(1, 0.0), (2, 1.0), (8, 1.0)];
        assert_eq!(limit(&record(&counter, 54)), (1.0, 8.0 / 54.0));
        assert_eq!(limit(&record(&counter[1..], 54)), (1.0, 8.0 / 54.0), "without a figure of one CPU");
        assert_eq!(limit(&record(&[(1, 0.0), (4, 1.0)], 54)), (1.0, 8.0 / 54.0), "of one number of CPUs");
        assert_eq!(limit(&record(&[(2, 1.4), (8, 1.0)], 54)), (1.0, 8.0 / 54.0), "although it falls");
    }

    #[test]
    fn an_operation_that_is_long_beside_its_line_has_a_fixed_price() {
        let cells = [(1, 0.0), (2, 1.0), (8, 1.0)];
        assert!(matches!(verdict(&record(&cells, 1)), LensVerdict::Flat { .. }), "8 CPUs keep the line busy");
        assert_eq!(limit(&record(&cells, 2)).1, 4.0);
        assert!(matches!(verdict(&record(&cells[..2], 2)), LensVerdict::Costs { .. }), "enough for 2 CPUs");
        assert!(matches!(verdict(&record(&[(2, 1.0), (8, 4.0)], 54)), LensVerdict::Grows { .. }));
        assert!(matches!(verdict(&record(&[(2, 0.0), (8, 0.0)], 54)), LensVerdict::Free { .. }));
    }

    #[test]
    fn requests_that_overlap_shorten_the_moves() {
        let mut record = record(&[(1, 0.0), (2, 1.0), (8, 1.0)], 54);
        for attempt in &mut record.attempts {
            attempt.reading.as_mut().unwrap().machine.delays =
                Some(DelayTimes { request_percent: 50, ..DelayTimes::USUAL });
        }
        assert_eq!(limit(&record).1, 8.0 / 27.0);
    }
}
