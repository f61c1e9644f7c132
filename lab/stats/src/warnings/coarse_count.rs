//! Counts that are too coarse for the required precision.

use super::concerned::{Concerned, worst};
use super::{Findings, Warning, WarningKind};
use crate::gather::CellRepeats;
use crate::granule::granule;
use crate::median::median;
use crate::thresholds::COARSE_SHARE;
use faultline_record::describe::Style;

/// A region of interest counted too few operations.
pub(super) fn coarse_count(findings: &Findings<'_>) -> Option<Warning> {
    let mut coarse = Vec::new();
    for case in findings.cases.iter().filter(|case| case.about.style == Style::Loop) {
        for cell in &case.cells {
            let figure = coarseness(cell).filter(|&share| share > COARSE_SHARE);
            coarse.extend(figure.map(|figure| Concerned { cell: case.cell(cell.tasks), figure }));
        }
    }
    let (worst, cells) = worst(coarse)?;
    let step_share = Some(worst.figure).filter(|share| share.is_finite());
    Some(Warning { kind: WarningKind::CoarseCount { step_share, worst: worst.cell }, cells })
}

/// One granule of each task as a share of the operations of the median repeat; infinite if that
/// counted none.
fn coarseness(cell: &CellRepeats<'_>) -> Option<f64> {
    let counted: Vec<f64> = cell.repeats.iter().map(|repeat| repeat.operations as f64).collect();
    Some(f64::from(cell.tasks) * granule(cell) as f64 / median(&counted)?)
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use crate::warnings::WarningCode::CoarseCount;
    use crate::warnings::WarningKind;
    use faultline_record::describe::Style;
    use faultline_record::record::RunRecord;

    /// A run of one task whose counts are multiples of `granule`, about `operations` in a window.
    fn run(operations: u64, granule: u64) -> RunRecord {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).record();
        for (index, attempt) in record.attempts.iter_mut().enumerate() {
            for (place, interval) in attempt.window.iter_mut().enumerate() {
                let steps = operations / granule / example::INTERVALS;
                interval.operations = vec![granule * (steps + (index + place) as u64 % 2)];
            }
        }
        record
    }

    #[test]
    fn few_operations_are_reported_and_many_not() {
        let warnings = of(&run(60, 1), CoarseCount);
        let WarningKind::CoarseCount { step_share: Some(share), .. } = warnings[0].kind else { panic!("{warnings:?}") };
        assert!((share - 0.016).abs() < 0.001, "{share}");
        assert!(of(&run(600, 1), CoarseCount).is_empty());
    }

    #[test]
    fn operations_that_come_in_batches_are_as_few_as_the_batches() {
        assert_eq!(of(&run(60_000, 1_000), CoarseCount).len(), 1);
        assert!(of(&run(600_000, 1_000), CoarseCount).is_empty());
    }

    #[test]
    fn counts_that_are_all_alike_tell_no_batch() {
        let record = example::Run::new(&["load"]).rate(|_, _| 1_000).record();
        assert!(of(&record, CoarseCount).is_empty());
    }

    #[test]
    fn no_operation_at_all_is_reported_without_a_figure() {
        let record = example::Run::new(&["load"]).rate(|_, _| 0).record();
        assert!(matches!(of(&record, CoarseCount)[0].kind, WarningKind::CoarseCount { step_share: None, .. }));
    }

    #[test]
    fn a_workload_that_runs_once_counts_nothing() {
        let mut record = run(60, 1);
        record.head.workloads[0].style = Style::Once;
        assert!(of(&record, CoarseCount).is_empty());
    }
}
