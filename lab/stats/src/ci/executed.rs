//! The row of a cost of executions, from a live comparison.

use super::{CiRow, CiVerdict};
use crate::comparison::{Comparison, ComparisonError, Settings};
use crate::sequential;
use crate::workload_comparison::{Answer, Inconclusive, WorkloadComparison};
use faultline_record::plan::RunKind;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunRecord;

/// The row of a cost of executions, from a live comparison whose margin is the budget. `None` for
/// another run, without values of both sides, and if an execution failed.
pub fn executed(record: &RunRecord, what: Quantity, decides: bool) -> Option<CiRow> {
    let compared = compared_by(record, what).ok()?;
    let workload = &compared.workloads.first()?.comparison;
    if workload.inconclusive == Some(Inconclusive::Failures) {
        return None;
    }
    let change = |ratio: f64| ratio - 1.0;
    let detectable = workload.detectable.map(change);
    Some(CiRow {
        quantity: what,
        base: workload.a.median,
        head: workload.b.median,
        change: workload
            .ratio
            .map(|ratio| change(ratio.value))
            .or((workload.a.median > 0.0).then(|| change(workload.b.median / workload.a.median))),
        interval: workload.ratio.map(|ratio| [change(ratio.low), change(ratio.high)]),
        executions: Some(workload.a.units.min(workload.b.units)),
        budget: workload.margin,
        decides,
        verdict: verdict(workload),
        detectable,
    })
}

/// The answer as a verdict. A smaller cost is better, so a slower second side is worse.
fn verdict(workload: &WorkloadComparison) -> CiVerdict {
    match workload.answer {
        Answer::Equal => CiVerdict::Within,
        Answer::Slower | Answer::Faster => workload.ratio.map_or(CiVerdict::Inconclusive, |ratio| {
            of_interval(ratio.value, [ratio.low, ratio.high], workload.margin)
        }),
        Answer::Inconclusive => CiVerdict::Inconclusive,
    }
}

/// The verdict on a ratio of costs that differs from 1, with its interval.
fn of_interval(ratio: f64, [low, high]: [f64; 2], budget: f64) -> CiVerdict {
    let most = 1.0 + budget;
    match () {
        () if ratio >= most && low > 1.0 => CiVerdict::Worse,
        () if ratio.recip() >= most && high < 1.0 => CiVerdict::Better,
        () if high < most => CiVerdict::Within,
        () => CiVerdict::Inconclusive,
    }
}

/// The comparison of a live run by another quantity.
fn compared_by(record: &RunRecord, what: Quantity) -> Result<Comparison, ComparisonError> {
    let mut record = record.clone();
    if let RunKind::Comparison(comparison) = &mut record.head.settings.kind {
        comparison.quantity = what;
    }
    sequential::concluded(&record, &Settings::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisy_change_is_worse_only_beyond_the_budget() {
        let of = |ratio, low, high| of_interval(ratio, [low, high], 0.01);
        assert_eq!(of(1.03, 1.005, 1.06), CiVerdict::Worse);
        assert_eq!(of(1.007, 1.005, 1.009), CiVerdict::Within, "a difference, and a small one");
        assert_eq!(of(1.007, 1.002, 1.015), CiVerdict::Inconclusive);
        assert_eq!(of(0.95, 0.93, 0.97), CiVerdict::Better);
        assert_eq!(of(0.995, 0.993, 0.997), CiVerdict::Within);
    }
}
