//! Whether a machine is fit to measure on: from a comparison of it with itself, and from what else its record tells.
//!
//! The limits stand in docs/METHODOLOGY.md, §17.

mod advice;

use crate::thresholds::{COARSE_DETECTABLE, UNFIT_DETECTABLE};
use advice::advice;
use faultline_model::compared::{Compared, Fit, Fitness};
use faultline_model::comparison::{Answer, Comparison};
use faultline_model::record::RunRecord;

/// Judges a machine from `compared`, the answers of a live comparison of it with itself, and from `record`, that comparison's run.
pub fn fitness(compared: Compared, record: &RunRecord) -> Fitness {
    let advice = advice(&compared, record);
    let worst = compared.suite.workloads.iter().map(fit).max_by_key(|fit| *fit as u8).unwrap_or(Fit::Unfit);
    Fitness { format: Fitness::FORMAT.to_owned(), fit: worst, compared, advice }
}

/// What one workload says. Which differs from itself, or says nothing, is worth nothing.
fn fit(workload: &Comparison) -> Fit {
    match (workload.answer, workload.detectable) {
        (Answer::NoDifference, Some(ratio)) if ratio <= 1.0 + COARSE_DETECTABLE => Fit::Fit,
        (Answer::NoDifference, Some(ratio)) if ratio <= 1.0 + UNFIT_DETECTABLE => Fit::Coarse,
        _ => Fit::Unfit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compared::{Settings, compared_sides};
    use crate::example;

    /// A machine against itself whose runs differ by `step` times 1 to 10 parts in a thousand.
    fn judged(step: fn(u32) -> u64, other: fn(u32) -> u64, blocks: u32) -> Fitness {
        let run = example::Run::new(&["load"]).tasks(&[1]).repeats(blocks).against(|_, _| 1_000_000);
        let mut record = run.record();
        for attempt in &mut record.attempts {
            let item = &record.plan[attempt.ordinal as usize];
            let first = item.side == Some(faultline_model::setup::SideName::A);
            let rate = if first { step(item.block) } else { other(item.block) };
            attempt.window = example::attempt(1, rate).window;
        }
        fitness(compared_sides(&record, &Settings::default(), None).unwrap(), &record)
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
        assert!(unlike.advice[0].finding.contains("differs from itself"), "{:?}", unlike.advice);
        let few = judged(|i| 1_000_000 + 100 * u64::from(i), |i| 1_000_050 + 100 * u64::from(i), 2);
        assert_eq!(few.fit, Fit::Unfit);
    }
}
