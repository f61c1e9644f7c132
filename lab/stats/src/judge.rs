//! Verdict on a curve: from the interval of its efficiency and the possible effect of disturbances.

use crate::disturbance::Doubt;
use crate::estimate::Estimate;
use crate::figures::Point;
use crate::machine::Cpus;
use crate::thresholds::{ABOVE_IDEAL, LOST_GAIN, SCALES_EFFICIENCY, VERDICT_REPEATS};
use crate::verdict::{CurveVerdict, InconclusiveVerdict, Verdict, VerdictBasis};

/// The verdict at the largest number of tasks for which each has its own core; if that is unknown,
/// its own CPU; if that is unknown too, at the largest number.
///
/// - scales: the efficiency's interval lies at or above [`SCALES_EFFICIENCY`];
/// - does not scale: the interval of the gain per added CPU lies below [`LOST_GAIN`];
/// - scales partly: the interval lies between the two;
/// - inconclusive: anything else, with the reason.
///
/// `doubt` gives the possible disturbance of the efficiency at a number of tasks.
pub(crate) fn verdict(
    base_tasks: Option<u32>,
    points: &[Point],
    cpus: &Cpus,
    doubt: impl FnOnce(u32) -> Option<Doubt>,
) -> CurveVerdict {
    let Some(base_tasks) = base_tasks else { return CurveVerdict::NOT_MEASURED };
    let Some(basis) = judged(base_tasks, points, cpus) else { return CurveVerdict::NOT_MEASURED };
    let times = f64::from(basis.tasks) / f64::from(base_tasks);
    match judge(&basis.efficiency, times, doubt(basis.tasks)) {
        Ok(verdict) => CurveVerdict::of(verdict, Some(basis)),
        Err(reason) => CurveVerdict::inconclusive(basis, reason),
    }
}

/// The point that is judged.
fn judged(base_tasks: u32, points: &[Point], cpus: &Cpus) -> Option<VerdictBasis> {
    let greatest = |most: Option<u32>| {
        let has_cpus = |point: &&Point| point.tasks > base_tasks && most.is_none_or(|most| point.tasks <= most);
        let basis = |point: &Point| Some(VerdictBasis { tasks: point.tasks, efficiency: point.efficiency? });
        points.iter().filter(has_cpus).filter_map(basis).next_back()
    };
    let own_cores = cpus.own().into_iter().chain(cpus.cores).min();
    greatest(own_cores).or_else(|| greatest(cpus.own()))
}

/// The verdict from an efficiency at `times` the base's tasks, or the reason why it is
/// inconclusive.
fn judge(efficiency: &Estimate, times: f64, doubt: Option<Doubt>) -> Result<Verdict, InconclusiveVerdict> {
    if efficiency.n < VERDICT_REPEATS {
        return Err(InconclusiveVerdict::FewRepeats { needed: VERDICT_REPEATS });
    }
    let as_measured = by_limits(efficiency.low, efficiency.high, times)?;
    let Some(Doubt { by, could_be }) = doubt else { return not_above_ideal(as_measured, efficiency.low) };
    match could_be {
        Some(range) if by_limits(range.low, range.high, times) == Ok(as_measured) => {
            not_above_ideal(as_measured, range.low)
        }
        _ => Err(InconclusiveVerdict::Disturbed { as_measured, could_be, by }),
    }
}

/// The verdict shared by all efficiencies from `low` to `high`, if there is one.
fn by_limits(low: f64, high: f64, times: f64) -> Result<Verdict, InconclusiveVerdict> {
    let lost = lost_efficiency(times);
    if low >= SCALES_EFFICIENCY {
        Ok(Verdict::Scales)
    } else if high < lost {
        Ok(Verdict::DoesNotScale)
    } else if low >= lost && high < SCALES_EFFICIENCY {
        Ok(Verdict::Partly)
    } else {
        let limits = [lost, SCALES_EFFICIENCY].into_iter().filter(|limit| low < *limit && *limit <= high);
        Err(InconclusiveVerdict::AcrossLimit { limits: limits.collect() })
    }
}

/// Rejects a verdict whose lowest efficiency is above the possible maximum.
fn not_above_ideal(verdict: Verdict, lowest: f64) -> Result<Verdict, InconclusiveVerdict> {
    let limit = 1.0 + ABOVE_IDEAL;
    if lowest > limit { Err(InconclusiveVerdict::SuperLinear { limit }) } else { Ok(verdict) }
}

/// The efficiency at which the gain per added CPU is [`LOST_GAIN`], at `times` the base's tasks.
///
/// With the speed-up S, the gain per added CPU is (S − 1)/(times − 1): 0 if added CPUs bring
/// nothing, 1 if the speed-up is linear.
fn lost_efficiency(times: f64) -> f64 {
    (1.0 + LOST_GAIN * (times - 1.0)) / times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Disturbance, DisturbanceCause, EfficiencyRange};

    fn point(tasks: u32, low: f64, high: f64, n: u32) -> Point {
        let efficiency = Some(Estimate { median: low.midpoint(high), low, high, coverage: 0.9, n });
        Point {
            tasks,
            value: efficiency,
            speedup: efficiency,
            efficiency,
            system_share: None,
            shares: None,
            repeats: Vec::new(),
            intervals: 0,
            side: Vec::new(),
            counters: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn cpus(count: Option<u32>) -> Cpus {
        Cpus { logical: count, ..Cpus::default() }
    }

    /// The verdict on an undisturbed efficiency.
    fn at(tasks: u32, low: f64, high: f64) -> Verdict {
        verdict(Some(1), &[point(1, 1.0, 1.0, 5), point(tasks, low, high, 5)], &cpus(Some(tasks)), |_| None).verdict
    }

    /// The verdict on two tasks' efficiency, given its possible undisturbed range.
    fn doubted(low: f64, high: f64, could_be: Option<(f64, f64)>) -> CurveVerdict {
        let by = vec![Disturbance { tasks: 1, cause: DisturbanceCause::Others { cpus: 0.5 } }];
        let could_be = could_be.map(|(low, high)| EfficiencyRange { low, high });
        let points = [point(1, 1.0, 1.0, 5), point(2, low, high, 5)];
        verdict(Some(1), &points, &cpus(Some(2)), |_| Some(Doubt { by, could_be }))
    }

    /// The reason of an inconclusive verdict.
    fn reason(verdict: CurveVerdict) -> InconclusiveVerdict {
        assert_eq!(verdict.verdict, Verdict::Inconclusive);
        verdict.reason.expect("an inconclusive verdict has a reason").what
    }

    /// The verdict, and the number of tasks that it is based on.
    fn rests(base_tasks: Option<u32>, points: &[Point], cpus: Cpus) -> (Verdict, Option<u32>) {
        let found = verdict(base_tasks, points, &cpus, |_| None);
        (found.verdict, found.rests_on.map(|basis| basis.tasks))
    }

    #[test]
    fn the_interval_decides() {
        assert_eq!(at(2, 0.90, 1.02), Verdict::Scales);
        assert_eq!(at(2, 0.89, 1.02), Verdict::Inconclusive);
        assert_eq!(at(2, 0.76, 0.89), Verdict::Partly);
        assert_eq!(at(2, 0.70, 0.80), Verdict::Inconclusive);
        assert_eq!(at(64, 0.52, 0.60), Verdict::Partly);
        assert_eq!(at(64, 0.30, 0.49), Verdict::DoesNotScale);
        assert_eq!(at(64, 0.30, 0.95), Verdict::Inconclusive);
    }

    #[test]
    fn the_limits_that_an_interval_contains_are_its_reason() {
        let limits = |low, high| match reason(verdict(
            Some(1),
            &[point(1, 1.0, 1.0, 5), point(2, low, high, 5)],
            &cpus(None),
            |_| None,
        )) {
            InconclusiveVerdict::AcrossLimit { limits } => limits,
            other => panic!("{other:?}"),
        };
        assert_eq!(limits(0.70, 0.80), [0.75]);
        assert_eq!(limits(0.80, 0.90), [0.90]);
        assert_eq!(limits(0.50, 1.30), [0.75, 0.90]);
    }

    #[test]
    fn two_tasks_that_do_the_work_of_one_do_not_scale() {
        assert_eq!(at(2, 0.48, 0.53), Verdict::DoesNotScale);
    }

    #[test]
    fn an_interval_wholly_above_the_ideal_is_no_proof_of_scaling() {
        assert_eq!(at(2, 1.02, 1.23), Verdict::Scales);
        assert_eq!(at(2, 0.98, 1.50), Verdict::Scales);
        let points = [point(1, 1.0, 1.0, 5), point(2, 1.04, 1.23, 5)];
        assert_eq!(
            reason(verdict(Some(1), &points, &cpus(Some(2)), |_| None)),
            InconclusiveVerdict::SuperLinear { limit: 1.02 }
        );
        assert_eq!(
            doubted(1.04, 1.23, Some((0.93, 1.23))).verdict,
            Verdict::Scales,
            "the doubt explains it, and it scales all the same"
        );
        assert!(matches!(reason(doubted(1.04, 1.23, Some((0.85, 1.23)))), InconclusiveVerdict::Disturbed { .. }));
        assert!(matches!(reason(doubted(1.10, 1.23, Some((1.03, 1.23)))), InconclusiveVerdict::SuperLinear { .. }));
    }

    #[test]
    fn a_doubt_that_changes_nothing_leaves_the_verdict() {
        assert_eq!(doubted(0.48, 0.53, Some((0.40, 0.74))).verdict, Verdict::DoesNotScale);
        assert_eq!(doubted(0.95, 1.01, Some((0.90, 1.20))).verdict, Verdict::Scales);
        assert_eq!(doubted(0.80, 0.85, Some((0.75, 0.89))).verdict, Verdict::Partly);
    }

    #[test]
    fn a_doubt_that_reaches_a_limit_withholds_the_verdict() {
        for (low, high, could_be, as_measured) in [
            (0.48, 0.62, Some((0.40, 0.75)), Verdict::DoesNotScale),
            (0.95, 1.01, Some((0.89, 1.01)), Verdict::Scales),
            (0.80, 0.85, Some((0.80, 0.90)), Verdict::Partly),
            (0.80, 0.85, Some((0.74, 0.85)), Verdict::Partly),
            (0.48, 0.62, None, Verdict::DoesNotScale),
        ] {
            match reason(doubted(low, high, could_be)) {
                InconclusiveVerdict::Disturbed { as_measured: seen, by, .. } => {
                    assert_eq!((seen, by.len()), (as_measured, 1))
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_the_interval_leaves_open_is_not_blamed_on_others() {
        assert!(matches!(reason(doubted(0.70, 0.80, Some((0.60, 0.95)))), InconclusiveVerdict::AcrossLimit { .. }));
    }

    #[test]
    fn tasks_without_cpus_of_their_own_are_not_judged() {
        let points = [point(1, 1.0, 1.0, 5), point(2, 0.95, 1.0, 5), point(4, 0.2, 0.3, 5)];
        assert_eq!(rests(Some(1), &points, cpus(Some(2))), (Verdict::Scales, Some(2)));
        assert_eq!(rests(Some(1), &points, cpus(Some(4))), (Verdict::DoesNotScale, Some(4)));
        assert_eq!(rests(Some(1), &points, cpus(None)), (Verdict::DoesNotScale, Some(4)));
        assert_eq!(rests(Some(1), &points, cpus(Some(1))), (Verdict::NotMeasured, None));
        assert_eq!(rests(None, &points, cpus(None)), (Verdict::NotMeasured, None));
        let found = verdict(Some(1), &points, &cpus(Some(2)), |_| None);
        assert_eq!(found.rests_on.map(|basis| basis.efficiency), points[1].efficiency);
    }

    #[test]
    fn tasks_with_cores_of_their_own_are_judged_first() {
        let points = [point(1, 1.0, 1.0, 5), point(2, 0.95, 1.0, 5), point(4, 0.5, 0.6, 5)];
        let four_threads = Cpus { cores: Some(2), ..cpus(Some(4)) };
        assert_eq!(rests(Some(1), &points, four_threads), (Verdict::Scales, Some(2)));
        let without_two = [points[0].clone(), points[2].clone()];
        assert_eq!(rests(Some(1), &without_two, four_threads), (Verdict::DoesNotScale, Some(4)));
    }

    #[test]
    fn a_point_without_figures_gives_way_to_the_one_before() {
        let failed = Point { efficiency: None, ..point(4, 0.0, 0.0, 0) };
        let points = [point(1, 1.0, 1.0, 5), point(2, 0.95, 1.0, 5), failed];
        assert_eq!(rests(Some(1), &points, cpus(Some(4))), (Verdict::Scales, Some(2)));
    }

    #[test]
    fn fewer_than_five_repeats_decide_nothing() {
        for n in 2..5 {
            let points = [point(1, 1.0, 1.0, n), point(2, 0.99, 1.0, n)];
            let found = reason(verdict(Some(1), &points, &cpus(Some(2)), |_| None));
            assert_eq!(found, InconclusiveVerdict::FewRepeats { needed: 5 });
        }
    }
}
