//! A run compared with an earlier one: no cell may have more transfers per operation than before, apart from a tolerance.

use crate::lens::budget::judge;
use crate::lens::cells::{CaseReadings, cases, transfers};
use crate::lens::compare::{compare_runs, same_program};
use crate::lens::spread::{noise, spread};
use crate::progress::standings;
use crate::thresholds::{LENS_CHANGE_SHARE, LENS_CHANGE_TRANSFERS};
use faultline_model::lens::comparison::{Change, Difference, LensComparison};
use faultline_model::lens::gate::{Check, GateReport, NoFigure, Standing};
use faultline_model::record::RunRecord;

/// How much more is allowed: the largest of three values. The third is the range of the repeats of either run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// As a share of the baseline: 0.03 for 3 %.
    pub share: f64,
    /// In transfers per operation.
    pub transfers: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { share: LENS_CHANGE_SHARE, transfers: LENS_CHANGE_TRANSFERS }
    }
}

/// Compares `current` with `baseline`: every cell for which the baseline has readings. The gate fails for a cell that cannot be checked, and for a baseline
/// without readings.
pub fn against(current: &RunRecord, baseline: &RunRecord, tolerance: Tolerance) -> GateReport {
    let (standings_now, standings_then) = (standings(current), standings(baseline));
    let (now, then) = (cases(current, &standings_now), cases(baseline, &standings_then));
    let one_program = same_program((baseline, then.len()), (current, now.len()));
    let comparison = compare_runs(baseline, current);
    let mut checks = Vec::new();
    for case in &then {
        let beside = now.iter().find(|other| one_program || other.case == case.case);
        for cell in case.cells.iter().filter(|cell| !cell.readings.is_empty()) {
            checks.push(check(case, cell.cpus, beside, &comparison, tolerance));
        }
    }
    GateReport { format: GateReport::FORMAT.to_owned(), run: current.id, baseline: Some(baseline.id), checks }
}

fn check(
    then: &CaseReadings<'_>,
    cpus: u32,
    now: Option<&CaseReadings<'_>>,
    comparison: &LensComparison,
    tolerance: Tolerance,
) -> Check {
    let at = |case: &CaseReadings<'_>| case.cells.iter().position(|cell| cell.cpus == cpus);
    let before = at(then).and_then(|index| spread(&then.cells[index].values(transfers)));
    let cell = now.and_then(|case| at(case).map(|index| &case.cells[index]));
    let after = cell.and_then(|cell| spread(&cell.values(transfers)));
    let limit = before.map(|before| {
        let repeats = after.map_or(before.high - before.low, |after| noise(&before, &after));
        before.median + tolerance.transfers.max(tolerance.share * before.median).max(repeats)
    });
    let standing = match cell.zip(limit) {
        Some((cell, limit)) => judge(cell, limit, transfers),
        None => NoFigure::NoSuchCell.into(),
    };
    let exceeded = matches!(standing, Standing::Exceeded { .. });
    let compared = comparison.cells.iter().find(|cell| cell.case == *then.case && cell.cpus == cpus);
    let differences = compared.filter(|_| exceeded).map(|cell| grown(&cell.data)).unwrap_or_default();
    Check { cell: format!("{} at {cpus}", then.case), metric: "transfers".to_owned(), limit, standing, differences }
}

/// The differences that are increases.
fn grown(differences: &[Difference]) -> Vec<Difference> {
    let more = |difference: &&Difference| matches!(difference.change, Change::Came | Change::More);
    differences.iter().filter(more).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::record;

    fn passed(current: &[(u32, f64)], baseline: &[(u32, f64)]) -> bool {
        against(&record(current), &record(baseline), Tolerance::default()).passed()
    }

    #[test]
    fn a_little_more_passes_and_more_does_not() {
        assert!(passed(&[(2, 1.03)], &[(2, 1.0)]));
        assert!(!passed(&[(2, 1.04)], &[(2, 1.0)]));
        assert!(passed(&[(2, 0.02)], &[(2, 0.0)]));
        assert!(!passed(&[(2, 0.03)], &[(2, 0.0)]));
        assert!(passed(&[(2, 0.1)], &[(2, 1.0)]), "less is no regression");
    }

    #[test]
    fn what_repeats_span_passes() {
        assert!(passed(&[(2, 1.1)], &[(2, 0.9), (2, 1.0), (2, 1.1)]));
    }

    #[test]
    fn what_is_missing_does_not_pass() {
        let report = against(&record(&[(2, 1.0)]), &record(&[(2, 1.0), (8, 1.0)]), Tolerance::default());
        assert_eq!(report.checks.iter().map(Check::passed).collect::<Vec<_>>(), [true, false]);
        assert!(!passed(&[(2, 1.0)], &[]));
        assert!(passed(&[(2, 1.0), (64, 9.0)], &[(2, 1.0)]), "what the baseline doesn't have isn't judged");
    }

    #[test]
    fn what_grew_is_named() {
        let report = against(&record(&[(8, 2.0)]), &record(&[(8, 1.0)]), Tolerance::default());
        assert_eq!((report.checks[0].limit, report.checks[0].cell.as_str()), (Some(1.03), "load:base at 8"));
        assert_eq!(report.checks[0].differences[0].name, "counter");
        assert!(matches!(&report.checks[0].standing, Standing::Exceeded { lines, .. } if lines[0].name == "counter"));
    }
}
