//! Comparison with an earlier run: no cell may have more transfers per operation than before, apart
//! from a tolerance.

use crate::lens::budget::judge;
use crate::lens::cells::{cases, transfers};
use crate::lens::compare::{Side, compare_runs, same_program, unlike};
use crate::lens::comparison::{Change, Difference, LensComparison};
use crate::lens::gate::{Check, GateReport, NoFigure, Standing};
use crate::lens::seeds::{Sides, in_common};
use crate::lens::spread::{noise, spread};
use crate::progress::standings;
use crate::thresholds::{LENS_CHANGE_SHARE, LENS_CHANGE_TRANSFERS};
use faultline_record::lens::budget::Metric;
use faultline_record::record::RunRecord;

/// Allowed increase: the largest of three values. The third is the range of the repeats, or of the
/// seeds, of either run; it is 0 for one seed.
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

/// Compares `current` with `baseline`: every cell for which the baseline has readings, by the seeds
/// that both have if there are any. The gate fails for a cell that cannot be checked, and for a
/// baseline without readings.
pub fn against(current: &RunRecord, baseline: &RunRecord, tolerance: Tolerance) -> GateReport {
    let (standings_now, standings_then) = (standings(current), standings(baseline));
    let (now, then) = (cases(current, &standings_now), cases(baseline, &standings_then));
    let one_program = same_program((baseline, then.len()), (current, now.len()));
    let comparison = compare_runs(baseline, current);
    let mut checks = Vec::new();
    for case in &then {
        let beside = now.iter().find(|other| one_program || other.case == case.case);
        for cell in case.cells.iter().filter(|cell| !cell.readings.is_empty()) {
            let now = beside.and_then(|case| Some((case, case.cells.iter().find(|other| other.cpus == cell.cpus)?)));
            let now = now.map(|(case, cell)| (current.id, case, cell));
            checks.push(check((baseline.id, case, cell), now, &comparison, tolerance));
        }
    }
    GateReport { format: GateReport::FORMAT.to_owned(), run: current.id, baseline: Some(baseline.id), checks }
}

fn check(then: Side<'_, '_>, now: Option<Side<'_, '_>>, comparison: &LensComparison, tolerance: Tolerance) -> Check {
    let unlike = now.filter(|now| !now.2.readings.is_empty()).and_then(|now| unlike(then, now));
    let (case, then) = (then.1.case, then.2);
    let both = now.map(|(_, _, now)| in_common(then, now));
    let then = both.as_ref().map_or(then, |(then, _)| then);
    let now = both.as_ref().map(|(_, now)| now);
    let before = spread(&then.values(transfers));
    let after = now.and_then(|now| spread(&now.values(transfers)));
    let limit = before.map(|before| {
        let repeats = after.map_or(before.high - before.low, |after| noise(&before, &after));
        before.median + tolerance.transfers.max(tolerance.share * before.median).max(repeats)
    });
    let standing = match (unlike, now.zip(limit)) {
        (Some(why), _) => NoFigure::Unlike { why }.into(),
        (None, Some((now, limit))) => judge(now, limit, transfers),
        (None, None) => NoFigure::NoSuchCell.into(),
    };
    let exceeded = matches!(standing, Standing::Exceeded { .. });
    let compared = comparison.cells.iter().find(|cell| cell.case == *case && cell.cpus == then.cpus);
    let differences = compared.filter(|_| exceeded).map(|cell| grown(&cell.data)).unwrap_or_default();
    let seeds = now.map(|now| Sides::of(&then.readings, &now.readings).seeds).unwrap_or_default();
    let (case, cpus, metric) = (case.to_string(), then.cpus, Metric::Transfers);
    Check { of: None, case, cpus, metric, limit, seeds, standing, differences }
}

/// The increases among the differences.
fn grown(differences: &[Difference]) -> Vec<Difference> {
    let more = |difference: &&Difference| matches!(difference.change, Change::Came | Change::More);
    differences.iter().filter(more).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{record, seeded};
    use crate::lens::key::Key;

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
    fn the_seeds_in_common_are_judged_alone() {
        let baseline = seeded(&[(2, 1, 1.0), (2, 2, 5.0)]);
        let judged = |current: &RunRecord| against(current, &baseline, Tolerance::default()).checks[0].clone();
        let same = judged(&seeded(&[(2, 1, 1.02)]));
        assert_eq!((same.limit, same.seeds.as_slice(), same.passed()), (Some(1.03), &[1][..], true));
        assert!(!judged(&seeded(&[(2, 1, 1.04)])).passed(), "one seed has no spread that would excuse it");
        let both = judged(&seeded(&[(2, 1, 4.0), (2, 2, 6.0)]));
        assert_eq!((both.limit, both.seeds.as_slice()), (Some(7.0), &[1, 2][..]), "3, and the 4 that the seeds span");
        let other = judged(&seeded(&[(2, 7, 6.0)]));
        assert_eq!(
            (other.limit, other.seeds.is_empty()),
            (Some(7.0), true),
            "all repeats, as there is no seed in common"
        );
    }

    #[test]
    fn what_is_missing_does_not_pass() {
        let report = against(&record(&[(2, 1.0)]), &record(&[(2, 1.0), (8, 1.0)]), Tolerance::default());
        assert_eq!(report.checks.iter().map(Check::passed).collect::<Vec<_>>(), [true, false]);
        assert!(!passed(&[(2, 1.0)], &[]));
        assert!(passed(&[(2, 1.0), (64, 9.0)], &[(2, 1.0)]), "what the baseline doesn't have isn't judged");
    }

    #[test]
    fn another_operation_does_not_pass() {
        let (now, mut then) = (record(&[(2, 0.1)]), record(&[(2, 1.0)]));
        then.head.workloads[0].operation = "fault".into();
        let report = against(&now, &then, Tolerance::default());
        assert!(!report.passed());
        let Standing::NoFigure(reason) = &report.checks[0].standing else { panic!("{report:?}") };
        assert!(matches!(&reason.what, NoFigure::Unlike { .. }), "{reason:?}");
    }

    #[test]
    fn what_grew_is_named() {
        let report = against(&record(&[(8, 2.0)]), &record(&[(8, 1.0)]), Tolerance::default());
        assert_eq!(
            (report.checks[0].limit, report.checks[0].case.as_str(), report.checks[0].cpus),
            (Some(1.03), "load:base", 8)
        );
        assert_eq!(*report.checks[0].differences[0].of, Key::Named { name: "counter".to_owned() });
        assert!(matches!(&report.checks[0].standing, Standing::Exceeded { lines, .. } if lines[0].name == "counter"));
    }
}
