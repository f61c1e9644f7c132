//! Cells of lens runs whose CPUs were rarely busy at the same time. Their counts say little about
//! concurrent tasks.

use super::{Findings, Warning, WarningKind};
use crate::lens::overlap;
use crate::progress::Standing;
use crate::thresholds::LENS_OVERLAP_WARNED;
use faultline_record::cell::Cell;
use std::collections::BTreeMap;

/// Every cell of at least two tasks whose least share of overlap is below [`LENS_OVERLAP_WARNED`].
pub(super) fn little_overlap(findings: &Findings<'_>) -> Option<Warning> {
    let mut least: BTreeMap<&Cell, f64> = BTreeMap::new();
    for (item, standing) in findings.standings.iter().filter(|(item, _)| item.cell.tasks >= 2) {
        let Standing::Done(attempt) = standing else { continue };
        let Some(share) = attempt.reading.as_deref().and_then(overlap) else { continue };
        if share < LENS_OVERLAP_WARNED {
            least.entry(&item.cell).and_modify(|least| *least = least.min(share)).or_insert(share);
        }
    }
    let (worst, share) = least.iter().min_by(|a, b| a.1.total_cmp(b.1))?;
    let kind = WarningKind::LittleOverlap { share: *share, worst: (*worst).clone(), limit: LENS_OVERLAP_WARNED };
    Some(Warning { kind, cells: least.keys().map(|cell| (*cell).clone()).collect() })
}

#[cfg(test)]
mod tests {
    use crate::lens::example;
    use crate::summarise;
    use crate::warnings::tests::of;
    use crate::warnings::{WarningCode, WarningKind};
    use faultline_record::lens::reading::Overlap;

    #[test]
    fn tasks_that_ran_one_after_the_other_are_reported_once() {
        let mut record = example::record(&[(1, 0.0), (2, 0.01), (4, 0.01), (8, 2.0)]);
        for (attempt, overlapping_time) in record.attempts.iter_mut().zip([0, 790, 20, 800]) {
            attempt.reading.as_mut().unwrap().overlap = Overlap { busy_time: 1000, overlapping_time };
        }
        let warnings = of(&record, WarningCode::LittleOverlap);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        let WarningKind::LittleOverlap { share, worst, .. } = &warning.kind else { panic!("{warning:?}") };
        assert_eq!((*share, worst.tasks), (0.02, 4));
        assert_eq!(warning.cells.iter().map(|cell| cell.tasks).collect::<Vec<_>>(), [2, 4]);
        let points = &summarise(&record).lens.unwrap().curves[0].points;
        assert_eq!(points.iter().map(|point| point.overlap.unwrap()).collect::<Vec<_>>(), [0.0, 0.79, 0.02, 0.8]);
    }
}
