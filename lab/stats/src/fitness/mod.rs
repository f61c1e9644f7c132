//! Fitness of a machine for measuring: from a comparison with itself and other parts of the record.
//!
//! docs/METHODOLOGY.md, §17, has the thresholds.

mod advice;

use crate::advice::{Advice, NamedWorkload};
use crate::comparison::{Comparison, Fit, Fitness};
use crate::datasets::sides;
use crate::said::Said;
use crate::thresholds::{COARSE_DETECTABLE, UNFIT_DETECTABLE};
use crate::unmatched::{Unmatched, UnmatchedReason};
use crate::workload_comparison::{Answer, Inconclusive, WorkloadComparison};
use advice::advice;
use faultline_record::dataset::Series;
use faultline_record::record::RunRecord;
use std::collections::BTreeSet;

/// Judges a machine by `compared`, the answers of a live comparison with itself, and by `record`,
/// that comparison's run. A machine is unfit if any planned workload has no answer.
pub fn fitness(compared: Comparison, record: &RunRecord) -> Fitness {
    let unmeasured = unmeasured(&compared, record);
    let advice = advice(&compared, record, &unmeasured);
    let worst = compared.workloads.iter().map(|workload| fit(&workload.comparison)).max_by_key(|fit| *fit as u8);
    let fit = worst.filter(|_| unmeasured.is_empty()).unwrap_or(Fit::Unfit);
    Fitness { format: Fitness::FORMAT.to_owned(), fit, compared, advice }
}

/// Fitness according to one workload. A workload that differs from itself makes the machine unfit,
/// as does one without an estimate.
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

/// The workloads of `record` that `compared` does not contain, in the order of the workloads.
fn unmeasured(compared: &Comparison, record: &RunRecord) -> Vec<Advice> {
    let (a, b) = sides(record);
    let measured = |name: &str, tasks: Option<u32>| {
        compared.workloads.iter().any(|workload| workload.comparison.name == name && workload.details.tasks == tasks)
    };
    let without = a.series.iter().chain(&b.series).filter(|series| !measured(&series.name, series.tasks));
    let mut told = BTreeSet::new();
    let once = without.filter(|series| told.insert((&series.name, series.tasks)));
    let unmeasured = |series: &Series| Advice::Unmeasured {
        workload: NamedWorkload { name: series.name.clone(), tasks: series.tasks },
        why: reason(compared, series),
    };
    once.map(unmeasured).collect()
}

fn reason(compared: &Comparison, series: &Series) -> Option<UnmatchedReason> {
    let is_of = |unmatched: &&Said<Unmatched>| unmatched.name == series.name && unmatched.tasks == series.tasks;
    compared.unmatched.iter().find(is_of).map(|unmatched| unmatched.reason.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Settings, compare_sides};
    use crate::example;
    use crate::unmatched::Letter;
    use faultline_record::failure::{Failure, FailureCause};
    use faultline_record::outcome::Outcome;

    /// A machine compared with itself, with runs that differ by `step` times 1 to 10 per mille.
    fn judged(step: fn(u32) -> u64, other: fn(u32) -> u64, blocks: u32) -> Fitness {
        let run = example::Run::new(&["load"]).tasks(&[1]).repeats(blocks).against(|_, _| 1_000_000);
        let mut record = run.record();
        for attempt in &mut record.attempts {
            let item = &record.plan[attempt.ordinal as usize];
            let first = item.subject == faultline_record::subject::SubjectIndex::A;
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

    /// A fit machine on which the workloads in `failing` fail in blocks below `blocks` of 20.
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
    fn failures_make_it_unfit_and_are_counted() {
        for (blocks, times) in [(17, 34), (2, 4)] {
            let found = with_failures(&["y"], blocks);
            let unanswered = Advice::Unanswered { workload: workload("y"), times, first: first_failure() };
            assert_eq!((found.fit, &found.advice[0]), (Fit::Unfit, &unanswered));
        }
    }
}
