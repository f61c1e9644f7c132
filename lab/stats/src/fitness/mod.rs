//! Whether a machine is fit to measure on: from a comparison of it with itself, and from what else its record tells.
//!
//! The limits stand in docs/METHODOLOGY.md, §17.

mod advice;
mod unmeasured;

use crate::thresholds::{COARSE_DETECTABLE, UNFIT_DETECTABLE};
use advice::advice;
use faultline_model::comparison::{Comparison, Fit, Fitness};
use faultline_model::record::RunRecord;
use faultline_model::workload_comparison::{Answer, Inconclusive, WorkloadComparison};
use unmeasured::unmeasured;

/// Judges a machine from `compared`, the answers of a live comparison of it with itself, and from `record`, that comparison's run. A machine on which
/// anything that was planned has no answer is unfit.
pub fn fitness(compared: Comparison, record: &RunRecord) -> Fitness {
    let unmeasured = unmeasured(&compared, record);
    let advice = advice(&compared, record, &unmeasured);
    let worst = compared.workloads.iter().map(|workload| fit(&workload.comparison)).max_by_key(|fit| *fit as u8);
    let fit = worst.filter(|_| unmeasured.is_empty()).unwrap_or(Fit::Unfit);
    Fitness { format: Fitness::FORMAT.to_owned(), fit, compared, advice }
}

/// What one workload says. One that differs from itself says nothing, nor does one without an estimate.
fn fit(workload: &WorkloadComparison) -> Fit {
    let is_judged = match workload.answer {
        Answer::Equal => true,
        Answer::Inconclusive => workload.inconclusive == Some(Inconclusive::PastMargin),
        Answer::Faster | Answer::Slower => false,
    };
    match workload.detectable.filter(|_| is_judged) {
        Some(ratio) if ratio <= 1.0 + COARSE_DETECTABLE => Fit::Fit,
        Some(ratio) if ratio <= 1.0 + UNFIT_DETECTABLE => Fit::Coarse,
        _ => Fit::Unfit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Settings, compare_sides};
    use crate::example;
    use faultline_model::advice::{Advice, NamedWorkload};
    use faultline_model::failure::{Failure, FailureCause};
    use faultline_model::outcome::Outcome;
    use faultline_model::unmatched::{Letter, UnmatchedReason};

    /// A machine against itself whose runs differ by `step` times 1 to 10 parts in a thousand.
    fn judged(step: fn(u32) -> u64, other: fn(u32) -> u64, blocks: u32) -> Fitness {
        let run = example::Run::new(&["load"]).tasks(&[1]).repeats(blocks).against(|_, _| 1_000_000);
        let mut record = run.record();
        for attempt in &mut record.attempts {
            let item = &record.plan[attempt.ordinal as usize];
            let first = item.subject == faultline_model::subject::SubjectIndex::A;
            let rate = if first { step(item.block) } else { other(item.block) };
            attempt.window = example::attempt(1, rate).window;
        }
        fitness(compare_sides(&record, &Settings::default(), None).unwrap(), &record)
    }

    #[test]
    fn what_it_can_see_of_itself_decides() {
        let fit = |step: fn(u32) -> u64, other: fn(u32) -> u64| judged(step, other, 20).fit;
        assert_eq!(
            fit(|i| 1_000_000 + 1_000 * (u64::from(i) * 7 % 20), |i| 1_000_500 + 1_000 * (u64::from(i) * 3 % 20)),
            Fit::Fit
        );
        assert_eq!(
            fit(|i| 1_000_000 + 10_000 * (u64::from(i) * 7 % 20), |i| 1_005_000 + 10_000 * (u64::from(i) * 3 % 20)),
            Fit::Coarse
        );
        assert_eq!(
            fit(|i| 1_000_000 + 90_000 * (u64::from(i) * 7 % 20), |i| 1_005_000 + 90_000 * (u64::from(i) * 3 % 20)),
            Fit::Unfit
        );
    }

    #[test]
    fn a_machine_that_differs_from_itself_or_says_nothing_is_unfit() {
        let unlike = judged(|i| 1_000_000 + 100 * u64::from(i), |i| 1_100_000 + 100 * u64::from(i), 20);
        assert_eq!(unlike.fit, Fit::Unfit);
        assert!(matches!(unlike.advice[0], Advice::Differs { .. }), "{:?}", unlike.advice);
        let few = judged(|i| 1_000_000 + 100 * u64::from(i), |i| 1_000_050 + 100 * u64::from(i), 2);
        assert_eq!(few.fit, Fit::Unfit);
    }

    fn exited() -> Outcome {
        Outcome::Exited { status: 3, stderr: String::new() }
    }

    fn first_failure() -> Failure {
        Failure { block: Some(0), cause: FailureCause::Ended { outcome: exited() } }
    }

    fn workload(name: &str) -> NamedWorkload {
        NamedWorkload { name: format!("{name}:base"), tasks: Some(1) }
    }

    /// A fit machine on which some workloads fail: those of `failing`, in blocks below `blocks` of 20.
    fn with_failures(failing: &[&str], blocks: u32) -> Fitness {
        let rate = |_, block| 1_000_003 + 1_000 * u64::from(block * 7 % 11);
        let other = |_, block| 1_000_033 + 1_000 * u64::from(block * 5 % 11);
        let run = example::Run::new(&["x", "y", "z"]).tasks(&[1]).repeats(20).rate(rate).against(other);
        let mut record = run.record();
        for attempt in &mut record.attempts {
            let item = &record.plan[attempt.ordinal as usize];
            if failing.contains(&item.cell.case.workload.as_str()) && item.block < blocks {
                attempt.outcome = Some(exited());
            }
        }
        fitness(compare_sides(&record, &Settings::default(), None).unwrap(), &record)
    }

    #[test]
    fn what_could_not_be_measured_makes_it_unfit_and_is_named_first() {
        assert_eq!(with_failures(&[], 20).fit, Fit::Fit);
        let most = with_failures(&["x", "z"], 20);
        assert_eq!(most.fit, Fit::Unfit);
        let why = Some(UnmatchedReason::NoValue { side: Letter::A, failure: Some(first_failure()) });
        let unmeasured = |name| Advice::Unmeasured { workload: workload(name), why: why.clone() };
        assert_eq!(most.advice, ["x", "z"].map(unmeasured));
    }

    #[test]
    fn what_fails_too_often_to_be_answered_makes_it_unfit_and_what_fails_sometimes_is_told() {
        let often = with_failures(&["y"], 17);
        let unanswered = Advice::Unanswered { workload: workload("y"), times: 34, first: first_failure() };
        assert_eq!((often.fit, &often.advice[0]), (Fit::Unfit, &unanswered));
        let sometimes = with_failures(&["y"], 2);
        let failed = Advice::Failed { workload: workload("y"), times: 4, first: first_failure() };
        assert_eq!((sometimes.fit, &sometimes.advice[0]), (Fit::Fit, &failed));
    }
}
