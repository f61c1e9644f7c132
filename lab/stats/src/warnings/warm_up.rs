//! A warm-up that was too short.

use super::{Findings, Warning, WarningKind};
use crate::warm_up::unsettled as unsettled_cases;

/// The rate was still changing when the region of interest began.
pub(super) fn unsettled(findings: &Findings<'_>) -> Option<Warning> {
    let moved = unsettled_cases(findings.cases);
    let worst = moved.iter().max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()))?;
    let concerned = || moved.iter().map(|moved| &findings.cases[moved.case]);
    Some(Warning {
        kind: WarningKind::UnsettledWarmUp {
            curves: moved.len() as u32,
            change: worst.change,
            worst: findings.cases[worst.case].case.clone(),
        },
        cells: concerned().flat_map(|case| case.cells.iter().map(|cell| case.cell(cell.tasks))).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use crate::warnings::WarningCode::UnsettledWarmUp;
    use crate::warnings::{Warning, WarningKind};
    use faultline_record::record::RunRecord;

    fn change(warning: &Warning) -> f64 {
        let WarningKind::UnsettledWarmUp { change, .. } = warning.kind else { panic!("{warning:?}") };
        change
    }

    /// A run whose first interval has a different share of the operations in every `every`-th
    /// repeat.
    fn run(share: f64, every: usize) -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        for attempt in record.attempts.iter_mut().step_by(every) {
            for count in &mut attempt.window[0].operations {
                *count = (*count as f64 * share) as u64;
            }
        }
        record
    }

    #[test]
    fn a_rate_that_rises_in_every_repeat_is_reported() {
        let warnings = of(&run(0.5, 1), UnsettledWarmUp);
        assert!((change(&warnings[0]) + 0.25).abs() < 0.001, "{warnings:?}");
        assert_eq!(warnings[0].cells.len(), 2);
        assert!((change(&of(&run(1.5, 1), UnsettledWarmUp)[0]) - 0.25).abs() < 0.001);
    }

    #[test]
    fn a_small_change_or_one_of_some_repeats_is_not() {
        assert!(of(&run(0.97, 1), UnsettledWarmUp).is_empty(), "1.5 % of the first third");
        let mut both_ways = run(0.5, 2);
        for attempt in both_ways.attempts.iter_mut().skip(1).step_by(2) {
            attempt.window[0].operations[0] *= 3;
        }
        assert!(of(&both_ways, UnsettledWarmUp).is_empty());
    }

    #[test]
    fn three_intervals_are_the_fewest() {
        let mut record = run(0.5, 1);
        for attempt in &mut record.attempts {
            attempt.window.truncate(2);
        }
        assert!(of(&record, UnsettledWarmUp).is_empty());
    }
}
